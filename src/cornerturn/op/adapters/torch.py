"""PyTorch: the operator ``cornerturn::transpose``, which autograd, ``torch.compile`` and ``vmap`` understand.

Importing this module registers the operators; `cornerturn.transpose` does so at the first tensor. The rules they
follow: https://docs.pytorch.org/docs/stable/library.html
"""

from collections.abc import Sequence
from operator import index
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.autograd.graph import increment_version
from torch.masked import MaskedTensor

from cornerturn.errors import UsageError
from cornerturn.op.adapters import torch_cuda
from cornerturn.op.adapters.adapter import Adapter
from cornerturn.op.adapters.torch_cuda import Tensor, is_stored, view_of_tensor
from cornerturn.op.cpu.plan import Plan
from cornerturn.op.engines import SMALL_BYTES, move, plan_for
from cornerturn.op.gpu import engine as gpu_engine
from cornerturn.op.gpu.choice import Choice
from cornerturn.op.strided_view import MAX_NDIM, StridedView, check_destination, check_ndim, normalized_axes

torch.library.define("cornerturn::transpose", "(Tensor x, int[] axes) -> Tensor")
torch.library.define("cornerturn::transpose_into", "(Tensor x, int[] axes, Tensor(a!) out) -> ()")


class TorchAdapter(Adapter):
    """``torch.Tensor``: checked here, moved by the operators."""

    array = torch.Tensor

    def transpose(self, x: Tensor, axes: Sequence[int] | None = None, out: Tensor | None = None) -> Tensor:
        """Return a contiguous tensor with the axes of ``x`` permuted; see `cornerturn.transpose`.

        Args:
            x: strided tensor on a CPU or an NVIDIA GPU, any strides and dtype; a conjugate or negative bit is resolved.
            axes: axis ``axes[i]`` of ``x`` becomes axis i of the result; None reverses them.
            out: tensor of the result's shape and x's dtype and device to write into, sharing no memory with ``x``.

        Returns:
            ``out``, or a new tensor, differentiable where ``x`` requires a gradient.

        Raises:
            UsageError: ``x``, ``axes`` or ``out`` breaks one of these rules.
        """
        if (moved := _moved_small(x, axes, out)) is not None:
            return moved
        eager_cuda = not torch.compiler.is_compiling() and x.is_cuda
        if eager_cuda and (known := torch_cuda.replay(x, axes, out)) is not None:
            return known
        self.check_input(x)
        order = list(normalized_axes(axes, x.ndim))
        if out is not None:
            self.check_output(x, tuple(x.shape[axis] for axis in order), out)
        try:
            result = _transposed(x, order) if out is None else _transposed_into(x, order, out)
        except TypeError as error:
            if refused := _refused(error, x, out):
                raise UsageError(refused) from error
            raise
        if eager_cuda:
            torch_cuda.remember(x, axes, out, order, result)
        return result

    def check_input(self, x: Tensor) -> None:
        """Refuse masks, tensors that are not strided, other devices, and more axes than the engines take."""
        if isinstance(x, MaskedTensor):
            raise UsageError(
                "a masked tensor would lose its mask: transpose x.get_data() and x.get_mask() each on its own"
            )
        if x.layout != torch.strided or x.is_nested or x.is_quantized:
            raise UsageError(
                f"x must be a plain strided tensor: got {_kind(x)}; x.to_dense() or x.dequantize() makes one"
            )
        if x.device.type not in ("cpu", "cuda", "meta") or (x.device.type == "cuda" and torch.version.hip):
            raise UsageError(f"x is on device {x.device}, and no engine here serves it: pass x.cpu()")
        check_ndim(x.ndim)

    def check_writable(self, out: Tensor) -> None:
        """Refuse masks, tensors that are not strided or read their bits otherwise, and those of inference mode."""
        if isinstance(out, MaskedTensor):
            raise UsageError("out must not be a masked tensor, whose mask would stay as it is: pass out.get_data()")
        if out.layout != torch.strided or out.is_nested or out.is_quantized:
            raise UsageError(f"out must be a plain strided tensor: got {_kind(out)}")
        if not torch.compiler.is_compiling() and (out.is_conj() or out.is_neg()):
            raise UsageError("out must not have its conjugate or negative bit set: pass a tensor of its own")
        if not torch.compiler.is_compiling() and torch_cuda.is_frozen(out):
            raise UsageError("out was made in inference mode and may be written only there: pass out.clone()")

    def check_output(self, x: Tensor, shape: tuple[int, ...], out: Tensor) -> None:
        """As every adapter does; and refuse what a gradient would have to pass."""
        super().check_output(x, shape, out)
        if torch.is_grad_enabled() and (x.requires_grad or out.requires_grad):
            raise UsageError("out= cannot be differentiated through: omit it, or call under torch.no_grad()")

    def view(self, x: Tensor) -> StridedView:
        """Return the strided view of a tensor."""
        return view_of_tensor(x)

    def empty(self, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Return a new contiguous tensor."""
        return torch.empty(shape, dtype=x.dtype, device=x.device)

    def move(self, source: StridedView, destination: StridedView, x: Tensor, out: Tensor) -> None:
        """Move the elements; on a GPU, on PyTorch's current stream there."""
        if x.device.type == "cpu":
            move(source, destination)
        else:
            with torch.cuda.device(x.device):
                gpu_engine.run(source, destination, torch.cuda.current_stream().cuda_stream, x.device.index)

    def explain(self, x: Tensor, axes: Sequence[int] | None = None) -> Plan | Choice:
        """As every adapter does, on a tensor whose conjugate and negative bits are resolved."""
        self.check_input(x)
        if _decides(x):
            raise UsageError(f"x is a {type(x).__name__}, which decides itself what moves: explain the tensors in it")
        return super().explain(x.resolve_conj().resolve_neg(), axes)

    def plan(self, source: StridedView, x: Tensor) -> Plan | Choice:
        """Return the plan of the CPU engine, or the candidates on x's GPU."""
        if x.device.type == "cpu":
            return plan_for(source)
        if x.device.type == "cuda":
            return gpu_engine.choice_for(source, x.device.index)
        raise UsageError(f"x is on device {x.device}, which has no memory: there is nothing to plan")


ADAPTER = TorchAdapter()


def _decides(x: Tensor) -> bool:
    """Return whether a tensor's class decides what an operator does with it."""
    return type(x).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__


def _refused(error: TypeError, *tensors: Tensor | None) -> str:
    """Return what to say where the class of a tensor refused an operator; nothing if it is another error."""
    names = " and ".join(type(each).__name__ for each in tensors if each is not None and _decides(each))
    known = names and "NotImplemented" in str(error)
    return f"{names} does not say how operators work on it: pass the tensors that it holds" if known else ""


def _kind(x: Tensor) -> str:
    return f"{'nested, ' if x.is_nested else ''}{x.layout}, {x.dtype}"


_UNCOPIED = {getattr(torch, f"{sign}int{bits}", None) for sign in ("", "u") for bits in range(1, 8)}
"""Dtypes of less than a byte, each in a byte of its own, that PyTorch stores but does not copy."""


def _transpose(x: Tensor, axes: Sequence[int]) -> Tensor:
    source = view_of_tensor(x).permuted(axes)
    if _is_small(x):
        return x.permute(axes).clone(memory_format=torch.contiguous_format)
    return ADAPTER.moved(source, x)


def _transpose_into(x: Tensor, axes: Sequence[int], out: Tensor) -> None:
    source, destination = view_of_tensor(x).permuted(axes), view_of_tensor(out)
    if source != destination:
        check_destination(source, destination)
        if _is_small(x):
            out.copy_(x.permute(axes))
        else:
            increment_version(out)  # so that autograd notices where it has saved what was there
            ADAPTER.move(source, destination, x, out)


def _moved_small(x: Tensor, axes: Any, out: Any) -> Tensor | None:
    """Let PyTorch itself move what an operator written in Python takes longer for; None where a rule may be broken."""
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active() or not _is_plain_and_small(x):
        return None
    if axes is not None and type(axes) not in (tuple, list):
        return None
    try:
        view = x.permute(*range(x.ndim - 1, -1, -1)) if axes is None else x.permute(*map(index, axes))
    except (RuntimeError, IndexError, TypeError):  # says so in its own words; here the rule is named
        return None
    if out is None:
        return view.clone(memory_format=torch.contiguous_format)
    return out.copy_(view) if _takes(out, view, x) else None


def _takes(out: Any, view: Tensor, x: Tensor) -> bool:
    """Return whether nothing forbids to write ``view``, a small tensor ``x`` with its axes permuted, into ``out``."""
    if not _is_plain_and_small(out) or out.shape != view.shape or out.dtype != x.dtype:
        return False
    if (torch.is_grad_enabled() and (x.requires_grad or out.requires_grad)) or forward_ad._current_level >= 0:
        return False
    apart = abs(out.data_ptr() - x.data_ptr()) >= x.nbytes
    return apart and not (out.is_conj() or out.is_neg() or torch_cuda.is_frozen(out))


def _is_plain_and_small(x: Any) -> bool:
    """Return whether x is nothing but a few elements in a row, and all of them are there."""
    if type(x) not in _PLAIN or x.layout is not torch.strided or x.is_nested or not x.is_contiguous():
        return False
    small = _is_small(x) and x.ndim <= MAX_NDIM and not x.is_quantized
    return small and is_stored(x, x.data_ptr() + x.nbytes)


_PLAIN = {torch.Tensor, torch.nn.Parameter}
"""Classes of tensors that are nothing more."""


def _is_small(x: Tensor) -> bool:
    """Return whether PyTorch's own copy moves x: there is little of it, and each element lies as PyTorch expects it."""
    small = x.is_cpu and x.nbytes <= SMALL_BYTES and x.dtype not in _UNCOPIED
    return bool(small and x.data_ptr() % x.element_size() == 0)


def _fake(x: Tensor, axes: Sequence[int]) -> Tensor:
    return x.new_empty([x.shape[axis] for axis in axes])


def _save_axes(ctx: Any, inputs: tuple[Tensor, Sequence[int]], output: Tensor) -> None:
    ctx.axes = inputs[1]


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
    """The gradient of a permutation is the inverse permutation of the gradient."""
    inverse = sorted(range(len(ctx.axes)), key=ctx.axes.__getitem__)
    return _transposed(gradient, inverse), None


def _batched(info: Any, in_dims: tuple[int | None, None], x: Tensor, axes: Sequence[int]) -> tuple[Tensor, int]:
    """The batch axis goes first; the axes behind it in memory have a place more than ``axes`` says."""
    batch = in_dims[0]
    assert batch is not None  # vmap calls this only if an input has a batch axis, and x is the only tensor
    behind = [axis + (axis >= batch) for axis in axes]
    return _transposed(x, [batch, *behind]), 0


class _Transposed(torch.autograd.Function):  # type: ignore[misc]
    """The same rules for ``torch.func`` and forward-mode AD, which do not see those registered with an operator.

    https://github.com/pytorch/pytorch/issues/168393
    """

    setup_context = staticmethod(_save_axes)
    backward = staticmethod(_backward)
    vmap = staticmethod(_batched)

    @staticmethod
    def forward(x: Tensor, axes: Sequence[int]) -> Tensor:
        """Run the operator."""
        return torch.ops.cornerturn.transpose(x, axes)

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, _: None) -> Tensor:
        """The tangent moves as x does."""
        return _transposed(tangent, ctx.axes)


