"""The protocol of an array library: what `cornerturn.transpose` must know of it, and what is the same for all."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cornerturn.errors import UsageError
from cornerturn.op.engines import move, plan_for
from cornerturn.op.strided_view import (
    StridedView,
    check_destination,
    check_ndim,
    empty_c_order,
    normalized_axes,
    view_of,
)

if TYPE_CHECKING:
    from cornerturn.op.cpu.plan import Plan
    from cornerturn.op.gpu.choice import Choice


class Adapter(ABC):
    """One array library.

    A library must say `view`, `empty` and `move`. It overrides a check where it has rules of its own.

    Attributes:
        array: class of the library's arrays; ``out`` must be one.
    """

    array: type[Any]

    @abstractmethod
    def view(self, x: Any) -> StridedView:
        """Return where the elements of an array are."""

    @abstractmethod
    def empty(self, x: Any, shape: tuple[int, ...]) -> Any:
        """Return a new C-contiguous array of a shape, with x's dtype, on x's device."""

    @abstractmethod
    def move(self, source: StridedView, destination: StridedView, x: Any, out: Any) -> None:
        """Move the elements, on a GPU on the stream that the library works on.

        Args:
            source: view of ``x``, its axes permuted.
            destination: view of ``out``; shares no memory with ``source``.
            x: the caller's array.
            out: the array to write.
        """

    def plan(self, source: StridedView, x: Any) -> "Plan | Choice":
        """Return how `move` would move the elements into a new array.

        Args:
            source: view of ``x``, its axes permuted; it holds some bytes.
            x: the caller's array.

        Raises:
            UsageError: the adapter does not say.
        """
        raise UsageError(f"how arrays of type {type(x).__name__} are moved is not known: their adapter has no plan()")

    def ndim(self, x: Any) -> int:
        """Return the number of axes of an array; asked only where x has no attribute ``ndim``."""
        return len(self.view(x).shape)

    def check_input(self, x: Any) -> None:
        """Raise UsageError if x cannot be moved as plain bytes."""
        return

    def check_writable(self, out: Any) -> None:
        """Raise UsageError if ``out`` must not be written to."""
        return

    def check_output(self, x: Any, shape: tuple[int, ...], out: Any) -> None:
        """Raise UsageError unless ``out`` is an array that takes the result as it is.

        Args:
            x: the caller's array.
            shape: of the result.
            out: what the caller gave, of any type.
        """
        if not isinstance(out, self.array):
            name = f"{self.array.__module__}.{self.array.__name__}"
            raise UsageError(f"out must be a {name} as x is: got {type(out).__name__}")
        self.check_writable(out)
        if tuple(out.shape) != shape:
            raise UsageError(f"out must have the result's shape {shape}: got {tuple(out.shape)}")
        if out.dtype != x.dtype:
            raise UsageError(f"out must have x's dtype {x.dtype}: got {out.dtype}; nothing is converted")
        if out.device != x.device:
            raise UsageError(f"out must be on x's device {x.device}: got {out.device}; nothing moves between devices")

    def transpose(self, x: Any, axes: Sequence[int] | None = None, out: Any = None) -> Any:
        """Return ``out``, or a new C-contiguous array, that holds x with its axes permuted.

        Args:
            x: array of the library.
            axes: axis ``axes[i]`` of ``x`` becomes axis i of the result; None reverses them.
            out: array of the library to write into, any strides, sharing no memory with ``x``.

        Raises:
            UsageError: ``x``, ``axes`` or ``out`` breaks one of these rules.
        """
        source = self._source(x, axes)
        if out is None:
            return self.moved(source, x)
        self.check_output(x, source.shape, out)
        destination = self.view(out)
        if source != destination:
            check_destination(source, destination)
            self.move(source, destination, x, out)
        return out

    def explain(self, x: Any, axes: Sequence[int] | None = None) -> "Plan | Choice":
        """Return how ``transpose(x, axes)`` moves the elements; nothing moves.

        Raises:
            UsageError: ``x`` is empty, or ``x`` or ``axes`` breaks a rule of `transpose`.
        """
        source = self._source(x, axes)
        if not source.nbytes:
            raise UsageError(f"x of shape {tuple(x.shape)} is empty: there is nothing to plan")
        return self.plan(source, x)

    def _source(self, x: Any, axes: Sequence[int] | None) -> StridedView:
        """Return the view of an array that may be moved, its axes permuted."""
        self.check_input(x)
        view = self.view(x)
        check_ndim(len(view.shape))
        return view.permuted(normalized_axes(axes, len(view.shape)))

    def moved(self, source: StridedView, x: Any) -> Any:
        """Return a new array that holds the elements of ``source``, a view of ``x``."""
        result = self.empty(x, source.shape)
        self.move(source, self.view(result), x, result)
        return result


class MainMemory(Adapter):
    """A library whose arrays NumPy reads without a copy: here x and ``out`` are of class ``numpy.ndarray``."""

    def view(self, x: Any) -> StridedView:
        """Return the strided view of a NumPy array."""
        return view_of(x)

    def empty(self, x: Any, shape: tuple[int, ...]) -> Any:
        """Return a new NumPy array whose first element starts a cache line."""
        return empty_c_order(shape, x.dtype)

    def move(self, source: StridedView, destination: StridedView, x: Any, out: Any) -> None:
        """Move the elements by the CPU engine."""
        move(source, destination)

    def plan(self, source: StridedView, x: Any) -> "Plan | Choice":
        """Return the plan of the CPU engine."""
        return plan_for(source)
