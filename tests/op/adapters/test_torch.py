import os
import subprocess
import sys
import warnings
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cornerturn
from cornerturn.errors import UsageError

torch = pytest.importorskip("torch", reason="torch is not installed")
from torch.autograd import forward_ad  # noqa: E402

from cornerturn.op.adapters import torch as torch_adapter  # noqa: E402

from .fake_gpu import asked_ordinals, choice_for  # noqa: E402

func = torch.func
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")  # torch.compile of its own code

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
DTYPES = [torch.bool, torch.uint8, torch.float8_e4m3fn, torch.bfloat16, torch.int32, torch.complex64, torch.complex128]


def bits(x):
    return x.clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8).tolist()


def distinct(*shape, dtype=torch.float64):
    return torch.arange(np.prod(shape, dtype=int)).to(dtype).reshape(shape)


def reversed_axes(x):
    return x.permute(*range(x.ndim - 1, -1, -1)).contiguous()


@pytest.mark.parametrize("small", [-1, 1 << 15], ids=["engine", "small"])
class TestValues:
    @given(data=st.data(), dtype=st.sampled_from(DTYPES))
    def test_any_strides_and_dtype(self, data, dtype, small):
        ndim = data.draw(st.integers(0, 5))
        shape = data.draw(st.lists(st.integers(0, 5), min_size=ndim, max_size=ndim))
        size = torch.empty(0, dtype=dtype).element_size()
        memory = torch.randint(0, 256, (*shape, 2 * size), dtype=torch.uint8)
        if dtype is torch.bool:
            memory &= 1
        x = memory.view(dtype)[..., data.draw(st.integers(0, 1))]
        x = x.permute(data.draw(st.permutations(range(ndim))))
        axes = data.draw(st.permutations(range(ndim)))
        with patch.object(torch_adapter, "SMALL_BYTES", small):
            y = cornerturn.transpose(x, axes)
        assert (y.shape, y.dtype, y.is_contiguous()) == (x.permute(axes).shape, dtype, True)
        assert bits(y) == bits(x.permute(axes))

    @pytest.mark.parametrize(
        "x",
        [
            distinct(3).expand(4, 3),
            (distinct(3, 4) * (1 + 2j)).conj(),
            (distinct(3, 4) * (1 + 2j)).conj().imag,
            torch.nn.Parameter(distinct(3, 4)),
        ],
        ids=["expanded", "conjugate bit", "negative bit", "parameter"],
    )
    @pytest.mark.parametrize("given_out", [False, True])
    def test_what_the_elements_mean_is_kept(self, x, given_out, small):
        with torch.no_grad(), patch.object(torch_adapter, "SMALL_BYTES", small):
            y = cornerturn.transpose(x, out=torch.empty(x.shape[::-1], dtype=x.dtype) if given_out else None)
            assert not (y.is_conj() or y.is_neg())
            assert torch.equal(y, x.t())


@pytest.mark.parametrize("axes", [None, (1, 0), [-1, 0]])
@pytest.mark.parametrize("into", [False, True])
@pytest.mark.parametrize("grad", [False, True])
def test_few_plain_elements_take_no_operator(monkeypatch, axes, into, grad):
    monkeypatch.setattr(torch_adapter.ADAPTER, "check_input", None)
    x = distinct(3, 4).requires_grad_(grad)
    out = torch.empty(4, 3, dtype=x.dtype) if into else None
    with torch.set_grad_enabled(not into):
        y = cornerturn.transpose(x, axes, out=out)
    assert out is None or y is out
    assert torch.equal(y, x.t())
    assert y.requires_grad == (grad and not into)


@pytest.mark.parametrize("axes", [((1, 0),), (1,), (0, 0), (1.0, 0), "10"])
def test_axes_of_few_elements_are_checked(axes):
    with pytest.raises(UsageError):
        cornerturn.transpose(distinct(3, 4), axes)
    with pytest.raises(UsageError):
        cornerturn.transpose(distinct(3), ((0,),))


