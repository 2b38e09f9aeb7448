import re
from itertools import pairwise
from pathlib import Path

import pytest

import cornerturn.lab.report
from cornerturn.lab.views.colours import RAMP, ink, ordered


def parts(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2, of sRGB)."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (p / 255 for p in parts(colour))]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_each_is_lighter_than_the_one_before_and_the_ends_are_far_apart():
    shades = [luminance(ordered(number)) for number in range(32)]
    assert all(low < high for low, high in pairwise(shades))
    assert (shades[-1] + 0.05) / (shades[0] + 0.05) > 5


def test_no_two_look_alike():
    assert all(
        sum(abs(a - b) for a, b in zip(parts(ordered(one)), parts(ordered(other)), strict=True)) > 6
        for one in range(32)
        for other in range(one)
    )


@pytest.mark.parametrize("number", range(32))
def test_what_stands_on_a_colour_can_be_read(number: int):
    low, high = sorted([luminance(ordered(number)), luminance(ink(ordered(number)))])
    assert (high + 0.05) / (low + 0.05) > 3


def test_they_are_those_of_the_report():
    script = (Path(cornerturn.lab.report.__file__).parent / "page" / "marks.js").read_text(encoding="utf-8")
    light = script.partition("light: [")[2].partition("dark: [")[0]
    assert re.findall(r"\[(\d+), (\d+), (\d+)\]", light) == [tuple(map(str, stop)) for stop in RAMP]
