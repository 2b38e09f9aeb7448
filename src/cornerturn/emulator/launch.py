"""One launch: place parameters and variables, then run the grid's blocks in waves."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from numbers import Integral

import numpy as np

from cornerturn.emulator.counting import WARP
from cornerturn.emulator.events import Watcher
from cornerturn.emulator.geometry import Geometry
from cornerturn.emulator.ledger import Ledger
from cornerturn.emulator.machine import Machine
from cornerturn.emulator.memory import Allocation, Memory
from cornerturn.emulator.observing import Observing
from cornerturn.emulator.races import Races
from cornerturn.emulator.report import Emulation, Observer
from cornerturn.emulator.wave import Wave
from cornerturn.errors import EmulatorError, LaunchError
from cornerturn.kernels.kernel import Extent
from cornerturn.ptx import Entry, Variable, demangle, parse
from cornerturn.wording import counted

WAVE_LANES = 1 << 15
"""Lanes run together: enough to hide the interpreter's own cost, few enough that registers stay in the caches."""
WAVE_SHARED_BYTES = 1 << 26
MAX_BLOCK_THREADS = 1024
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
MAX_SHARED_BYTES = 227 * 1024

BoundArgument = Allocation | np.generic | bytes

# glibc's malloc keeps as much freed memory as twice the largest block it ever saw mapped and freed: without this one,
# which is never touched, each wave would give its registers back to the system and the next one fault them in again.
np.empty(1 << 24, dtype=np.uint8)


def emulate(
    ptx: str,
    entry: str,
    memory: Memory,
    *,
    grid: Extent,
    block: Extent,
    arguments: Sequence[BoundArgument],
    shared_bytes: int = 0,
    progress: Callable[[int, int], None] | None = None,
    observer: Observer | None = None,
    blocks: Sequence[int] | None = None,
    races: bool = True,
) -> Emulation:
    """Run one launch of a kernel on the CPU and count its memory accesses.

    In PTX an address is a number. So an index that runs past the end of one ``__shared__`` array into the next one is
    no fault that can be seen; one that runs out of the block's shared memory is.

    Args:
        ptx: text of the module.
        entry: the kernel's name in it.
        memory: holds the arrays; they are read and written in place.
        grid: blocks along x, y, z.
        block: threads along x, y, z.
        arguments: one per parameter: an ``Allocation`` for a pointer, a NumPy scalar of the parameter's size,
            or the bytes of a structure passed by value.
        shared_bytes: dynamic shared memory, bytes per block.
        progress: called with (blocks done, blocks to do) after every wave.
        observer: told of every value that is moved.
        blocks: linear numbers of the blocks to run, x fastest; the whole grid by default.
        races: whether to look for accesses that nothing orders, which takes time.

    Raises:
        LaunchError: the launch breaks a rule of the hardware.
        EmulatorError: the PTX holds what the emulator does not know, or the kernel cannot finish. Faults that a
            kernel survives are in the result's ``hazards`` instead.
    """
    kernel = _parse(ptx, entry)
    name = kernel.source_name
    grid, block = _extent(kernel, "grid", grid, MAX_GRID), _extent(kernel, "block", block, MAX_BLOCK)
    _check_block(kernel, block)
    if kernel.clustered:
        raise EmulatorError(f"kernel {name} wants clusters of blocks (__cluster_dims__): they are not emulated")
    symbols, static_bytes, local_bytes = _place_variables(kernel, memory)
    if not isinstance(shared_bytes, Integral) or shared_bytes < 0:
        raise LaunchError(f"dynamic shared memory for kernel {name} must be 0 bytes or more: got {shared_bytes!r}")
    total_shared = static_bytes + int(shared_bytes)
    if total_shared > MAX_SHARED_BYTES:
        raise LaunchError(
            f"kernel {name} wants {total_shared} bytes of shared memory per block: at most {MAX_SHARED_BYTES}"
        )
    symbols |= _place_parameters(kernel, memory, arguments)
    machine = Machine(kernel, symbols)
    ledger = Ledger()
    watchers: list[Watcher] = [ledger]
    if races:
        watchers.append(Races(ledger.see))
    if observer is not None:
        watchers.append(Observing(observer))
    leaves = [basic_block.leaves for basic_block in machine.blocks]
    chosen = range(grid[0] * grid[1] * grid[2]) if blocks is None else blocks
    step = _blocks_per_wave(block, total_shared)
    with np.errstate(all="ignore"):
        for first in range(0, len(chosen), step):
            together = chosen[first : first + step]
            geometry = Geometry(grid, block, np.array(together, dtype=np.int64)[:, None])
            machine.run(Wave(kernel, geometry, memory, total_shared, local_bytes, leaves, watchers))
            if progress is not None:
                progress(first + len(together), len(chosen))
    return ledger.emulation()