@pytest.mark.parametrize("size", [3, 300])
@pytest.mark.parametrize("dtype", ["int4", "uint4", "uint1"])
def test_dtypes_that_torch_does_not_copy(dtype, size):
    if not hasattr(torch, dtype):
        pytest.skip(f"this PyTorch has no {dtype}")
    plain = torch.arange(size * size).to(torch.uint8).reshape(size, size)
    x = plain.view(getattr(torch, dtype))
    assert bits(cornerturn.transpose(x).view(torch.uint8)) == bits(plain.t())
    out = torch.empty(size, size, dtype=torch.uint8)
    cornerturn.transpose(x, out=out.view(x.dtype))
    assert bits(out) == bits(plain.t())


@pytest.mark.parametrize("size", [3, 300])
@pytest.mark.parametrize("held", [0, 8])
def test_tensors_whose_storage_was_taken_away(size, held):
    x, gone = torch.zeros(size, size), torch.zeros(size, size)
    gone.untyped_storage().resize_(held)
    for arguments in ({"x": gone}, {"x": gone, "out": torch.empty(size, size)}, {"x": x, "out": gone}):
        with pytest.raises(UsageError, match=f"has a storage of {held} bytes: it was resized"):
            cornerturn.transpose(**arguments)


@pytest.mark.parametrize("dtype", [torch.complex128, torch.float64, torch.int16])
@pytest.mark.parametrize("rows", [3, 20, 200])
def test_elements_that_lie_off_their_own_size(dtype, rows):
    held = bytes(range(251)) * 4000
    x = torch.frombuffer(bytearray(held), dtype=dtype, offset=1, count=rows * 8).reshape(rows, 8)
    expected = np.frombuffer(held, f"V{x.element_size()}", rows * 8, 1).reshape(rows, 8).T.tobytes()
    assert cornerturn.transpose(x).numpy().tobytes() == expected
    out = torch.empty((8, rows), dtype=dtype)
    assert cornerturn.transpose(x, out=out).numpy().tobytes() == expected


def test_the_other_public_functions():
    x = distinct(2, 3, 4)
    assert torch.equal(cornerturn.matrix_transpose(x), x.mT)
    assert torch.equal(cornerturn.permute_dims(x, (1, 2, 0)), x.permute(1, 2, 0))


class TestOut:
    def test_is_filled_and_returned_whatever_its_strides(self):
        x, memory = distinct(3, 4), torch.full((8, 3), -1.0, dtype=torch.float64)
        out = memory[::2]
        assert cornerturn.transpose(x, out=out) is out
        assert torch.equal(out, x.t())
        assert memory[1::2].eq(-1).all()

    @pytest.mark.parametrize("size", [4, 300])
    def test_autograd_notices_what_was_overwritten(self, size):
        weight, buffer = torch.ones(size, size, requires_grad=True), torch.empty(size, size)
        cornerturn.transpose(torch.full((size, size), 2.0), out=buffer)
        loss = (weight * buffer).sum()
        cornerturn.transpose(torch.full((size, size), 5.0), out=buffer)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()

    @pytest.mark.parametrize("size", [3, 300])
    def test_elements_that_overlap_are_refused(self, size):
        out = torch.zeros(2 * size * size).as_strided((size, size), (size - 1, 1))
        with pytest.raises(UsageError, match="several elements share one place"):
            cornerturn.transpose(torch.ones(size, size), out=out)

    @pytest.mark.parametrize("size", [3, 300])
    def test_tensors_of_inference_mode_are_written_only_there(self, size):
        x = torch.randn(size, size)
        with torch.inference_mode():
            out = torch.empty(size, size)
            assert torch.equal(cornerturn.transpose(x, out=out), x.t())
        with pytest.raises(UsageError, match=r"only there: pass out\.clone"):
            cornerturn.transpose(x, out=out)

    def test_a_copy_onto_itself_is_allowed(self):
        x = distinct(3, 4)
        assert torch.equal(cornerturn.transpose(x, out=x.t()), distinct(3, 4).t())


X = distinct(3, 4)


