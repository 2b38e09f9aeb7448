"""Each library's work on a device whose memory is the host's: the right calls, on the stream that was given."""

import sys
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from cornerturn.errors import MissingExtraError
from cornerturn.measure import cutensor, peers_gpu
from cornerturn.measure.cases import GPU_DTYPES, Case
from cornerturn.measure.compare_gpu import compare_on_gpu
from cornerturn.measure.peers_gpu import GPU_PEERS, Dispatch, ours
from cornerturn.measure.stage import Pools, moved_by
from cornerturn.op.strided_view import as_array

from .fake_device import STREAM, FakeDevice, install, memory_at, pattern_elements

PART = Case((6, 10), (1, 0), "[:,1:]")
CASES = [
    Case((6, 10), (1, 0)),
    Case((3, 6, 10), (0, 2, 1)),
    Case((6, 10, 4), (1, 0, 2)),
    Case((5, 1, 7), (2, 0, 1)),
    PART,
    Case((6, 4, 10), (2, 0, 1), "[1:,:,::2]"),
]
SEVERAL = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def peer(name):
    return next(peer for peer in GPU_PEERS if peer.name == name)


class Streams:
    """What ``library.cuda`` is asked: which stream is current, and when."""

    def __init__(self):
        self.used = []
        self.current = None

    @contextmanager
    def on(self, stream):
        self.current = stream
        yield
        self.used.append(stream)
        self.current = None


class OnHost(ModuleType):
    """A library with its own functions, but for those that speak of devices."""

    def __init__(self, library, streams, **replaced):
        super().__init__(library.__name__)
        self._library, self.streams = library, streams
        self.__dict__.update(replaced)

    def __getattr__(self, name):
        return getattr(self._library, name)


