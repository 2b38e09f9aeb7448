"""A ``.npy`` file transposed into another, in bounded memory, however large the files are.

A box of elements at a time is read into one buffer, moved by the CPU engine into a second, and written from there. The
box grows evenly along the axes that are innermost in the input and in the output, so that both files are accessed in
runs as long as the memory allows. The files are read and written, not mapped: mapped pages would count as memory.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from cornerturn.errors import UsageError
from cornerturn.files import NpyHeader, read_npy_header, refuse, replacing, write_utf8_header
from cornerturn.op.engines import move
from cornerturn.op.problem import Problem, canonical
from cornerturn.op.strided_view import AnyArray, StridedView, check_ndim, empty_c_order, normalized_axes
from cornerturn.wording import counted

DEFAULT_MEMORY = 1 << 30
MIN_MEMORY = 1 << 20
OWN_MEMORY = 200 << 20
"""What Python and the compiled engine take, whatever is asked for."""
HONOURED_MEMORY = 256 << 20
"""From here on a process stays within the memory that it is given."""

_BUFFER_SHARE = 3 / 8  # of the memory, for each of two buffers
_CALL_BYTES = 1 << 24  # read or written by one call, so that progress is seen and an interrupt is heard


def transpose_file(
    source: Path,
    target: Path,
    axes: Sequence[int] | None = None,
    *,
    force: bool = False,
    memory: int = DEFAULT_MEMORY,
    step: Callable[[float], None] = lambda share: None,
) -> NpyHeader:
    """Write the array of one ``.npy`` file into another with its axes permuted, in C order.

    The output is written beside ``target`` and takes its place when it is whole.

    Args:
        source: any rank up to 32, any dtype without object references, any byte order, C or Fortran order.
        target: path to write to.
        axes: axis ``axes[i]`` of the input becomes axis i of the output; None reverses them.
        force: whether a file at ``target`` may be replaced.
        memory: bytes that the process may hold; with less than HONOURED_MEMORY it holds about OWN_MEMORY. More memory
            means longer runs, which are faster.
        step: told about progress: the share of the work that is done, 0 to 1.

    Returns:
        The header of the output.

    Raises:
        UsageError: an argument breaks one of these rules, the disk has no room for the output, the input is changed
            meanwhile, or without ``force`` a file appears at ``target`` meanwhile.
    """
    if memory < MIN_MEMORY:
        raise UsageError(f"memory must be at least {MIN_MEMORY} bytes: got {memory}")
    header = read_npy_header(source)
    check_ndim(len(header.shape))
    order = normalized_axes(axes, len(header.shape))
    if target.exists() and not force:
        raise refuse(target, "the file exists: give another path, or --force to replace it")
    result = NpyHeader(tuple(header.shape[axis] for axis in order), False, header.dtype, 0)
    _check_room(target, result.nbytes)
    with source.open("rb") as infile, replacing(target, new=not force) as outfile:
        before = _version(infile)
        result = _write_header(outfile, result)
        if result.nbytes:
            strides_in = tuple(header.strides[axis] for axis in order)
            problem = canonical(header.dtype.itemsize, result.shape, strides_in, result.strides)
            _move(problem, _File(infile, header.offset), _File(outfile, result.offset), memory, step)
        if _version(infile) != before:
            raise refuse(source, "the input was changed while it was read: leave it alone and try again")
    return result


def _version(file: IO[bytes]) -> tuple[int, int]:
    """Return what changes when an open file is written to."""
    found = os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns


class _File:
    """The elements of an open file, addressed by bytes from the first one."""

    def __init__(self, file: IO[bytes], offset: int) -> None:
        self._descriptor, self._offset = file.fileno(), offset

    def read(self, start: int, memory: memoryview) -> int:
        """Fill the beginning of ``memory`` with what starts at byte ``start``; return the number of bytes read."""
        done = os.preadv(self._descriptor, [memory[:_CALL_BYTES]], self._offset + start)
        if done == 0:
            raise UsageError("the input became shorter while it was read: leave it alone and try again")
        return done

    def write(self, start: int, memory: memoryview) -> int:
        """Write the beginning of ``memory`` at byte ``start``; return the number of bytes written."""
        return os.pwrite(self._descriptor, memory[:_CALL_BYTES], self._offset + start)


def _move(problem: Problem, infile: _File, outfile: _File, memory: int, step: Callable[[float], None]) -> None:
    """Move every element, box by box."""
    left = max(memory, HONOURED_MEMORY) - OWN_MEMORY
    box = box_shape(problem, min(int(memory * _BUFFER_SHARE), left // 2))
    buffers = [empty_c_order((prod(box) * problem.itemsize,), np.dtype(np.uint8)) for _ in range(2)]
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        step(done / (2 * problem.nbytes))

    for origin in product(*map(range, (0,) * len(box), problem.shape, box)):
        shape = tuple(min(size, extent - at) for size, extent, at in zip(box, problem.shape, origin, strict=True))
        boxes = [
            _packed(buffer, problem.itemsize, shape, strides)
            for buffer, strides in zip(buffers, (problem.strides_in, problem.strides_out), strict=True)
        ]
        for start, place, count in _runs(boxes[0], origin, problem.strides_in):
            _transfer(infile.read, start, buffers[0][place : place + count], advance)
        move(boxes[0], boxes[1])
        for start, place, count in _runs(boxes[1], origin, problem.strides_out):
            _transfer(outfile.write, start, buffers[1][place : place + count], advance)


def _transfer(
    call: Callable[[int, memoryview], int], start: int, run: AnyArray, advance: Callable[[int], None]
) -> None:
    """Read or write one run; a call may transfer less than was asked for."""
    rest = run.data
    while rest:
        count = call(start, rest)
        start, rest = start + count, rest[count:]
        advance(count)


def box_shape(problem: Problem, nbytes: int) -> tuple[int, ...]:
    """Return the extents of the box to move at once: at most ``nbytes``, its runs in both files about equally long.

    The run in a file is the part of the box that is contiguous there: it ends at the first axis, from the innermost
    outwards, that the box does not span. Doubling the box along that axis doubles the run, so the shorter run is always
    the one that grows.

    Example:
        >>> box_shape(canonical(4, (4096, 4096), (4, 4 * 4096), (4 * 4096, 4)), 1 << 20)
        (512, 512)
    """
    box = [1] * len(problem.shape)
    by_stride = [
        sorted(range(len(box)), key=strides.__getitem__) for strides in (problem.strides_in, problem.strides_out)
    ]
    while True:
        grown = []
        for axes in by_stride:
            spanned = 1
            for axis in axes:
                spanned *= box[axis]
                if box[axis] < problem.shape[axis]:
                    grown.append((spanned, axis))
                    break
        if not grown:
            return tuple(box)
        _, axis = min(grown)
        larger = [*box[:axis], min(2 * box[axis], problem.shape[axis]), *box[axis + 1 :]]
        if prod(larger) * problem.itemsize > nbytes:
            return tuple(box)
        box = larger


def _packed(buffer: AnyArray, itemsize: int, shape: tuple[int, ...], like: Sequence[int]) -> StridedView:
    """Return the view of a box packed in a buffer, its axes in memory as the strides ``like`` order them."""
    strides, step = [0] * len(shape), itemsize
    for axis in sorted(range(len(shape)), key=like.__getitem__):
        strides[axis] = step
        step *= shape[axis]
    return StridedView(buffer.ctypes.data, itemsize, shape, tuple(strides), buffer)


def _runs(box: StridedView, origin: Sequence[int], strides: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
    """Yield each run of a box that is contiguous in a file: byte in the file, byte in the buffer, length in bytes."""
    start = sum(at * stride for at, stride in zip(origin, strides, strict=True))
    moves = canonical(box.itemsize, box.shape, strides, box.strides)
    outer, count = moves.axes, moves.itemsize
    if outer and outer[-1].stride_in == outer[-1].stride_out == count:
        outer, count = outer[:-1], count * outer[-1].extent
    for index in product(*(range(axis.extent) for axis in outer)):
        yield (
            start + sum(i * axis.stride_in for i, axis in zip(index, outer, strict=True)),
            sum(i * axis.stride_out for i, axis in zip(index, outer, strict=True)),
            count,
        )


def _write_header(file: IO[bytes], header: NpyHeader) -> NpyHeader:
    """Write the header of the output and return it with its offset, the file grown to its full size."""
    facts = {"descr": npy.dtype_to_descr(header.dtype), "fortran_order": False, "shape": header.shape}
    try:
        npy.write_array_header_1_0(file, facts)  # enough for all that NumPy reads: headers up to 10,000 characters
    except UnicodeEncodeError:  # a field's name outside Latin-1
        write_utf8_header(file, facts)
    file.flush()
    offset = file.tell()
    os.truncate(file.fileno(), offset + header.nbytes)
    return NpyHeader(header.shape, False, header.dtype, offset)


def _check_room(target: Path, nbytes: int) -> None:
    folder = Path(os.path.realpath(target)).parent  # unlike Path.resolve, a circle of links is not an error
    free = shutil.disk_usage(folder).free if folder.is_dir() else nbytes  # a missing folder is refused on writing
    if free < nbytes:
        raise refuse(target, f"the output takes {_size(nbytes)} and its disk has {_size(free)} free")


def _size(nbytes: int) -> str:
    """``1_500_000`` -> ``1.5 MB``."""
    size, unit = float(nbytes), "bytes"
    for larger in ("KB", "MB", "GB", "TB"):
        if size >= 1000:
            size, unit = size / 1000, larger
    return counted(nbytes, "byte") if unit == "bytes" else f"{size:.1f} {unit}"