def masked(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are a prototype
        return torch.masked.masked_tensor(x, x > 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X.to_sparse(),), "plain strided tensor: got torch.sparse_coo"),
        ((masked(X),), r"would lose its mask: transpose x\.get_data\(\) and x\.get_mask\(\)"),
        ((X, None, masked(X.t().contiguous())), r"out must not be a masked tensor, .*: pass out\.get_data\(\)"),
        ((X.reshape((1,) * 31 + X.shape),), "x has 33 axes, and at most 32"),
        ((X, (0, 0)), r"each of the 2 axes of x once: got \(0, 0\)"),
        ((X, None, np.empty((4, 3))), "out must be a torch.Tensor as x is: got ndarray"),
        ((X, None, torch.empty(3, 4).double()), r"result's shape \(4, 3\): got \(3, 4\)"),
        ((X, None, torch.empty(4, 3)), "x's dtype torch.float64: got torch.float32"),
        ((X, None, torch.empty(4, 3, dtype=X.dtype, device="meta")), "x's device cpu: got meta"),
        ((X, None, torch.empty(1).double().expand(4, 3)), "several elements share one place"),
        ((X[:, :3], None, X[:, 1:]), "out shares memory with x"),
        ((X, None, torch.empty(4, 3, dtype=X.dtype, requires_grad=True)), "cannot be differentiated through"),
        ((X.to(torch.complex64), None, torch.empty(4, 3).to(torch.complex64).conj()), "must not have its conjugate"),
    ],
)
def test_what_is_refused(arguments, message):
    x, axes, out = (*arguments, None, None)[:3]
    with pytest.raises(UsageError, match=message):
        cornerturn.transpose(x, axes, out=out)


class Wrapper(torch.Tensor):
    """Stands for a tensor that it holds, and its class decides what an operator does with it."""

    @staticmethod
    def __new__(cls, x):
        return torch.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype)


class Silent(Wrapper):
    @classmethod
    def __torch_dispatch__(cls, function, types, arguments, keywords=None):
        return NotImplemented


class Faulty(Wrapper):
    @classmethod
    def __torch_dispatch__(cls, function, types, arguments, keywords=None):
        raise TypeError("a fault of its own")


class TestTensorsThatDecideThemselves:
    @pytest.mark.parametrize("arguments", [(Silent(X),), (X, None, Silent(X.t()))], ids=["x", "out"])
    def test_one_that_knows_no_operators_is_refused_by_name(self, arguments):
        x, axes, out = (*arguments, None, None)[:3]
        with pytest.raises(UsageError, match="Silent does not say how operators work on it: pass the tensors"):
            cornerturn.transpose(x, axes, out=out)

    def test_a_fault_of_its_own_remains_what_it_is(self):
        with pytest.raises(TypeError, match="a fault of its own"):
            cornerturn.transpose(Faulty(X))

    def test_there_is_no_plan_for_it(self):
        with pytest.raises(UsageError, match="x is a Silent, which decides itself what moves"):
            cornerturn.explain_plan(Silent(X))


OPERATOR = torch.ops.cornerturn.transpose.default
INTO = torch.ops.cornerturn.transpose_into.default


class TestOperator:
    @pytest.mark.parametrize(
        "x",
        [distinct(2, 3, 4), distinct(2, 3, 4).requires_grad_(), distinct(2, 0, 4), distinct(3).expand(4, 2, 3)],
        ids=["plain", "gradient", "empty", "expanded"],
    )
    def test_obeys_the_rules_of_operators(self, x):
        torch.library.opcheck(OPERATOR, (x, [2, 0, 1]))

    def test_with_out_obeys_them_too(self):
        torch.library.opcheck(INTO, (distinct(2, 3, 4), [2, 0, 1], torch.empty(4, 2, 3, dtype=torch.float64)))

    def test_gradients(self):
        def turn(x):
            return cornerturn.transpose(x, (2, 0, 1))

        x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(turn, x)
        assert torch.autograd.gradgradcheck(turn, x)
        assert torch.autograd.gradcheck(turn, x, check_forward_ad=True, check_backward_ad=False)

    def test_the_gradient_is_contiguous(self):
        x = distinct(3, 4).requires_grad_()
        cornerturn.transpose(x).backward(distinct(4, 3))
        assert x.grad.is_contiguous()
        assert torch.equal(x.grad, distinct(4, 3).t())


