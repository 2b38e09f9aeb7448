"""The CUDA engine: a plan, what was tuned, and launches."""