@pytest.fixture
def torch(monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    streams = Streams()

    def as_tensor(memory, device):
        assert device == ("cuda", 0)
        (address, read_only), (nbytes,) = (memory.__cuda_array_interface__[key] for key in ("data", "shape"))
        assert not read_only
        return torch.from_numpy(memory_at(address, nbytes))

    cuda = SimpleNamespace(
        ExternalStream=lambda handle, device: (handle, device),
        stream=lambda stream: streams.on(stream[0]),
        empty_cache=lambda: None,
    )
    host = OnHost(
        torch,
        streams,
        cuda=cuda,
        device=lambda *device: device,
        as_tensor=as_tensor,
        empty=lambda size, dtype, device: torch.empty(size, dtype=dtype),
        compile=lambda turn, **options: torch.compile(turn, backend=host.backend, **options),
        backend="eager",
    )
    monkeypatch.setattr(peers_gpu, "_torch", lambda: host)
    return host


@pytest.fixture
def cupy(monkeypatch):
    """NumPy in the part of CuPy."""
    streams = Streams()

    def asarray(memory):
        interface = memory.__cuda_array_interface__
        assert (interface["version"], interface["typestr"], interface["strides"]) == (3, "|u1", None)
        return memory_at(interface["data"][0], *interface["shape"])

    cuda = SimpleNamespace(is_available=lambda: True, ExternalStream=streams.on)
    host = OnHost(np, streams, cuda=cuda, asarray=asarray, __version__="14.2.0")
    monkeypatch.setitem(sys.modules, "cupy", host)
    return host


def check(prepare, case, dtype):
    """Prepare, run every place on its stream, and compare bits."""
    stage = Pools(FakeDevice()).stage(case, dtype)
    work = prepare(stage)
    if isinstance(work, str):
        return work
    assert len(stage.places) > 1
    for place, memory in enumerate(stage.places):
        if isinstance(work, Dispatch):
            result, right = work.call(place), stage.expected  # its inputs are copies of the first
            work.wait(result)
            address = work.address(result)
        else:
            assert work(place, STREAM) is None
            address, right = memory.y.address, moved_by(stage.expected, place * stage.pitch)
        assert memory_at(address, stage.nbytes).tobytes() == pattern_elements(right).tobytes()
    return None


@pytest.fixture(autouse=True)
def _fake(monkeypatch):
    install(monkeypatch)
    monkeypatch.setattr("cornerturn.measure.stage.ROTATION_BYTES", 10_000)


@SEVERAL
@pytest.mark.parametrize("dtype", [*GPU_DTYPES, "float16", "float8_e4m3fn", "complex64"])
class TestBits:
    def test_pytorch(self, torch, case, dtype):
        assert check(peer("PyTorch").open(FakeDevice()).prepare, case, dtype) is None
        assert set(torch.streams.used) == {STREAM}

    @pytest.mark.parametrize("name", ["torch.compile", "torch.compile dynamic"])
    def test_compiled(self, torch, case, dtype, name):
        refusal = check(peer(name).open(FakeDevice()).prepare, case, dtype)
        assert bool(refusal) == dtype.startswith("complex")
        assert refusal or set(torch.streams.used) == {STREAM}

    def test_jax(self, monkeypatch, case, dtype):
        jax = pytest.importorskip("jax", reason="JAX is not installed")
        cpu = jax.devices("cpu")
        monkeypatch.setattr(jax, "devices", lambda kind: {"cuda": cpu}[kind])
        assert check(peer("JAX").open(FakeDevice()).prepare, case, dtype) is None

    def test_cupy(self, cupy, case, dtype):
        assert check(peer("CuPy").open(FakeDevice()).prepare, case, dtype) is None
        assert set(cupy.streams.used) == {STREAM}

    def test_ours_on_tensors(self, torch, case, dtype):
        assert check(ours, case, dtype) is None
        assert set(torch.streams.used) == {STREAM}

    def test_ours_on_arrays_of_cupy(self, cupy, monkeypatch, case, dtype):
        monkeypatch.setitem(sys.modules, "torch", None)
        assert check(ours, case, dtype) is None
        assert set(cupy.streams.used) == {STREAM}

    def test_ours_without_either(self, monkeypatch, case, dtype):
        for library in ("torch", "cupy"):
            monkeypatch.setitem(sys.modules, library, None)
        asked = []

        def run(source, destination, stream, ordinal):
            asked.append((stream, ordinal))
            np.copyto(as_array(destination), as_array(source))

        monkeypatch.setattr(peers_gpu.engine, "run", run)
        assert check(ours, case, dtype) is None
        assert set(asked) == {(STREAM, 0)}


class TestCompiled:
    @pytest.mark.parametrize(("name", "dynamic"), [("torch.compile", False), ("torch.compile dynamic", True)])
    def test_every_case_is_compiled_once_and_on_its_own(self, torch, name, dynamic):
        """The compiler gives up on code that it has compiled several times."""
        has_symbols = []

        def backend(module, inputs):
            values = (node.meta["example_value"] for node in module.graph.nodes if node.op == "placeholder")
            has_symbols.append(any(isinstance(value, torch.SymInt) for value in values))
            return module.forward

        torch.backend = backend
        prepare = peer(name).open(FakeDevice()).prepare
        for rows in range(2, 22):
            assert check(prepare, Case((rows, 5), (1, 0)), "float32") is None
        assert has_symbols == [dynamic] * 20

    def test_it_is_not_asked_to_compile_complex_numbers(self, torch):
        assert "complex" in check(peer("torch.compile").open(FakeDevice()).prepare, CASES[0], "complex128")


class TestCuTensor:
    @pytest.fixture
    def library(self, monkeypatch):
        asked = []

        def permutation(*what):
            asked.append(what)
            return lambda x, y, stream: asked.append((x, y, stream))

        library = SimpleNamespace(version="2.8.1", takes=lambda dtype: dtype != "uint8", permutation=permutation)
        monkeypatch.setattr(cutensor, "load", lambda: library)
        return asked

    def test_permutes_from_x_to_y(self, library):
        prepare = peer("cuTENSOR").open(FakeDevice()).prepare
        stage = Pools(FakeDevice()).stage(PART, "bfloat16")
        prepare(stage)(1, STREAM)
        assert library == [
            ("bfloat16", PART.view(2), PART.axes),
            (stage.places[1].array.address + 2, stage.places[1].y.address, STREAM),
        ]

    def test_refuses_what_it_does_not_take(self, library):
        assert check(peer("cuTENSOR").open(FakeDevice()).prepare, CASES[0], "uint8") == "does not take uint8"


class TestPeers:
    def test_their_order_is_that_of_the_tables(self):
        names = ["PyTorch", "torch.compile", "torch.compile dynamic", "JAX", "CuPy", "cuTENSOR"]
        assert [peer.name for peer in GPU_PEERS] == names

    @pytest.mark.parametrize("library", ["torch", "jax", "cupy"])
    def test_a_missing_library_says_how_to_get_it(self, monkeypatch, library):
        monkeypatch.setitem(sys.modules, library, None)
        found = [peer for peer in GPU_PEERS if peer.package.startswith(library)]
        assert found
        for peer in found:
            with pytest.raises(MissingExtraError, match=rf"{peer.name} is not installed: pip install '?{library}"):
                peer.open(FakeDevice())

    @pytest.mark.parametrize(("name", "library"), [("PyTorch", "torch"), ("CuPy", "cupy")])
    def test_a_library_without_its_gpu_too(self, monkeypatch, name, library):
        monkeypatch.setitem(sys.modules, library, SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False)))
        with pytest.raises(MissingExtraError, match=rf"{name} cannot be used here \(.* false\): pip install {library}"):
            peer(name).open(FakeDevice())

    def test_jax_leaves_memory_to_others_unless_it_is_told_otherwise(self, monkeypatch):
        jax = pytest.importorskip("jax", reason="JAX is not installed")
        monkeypatch.setattr(jax, "devices", lambda kind: [None])
        for given, expected in ((None, "false"), ("true", "true")):
            monkeypatch.delenv("XLA_PYTHON_CLIENT_PREALLOCATE", raising=False)
            if given:
                monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", given)
            peer("JAX").open(FakeDevice())
            assert peers_gpu.os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] == expected
        monkeypatch.delenv("XLA_PYTHON_CLIENT_PREALLOCATE")


def test_all_together(torch, cupy):
    peers = {peer.name: peer.open(FakeDevice()).prepare for peer in GPU_PEERS if peer.package.startswith(("t", "cupy"))}
    rows = compare_on_gpu(Pools(FakeDevice()), CASES[2], "bfloat16", peers)
    assert {row.engine: row.status for row in rows} == dict.fromkeys(["copy", "cornerturn", *peers], "valid")
