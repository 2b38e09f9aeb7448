"""The laboratory as one page that a person explores."""

from cornerturn.lab.report.contents import contents, steps
from cornerturn.lab.report.measured import Measured, read_measured
from cornerturn.lab.report.page import page

__all__ = ["Measured", "contents", "page", "read_measured", "steps"]
