import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import cornerturn
from cornerturn.errors import DeviceError, UsageError
from cornerturn.op.adapters import adapter

from .fake_gpu import asked_ordinals, choice_for

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


@pytest.fixture
def jax():
    """JAX with its arrays in main memory, also where there is a GPU."""
    module = pytest.importorskip("jax", reason="jax is not installed")
    with module.default_device(module.devices("cpu")[0]):
        yield module


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int4", "float8_e4m3fn", "bfloat16", "float32", "complex64", "float64", "complex128"]
)
@pytest.mark.parametrize("axes", [None, (2, 0, 1)])
def test_every_dtype_comes_back_as_it_went(jax, dtype, axes):
    with jax.enable_x64(True):
        x = jax.numpy.asarray(X % 7, dtype)
    y = cornerturn.transpose(x, axes)
    assert isinstance(y, jax.Array)
    assert (y.dtype, y.device) == (x.dtype, x.device)
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x).transpose(axes), strict=True)


def test_nothing_is_copied_on_the_way(jax, monkeypatch):
    moves = []
    monkeypatch.setattr(adapter, "move", lambda *views: moves.append(views))
    x = jax.numpy.ones((300, 400), "bfloat16")
    y = cornerturn.transpose(x)
    ((source, destination),) = moves
    assert source.pointer == x.unsafe_buffer_pointer()
    assert destination.pointer == y.unsafe_buffer_pointer()


@pytest.mark.parametrize("axes", [None, (2, 0, 1), (0, 1, 2)])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "float8_e4m3fn", "bfloat16", "int32", "complex64"])
def test_it_compiles(jax, dtype, axes):
    x = jax.numpy.asarray(X % 7, dtype)
    compiled = jax.jit(lambda x: cornerturn.transpose(x, axes))
    assert "cornerturn_transpose" in compiled.lower(x).as_text()
    np.testing.assert_array_equal(np.asarray(compiled(x)), np.asarray(x).transpose(axes), strict=True)


@pytest.mark.parametrize("shape", [(), (3,), (0, 4), (4, 0, 2), (1, 1)])
def test_it_compiles_for_any_shape(jax, shape):
    y = jax.jit(cornerturn.transpose)(jax.numpy.ones(shape))
    np.testing.assert_array_equal(np.asarray(y), np.ones(shape, np.float32).T, strict=True)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("transform", ["grad", "jvp", "jacfwd", "jacrev", "hessian", "checkpointed", "linear"])
def test_derivatives_are_those_of_jaxs_own(jax, transform, compiled):
    weights = jax.numpy.arange(60.0).reshape(5, 3, 4)

    def derivative(transpose):
        def cube(x):
            return (transpose(x, (2, 0, 1)) ** 3 * weights).sum()

        return {
            "grad": jax.grad(cube),
            "jvp": lambda x: jax.jvp(cube, (x,), (x + 1,)),
            "jacfwd": jax.jacfwd(lambda x: transpose(x, (2, 0, 1)) * weights),
            "jacrev": jax.jacrev(lambda x: transpose(x, (2, 0, 1)) * weights),
            "hessian": jax.hessian(cube),
            "checkpointed": jax.grad(jax.checkpoint(cube)),
            "linear": lambda x: jax.linear_transpose(lambda y: transpose(y, (1, 2, 0)), weights)(x),
        }[transform]

    x = jax.numpy.asarray(X)
    run = jax.jit if compiled else lambda function: function
    got, want = run(derivative(cornerturn.permute_dims))(x), derivative(jax.numpy.permute_dims)(x)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other), strict=True)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("out_axis", [0, 1, 2])
@pytest.mark.parametrize("in_axis", [0, 1, 2])
def test_vmap(jax, in_axis, out_axis, compiled):
    def batched(transpose):
        mapped = jax.vmap(transpose, in_axes=in_axis, out_axes=out_axis)
        return jax.jit(mapped) if compiled else mapped

    x = jax.numpy.asarray(X)
    got, want = batched(cornerturn.matrix_transpose)(x), batched(jax.numpy.matrix_transpose)(x)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want), strict=True)


def test_vmap_of_vmap_of_grad(jax):
    def nested(transpose):
        gradient = jax.grad(lambda x: (transpose(x) ** 2).sum())
        return jax.jit(jax.vmap(jax.vmap(gradient, in_axes=1), in_axes=2))

    x = jax.numpy.arange(120.0).reshape(2, 3, 4, 5)
    got, want = nested(cornerturn.transpose)(x), nested(jax.numpy.transpose)(x)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want), strict=True)


def test_an_engine_that_fails_in_a_compiled_function_raises(jax, monkeypatch):
    from cornerturn.op.adapters import jax_ffi

    def fail(*_):
        raise DeviceError("the driver refuses")

    monkeypatch.setattr(jax_ffi, "move", fail)
    with pytest.raises(jax.errors.JaxRuntimeError, match="DeviceError: the driver refuses"):
        jax.block_until_ready(jax.jit(cornerturn.transpose)(jax.numpy.ones((3, 4))))


