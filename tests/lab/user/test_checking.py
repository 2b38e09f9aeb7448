"""Kernels that are wrong in the ways in which transposes go wrong: each is found, at its line and by its name."""

from pathlib import Path

import pytest

from cornerturn.errors import UsageError
from cornerturn.kernels.catalogue import CATALOGUE, find
from cornerturn.kernels.kernel import Kernel
from cornerturn.lab import check, read_kernel
from cornerturn.lab.user.checking import SHAPES
from cornerturn.toolchain import unavailable_reason

HEADER = "// cornerturn: block={block} grid={grid} args=x,y,rows,cols\n"
TILED = {"block": "32,8", "grid": "ceil(cols/32),ceil(rows/32)"}
FLAT = {"block": "128", "grid": "ceil(rows*cols/128)"}

TILE = """__global__ void turn(const float* x, float* y, int rows, int cols) {
    __shared__ float tile[32][33];
    const int c = 32 * blockIdx.x + threadIdx.x, r = 32 * blockIdx.y + threadIdx.y;
    const int r2 = 32 * blockIdx.y + threadIdx.x, c2 = 32 * blockIdx.x + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        if (r + k < rows && c < cols) tile[threadIdx.y + k][threadIdx.x] = x[(r + k) * cols + c];
    __syncthreads();
    for (int k = 0; k < 32; k += 8)
        if (r2 < rows && c2 + k < cols) y[(c2 + k) * rows + r2] = tile[threadIdx.x][threadIdx.y + k];
}
"""
FILL, TURN = 7, 10  # lines of the file, the header being the first: where the tile is filled, where y is written

LINE = """__global__ void turn(const float* x, float* y, int rows, int cols) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * cols) return;
    const int r = i / cols, c = i % cols;
    y[c * rows + r] = x[i];
}
"""
STORE = 6

VECTOR = """__global__ void turn(const float* x, float* y, int rows, int cols) {
    __shared__ alignas(16) float tile[32][36];
    const int c = 32 * blockIdx.x + 4 * threadIdx.x, r = 32 * blockIdx.y + threadIdx.y;
    if (r < rows && c < cols)
        *(float4*)&tile[threadIdx.y][4 * threadIdx.x] = *(const float4*)&x[r * cols + c];
    __syncthreads();
    const int r2 = 32 * blockIdx.y + threadIdx.y, c2 = 32 * blockIdx.x + 4 * threadIdx.x;
    for (int k = 0; k < 4; ++k)
        if (r2 < rows && c2 + k < cols) y[(c2 + k) * rows + r2] = tile[threadIdx.y][4 * threadIdx.x + k];
}
"""
VECTOR_FILL = 6


def written(folder: Path, text: str, launch: dict[str, str]) -> Path:
    path = folder / "k.cu"
    path.write_text(HEADER.format(**launch) + text)
    return path


