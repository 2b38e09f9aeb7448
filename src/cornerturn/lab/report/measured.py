"""Times from a GPU, as ``cornerturn bench --json`` wrote them."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cornerturn.errors import UsageError
from cornerturn.files import read_text, refuse

_TOO_MANY = 10**9  # rows or columns, far beyond any memory


@dataclass(frozen=True)
class Time:
    """One kernel's time.

    Attributes:
        valid: whether every bit of its output was right there.
        seconds: per launch, median.
        gbps: 1e9 bytes read and written per second.
        roof_share: speed as a share of the copy roof.
    """

    kernel: str
    valid: bool
    seconds: float
    gbps: float
    roof_share: float


@dataclass(frozen=True)
class Measured:
    """The times of one file at one size.

    Attributes:
        label: the file's name without its ending.
        device: the GPU's name.
        rows, cols: of x.
    """

    label: str
    device: str
    rows: int
    cols: int
    times: tuple[Time, ...]


def read_measured(path: Path) -> list[Measured]:
    """The times in a file of ``cornerturn bench --json``, one record per size.

    Raises:
        UsageError: the file cannot be read, is not such a file, or holds no times.
    """
    text = read_text(path)
    try:
        report = json.loads(text)
        device = str(report["device"]["name"])
        timed = [each for each in report["results"] if each["seconds"] is not None]
        found = [
            Measured(path.stem, device, *shape, tuple(_time(each) for each in timed if _shape(each) == shape))
            for shape in dict.fromkeys(map(_shape, timed))
        ]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise refuse(path, "not the JSON that `cornerturn bench --json FILE` writes") from error
    if not timed:
        raise UsageError(f"{path}: holds no times: make it on a GPU, with `cornerturn bench --device gpu --json FILE`")
    return found


def _shape(result: dict[str, Any]) -> tuple[int, int]:
    rows, cols = result["rows"], result["cols"]
    if not all(type(extent) is int and 0 < extent < _TOO_MANY for extent in (rows, cols)):
        raise ValueError("a shape is two positive integers")
    return rows, cols


def _time(result: dict[str, Any]) -> Time:
    seconds, gbps, roof_share = (float(result[key]) for key in ("seconds", "gbps", "roof_share"))
    if not all(math.isfinite(number) and number > 0 for number in (seconds, gbps, roof_share)):
        raise ValueError("a time is positive and finite")
    return Time(str(result["kernel"]), bool(result["valid"]), seconds, gbps, roof_share)