_parse = lru_cache(maxsize=64)(parse)


def _blocks_per_wave(block: Extent, shared: int) -> int:
    threads = block[0] * block[1] * block[2]
    lanes = -(-threads // WARP) * WARP
    return max(1, min(WAVE_LANES // lanes, WAVE_SHARED_BYTES // max(shared, 1)))


def _extent(kernel: Entry, name: str, extent: Extent, limits: Extent) -> Extent:
    """A grid or block of the launch, checked."""
    if not isinstance(extent, Sequence) or len(extent) != 3 or not all(isinstance(size, Integral) for size in extent):
        raise LaunchError(f"{name} {extent!r} of kernel {kernel.source_name}: give three integers, along x, y and z")
    for axis, (size, limit) in enumerate(zip(extent, limits, strict=True)):
        if not 1 <= size <= limit:
            raise LaunchError(
                f"{name} {extent} of kernel {kernel.source_name}: along {'xyz'[axis]} it must be between 1 and {limit}"
            )
    return int(extent[0]), int(extent[1]), int(extent[2])


def _check_block(kernel: Entry, block: Extent) -> None:
    threads = block[0] * block[1] * block[2]
    if threads > MAX_BLOCK_THREADS:
        raise LaunchError(
            f"block {block} of kernel {kernel.source_name} has {threads} threads: at most {MAX_BLOCK_THREADS}"
        )
    if kernel.max_threads and threads > kernel.max_threads:
        raise LaunchError(
            f"kernel {kernel.source_name} was compiled for at most {counted(kernel.max_threads, 'thread')} per block "
            f"(__launch_bounds__): block {block} has {threads}"
        )
    required = kernel.required_block
    if required and block != (*required, 1, 1)[:3]:
        raise LaunchError(f"kernel {kernel.source_name} was compiled for blocks of {required} threads: got {block}")


def _place_variables(kernel: Entry, memory: Memory) -> tuple[dict[str, int], int, int]:
    """Addresses of all variables, and the bytes of static shared and of local memory they take."""
    symbols: dict[str, int] = {}
    used = {"shared": 0, "local": 0}
    for variable in sorted(kernel.variables, key=lambda v: v.size == 0):  # dynamic shared memory comes last
        if variable.space in used:
            symbols[variable.name] = -(-used[variable.space] // variable.align) * variable.align
            used[variable.space] = symbols[variable.name] + variable.size
        else:
            symbols[variable.name] = memory.bind(_initial(variable), demangle(variable.name).text).address
    return symbols, used["shared"], used["local"]


def _initial(variable: Variable) -> "np.ndarray[tuple[int], np.dtype[np.uint8]]":
    padded = variable.initial.ljust(variable.size, b"\0")
    return np.frombuffer(padded, dtype=np.uint8).copy()


def _place_parameters(kernel: Entry, memory: Memory, arguments: Sequence[BoundArgument]) -> dict[str, int]:
    """Pack the arguments the way a launch does, and give each parameter's address."""
    if len(arguments) != len(kernel.parameters):
        raise EmulatorError(
            f"kernel {kernel.source_name} takes {counted(len(kernel.parameters), 'argument')}: got {len(arguments)}"
        )
    packed, offsets = bytearray(), {}
    for number, (parameter, argument) in enumerate(zip(kernel.parameters, arguments, strict=True)):
        packed.extend(bytes(-len(packed) % parameter.align))
        offsets[parameter.name] = len(packed)
        if not isinstance(argument, BoundArgument):
            raise EmulatorError(
                f"argument {number} of kernel {kernel.source_name} is {argument!r}: give an Allocation, a NumPy scalar "
                "of the parameter's type (numpy.uint32(4)), or bytes"
            )
        value = _argument_bytes(argument)
        if len(value) != parameter.size:
            raise EmulatorError(
                f"argument {number} of kernel {kernel.source_name} has {counted(len(value), 'byte')}: "
                f"the parameter takes {parameter.size}"
            )
        packed.extend(value)
    base = memory.bind(np.frombuffer(bytes(packed), dtype=np.uint8).copy(), "parameters").address
    return {name: base + offset for name, offset in offsets.items()}


def _argument_bytes(argument: BoundArgument) -> bytes:
    if isinstance(argument, Allocation):
        return argument.address.to_bytes(8, "little")
    return argument if isinstance(argument, bytes) else argument.tobytes()
