"""What the GPU planner takes from measurement: one Tiling for a model of device, the default or one that was tuned.

`cornerturn tune` stores a tiling beside the compiled kernels. Nothing about that file is an error for `tiling_of`: one
that is missing, damaged, of another format or of another device counts for nothing.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from cornerturn.errors import CornerturnError, UsageError
from cornerturn.files import read_text, refuse, replacing
from cornerturn.kernels.moves import UNIT
from cornerturn.kernels.production import TileShape
from cornerturn.kernels.production_tiles import ALIGNED_TILES, GROUPS, RAGGED_TILES
from cornerturn.toolchain import cache_folder

ELEMENTS = (1, 2, 4, 8, 16)
BLOCKS_PER_MULTIPROCESSOR = 8
"""With fewer blocks than these the device is not busy, and smaller tiles are taken."""
SHARED_BYTES = 48 * 1024
"""Shared memory that a block of every device may have unasked."""
MAX_THREADS, MAX_RESIDENT_THREADS = 1024, 2048
HALO = 2
"""Units by which windows of ragged tiles may begin before them: to a sector."""
WEAVE_THREADS, ROWS_ITEMS = (64, 128, 256, 512), (1, 2, 4)

_FORMAT = "cornerturn tiles 1"

Tiles = Mapping[int, tuple[TileShape, ...]]


@dataclass(frozen=True, slots=True)
class Target:
    """A model of device: what one tiling and one machine code are for.

    Attributes:
        arch: architecture, for example ``sm_90``.
        name: for example ``NVIDIA H200``.
        multiprocessors: number of streaming multiprocessors.
    """

    arch: str
    name: str
    multiprocessors: int


@dataclass(frozen=True, slots=True)
class Tiling:
    """What the planner knows of one model of device; every table is by element size in bytes.

    Attributes:
        aligned: tiles where rows of x begin on units and rows of y on sectors; the first is for large problems.
        ragged: tiles where rows of y begin anywhere; the first is for large problems.
        groups: tiles down and across that are numbered before the next ones, where an aligned matrix is wide; none
            where an element size is missing.
        weave_threads: threads a block of ``weave``.
        rows_items: elements a thread of ``rows`` where long rows move as they are.
        enough_blocks: blocks that keep the device busy.
    """

    aligned: Tiles
    ragged: Tiles
    groups: Mapping[int, tuple[int, int]]
    weave_threads: Mapping[int, int]
    rows_items: Mapping[int, int]
    enough_blocks: int


DEFAULT = Tiling(
    aligned=ALIGNED_TILES,
    ragged=RAGGED_TILES,
    groups=GROUPS,
    weave_threads=dict.fromkeys(ELEMENTS, 128),
    rows_items=dict.fromkeys(ELEMENTS, 1),
    enough_blocks=132 * BLOCKS_PER_MULTIPROCESSOR,
)
"""Measured on an H200, which has 132 multiprocessors."""


def default_for(target: Target) -> Tiling:
    """Return the tiling of a device that nobody has tuned."""
    return replace(DEFAULT, enough_blocks=target.multiprocessors * BLOCKS_PER_MULTIPROCESSOR)


def tiling_of(target: Target) -> Tiling:
    """Return the tiling that was tuned for ``target``, or else the default; the file is read once a process."""
    try:
        return _load_once(target, cache_folder())
    except CornerturnError:  # there is no folder to look in
        return default_for(target)


def tuned_elements(target: Target) -> tuple[int, ...]:
    """Return the element sizes that were tuned for ``target``."""
    return tuple(_stored(target, tiles_path(target)))


def store(target: Target, tiling: Tiling, elements: Iterable[int]) -> Path:
    """Keep what ``tiling`` says of some element sizes for ``target``, beside what is kept of others.

    Returns:
        the file, which appears whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    path = tiles_path(target)
    tuned = _stored(target, path) | {element: _entry(tiling, element) for element in elements}
    record = {"format": _FORMAT, "device": asdict(target), "elements": dict(sorted(tuned.items()))}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        rule = f"the folder cannot be made: {error.strerror}: set CORNERTURN_CACHE to another"
        raise refuse(path.parent, rule) from error
    with replacing(path) as file:
        file.write(json.dumps(record, indent=1).encode() + b"\n")
    _load_once.cache_clear()
    return path


def forget(target: Target) -> bool:
    """Remove what was tuned for ``target``; returns whether there was a file.

    Raises:
        UsageError: it cannot be removed.
    """
    path = tiles_path(target)
    try:
        path.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise refuse(path, f"cannot be removed: {error.strerror}") from error
    _load_once.cache_clear()
    return True


def tiles_path(target: Target) -> Path:
    """Return the file that holds, or would hold, what was tuned for ``target``.

    Raises:
        UsageError: ``CORNERTURN_CACHE`` names no folder.
    """
    words = re.findall(r"[a-z0-9]+", f"{target.name} {target.multiprocessors} {target.arch}".lower())
    return cache_folder() / f"tiles-{'-'.join(words)}.json"


