"""A check as text for a terminal: how each shape went, each fault with its line, and what the accesses cost."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cornerturn.lab.environment import device_title
from cornerturn.lab.explanation import count_lines
from cornerturn.lab.kernel_text import kernel_text
from cornerturn.lab.matrices import Shape
from cornerturn.lab.user.checking import Check, Fault, Trial
from cornerturn.lab.views.explanation import annotated_source
from cornerturn.showing import view_of
from cornerturn.wording import counted

_STYLES = {"right": "green", "faulty": "bold red", "refused": "yellow"}


@view_of.register
def check_view(found: Check) -> RenderableType:
    """All of a check, in reading order."""
    parts: list[RenderableType] = [
        Text(f"{found.kernel.source.file}: {found.kernel.name}, {device_title(None, cold=False)}", "bold"),
        Text(),
        _trials(found.trials),
        Text(),
    ]
    for fault in found.faults:
        parts += [*_fault(fault, found.trials), Text()]
    if found.emulation is not None and found.counted is not None:
        accesses = found.emulation.accesses
        text = kernel_text(found.kernel.source, accesses)
        parts.append(Text("What its accesses cost when x is {} x {}".format(*found.counted), "bold"))
        parts += [annotated_source(found.kernel, text, count_lines(text, accesses)), Text()]
    parts.append(_verdict(found))
    return Group(*parts)


def _trials(trials: Sequence[Trial]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("x", justify="right")
    table.add_column("result")
    for trial in trials:
        result = Text(trial.result, _STYLES[trial.result])
        table.add_row(_shape((trial.rows, trial.cols)), result.append(f": {trial.reason}") if trial.reason else result)
    return table


def _fault(fault: Fault, trials: Sequence[Trial]) -> list[RenderableType]:
    place = f"{fault.location}: " if fault.location else ""
    ran = [trial for trial in trials if trial.result != "refused"]
    shapes = "at every shape" if len(fault.shapes) == len(ran) else f"at {', '.join(map(_shape, fault.shapes))}"
    return [
        Text.assemble(place, (fault.kind, "bold red"), f", {shapes}"),
        Padding(Text(fault.message), (0, 0, 0, 4)),
    ]


def _verdict(found: Check) -> Text:
    if found.passed:
        ran = sum(trial.result == "right" for trial in found.trials)
        return Text(f"no fault found at {counted(ran, 'shape')}", "green")
    if not found.faults:
        return Text("nothing was checked: the kernel refuses every shape", "yellow")
    return Text(f"{counted(len(found.faults), 'fault')} found", "bold red")


def _shape(shape: Shape) -> str:
    return "{}x{}".format(*shape)
