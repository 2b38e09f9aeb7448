"""transpose() of the arrays of JAX, CuPy, Numba and whoever exports its own, on the device, bit for bit."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import cornerturn
from cornerturn.errors import UsageError
from cornerturn.gpu import Device

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the device is shared with the other tests

DTYPES = {1: "uint8", 2: "int16", 4: "int32", 8: "int64", 16: "complex128"}
CASES = [
    ((512, 768), (1, 0)),
    ((511, 513), (1, 0)),
    ((1, 1), (1, 0)),
    ((0, 7), (1, 0)),
    ((4099, 3), (1, 0)),
    ((3, 4096), (1, 0)),
    ((3, 64, 64, 3), (0, 3, 1, 2)),
    ((64, 48, 80), (2, 1, 0)),
    ((30, 1024, 24), (0, 2, 1)),
]


def random(shape: tuple[int, ...], element: int) -> np.ndarray:
    """Integers with random bits, or complex numbers of 16 bytes."""
    bits = np.random.default_rng(1).integers(0, 256, (*shape, element), np.uint8)
    if element == 16:
        return (bits.view(np.int64) & 0xFFFF).astype(np.float64).view(np.complex128)[..., 0]
    return bits.view(DTYPES[element])[..., 0]


def same(got: np.ndarray, want: np.ndarray) -> None:
    np.testing.assert_array_equal(got, want, strict=True)


class TestJax:
    @pytest.fixture
    def jax(self, device: Device):
        jax = pytest.importorskip("jax", reason="jax is not installed")
        try:
            gpu = jax.devices("cuda")[0]
        except RuntimeError as error:
            pytest.skip(f"jax has no GPU: {error}")
        with jax.default_device(gpu):
            yield jax

    @pytest.mark.parametrize("compiled", [False, True])
    @pytest.mark.parametrize("element", DTYPES)
    @pytest.mark.parametrize(("shape", "axes"), CASES)
    def test_every_bit_is_right(self, jax, shape, axes, element, compiled):
        x = random(shape, element)
        with jax.enable_x64(True):
            given = jax.numpy.asarray(x)
            transpose = jax.jit(cornerturn.transpose, static_argnums=1) if compiled else cornerturn.transpose
            y = transpose(given, axes)
        assert y.device == given.device
        assert y.device.platform == "gpu"
        same(np.asarray(y), x.transpose(axes))

    @pytest.mark.parametrize("dtype", ["bool", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float16", "complex64"])
    def test_dtypes(self, jax, dtype):
        x = jax.numpy.asarray(np.arange(300 * 200).reshape(300, 200) % 97, dtype)
        same(np.asarray(cornerturn.transpose(x)), np.asarray(x).T)

    def test_64_bits_are_kept_where_they_are_switched_off(self, jax):
        x = random((300, 200), 8)
        with jax.enable_x64(True):
            given = jax.numpy.asarray(x)
        y = cornerturn.transpose(given)
        assert (y.dtype, y.committed) == (given.dtype, given.committed)
        same(np.asarray(y), x.T)

    @pytest.mark.parametrize("compiled", [False, True])
    def test_it_is_in_order_with_xlas_other_work(self, jax, compiled):
        """Long work before and after; nothing waits in between."""

        def busy(x):
            return jax.lax.fori_loop(0, 200, lambda _, y: (y @ y) * 0 + x, x)

        def run(x):
            for _ in range(3):
                x = busy(cornerturn.transpose(busy(x)))
            return x

        x = jax.numpy.asarray(random((2048, 2048), 4).astype(np.float32))
        same(np.asarray((jax.jit(run) if compiled else run)(x)), np.asarray(x).T)

    def test_gradients_and_batches(self, jax):
        x = jax.numpy.asarray(np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5))

        def nested(transpose):
            return jax.jit(jax.vmap(jax.vmap(jax.grad(lambda x: (transpose(x) ** 2).sum()), in_axes=1), in_axes=2))

        same(np.asarray(nested(cornerturn.transpose)(x)), np.asarray(nested(jax.numpy.transpose)(x)))

    def test_threads_share_a_kernel(self, jax):
        xs = [jax.numpy.asarray(random((300, 500), 4) + number) for number in range(32)]
        with ThreadPoolExecutor(8) as pool:
            ys = list(pool.map(cornerturn.transpose, xs + xs))
        for x, y in zip(xs + xs, ys, strict=True):
            same(np.asarray(y), np.asarray(x).T)

    def test_each_device_does_its_own(self, jax):
        gpus = jax.devices("cuda")
        if len(gpus) < 2:
            pytest.skip("needs two GPUs")
        x = random((512, 768), 4)
        for gpu in reversed(gpus):
            y = cornerturn.transpose(jax.device_put(x, gpu))
            assert y.device == gpu
            same(np.asarray(y), x.T)

    def test_packed_elements_and_pinned_memory_are_refused(self, jax):
        with pytest.raises(UsageError, match="XLA packs elements of 4 bits"):
            cornerturn.transpose(jax.numpy.ones((4, 6), "int4"))
        x = jax.numpy.ones((4, 6))
        pinned = jax.device_put(x, jax.sharding.SingleDeviceSharding(x.device, memory_kind="pinned_host"))
        with pytest.raises(UsageError, match="in memory of kind pinned_host"):
            cornerturn.transpose(pinned)


class TestCuPy:
    @pytest.fixture
    def cupy(self, device: Device):
        return pytest.importorskip("cupy", reason="cupy is not installed")

    @pytest.mark.parametrize("element", DTYPES)
    @pytest.mark.parametrize(("shape", "axes"), CASES)
    def test_every_bit_is_right(self, cupy, shape, axes, element):
        x = random(shape, element)
        y = cornerturn.transpose(cupy.asarray(x), axes)
        assert isinstance(y, cupy.ndarray)
        assert y.flags.c_contiguous
        same(cupy.asnumpy(y), x.transpose(axes))

    def test_other_strides_and_out(self, cupy):
        x = random((300, 200, 6), 4)
        out = cupy.zeros((6, 200, 300, 2), x.dtype)
        given = cupy.asarray(x)[::2, ::-1, 1:]
        place = out[1:, :, :150, 0]
        assert cornerturn.transpose(given, out=place) is place
        got = cupy.asnumpy(out)
        same(got[1:, :, :150, 0], x[::2, ::-1, 1:].T)
        got[1:, :, :150, 0] = 0
        assert not got.any()

    def test_on_the_current_stream(self, cupy):
        """The input is written late on a stream of its own: only work on that stream may read it."""
        results = []
        for _ in range(2):
            with cupy.cuda.Stream(non_blocking=True):
                a = cupy.ones((8192, 8192), cupy.float32)
                for _ in range(200):
                    a = a * 0 + 1
                x = cupy.arange(2048 * 2048, dtype=cupy.int32).reshape(2048, 2048) * a[0, 0].astype(cupy.int32)
                results.append((x, cornerturn.transpose(x)))
        cupy.cuda.Device().synchronize()
        for x, y in results:
            same(cupy.asnumpy(y), cupy.asnumpy(x).T)

    def test_of_unknown_type_it_is_read_through_what_it_exports(self, cupy):
        class Interface:
            def __init__(self, array):
                self.__cuda_array_interface__ = array.__cuda_array_interface__

        class Exported:
            def __init__(self, array):
                self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

        x = random((300, 500), 2)
        for export in (Interface, Exported):
            out = cupy.zeros((500, 300), x.dtype)
            assert cornerturn.transpose(export(cupy.asarray(x)), out=out) is out
            same(cupy.asnumpy(out), x.T)
            with pytest.raises(UsageError, match="pass out="):
                cornerturn.transpose(export(cupy.asarray(x)))


class TestNumba:
    @pytest.fixture
    def cuda(self, device: Device):
        from numba import cuda

        if not cuda.is_available():
            pytest.skip("numba has no GPU")
        return cuda

    @pytest.mark.parametrize("element", DTYPES)
    @pytest.mark.parametrize(("shape", "axes"), [case for case in CASES if 0 not in case[0]])
    def test_every_bit_is_right(self, cuda, shape, axes, element):
        x = random(shape, element)
        y = cornerturn.transpose(cuda.to_device(x), axes)
        assert cuda.is_cuda_array(y)
        same(y.copy_to_host(), x.transpose(axes))

    def test_other_strides_and_out(self, cuda):
        x = random((300, 200), 4)
        out = cuda.to_device(np.zeros((400, 300), x.dtype))
        place = out[::2]
        assert cornerturn.transpose(cuda.to_device(x), out=place) is place
        got = out.copy_to_host()
        same(got[::2], x.T)
        assert not got[1::2].any()

    def test_on_the_arrays_stream(self, cuda):
        """The input is written late on its stream: only work on that stream may read it."""
        stream = cuda.stream()

        @cuda.jit
        def fill_late(x):
            start = cuda.grid(1)
            total = 0
            for step in range(2_000_000):
                total += step & start
            for i in range(start, x.size, cuda.gridsize(1)):
                x[i // x.shape[1], i % x.shape[1]] = i + (total == -1)  # which it never is

        x = cuda.device_array((1024, 1024), np.int32, stream=stream)
        try:
            fill_late[128, 128, stream](x)
        except AttributeError as error:
            pytest.skip(f"this Numba does not compile with this NumPy: {error}")
        y = cornerturn.transpose(x)
        assert y.stream == stream
        same(y.copy_to_host(stream=stream), np.arange(1024 * 1024, dtype=np.int32).reshape(1024, 1024).T)
