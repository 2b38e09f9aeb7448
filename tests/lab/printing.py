"""What a terminal would show."""

from rich.console import Console


def printed(view, width=120):
    """The lines of a view, without the blanks at their ends."""
    console = Console(width=width)
    with console.capture() as shown:
        console.print(view)
    return [line.rstrip() for line in shown.get().splitlines()]