def scalar(turn):
    """A function whose first and second derivatives tell every element and place apart."""
    return lambda x: (turn(x).cumsum(0) ** 3).sum()


@pytest.mark.parametrize(
    "transformed",
    [
        lambda turn, x: func.vmap(turn, in_dims=0)(x),
        lambda turn, x: func.vmap(turn, in_dims=2)(x),
        lambda turn, x: func.vmap(func.vmap(turn, in_dims=1), in_dims=1)(x),
        lambda turn, x: func.grad(scalar(turn))(x),
        lambda turn, x: func.vmap(func.grad(scalar(turn)))(x),
        lambda turn, x: func.jvp(turn, (x,), (x + 1,))[1],
        lambda turn, x: func.jacrev(turn)(x),
        lambda turn, x: func.jacfwd(turn)(x),
        lambda turn, x: func.hessian(scalar(turn))(x),
        lambda turn, x: func.functionalize(turn)(x),
        lambda turn, x: func.functionalize(func.vmap(turn))(x),
        lambda turn, x: func.vmap(func.functionalize(turn))(x),
        lambda turn, x: func.functionalize(func.grad(scalar(turn)))(x),
        lambda turn, x: func.grad(func.functionalize(scalar(turn)))(x),
        lambda turn, x: func.jvp(func.functionalize(turn), (x,), (x + 1,))[1],
    ],
    ids=[
        "vmap",
        "last-axis",
        "nested",
        "grad",
        "vmap-grad",
        "jvp",
        "jacrev",
        "jacfwd",
        "hessian",
        "functionalize",
        "functionalize-vmap",
        "vmap-functionalize",
        "functionalize-grad",
        "grad-functionalize",
        "jvp-functionalize",
    ],
)
def test_transforms(transformed):
    x = distinct(2, 3, 4)
    assert torch.equal(transformed(cornerturn.transpose, x), transformed(reversed_axes, x))


@pytest.mark.parametrize("shape", [(3, 4), (300, 200)])
def test_into_out_under_functionalize(shape):
    x = distinct(*shape)
    turned = func.functionalize(lambda x: cornerturn.transpose(x, out=torch.empty(shape[::-1], dtype=x.dtype)))
    assert torch.equal(turned(x), x.t())


def test_out_is_refused_under_vmap():
    with pytest.raises(UsageError, match="out= does not work under vmap"):
        func.vmap(lambda x: cornerturn.transpose(x, out=torch.empty(4, 3)))(torch.empty(2, 3, 4))


class TestCompile:
    @pytest.mark.parametrize("dynamic", [False, True])
    def test_the_whole_graph(self, dynamic):
        @torch.compile(fullgraph=True, backend="aot_eager", dynamic=dynamic)
        def step(x):
            return cornerturn.matrix_transpose(x) + 1

        for rows in (3, 5):
            x = distinct(2, rows, 4).requires_grad_()
            y = step(x)
            assert torch.equal(y, x.mT + 1)
            assert torch.equal(torch.autograd.grad(y, x, distinct(2, 4, rows))[0], distinct(2, 4, rows).mT)

    @pytest.mark.parametrize(
        "transformed",
        [
            lambda turn, x: func.jvp(turn, (x,), (x + 1,)),
            lambda turn, x: func.jacfwd(turn)(x),
            lambda turn, x: func.vmap(turn)(x),
        ],
        ids=["jvp", "jacfwd", "vmap"],
    )
    def test_transforms(self, transformed):
        x = distinct(2, 3, 4)
        compiled = torch.compile(lambda x: transformed(cornerturn.transpose, x), fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(x), transformed(reversed_axes, x), rtol=0, atol=0)

    def test_tangents(self):
        x = distinct(3, 4)

        @torch.compile(backend="aot_eager")
        def tangent(x):
            with forward_ad.dual_level():
                return forward_ad.unpack_dual(cornerturn.transpose(forward_ad.make_dual(x, x + 1))).tangent

        assert torch.equal(tangent(x), (x + 1).t())

    def test_the_first_call_of_a_program_may_be_compiled(self):
        """In a process of its own: nothing is changed that a compiled function depends on, or may not change."""
        code = """
import torch, cornerturn
from torch.utils.checkpoint import checkpoint
x = torch.rand(3, 4)
step = lambda x: checkpoint(lambda x: cornerturn.transpose(x).sin(), x, use_reentrant=False)
step = torch.compile(step, fullgraph=True, backend="eager", dynamic=False)
assert torch.equal(step(x), x.t().sin())
with torch.compiler.set_stance("fail_on_recompile"):
    step(x)
"""
        done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def test_into_out(self):
        @torch.compile(fullgraph=True, backend="aot_eager")
        def step(x, out):
            cornerturn.transpose(x, out=out)
            return out + 1

        x, out = distinct(3, 4), torch.empty(4, 3, dtype=torch.float64)
        assert torch.equal(step(x, out), x.t() + 1)
        assert torch.equal(out, x.t())

    def test_a_refusal_keeps_its_words(self):
        step = torch.compile(lambda x: cornerturn.transpose(x, (0, 0)), fullgraph=True, backend="aot_eager")
        with pytest.raises(Exception, match="each of the 2 axes of x once"):
            step(distinct(3, 4))


