"""The counting rules: what one warp's memory instruction costs, vectorised over many warps.

Every function takes ``addresses`` (warps x 32, byte addresses) and ``active`` (warps x 32, bool) and returns one
number per warp; a warp without an active lane counts 0. The rules were measured on Hopper GPUs with Nsight Compute,
whose names for the sums are ``l1tex__t_sectors_pipe_lsu_mem_global_op_*``, ``memory_l1_tag_requests_global`` and
``memory_l1_wavefronts_shared``.
"""

import numpy as np

from cornerturn.emulator.types import Array

WARP = 32
SECTOR_BYTES = 32
LINE_BYTES = 128
BANKS = 32
BANK_BYTES = 4


def count_distinct(units: Array, active: Array) -> Array:
    """How many different values the active lanes of each row hold."""
    ordered = _fill_inactive(units, active)
    if np.any(ordered[:, 1:] < ordered[:, :-1]):
        ordered = np.sort(ordered, axis=1)
    changes = np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1)
    return np.where(active.any(axis=1), changes + 1, 0)


def _fill_inactive(values: Array, active: Array) -> Array:
    """Give inactive lanes the value of an active lane of their row, which adds no new one."""
    if active.all():
        return values
    donor = np.take_along_axis(values, active.argmax(axis=1)[:, None], axis=1)
    return np.where(active, values, donor)


def sectors(addresses: Array, active: Array) -> Array:
    """Distinct 32-byte sectors. An access is aligned to its width, so each lane touches exactly one."""
    return count_distinct(addresses // SECTOR_BYTES, active)


def lines(addresses: Array, active: Array) -> Array:
    """Distinct 128-byte lines."""
    return count_distinct(addresses // LINE_BYTES, active)


def ideal(active: Array, width: int, unit: int) -> Array:
    """Units of ``unit`` bytes that the active lanes' bytes would fill if they lay packed."""
    return -(-np.count_nonzero(active, axis=1) * width // unit)


def wavefronts(addresses: Array, active: Array, width: int, load: bool) -> Array:
    """Passes over the banks of shared memory.

    The warp is cut into ``width / 4`` groups of consecutive lanes (one group for narrower accesses); a group takes as
    many passes as the most distinct 4-byte words that fall into one bank. In a load, two neighbouring groups may pass
    as one (`merges`).
    """
    groups = max(1, width // BANK_BYTES)
    passes = _passes(addresses, active, width, groups)
    if groups == 1 or not load:
        return passes.sum(axis=1)
    pairs = passes.reshape(len(passes), -1, 2).sum(axis=2)
    return np.where(merges(addresses, active, width), np.minimum(pairs, 1), pairs).sum(axis=1)


def merges(addresses: Array, active: Array, width: int) -> Array:
    """Which pairs of neighbouring groups of a load of more than 4 bytes pass as one: warps x pairs of groups.

    A pair merges when its lanes pair up and no two distinct words of the pair lie in one bank. Lanes pair up when the
    partner of each active lane is inactive or has the same address. The partner of lane T is T^1; or it is T^2, for all
    lanes of the pair.
    """
    lanes = 2 * WARP // (width // BANK_BYTES)
    shape = (-1, WARP // lanes)
    addresses, active = addresses.reshape(-1, lanes), active.reshape(-1, lanes)

    def paired(distance: int) -> Array:
        partner = np.arange(lanes) ^ distance
        agrees = (addresses == addresses[:, partner]) | ~active[:, partner] | ~active
        return agrees.all(axis=1)

    merging = paired(1) | paired(2)
    if merging.any():
        merging[merging] = _passes(addresses[merging], active[merging], width, 1)[:, 0] <= 1
    return merging.reshape(shape)


def _passes(addresses: Array, active: Array, width: int, groups: int) -> Array:
    """The most distinct words in one bank, for each of a row's groups of consecutive lanes."""
    rows = len(addresses)
    words = addresses // BANK_BYTES
    if width > BANK_BYTES:
        words = words[:, :, None] + np.arange(width // BANK_BYTES, dtype=words.dtype)
        active = np.broadcast_to(active[:, :, None], words.shape)
    words, active = words.reshape(rows * groups, -1), active.reshape(rows * groups, -1)
    return _deepest_bank(words, active).reshape(rows, groups)


def _deepest_bank(words: Array, active: Array) -> Array:
    """The most distinct words in one bank, for each row of words."""
    ordered = np.sort(_fill_inactive(words, active), axis=1)
    first = np.ones(ordered.shape, dtype=bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    rows = np.arange(len(words))[:, None] * BANKS
    slots = (rows + (ordered % BANKS).astype(np.int64))[first]
    depth = np.bincount(slots, minlength=len(words) * BANKS).reshape(len(words), BANKS).max(axis=1)
    return np.where(active.any(axis=1), depth, 0)