def test_compiled_functions_run_in_several_threads(jax):
    compiled = jax.jit(lambda x: cornerturn.transpose(x) + 1)
    xs = [jax.numpy.full((300, 200), number) for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        ys = list(pool.map(compiled, xs))
    for number, y in enumerate(ys):
        np.testing.assert_array_equal(np.asarray(y), np.full((200, 300), number + 1))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_eager_calls_of_the_compiled_kind_leave_type_and_place_alone(jax, dtype):
    """What serves arrays on a GPU, where XLA allocates; here on a CPU, and without jit."""
    from cornerturn.op.adapters import jax as jax_adapter

    with jax.enable_x64(True):
        x = jax.numpy.asarray(X, dtype)
    with jax.disable_jit():
        y = jax_adapter._eager_by_call(x, (2, 1, 0))
    assert (y.dtype, y.device, y.committed) == (x.dtype, x.device, x.committed)
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x).T, strict=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"platform": "tpu"}, "x is on device xla:0, and no engine here serves it"),
        ({"version": "rocm 60300"}, "x is on device xla:0, and no engine here serves it"),
        ({"kind": "pinned_host"}, r"memory of kind pinned_host: .* jax.device_put\(x, x.device\)"),
        ({"dtype": "int4"}, "XLA packs elements of 4 bits: got dtype int4"),
        ({"dtype": "float4_e2m1fn"}, "XLA packs elements of 4 bits: got dtype float4_e2m1fn"),
        ({"devices": 4}, "x is spread over 4 devices: transpose its shards"),
    ],
)
def test_places_that_are_not_served(jax, change, message):
    from cornerturn.op.adapters import jax as jax_adapter

    given = {"platform": "gpu", "version": "cuda 13000", "kind": "device", "dtype": "float32", "devices": 1}

    class Device(SimpleNamespace):
        __str__ = lambda self: "xla:0"  # noqa: E731

    def x(given):
        client = SimpleNamespace(platform_version=given["version"])
        return SimpleNamespace(
            dtype=jax.numpy.dtype(given["dtype"]),
            device=Device(platform=given["platform"], client=client),
            devices=lambda: range(given["devices"]),
            is_deleted=lambda: False,
            sharding=SimpleNamespace(memory_kind=given["kind"]),
        )

    jax_adapter._check_place(x(given))
    with pytest.raises(UsageError, match=message):
        jax_adapter._check_place(x(given | change))


def test_packed_elements_are_refused_in_compiled_functions(jax):
    with pytest.raises(UsageError, match=r"XLA packs elements of 4 bits: got dtype int4; .*permute_dims"):
        jax.jit(cornerturn.transpose)(jax.numpy.ones((3, 4), "int4"))


def test_deleted_arrays_are_refused(jax):
    x = jax.numpy.ones((3, 4))
    x.delete()
    with pytest.raises(UsageError, match="x is deleted"):
        cornerturn.transpose(x)


def test_out_and_keys_are_refused(jax):
    with pytest.raises(UsageError, match="JAX arrays never change"):
        cornerturn.transpose(jax.numpy.ones((3, 4)), out=np.empty((4, 3)))
    keys = jax.random.split(jax.random.key(0), (2, 3))
    for transpose in (cornerturn.transpose, jax.jit(cornerturn.transpose)):
        with pytest.raises(UsageError, match=r"plain bytes: got dtype key<"):
            transpose(keys)


def test_explain_plan_on_a_cpu_gives_the_plan_of_the_array_that_numpy_reads(jax):
    x = jax.numpy.asarray(X)
    assert cornerturn.explain_plan(x, (1, 2, 0)) is cornerturn.explain_plan(np.asarray(x), (1, 2, 0))


def test_explain_plan_on_a_gpu_gives_the_choice_there(jax, monkeypatch):
    from cornerturn.op.adapters import cuda_array
    from cornerturn.op.adapters import jax as jax_adapter

    asked = asked_ordinals(monkeypatch)
    monkeypatch.setattr(cuda_array, "device_of", lambda address: nullcontext(3 if address == X.ctypes.data else None))
    monkeypatch.setattr(jax_adapter, "_check_place", lambda x: None)
    x = SimpleNamespace(
        dtype=jax.numpy.dtype("float32"),
        shape=X.shape,
        device=SimpleNamespace(platform="gpu"),
        unsafe_buffer_pointer=lambda: X.ctypes.data,
    )
    assert str(jax_adapter.ADAPTER.explain(x, (1, 2, 0))) == str(choice_for(X, (1, 2, 0)))
    assert asked == [3]


def test_explain_plan_refuses_tracers_keys_and_what_is_deleted_or_empty(jax):
    with pytest.raises(UsageError, match="x is traced and has no memory"):
        jax.jit(cornerturn.explain_plan)(jax.numpy.ones((3, 4)))
    with pytest.raises(UsageError, match="plain bytes: got dtype key<"):
        cornerturn.explain_plan(jax.random.split(jax.random.key(0), (2, 3)))
    with pytest.raises(UsageError, match=r"x of shape \(3, 0\) is empty"):
        cornerturn.explain_plan(jax.numpy.ones((3, 0)))
    x = jax.numpy.ones((3, 4))
    x.delete()
    with pytest.raises(UsageError, match="x is deleted"):
        cornerturn.explain_plan(x)