def test_views_name_the_memory_of_the_tensor():
    x = distinct(3, 4)[1:, ::2]
    view = torch_adapter.view_of_tensor(x)
    assert (view.pointer, view.itemsize, view.shape, view.strides) == (x.data_ptr(), 8, (2, 2), (32, 16))


class TestExplainPlan:
    @pytest.mark.parametrize(
        "x",
        [distinct(300, 400), distinct(300, 400)[1:, ::2], (distinct(30, 40) * (1 + 2j)).conj()],
        ids=["whole", "part", "conjugate"],
    )
    def test_on_a_cpu_it_is_the_plan_of_the_engine(self, x):
        assert cornerturn.explain_plan(x) is cornerturn.explain_plan(x.resolve_conj().numpy())

    def test_on_a_gpu_it_is_the_choice_there(self, monkeypatch):
        asked = asked_ordinals(monkeypatch)
        x = distinct(300, 400)[:, 1:]
        on_gpu = SimpleNamespace(device=torch.device("cuda", 2))
        source = torch_adapter.view_of_tensor(x).permuted((1, 0))
        assert str(torch_adapter.ADAPTER.plan(source, on_gpu)) == str(choice_for(x.numpy()))
        assert asked == [2]

    @pytest.mark.parametrize(
        ("x", "message"),
        [
            (distinct(3, 4).to("meta"), "x is on device meta, which has no memory"),
            (distinct(3, 0), r"x of shape \(3, 0\) is empty"),
            (distinct(3, 4).to_sparse(), "x must be a plain strided tensor"),
        ],
        ids=["meta", "empty", "sparse"],
    )
    def test_what_is_refused(self, x, message):
        with pytest.raises(UsageError, match=message):
            cornerturn.explain_plan(x)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
class TestCuda:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize(("shape", "axes"), [((300, 401), (1, 0)), ((4, 64, 96), (0, 2, 1)), ((0, 3), (1, 0))])
    def test_values(self, shape, axes, dtype):
        x = distinct(*shape).to(dtype).cuda()
        y = cornerturn.transpose(x, axes)
        assert (y.device, y.is_contiguous()) == (x.device, True)
        assert bits(y) == bits(x.permute(axes))
        out = torch.empty_like(y)
        assert cornerturn.transpose(x, axes, out=out) is out
        assert bits(out) == bits(y)

    def test_the_current_stream_orders_the_work(self):
        x = distinct(2048, 2048).cuda()
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.cuda._sleep(100_000_000)
            x += 1
            y = cornerturn.transpose(x)
            assert torch.equal(y, x.t())

    def test_the_operator(self):
        x = distinct(2, 3, 4).cuda().requires_grad_()
        torch.library.opcheck(OPERATOR, (x, [2, 0, 1]))
