"""transpose() of PyTorch tensors on the device, against permute().contiguous(), bit for bit."""

import importlib.util
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cornerturn
from cornerturn.gpu import Device
from cornerturn.kernels.kernel import ELEMENT_SIZES

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None or not torch.cuda.is_available(), reason="needs a GPU"
)

INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

CASES = [
    ((512, 768), (1, 0)),
    ((511, 513), (1, 0)),
    ((1027, 96), (1, 0)),
    ((96, 1027), (1, 0)),
    ((4099, 3), (1, 0)),
    ((3, 4099), (1, 0)),
    ((4096, 5), (1, 0)),
    ((5, 4096), (1, 0)),
    ((3, 3, 64, 64), (0, 2, 3, 1)),
    ((3, 64, 64, 3), (0, 3, 1, 2)),
    ((4, 100, 16, 128), (0, 2, 1, 3)),
    ((64, 48, 80), (2, 1, 0)),
    ((100, 100, 64), (1, 0, 2)),
    ((9999, 2, 2), (0, 2, 1)),
    ((30, 1024, 24), (0, 2, 1)),
    ((3,) * 10, tuple(range(9, -1, -1))),
    ((63, 40, 7), (1, 0, 2)),
    ((1, 1), (1, 0)),
    ((0, 7), (1, 0)),
]


def random_bytes(element: int, *shape: int) -> "torch.Tensor":
    """A tensor of random bits, of integers, or of complex numbers for 16 bytes."""
    count = 1
    for extent in shape:
        count *= extent
    bits = torch.randint(0, 256, (count * element,), dtype=torch.uint8, device="cuda")
    if element < 16:
        return bits.view(INTEGERS[element]).reshape(shape)
    return torch.view_as_complex((bits.view(torch.int64) & 0xFFFF).double().reshape(*shape, 2))


def bits(x: "torch.Tensor") -> "torch.Tensor":
    flat = x.clone(memory_format=torch.contiguous_format).reshape(-1)
    return torch.view_as_real(flat).reshape(-1).view(torch.uint8) if x.is_complex() else flat.view(torch.uint8)


def same(got: "torch.Tensor", want: "torch.Tensor") -> bool:
    return got.shape == want.shape and got.is_contiguous() and bool(torch.equal(bits(got), bits(want)))


@pytest.mark.parametrize("element", ELEMENT_SIZES)
@pytest.mark.parametrize(("shape", "axes"), CASES)
def test_every_bit_is_right(shape: tuple[int, ...], axes: tuple[int, ...], element: int) -> None:
    x = random_bytes(element, *shape)
    assert same(cornerturn.transpose(x, axes), x.permute(axes))


@given(st.data())
@settings(max_examples=150)
def test_any_permutation_of_any_view(data: st.DataObject) -> None:
    element = data.draw(st.sampled_from(ELEMENT_SIZES))
    shape = data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=4))
    x = random_bytes(element, *shape)
    for axis, extent in enumerate(shape):
        start, step = data.draw(st.integers(0, extent - 1)), data.draw(st.integers(1, 3))
        x = x[(slice(None),) * axis + (slice(start, None, step),)]
    axes = tuple(data.draw(st.permutations(range(len(shape)))))
    assert same(cornerturn.transpose(x, axes), x.permute(axes))


@pytest.mark.parametrize("skew", [1, 3, 8, 15, 16, 31])
def test_bases_anywhere(skew: int) -> None:
    x = random_bytes(1, 300 * 200 + skew)[skew:].reshape(300, 200)
    assert same(cornerturn.transpose(x), x.t())
    y = torch.full((300 * 200 + skew + 64,), 0xA5, dtype=torch.uint8, device="cuda")
    cornerturn.transpose(x, out=y[skew : skew + 300 * 200].reshape(200, 300))
    assert torch.equal(y[skew : skew + 300 * 200].reshape(200, 300), x.t())
    assert bool((y[:skew] == 0xA5).all()) and bool((y[skew + 300 * 200 :] == 0xA5).all())


def test_a_destination_with_strides() -> None:
    x = random_bytes(4, 1000, 3)
    y = torch.zeros((3, 2000), dtype=torch.int32, device="cuda")
    cornerturn.transpose(x, out=y[:, ::2])
    assert torch.equal(y[:, ::2], x.t())
    assert not bool(y[:, 1::2].any())


def test_in_a_graph() -> None:
    x, y = random_bytes(2, 777, 333), torch.empty((333, 777), dtype=torch.int16, device="cuda")
    cornerturn.transpose(x, out=y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        cornerturn.transpose(x, out=y)
    x.copy_(random_bytes(2, 777, 333))
    graph.replay()
    assert torch.equal(y, x.t())


def test_on_the_callers_stream() -> None:
    """The input is written late on a stream of its own: only work on that stream may read it."""
    streams = [torch.cuda.Stream() for _ in range(2)]
    results = []
    for stream in streams:
        with torch.cuda.stream(stream):
            x = torch.zeros((2048, 2048), dtype=torch.int32, device="cuda")
            torch.cuda._sleep(50_000_000)
            x.copy_(torch.arange(2048 * 2048, dtype=torch.int32, device="cuda").reshape(2048, 2048))
            results.append((x, cornerturn.transpose(x)))
    torch.cuda.synchronize()
    assert all(torch.equal(y, x.t()) for x, y in results)


@pytest.mark.parametrize(
    ("shape", "axes", "element"),
    [
        ((32768, 8192), (1, 0), 1),
        ((16384, 8192), (1, 0), 2),
        ((262144, 64), (1, 0), 4),
        ((1048577, 4), (1, 0), 4),
        ((2, 1073741824), (1, 0), 2),
        ((99999, 2, 2), (0, 2, 1), 4),
        ((3072, 1024, 24), (0, 2, 1), 2),
        ((8, 2048, 32, 128), (0, 2, 1, 3), 2),
        ((3,) * 15, tuple(range(14, -1, -1)), 4),
        ((1, 1000003), (1, 0), 1),
        ((65537, 65539), (1, 0), 1),
    ],
)
def test_large(device: Device, shape: tuple[int, ...], axes: tuple[int, ...], element: int) -> None:
    x = random_bytes(element, *shape)
    y = cornerturn.transpose(x, axes)
    assert y.shape == tuple(shape[axis] for axis in axes)
    for slab in range(0, y.shape[0], max(1, y.shape[0] // 8)):  # the reference, a part at a time
        part = slice(slab, slab + max(1, y.shape[0] // 8))
        assert torch.equal(y[part], x.permute(axes)[part])
    del x, y
    torch.cuda.empty_cache()


def test_threads_share_a_kernel() -> None:
    from concurrent.futures import ThreadPoolExecutor

    xs = [random_bytes(4, 300, 500) for _ in range(32)]
    with ThreadPoolExecutor(8) as pool:
        ys = list(pool.map(cornerturn.transpose, itertools.chain(xs, xs)))
    torch.cuda.synchronize()
    assert all(torch.equal(y, x.t()) for x, y in zip(itertools.chain(xs, xs), ys, strict=True))
