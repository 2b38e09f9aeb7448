import io

import pytest
from rich.console import Console

from cornerturn.lab.evidence import Fact
from cornerturn.lab.lesson import Finding, Findings
from cornerturn.lab.lesson_book import LESSONS
from cornerturn.lab.views.lessons import lessons_view


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        (["holds"], "1 of 1 lesson with evidence holds here"),
        (["does not hold here"], "0 of 1 lesson with evidence holds here"),
        (["holds in counts"], "1 of 1 lesson with evidence holds here, in counts alone"),
        (
            ["holds", "holds in counts", "needs a GPU"],
            "2 of 2 lessons with evidence hold here, 1 of them in counts alone",
        ),
        (["holds", "does not hold here"], "1 of 2 lessons with evidence holds here"),
    ],
)
def test_the_last_line_counts_what_holds(verdicts, said):
    findings = [
        Finding(LESSONS[0], () if verdict == "needs a GPU" else (Fact("", True),), verdict) for verdict in verdicts
    ]
    console = Console(file=io.StringIO(), width=120)
    console.print(lessons_view(Findings(tuple(findings), 4, 4, {}, "somewhere")))
    assert console.file.getvalue().splitlines()[-1] == said
