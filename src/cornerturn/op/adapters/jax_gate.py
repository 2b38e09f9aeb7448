"""A gate before a handler written in Python, which closes before the interpreter ends.

XLA may call from a thread of its own while the process exits. Python ends a thread that asks for the interpreter then,
and XLA would wait forever for what that thread was to do. The gate is machine code that needs no interpreter: it
counts who is inside, and turns back whoever comes when it is closed.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import cfunc, types
from numba.extending import intrinsic

_I64 = ir.IntType(64)
_intrinsic: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic


class Gate:
    """Lets calls of one handler through until it is closed.

    Attributes:
        address: to be called in place of the handler, as ``void* (*)(void*)``.
    """

    def __init__(self, handler: int, table: int, entry: int, refusal: int) -> None:
        """Make an open gate.

        Args:
            handler: address of the handler, a ``void* (*)(void*)``.
            table: bytes into a call's argument at which it holds the address of a table of functions.
            entry: bytes into that table at which it holds the address of the function that answers a refused call.
            refusal: address to give it.
        """
        self._closed, self._inside = np.zeros(1, np.int64), np.zeros(1, np.int64)
        closed, inside = self._closed.ctypes.data, self._inside.ctypes.data

        def enter(argument: int) -> int:
            _add(inside, 1)  # first, so that who closes the gate sees whoever found it open
            refused = _add(closed, 0)
            answer = _call(_load(_load(argument + table) + entry), refusal) if refused else _call(handler, argument)
            _add(inside, -1)
            return answer  # type: ignore[no-any-return]

        self._entrance = cfunc(types.int64(types.int64))(enter)
        self.address: int = self._entrance.address

    def close(self) -> None:
        """Let nobody in any more; return when all who were inside have left."""
        self._closed[0] = 1
        time.sleep(0)  # gives away the interpreter's lock, which those inside need, and orders memory
        while self._inside[0]:
            time.sleep(0.001)


@_intrinsic
def _add(context: Any, address: Any, number: Any) -> Any:
    """Add to the integer at an address, in one order for all threads, and return what it was."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", builder.inttoptr(args[0], _I64.as_pointer()), args[1], "seq_cst")

    return types.int64(types.int64, types.int64), generate


@_intrinsic
def _load(context: Any, address: Any) -> Any:
    """Return the 64-bit integer at an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(builder.inttoptr(args[0], _I64.as_pointer()))

    return types.int64(types.int64), generate


@_intrinsic
def _call(context: Any, address: Any, argument: Any) -> Any:
    """Call the function at an address with one pointer, and return the pointer that it returns."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = ir.FunctionType(_I64, [_I64]).as_pointer()
        return builder.call(builder.inttoptr(args[0], function), [args[1]])

    return types.int64(types.int64, types.int64), generate
