"""The CPU engine: a plan, kernels by role, and the threads that run them."""
