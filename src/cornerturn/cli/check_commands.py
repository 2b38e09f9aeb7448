"""``cornerturn check`` and ``lessons``: is a kernel right, and do the textbooks' claims hold here?"""

from functools import partial
from pathlib import Path

import click

from cornerturn.cli.bench_commands import choose_device
from cornerturn.cli.options import DEVICE, FILE_PATH, json_option, parse_size, sizes_option
from cornerturn.cli.shell import progress_bar, say, show, write_json
from cornerturn.files import check_outputs
from cornerturn.lab.environment import device_record, device_title
from cornerturn.lab.evidence import Numbers
from cornerturn.lab.lesson_book import find_lessons
from cornerturn.lab.lessons import Finding, learn
from cornerturn.lab.matrices import Shape, require_memory
from cornerturn.lab.user import checking
from cornerturn.lab.user.kernel import read_kernel
from cornerturn.lab.views.check import check_view
from cornerturn.lab.views.lessons import lessons_view


@click.command()
@click.argument("file", type=FILE_PATH, metavar="FILE.cu")
@click.option("--entry", metavar="NAME", help="The kernel, for example 'turn<float, 32>'; needed if there are several.")
@click.option("--block", metavar="X[,Y[,Z]]", help="Threads per block, for example 32,8.")
@click.option("--grid", metavar="X[,Y[,Z]]", help="Blocks, for example 'ceil(cols/32),ceil(rows/32)'.")
@click.option("--args", metavar="LIST", help="The kernel's arguments in order, default x,y,rows,cols.")
@click.option("--shared", metavar="BYTES", help="Dynamic shared memory per block, default 0.")
@click.option("--element-bytes", metavar="BYTES", help="Size of an element: 1, 2, 4 (default), 8 or 16.")
@sizes_option("Shape of x to try; several by default; may be given several times.")
def check(file: Path, sizes: list[Shape], **asked: str | None) -> None:
    """Check a kernel of your own: is it right, and what does it cost?

    It runs on the emulator, at every shape that matters. The launch is given by options, or by a comment in the file:

    \b
    // cornerturn: block=32,8 grid=ceil(cols/32),ceil(rows/32) args=x,y,rows,cols

    They are arithmetic over rows, cols and block.x, block.y, block.z. x is the input, rows x cols elements, and y
    the output. Exit status: 0 no fault, 1 a fault was found, 2 bad usage or a kernel that does not compile.
    """
    shapes = sizes or list(checking.SHAPES)
    kernel = read_kernel(file, {option: text for option, text in asked.items() if text is not None})
    for shape in shapes:
        require_memory(*shape, element_bytes=kernel.element_bytes)
    with progress_bar(len(shapes)) as advance:
        found = checking.check(kernel, shapes, step=partial(advance, 0, kernel.name))
    show(check_view(found, device_title(None, cold=False)))
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
    chosen = find_lessons(names)
    device, no_gpu = choose_device(where)
    require_memory(*size, device.free_bytes() if device else None)
    if no_gpu:
        say(f"evidence is counts, times are not measured; no GPU: {no_gpu}")
    findings: list[Finding] = []
    with progress_bar(len(chosen)) as advance:
        numbers = Numbers(*size, device, told=lambda kernel: advance(0, kernel, len(findings)))
        findings.extend(learn(lesson, numbers) for lesson in chosen)
    try:
        if json_path:
            report = {
                "device": device_record(device),
                "rows": size[0],
                "cols": size[1],
                "lessons": [finding.to_json() for finding in findings],
            }
            write_json(json_path, report)
    finally:  # a full disk costs the file, not what was found
        show(lessons_view(findings, f"{size[0]} x {size[1]}, 4-byte elements, {device_title(device, cold=False)}"))
    if any(finding.verdict == "no evidence" for finding in findings):
        raise click.exceptions.Exit(1)
