"""All that prints or draws: what the laboratory found, as text for a terminal and as SVG or a plot for a file.

Each module says how the classes that it knows show themselves.
"""

from cornerturn.lab.views import check, explanation, layouts, lessons, run, tables, trace

__all__ = ["check", "explanation", "layouts", "lessons", "run", "tables", "trace"]