def obeys(element: int, shape: TileShape, ragged: bool) -> bool:
    """Return whether the kernel ``tile`` can be compiled and is right for a shape.

    The rules are those of its static assertions in ``production.cu``, of its warps, which read 128 bytes of 4 rows
    where the tile allows it, of its windows, which begin on sectors, and of the hardware.

    Example:
        >>> obeys(4, TileShape(64, 64, 4, 256), ragged=False)
        True
        >>> obeys(4, TileShape(32, 64, 4, 256), ragged=False)  # 256 threads read 64 rows at once
        False
    """
    unit = UNIT // element  # elements
    numbers = (shape.rows, shape.cols, shape.micro_rows, shape.threads, shape.resident, *(shape.group or ()))
    if min(numbers) < 1 or shape.threads % 32 or shape.threads > MAX_THREADS:
        return False
    if shape.micro_rows * element not in (4, 8, 16):  # one store to shared memory
        return False
    if shape.rows % unit or shape.cols % unit or shape.rows % shape.micro_rows:
        return False
    across, turn = shape.cols // unit, shape.micro_rows * shape.threads // (shape.cols // unit)
    if shape.threads % across or turn == 0 or shape.rows % turn:
        return False
    if across % 8 == 0 and shape.rows // shape.micro_rows % 4 == 0 and shape.threads % (4 * across):
        return False
    if ragged and (shape.rows <= HALO * unit or shape.rows % (HALO * unit)):  # windows would not meet
        return False
    held = shape.threads * shape.resident
    return shared_bytes(element, shape) <= SHARED_BYTES and held <= MAX_RESIDENT_THREADS


def shared_bytes(element: int, shape: TileShape) -> int:
    """Return the shared memory of a block: the tile, and a unit of padding after every unit's rows of y."""
    return shape.cols * element * (shape.rows + 1)


@cache
def _load_once(target: Target, _: Path) -> Tiling:
    tiling = default_for(target)
    for element, entry in _stored(target, tiles_path(target)).items():
        tiling = _with_entry(tiling, element, entry)
    return tiling


def _stored(target: Target, path: Path) -> dict[int, dict[str, Any]]:
    """Return what a file keeps for a target, by element size; nothing unless all of it is sound."""
    try:
        record = json.loads(read_text(path))
        if record["format"] != _FORMAT or record["device"] != asdict(target):
            return {}
        stored = {int(element): entry for element, entry in record["elements"].items()}
        for element, entry in stored.items():
            if element not in ELEMENTS or _entry(_with_entry(DEFAULT, element, entry), element) != entry:
                return {}
    except (UsageError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        return {}
    return stored


def _entry(tiling: Tiling, element: int) -> dict[str, Any]:
    """Return what a tiling says of one element size, as JSON."""
    group = tiling.groups.get(element)
    return {
        "aligned": [_tile_record(shape) for shape in tiling.aligned[element]],
        "ragged": [_tile_record(shape) for shape in tiling.ragged[element]],
        "group": list(group) if group else None,
        "weave_threads": tiling.weave_threads[element],
        "rows_items": tiling.rows_items[element],
    }


def _tile_record(shape: TileShape) -> dict[str, Any]:
    return asdict(shape) | {"group": list(shape.group) if shape.group else None}


def _with_entry(tiling: Tiling, element: int, entry: Mapping[str, Any]) -> Tiling:
    """Return ``tiling`` with what `_entry` wrote of one element size.

    Raises:
        ValueError: a number breaks a rule of its kernel; and whatever comes of an entry of another form.
    """
    group = _pair(entry["group"])
    if entry["weave_threads"] not in WEAVE_THREADS or entry["rows_items"] not in ROWS_ITEMS:
        raise ValueError
    return replace(
        tiling,
        aligned={**tiling.aligned, element: _tiles(element, entry["aligned"], ragged=False)},
        ragged={**tiling.ragged, element: _tiles(element, entry["ragged"], ragged=True)},
        groups={size: pair for size, pair in {**tiling.groups, element: group}.items() if pair},
        weave_threads={**tiling.weave_threads, element: _whole(entry["weave_threads"])},
        rows_items={**tiling.rows_items, element: _whole(entry["rows_items"])},
    )


def _tiles(element: int, records: Iterable[Mapping[str, Any]], ragged: bool) -> tuple[TileShape, ...]:
    shapes = []
    for record in records:
        numbers = {name: _whole(record[name]) for name in ("rows", "cols", "micro_rows", "threads", "resident")}
        if not isinstance(record["wide"], bool):
            raise TypeError
        shape = TileShape(**numbers, group=_pair(record["group"]), wide=record["wide"])
        if not obeys(element, shape, ragged):
            raise ValueError
        shapes.append(shape)
    if not shapes:
        raise ValueError
    return tuple(shapes)


def _pair(found: Any) -> tuple[int, int] | None:
    if found is None:
        return None
    down, across = map(_whole, found)
    return down, across


def _whole(found: Any) -> int:
    if type(found) is not int or found < 1:  # True is an int as well
        raise ValueError
    return found
