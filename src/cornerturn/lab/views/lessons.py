"""Lessons as text for a terminal: the claim, the evidence, the verdict."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cornerturn.lab.lessons import Finding
from cornerturn.lab.wording import counted

_STYLES = {
    "holds": "green",
    "holds in counts": "green",
    "does not hold here": "bold red",
    "needs a GPU": "yellow",
    "not installed": "yellow",
    "no evidence": "bold red",
}


def lessons_view(findings: Sequence[Finding], where: str) -> RenderableType:
    """Every finding in turn, then how many lessons hold.

    Args:
        where: size and device, for the title.
    """
    parts: list[RenderableType] = [Text(where, "bold"), Text()]
    for finding in findings:
        parts += [_finding(finding), Text()]
    judged = [finding for finding in findings if finding.facts]
    holding = sum(finding.verdict.startswith("holds") for finding in judged)
    in_counts = sum(finding.verdict == "holds in counts" for finding in judged)
    verb = "holds" if holding == 1 or len(judged) == 1 else "hold"
    some = f", {in_counts} of them in counts alone" if in_counts else ""
    limit = ", in counts alone" if 0 < in_counts == holding else some
    parts.append(Text(f"{holding} of {counted(len(judged), 'lesson')} with evidence {verb} here{limit}"))
    return Group(*parts)


def _finding(finding: Finding) -> RenderableType:
    style = _STYLES[finding.verdict]
    heading = Text.assemble((finding.lesson.name, "bold"), ": ", (finding.verdict, style))
    evidence = Table.grid(padding=(0, 1, 0, 0))
    for fact in finding.facts:
        evidence.add_row(Text("   +" if fact.holds else "   -", "green" if fact.holds else "bold red"), Text(fact.text))
    if finding.reason:
        evidence.add_row(Text("   ", style), Text(finding.reason))
    return Group(heading, Text(f"  {finding.lesson.claim}"), evidence)
