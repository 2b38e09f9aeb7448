"""Lessons as text for a terminal: the claim, the evidence, the verdict."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cornerturn.lab.lesson import Finding, Findings
from cornerturn.showing import view_of
from cornerturn.wording import counted

_STYLES = {
    "holds": "green",
    "holds in counts": "green",
    "does not hold here": "bold red",
    "needs a GPU": "yellow",
    "not installed": "yellow",
    "no evidence": "bold red",
}


@view_of.register
def lessons_view(found: Findings) -> RenderableType:
    """Every finding in turn, then how many lessons hold."""
    where = f"{found.rows} x {found.cols}, 4-byte elements, {found.title}"
    parts: list[RenderableType] = [Text(where, "bold"), Text()]
    for finding in found:
        parts += [lesson_view(finding), Text()]
    judged = [finding for finding in found if finding.facts]
    holding = sum(finding.verdict.startswith("holds") for finding in judged)
    in_counts = sum(finding.verdict == "holds in counts" for finding in judged)
    verb = "holds" if holding == 1 or len(judged) == 1 else "hold"
    some = f", {in_counts} of them in counts alone" if in_counts else ""
    limit = ", in counts alone" if 0 < in_counts == holding else some
    parts.append(Text(f"{holding} of {counted(len(judged), 'lesson')} with evidence {verb} here{limit}"))
    return Group(*parts)


@view_of.register
def lesson_view(finding: Finding) -> RenderableType:
    """The claim, the evidence, the verdict."""
    style = _STYLES[finding.verdict]
    heading = Text.assemble((finding.lesson.name, "bold"), ": ", (finding.verdict, style))
    evidence = Table.grid(padding=(0, 1, 0, 0))
    for fact in finding.facts:
        evidence.add_row(Text("   +" if fact.holds else "   -", "green" if fact.holds else "bold red"), Text(fact.text))
    if finding.reason:
        evidence.add_row(Text("   ", style), Text(finding.reason))
    return Group(heading, Text(f"  {finding.lesson.claim}"), evidence)
