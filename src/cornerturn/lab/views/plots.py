"""Results as a picture: speed against the copy roof on a GPU, waste against the ideal on the emulator."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from cornerturn.errors import MissingExtraError, UsageError
from cornerturn.lab.measuring import Result
from cornerturn.lab.views.tables import by_size


def file_format(path: Path) -> str:
    """The picture format that the ending of ``path`` names, proven to work here; call it before long work.

    Raises:
        MissingExtraError: matplotlib is not installed.
        UsageError: matplotlib cannot write that format, or cannot be used at all.
    """
    try:
        from matplotlib.backend_bases import FigureCanvasBase
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError(
            "--plot needs matplotlib, which is not installed: pip install 'cornerturn[plot]'"
        ) from error
    except Exception as error:  # matplotlib does not accept its environment or configuration
        raise UsageError(f"--plot {path}: matplotlib cannot be used here: {error}") from error
    ending = path.suffix.removeprefix(".").lower()
    known = FigureCanvasBase.get_supported_filetypes()
    if ending not in known:
        raise UsageError(f"--plot {path}: the ending must be one of {', '.join(sorted(known))}")
    try:
        figure = Figure()
        figure.suptitle("a text")
        figure.savefig(BytesIO(), format=ending)
    except Exception as error:  # whatever a program raises that the format needs, such as LaTeX
        raise UsageError(f"--plot {path}: matplotlib cannot write {ending} here: {error}; try svg or png") from error
    return ending


def draw(results: Sequence[Result], file: IO[bytes], format: str) -> None:
    """Write the picture of ``results`` (of one device; one panel per size of x and of its elements) to ``file``."""
    from matplotlib.figure import Figure

    panels = by_size(results)
    heights = [1.5 + 0.3 * len(of_size) for of_size in panels.values()]  # inches
    figure = Figure(figsize=(8, sum(heights)), layout="constrained")
    axes = figure.subplots(len(panels), squeeze=False, height_ratios=heights)[:, 0]
    for ((rows, cols, element_bytes), of_size), panel in zip(panels.items(), axes, strict=True):
        ran = [result for result in of_size if result.status in ("valid", "wrong")]
        panel.set_title(f"{rows} x {cols}, {element_bytes}-byte elements")
        if results[0].device == "gpu":
            _draw_speed(panel, ran)
        else:
            _draw_waste(panel, ran)
        panel.set_yticks(range(len(ran)), [result.kernel for result in ran], fontsize="small")
        panel.margins(y=0.01)
        panel.tick_params(axis="x", top=True, labeltop=True)  # a tall panel is read from its top
        panel.invert_yaxis()
        if ran:
            panel.legend(fontsize="small")
    figure.savefig(file, format=format)


def _draw_speed(panel: Any, results: Sequence[Result]) -> None:
    panel.barh(range(len(results)), [result.gbps for result in results], label="median")
    panel.set_xlabel("GB/s, bytes read + written")
    for result in results[:1]:
        if result.roof_seconds:
            panel.axvline(result.bytes / result.roof_seconds / 1e9, color="black", label="copy roof")


def _draw_waste(panel: Any, results: Sequence[Result]) -> None:
    counted = [result.counters.by_place() for result in results if result.counters]
    thickness = 0.2
    for index, of_place in enumerate(zip(*counted, strict=True)):
        heights = [row + (index - 1.5) * thickness for row in range(len(results))]
        extra = [traffic.found / traffic.ideal - 1 if traffic.ideal else 0 for traffic in of_place]
        panel.barh(heights, extra, thickness, left=1, label=of_place[0].place)
    panel.set_xscale("log", base=2)
    panel.xaxis.set_major_formatter("{x:g}")
    panel.set_xlabel("sectors or wavefronts, times the ideal; no bar: nothing wasted")
