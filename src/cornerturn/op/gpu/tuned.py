"""The profile of a device: the default, or one in which `cornerturn tune` has put what it measured.

That is kept in a file beside the compiled kernels. Nothing about the file is an error for `profile_of`: one
that is missing, damaged, of another format or of another device counts for nothing.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

from cornerturn.errors import CornerturnError, UsageError
from cornerturn.files import read_text, refuse, replacing
from cornerturn.gpu import DeviceFacts
from cornerturn.kernels.kernel import ELEMENT_SIZES
from cornerturn.kernels.production.h200 import BLOCKS_PER_MULTIPROCESSOR, H200
from cornerturn.kernels.production.profile import Profile
from cornerturn.kernels.production.tile import HALO
from cornerturn.kernels.production.tile_shape import TileShape
from cornerturn.toolchain import cache_folder

_FORMAT = "cornerturn tiles 3"


def default_for(device: DeviceFacts) -> Profile:
    """Return the profile of a device that nobody has tuned."""
    rates = replace(H200.rates, multiprocessors=device.multiprocessors)
    return replace(H200, rates=rates, enough_blocks=device.multiprocessors * BLOCKS_PER_MULTIPROCESSOR)


def profile_of(device: DeviceFacts) -> Profile:
    """Return the profile that was tuned for ``device``, or else the default; the file is read once per process."""
    try:
        return _load_once(device, cache_folder())
    except CornerturnError:  # there is no folder to look in
        return default_for(device)


def tuned_elements(device: DeviceFacts) -> tuple[int, ...]:
    """Return the element sizes that were tuned for ``device``."""
    return tuple(_stored(device, tiles_path(device)))


def store(device: DeviceFacts, profile: Profile, elements: Iterable[int]) -> Path:
    """Keep what ``profile`` says of some element sizes for ``device``, beside what is kept of others.

    Returns:
        the file, which appears whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    path = tiles_path(device)
    tuned = _stored(device, path) | {element: _entry(profile, element) for element in elements}
    record = {"format": _FORMAT, "device": _model(device), "elements": dict(sorted(tuned.items()))}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        rule = f"the folder cannot be made: {error.strerror}: set CORNERTURN_CACHE to another"
        raise refuse(path.parent, rule) from error
    with replacing(path) as file:
        file.write(json.dumps(record, indent=1).encode() + b"\n")
    _load_once.cache_clear()
    return path


def forget(device: DeviceFacts) -> bool:
    """Remove what was tuned for ``device``; returns whether there was a file.

    Raises:
        UsageError: it cannot be removed.
    """
    path = tiles_path(device)
    try:
        path.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise refuse(path, f"cannot be removed: {error.strerror}") from error
    _load_once.cache_clear()
    return True


def tiles_path(device: DeviceFacts) -> Path:
    """Return the file that holds, or would hold, what was tuned for ``device``.

    Raises:
        UsageError: ``CORNERTURN_CACHE`` names no folder.
    """
    words = re.findall(r"[a-z0-9]+", f"{device.name} {device.multiprocessors} {device.arch}".lower())
    return cache_folder() / f"tiles-{'-'.join(words)}.json"


@cache
def _load_once(device: DeviceFacts, _: Path) -> Profile:
    profile = default_for(device)
    for element, entry in _stored(device, tiles_path(device)).items():
        profile = _with_entry(profile, element, entry)
    return profile


def _model(device: DeviceFacts) -> dict[str, Any]:
    """Return what tells a model of device from others."""
    return {"arch": device.arch, "name": device.name, "multiprocessors": device.multiprocessors}


def _stored(device: DeviceFacts, path: Path) -> dict[int, dict[str, Any]]:
    """Return what a file keeps for a device, by element size; nothing unless all of it is sound."""
    try:
        record = json.loads(read_text(path))
        if record["format"] != _FORMAT or record["device"] != _model(device):
            return {}
        stored = {int(element): entry for element, entry in record["elements"].items()}
        for element, entry in stored.items():
            if element not in ELEMENT_SIZES or _entry(_with_entry(H200, element, entry), element) != entry:
                return {}
    except (UsageError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        return {}
    return stored


def _entry(profile: Profile, element: int) -> dict[str, Any]:
    """Return what a profile says of one element size, as JSON."""
    group = profile.groups.get(element)
    return {
        "aligned": [_tile_record(shape) for shape in profile.aligned[element]],
        "ragged": [_tile_record(shape) for shape in profile.ragged[element]],
        "group": list(group) if group else None,
    }


def _tile_record(shape: TileShape) -> dict[str, Any]:
    return asdict(shape) | {"group": list(shape.group) if shape.group else None}


def _with_entry(profile: Profile, element: int, entry: Mapping[str, Any]) -> Profile:
    """Return ``profile`` with what `_entry` wrote of one element size.

    Raises:
        ValueError: a number breaks a rule of its kernel; and whatever comes of an entry of another form.
    """
    group = _pair(entry["group"])
    return replace(
        profile,
        aligned={**profile.aligned, element: _tiles(element, entry["aligned"], ragged=False)},
        ragged={**profile.ragged, element: _tiles(element, entry["ragged"], ragged=True)},
        groups={size: pair for size, pair in {**profile.groups, element: group}.items() if pair},
    )


def _tiles(element: int, records: Iterable[Mapping[str, Any]], ragged: bool) -> tuple[TileShape, ...]:
    shapes = []
    for record in records:
        numbers = {name: _whole(record[name]) for name in ("rows", "cols", "micro_rows", "threads", "resident")}
        if not isinstance(record["wide"], bool):
            raise TypeError
        shape = TileShape(**numbers, group=_pair(record["group"]), wide=record["wide"])
        if rule := shape.broken_rule(element, HALO if ragged else 0):
            raise ValueError(rule)
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
