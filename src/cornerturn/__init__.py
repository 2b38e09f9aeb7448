"""cornerturn: the matrix transpose, to use and to understand."""

from importlib.metadata import PackageNotFoundError, version

from cornerturn.op.transpose import explain_plan, matrix_transpose, permute_dims, transpose

try:
    __version__ = version("cornerturn")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0.1.0"

__all__ = ["__version__", "explain_plan", "matrix_transpose", "permute_dims", "transpose"]