def _transposed(x: Tensor, axes: Sequence[int]) -> Tensor:
    if torch.compiler.is_compiling() and forward_ad._current_level >= 0:  # compiled, an operator would lose the tangent
        return x.permute(axes).clone(memory_format=torch.contiguous_format)
    if _is_functionalized():  # which has no rule for functions of autograd, and an operator would lose the tangent
        return x.permute(axes).clone(memory_format=torch.contiguous_format)
    return (_Transposed.apply if _is_transformed(x) else torch.ops.cornerturn.transpose)(x, axes)


def _transposed_into(x: Tensor, axes: Sequence[int], out: Tensor) -> Tensor:
    if _is_functionalized():  # which takes no operator that writes
        return out.copy_(x.permute(axes))
    torch.ops.cornerturn.transpose_into(x.resolve_conj().resolve_neg(), axes, out)
    return out


def _is_transformed(x: Tensor) -> bool:
    """Return whether x is under a transform of ``torch.func`` or carries a tangent, outside ``torch.compile``."""
    return not torch.compiler.is_compiling() and (
        torch._C._are_functorch_transforms_active() or forward_ad.unpack_dual(x).tangent is not None
    )


def _is_functionalized() -> bool:
    """Return whether ``torch.func.functionalize`` is among the transforms at work, outside ``torch.compile``."""
    if torch.compiler.is_compiling() or not torch._C._are_functorch_transforms_active():
        return False
    transforms = torch._C._functorch
    return any(each.key() == transforms.TransformType.Functionalize for each in transforms.get_interpreter_stack())


def _batched_into(*_: Any) -> None:
    raise UsageError("out= does not work under vmap: omit it")


for _device in ("CPU", "CUDA"):
    torch.library.impl("cornerturn::transpose", _device, _transpose)
    torch.library.impl("cornerturn::transpose_into", _device, _transpose_into)
torch.library.register_fake("cornerturn::transpose", _fake)
torch.library.register_fake("cornerturn::transpose_into", lambda x, axes, out: None)
torch.library.register_autograd("cornerturn::transpose", _backward, setup_context=_save_axes)
torch.library.register_vmap("cornerturn::transpose", _batched)
torch.library.register_vmap("cornerturn::transpose_into", _batched_into)
