"""Every GPU kernel of the package: CUDA sources, how each kernel is launched, and the catalogue of them."""
