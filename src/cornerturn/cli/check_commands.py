"""``cornerturn check`` and ``lessons``: is a kernel right, and do the textbooks' claims hold here?"""

from pathlib import Path

import click

from cornerturn import lab
from cornerturn.cli.options import DEVICE, FILE_PATH, json_option, launch_options, parse_size, sizes_option
from cornerturn.cli.shell import say, show, write_json
from cornerturn.files import check_outputs
from cornerturn.lab.environment import choose_device
from cornerturn.lab.lesson_book import find_lessons
from cornerturn.lab.matrices import Shape
from cornerturn.lab.user import checking


@click.command()
@click.argument("file", type=FILE_PATH, metavar="FILE.cu")
@launch_options
@sizes_option("Shape of x to try; several by default; may be given several times.")
def check(file: Path, sizes: list[Shape], **asked: str | None) -> None:
    """Check a kernel of your own: is it right, and what does it cost?

    It runs on the emulator, at every shape that matters. The launch is given by options, or by a comment in the file:

    \b
    // cornerturn: block=32,8 grid=ceil(cols/32),ceil(rows/32) args=x,y,rows,cols

    They are arithmetic over rows, cols and block.x, block.y, block.z. x is the input, rows x cols elements, and y
    the output. Exit status: 0 no fault, 1 a fault was found, 2 bad usage or a kernel that does not compile.
    """
    given = {option: text for option, text in asked.items() if text is not None}
    found = lab.check(file, sizes or checking.SHAPES, **given)
    show(found)
    if not found.passed:
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--size", metavar="ROWSxCOLS", default="1024x1024", callback=parse_size, show_default=True)
@DEVICE
@json_option("Write the findings as JSON.")
def lessons(names: tuple[str, ...], size: Shape, where: str, json_path: Path | None) -> None:
    """Try the textbook's claims: the evidence, and whether it holds.

    Counts are always there, times where there is a GPU. A claim that does not hold is a finding, not a failure: exit
    status 1 says that evidence could not be computed.
    """
    check_outputs({"--json": json_path})
    find_lessons(names)
    device, no_gpu = choose_device(where)
    if no_gpu:
        say(f"evidence is counts, times are not measured; no GPU: {no_gpu}")
    found = lab.lessons(*names, size=size, device=device or "emulator")
    try:
        if json_path:
            write_json(json_path, found.to_json())
    finally:  # a full disk costs the file, not what was found
        show(found)
    if any(finding.verdict == "no evidence" for finding in found):
        raise click.exceptions.Exit(1)