def changed(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


BARRIER = "    __syncthreads();\n"
BROKEN = [
    pytest.param(changed(TILE, (BARRIER, "\n")), TILED, "race", TURN, "writes at k.cu:7", id="missing barrier"),
    pytest.param(
        changed(TILE, (BARRIER, "    if (c < cols - 1) __syncthreads();\n")),
        TILED,
        "barrier not reached by all",
        8,
        "threads wait here and others of their block go on without it",
        id="barrier in a branch",
    ),
    pytest.param(
        changed(TILE, (BARRIER, "    if (r < rows - 2) __syncthreads(); else return;\n")),
        TILED,
        "elements never written",
        TURN,
        "",
        id="barrier that some threads leave out",
    ),
    pytest.param(
        changed(TILE, (BARRIER, '    if (r < rows - 2) __syncthreads(); else asm volatile("bar.sync 1;");\n')),
        TILED,
        "barrier not reached by all",
        8,
        "every thread must reach the same barrier",
        id="two barriers that wait for each other",
    ),
    pytest.param(
        changed(TILE, ("r + k < rows && c < cols", "r + k < rows - 1 && c < cols")),
        TILED,
        "uninitialised read",
        TURN,
        "no thread wrote",
        id="tile filled one row short",
    ),
    pytest.param(
        changed(TILE, ("r2 < rows && c2 + k", "r2 < rows - 1 && c2 + k")),
        TILED,
        "edge missing",
        TURN,
        "missing from y: the last row of x",
        id="off by one at the edge",
    ),
    pytest.param(
        changed(TILE, ("r2 < rows && c2 + k", "r2 < rows / 32 * 32 && c2 + k")),
        TILED,
        "edge missing",
        TURN,
        "missing from y: the last row of x",
        id="unwritten tail",
    ),
    pytest.param(
        changed(LINE, ("i / cols, c = i % cols", "i / rows, c = i % rows"), ("c * rows + r", "c * cols + r")),
        FLAT,
        "rows and cols exchanged",
        STORE,
        "square matrices come out right",
        id="rows and cols swapped",
    ),
    pytest.param(
        changed(LINE, ("y[c * rows + r]", "y[c * cols + r]")),
        FLAT,
        "out of bounds",
        STORE,
        "square matrices come out right",
        id="right only for square",
    ),
    pytest.param(changed(LINE, ("y[c * rows + r]", "y[i]")), FLAT, "not transposed", STORE, "", id="not transposed"),
    pytest.param(
        changed(TILE, ("tile[threadIdx.x][threadIdx.y + k]", "tile[threadIdx.y + k][threadIdx.x]")),
        TILED,
        "uninitialised read|tiles not turned",
        TURN,
        "",
        id="tile read back the way it was filled",
    ),
    pytest.param(
        changed(VECTOR, ("tile[32][36]", "tile[32][33]")),
        {"block": "8,32", "grid": TILED["grid"]},
        "misaligned",
        VECTOR_FILL,
        "must be a multiple of 16",
        id="float4 into a padded tile",
    ),
    pytest.param(
        changed(
            TILE,
            ("tile[32][33]", "tile[32 * 32]"),
            ("tile[threadIdx.y + k][threadIdx.x]", "tile[33 * (threadIdx.y + k) + threadIdx.x]"),
            ("tile[threadIdx.x][threadIdx.y + k]", "tile[33 * threadIdx.x + threadIdx.y + k]"),
        ),
        TILED,
        "out of bounds",
        FILL,
        "of which there are 4096",
        id="pitch that the tile does not have",
    ),
    pytest.param(
        changed(TILE, ("tile[threadIdx.y + k][threadIdx.x] =", "tile[threadIdx.y][threadIdx.x] =")),
        TILED,
        "write-write race|race|uninitialised read",
        TURN,
        "",
        id="every row of the tile into the first",
    ),
    pytest.param(
        changed(LINE, ("y[c * rows + r] = x[i];", "y[c * rows + r / 2 * 2] = x[i];")),
        FLAT,
        "write-write race",
        STORE,
        "writes in the same instruction with another value",
        id="write-write race",
    ),
    pytest.param(
        changed(LINE, ("y[c * rows + r] = x[i];", "y[c * rows + r] += x[i];")),
        FLAT,
        "uninitialised read",
        STORE,
        "no thread wrote",
        id="y read before it is written",
    ),
    pytest.param(
        changed(TILE, ("if (r + k < rows && c < cols) tile", "tile")),
        TILED,
        "out of bounds",
        FILL,
        "where x has",
        id="out of bounds on ragged shapes",
    ),
    pytest.param(
        changed(LINE, ("    y[c * rows + r]", "    const short at = c * rows + r;\n    y[at]")),
        FLAT,
        "out of bounds",
        STORE + 1,
        "before y",
        id="an index of too few bits",
    ),
    pytest.param(
        changed(LINE, ("const float* x", "float* x"), ("y[c * rows + r] = x[i];", "x[c * rows + r] = x[i];")),
        FLAT,
        "write to an input",
        STORE,
        "store at x + 0 bytes",
        id="the input overwritten",
    ),
]


@pytest.mark.parametrize(("text", "launch", "kind", "line", "message"), BROKEN)
def test_a_broken_kernel_is_found(tmp_path, text, launch, kind, line, message):
    found = check(read_kernel(written(tmp_path, text, launch), {}))
    assert not found.passed
    faults = [fault for fault in found.faults if fault.kind in kind.split("|")]
    assert faults, found.faults
    assert any(message in fault.message for fault in faults)
    assert line is None or f"k.cu:{line}" in [fault.location for fault in faults]


@pytest.mark.parametrize(
    ("text", "launch"),
    [(TILE, TILED), (LINE, FLAT)],
    ids=["tiled", "flat"],
)
def test_a_right_kernel_passes(tmp_path, text, launch):
    found = check(read_kernel(written(tmp_path, text, launch), {}))
    assert found.faults == ()
    assert found.passed
    assert [trial.result for trial in found.trials] == ["right"] * len(SHAPES)
    assert found.counted == (288, 520)


def test_the_cause_comes_before_what_follows_from_it(tmp_path):
    text = changed(LINE, ("y[c * rows + r]", "y[c * cols + r]"))
    kinds = [fault.kind for fault in check(read_kernel(written(tmp_path, text, FLAT), {})).faults]
    assert kinds[0] == "wrong pitch of y"
    assert "out of bounds" in kinds


@pytest.mark.parametrize(
    ("launch", "message"),
    [
        ({"block": "2000"}, r"block \(2000, 1, 1\) of kernel turn: along x it must be between 1 and 1024"),
        ({"block": "64,32"}, r"block \(64, 32, 1\) of kernel turn has 2048 threads"),
        ({"shared": "300000"}, "kernel turn wants 300000 bytes of shared memory"),
        ({"grid": "1,65536", "block": "1"}, r"grid \(1, 65536, 1\) of kernel turn: along y"),
        ({"grid": "2147483647"}, "2147483647 blocks of 128 threads for an x of 4x4: at most 4195328 threads"),
    ],
)
def test_a_launch_that_no_device_takes_is_bad_usage(tmp_path, launch, message):
    kernel = read_kernel(written(tmp_path, LINE, FLAT), {"grid": "1"} | launch)
    with pytest.raises(UsageError, match=message):
        check(kernel, [(4, 4)])


@pytest.mark.parametrize("name", [entry.name for entry in CATALOGUE if isinstance(entry, Kernel)])
def test_the_catalogue_is_clean(name):
    kernel = find(name)
    if reason := unavailable_reason(kernel.source):
        pytest.skip(reason)
    found = check(
        kernel, [*SHAPES, (96, 176), (48, 100), (3, 4096), (4096, 16)] if kernel.family == "production" else SHAPES
    )
    assert found.faults == ()
    assert found.passed
