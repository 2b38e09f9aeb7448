"""The counting rules: what one warp's memory instruction costs, vectorised over many warps.

Every function takes ``addresses`` (warps x 32, byte addresses) and ``active`` (warps x 32, bool) and returns one
number a warp; a warp without an active lane counts 0. The rules were measured on Hopper GPUs with Nsight Compute,
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


def distinct(units: Array, active: Array) -> Array:
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
    return distinct(addresses // SECTOR_BYTES, active)


def lines(addresses: Array, active: Array) -> Array:
    """Distinct 128-byte lines."""
    return distinct(addresses // LINE_BYTES, active)


def ideal(active: Array, width: int, unit: int) -> Array:
    """Units of ``unit`` bytes that the active lanes' bytes would fill if they lay packed."""
    return -(-np.count_nonzero(active, axis=1) * width // unit)


def wavefronts(addresses: Array, active: Array, width: int, load: bool) -> Array:
    """Passes over the banks of shared memory.

    The warp is cut into ``width / 4`` groups of consecutive lanes (one group for narrower accesses); a group takes as
    many passes as the most distinct 4-byte words that fall into one bank. Loads whose lanes pair up (``_merges``)
    use groups twice as large.
    """
    if width <= BANK_BYTES:
        return _passes(addresses, active, width, 1)
    groups = lane_groups(addresses, active, width, load)
    passes = np.empty(len(addresses), dtype=np.int64)
    for count in np.unique(groups):
        warps = groups == count
        passes[warps] = _passes(addresses[warps], active[warps], width, int(count))
    return passes


def lane_groups(addresses: Array, active: Array, width: int, load: bool) -> Array:
    """Into how many groups of consecutive lanes the banks cut each warp; they serve one group after the other."""
    groups = max(1, width // BANK_BYTES)
    merges = _merges(addresses, active) if load and groups > 1 else np.zeros(len(addresses), dtype=bool)
    return np.where(merges, groups // 2, groups)


def _merges(addresses: Array, active: Array) -> Array:
    """Whether every active lane's partner, one (or, for all lanes, two) away, is inactive or has its address."""

    def paired(distance: int) -> Array:
        partner = np.arange(WARP) ^ distance
        agrees = (addresses == addresses[:, partner]) | ~active[:, partner] | ~active
        return agrees.all(axis=1)

    return paired(1) | paired(2)


def _passes(addresses: Array, active: Array, width: int, groups: int) -> Array:
    """Sum over a warp's groups of the most distinct words in one bank."""
    warps = len(addresses)
    words = addresses // BANK_BYTES
    if width > BANK_BYTES:
        words = words[:, :, None] + np.arange(width // BANK_BYTES, dtype=words.dtype)
        active = np.broadcast_to(active[:, :, None], words.shape)
    words, active = words.reshape(warps * groups, -1), active.reshape(warps * groups, -1)
    return _deepest_bank(words, active).reshape(warps, groups).sum(axis=1)


def _deepest_bank(words: Array, active: Array) -> Array:
    """The most distinct words in one bank, for each row of words."""
    ordered = np.sort(_fill_inactive(words, active), axis=1)
    first = np.ones(ordered.shape, dtype=bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    rows = np.arange(len(words))[:, None] * BANKS
    slots = (rows + (ordered % BANKS).astype(np.int64))[first]
    depth = np.bincount(slots, minlength=len(words) * BANKS).reshape(len(words), BANKS).max(axis=1)
    return np.where(active.any(axis=1), depth, 0)
