"""``%%cuda_transpose``: a cell of a notebook that holds a kernel is checked and explained below itself.

``%load_ext cornerturn`` brings it. There is no traceback: what is wrong with the cell is said in words.
"""

import shlex
import sys
from typing import Any

import click

from cornerturn import lab
from cornerturn.cli.options import launch_options, sizes_option
from cornerturn.errors import CornerturnError
from cornerturn.lab.matrices import Shape
from cornerturn.lab.user import checking
from cornerturn.lab.user.kernel import kernel_of_text

NAME = "cuda_transpose"
FILE = "cell.cu"


def register(shell: Any) -> None:
    """Give a shell of IPython the cell magic."""
    shell.register_magic_function(cuda_transpose, magic_kind="cell", magic_name=NAME)


def cuda_transpose(line: str, cell: str) -> None:
    """Check the CUDA C++ kernel in this cell, and explain its accesses; %%cuda_transpose --help shows the options."""
    try:
        with _command.make_context(f"%%{NAME}", shlex.split(line), obj=cell) as context:
            _command.invoke(context)
    except click.exceptions.Exit:  # --help has been shown
        pass
    except click.ClickException as error:
        _say(error.format_message())
    except (CornerturnError, MemoryError) as error:
        _say(str(error))
    except ValueError as error:  # of shlex
        _say(f"{line}: {error}")


@click.command(NAME)
@launch_options
@sizes_option("Shape of x to try; several by default; may be given several times.")
@click.pass_obj
def _command(cell: str, /, sizes: list[Shape], **asked: str | None) -> None:
    """Check the kernel in this cell, and explain its accesses.

    The launch is given here, or by a comment in the cell:

    \b
    // cornerturn: block=32,8 grid=ceil(cols/32),ceil(rows/32) args=x,y,rows,cols

    No GPU is used.
    """
    from IPython.display import display

    given = {option: text for option, text in asked.items() if text is not None}
    kernel = kernel_of_text(cell, FILE, given)
    shapes = sizes or list(checking.SHAPES)
    found = lab.check(kernel, shapes)
    display(found)
    if found.passed:
        display(lab.explain(kernel, shapes[0]))


def _say(message: str) -> None:
    print(f"error: {message}", file=sys.stderr)