def said_by(program, **environment):
    """What a process prints that runs a program and ends well."""
    ran = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | environment, capture_output=True, text=True, timeout=90
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def devices(count):
    """The environment in which JAX sees so many devices, all of them this CPU."""
    return {"XLA_FLAGS": f"--xla_force_host_platform_device_count={count}", "JAX_PLATFORMS": "cpu"}


def test_arrays_on_several_devices(jax):
    assert (
        said_by(SEVERAL_DEVICES, XLA_FLAGS="--xla_force_host_platform_device_count=4", JAX_PLATFORMS="cpu")
        == "all well\n"
    )


def test_what_jaxs_own_keeps_of_an_array_is_kept(jax):
    assert said_by(KEPT, **devices(2)) == "all well\n"


@pytest.mark.parametrize("imports", ["import jax, cornerturn", "import cornerturn, jax"])
def test_the_process_ends_while_compiled_functions_are_still_at_it(jax, imports):
    assert said_by(imports + UNFINISHED) == "dispatched\n"


@pytest.mark.parametrize("imports", ["import jax, cornerturn", "import cornerturn, jax"])
def test_what_a_program_does_at_its_end_may_still_transpose(jax, imports):
    assert said_by(imports + AT_THE_END) == "[[0, 3], [1, 4], [2, 5]]\n"


UNFINISHED = """

compiled = jax.jit(lambda x: cornerturn.transpose(x @ x) @ x)
x = jax.block_until_ready(compiled(jax.numpy.ones((1500, 1500))))
for _ in range(3):
    y = compiled(x)
print("dispatched")
"""
KEPT = """
import jax
from jax.sharding import NamedSharding, PartitionSpec as P
import cornerturn

first, second = jax.devices()
free = jax.numpy.arange(6.0).reshape(2, 3)
mesh = NamedSharding(jax.make_mesh((1,), ("a",)), P("a", None))
weak = jax.numpy.broadcast_to(jax.numpy.asarray(2.0), (2, 3))
assert weak.weak_type
for x in (free, jax.device_put(free, first), jax.device_put(free, second), jax.device_put(free, mesh), weak):
    y, wanted = cornerturn.transpose(x), jax.numpy.transpose(x)
    assert y.tolist() == wanted.tolist()
    for name in ("sharding", "committed", "weak_type", "dtype"):
        assert getattr(y, name) == getattr(wanted, name), (x, name, getattr(y, name), getattr(wanted, name))
with jax.default_device(second):
    there = cornerturn.transpose(free + 1)
assert (there.device, there.committed) == (second, False)
bound = jax.device_put(free.T, second)
assert (cornerturn.transpose(free) + bound).device == second
packed = jax.device_put(free.astype("int4"), mesh)
assert cornerturn.transpose(packed).tolist() == packed.T.tolist()
print("all well")
"""
AT_THE_END = """
import atexit

@atexit.register
def last():
    print(compiled(x).tolist())

compiled = jax.jit(lambda x: cornerturn.transpose(x))
x = jax.numpy.arange(6).reshape(2, 3)
compiled(x)
"""
SEVERAL_DEVICES = """
import jax, numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
import cornerturn
from cornerturn.op.adapters import jax as jax_adapter

X = np.arange(64 * 48, dtype=np.float32).reshape(64, 48)

def same(y):
    np.testing.assert_array_equal(np.asarray(y), X.T, strict=True)
    return y.sharding

for kind in (AxisType.Auto, AxisType.Explicit):
    mesh = jax.make_mesh((4,), ("a",), axis_types=(kind,))
    x = jax.device_put(X, NamedSharding(mesh, P("a", None)))
    try:
        cornerturn.transpose(x)
        raise SystemExit("not refused")
    except cornerturn.op.strided_view.UsageError as error:
        assert "x is spread over 4 devices" in str(error)
    same(jax.jit(cornerturn.transpose)(x))
    mapped = jax.shard_map(cornerturn.transpose, mesh=mesh, in_specs=P("a", None), out_specs=P(None, "a"))
    for transpose in (mapped, jax.jit(mapped)):
        assert same(transpose(x)).spec == P(None, "a")
third = jax.devices()[2]
x = jax.device_put(X, third)
for transpose in (cornerturn.transpose, jax.jit(cornerturn.transpose)):
    y = transpose(x)
    same(y)
    assert y.device == third
x = jax.numpy.asarray(X)
with jax.default_device(third):
    for transpose in (cornerturn.transpose, lambda x: jax_adapter._eager_by_call(x, (1, 0))):
        y = transpose(x)
        same(y)
        assert y.device == x.device != third
print("all well")
"""
