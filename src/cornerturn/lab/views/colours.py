"""Colours of things that are in order, such as the lanes of a warp and the banks of shared memory."""

from cornerturn.emulator.counting import WARP

RAMP = ((38, 70, 140), (31, 120, 158), (52, 160, 140), (138, 193, 86), (245, 212, 60))
"""Red, green and blue, from blue over green to yellow, each lighter than the one before: the first and the last are far
apart, no red stands against green, and the order is the same for any eye."""

DARK, LIGHT = "#10151c", "#ffffff"


def ordered(number: int, count: int = WARP) -> str:
    """The colour of the first, second, ... of ``count`` things.

    Example:
        >>> ordered(0), ordered(31)
        ('#26468c', '#f5d43c')
    """
    at = number % count / (count - 1) * (len(RAMP) - 1)
    low = min(int(at), len(RAMP) - 2)
    return "#" + "".join(
        f"{round(a + (b - a) * (at - low)):02x}" for a, b in zip(RAMP[low], RAMP[low + 1], strict=True)
    )


def ink(colour: str) -> str:
    """What can be read on a colour: black, or white on a dark one.

    Example:
        >>> ink(ordered(0)), ink(ordered(31))
        ('#ffffff', '#10151c')
    """
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return DARK if 0.299 * red + 0.587 * green + 0.114 * blue > 110 else LIGHT
