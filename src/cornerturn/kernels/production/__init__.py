"""The kernels that ``transpose()`` launches on a GPU: a file per kernel, beside its device code.

Each file holds what turns a move into a launch, the shapes that its entries of the catalogue refuse, and their lessons.
A new kernel is a new file; `cornerturn.op.gpu.candidates` says which moves it is for.
"""
