"""Small arithmetic that a user writes, such as ``ceil(cols/32), rows//8``: parsed to a tree, never run as Python.

Numbers are exact fractions: ``cols/32`` must come out whole where a whole number is needed.
"""

import ast
import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from cornerturn.errors import UsageError

MAX_LENGTH = 300
MAX_BITS = 64
GRAMMAR = "whole or decimal numbers, names, + - * / // %, ceil(), floor(), min(), max()"

_BINARY: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction | int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}
_FUNCTIONS: dict[str, tuple[Callable[..., Fraction | int], int]] = {
    "ceil": (math.ceil, 1),
    "floor": (math.floor, 1),
    "min": (min, 2),
    "max": (max, 2),
}


def split(text: str) -> list[ast.expr]:
    """The trees of the expressions between the commas of ``text``.

    Raises:
        UsageError: it is not a list of expressions, or is too long.
    """
    if len(text) > MAX_LENGTH:
        raise UsageError(f"{text[:20]}...: an expression has at most {MAX_LENGTH} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise UsageError(f"{text!r} is not an expression: it may hold {GRAMMAR}") from error
    trees = list(tree.elts) if isinstance(tree, ast.Tuple) else [tree]
    if not trees:
        raise UsageError(f"{text!r} is empty: give one or more expressions, separated by commas")
    return trees


def evaluate(tree: ast.expr, names: Mapping[str, int]) -> Fraction:
    """The value of an expression.

    Raises:
        UsageError: it holds what is not arithmetic or a name that is not among ``names``, or divides by zero.

    Example:
        >>> [evaluate(tree, {"cols": 100}) for tree in split("ceil(cols/32), min(cols, 8*2)")]
        [Fraction(4, 1), Fraction(16, 1)]
    """
    match tree:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            if not math.isfinite(value):
                raise UsageError(f"{ast.unparse(tree)} is too large a number")
            return Fraction(ast.unparse(tree)) if isinstance(value, float) else Fraction(value)
        case ast.Name() | ast.Attribute():
            name = ast.unparse(tree)
            if name not in names:
                raise UsageError(f"unknown name {name!r}: the names are {', '.join(names)}")
            return Fraction(names[name])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -evaluate(operand, names)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _BINARY:
            divides = isinstance(operator, ast.Div | ast.FloorDiv | ast.Mod)
            a, b = evaluate(left, names), evaluate(right, names)
            if divides and b == 0:
                raise UsageError(f"{ast.unparse(tree)} divides by zero")
            return Fraction(_BINARY[type(operator)](a, b))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            function, fewest = _FUNCTIONS[name]
            if len(arguments) < fewest or (fewest == 1 and len(arguments) > 1):
                raise UsageError(
                    f"{ast.unparse(tree)}: {name}() takes {'one number' if fewest == 1 else 'two or more'}"
                )
            return Fraction(function(*(evaluate(argument, names) for argument in arguments)))
    raise UsageError(f"{ast.unparse(tree)!r} is not arithmetic: an expression may hold {GRAMMAR}")


def whole(tree: ast.expr, names: Mapping[str, int]) -> int:
    """The value of an expression that must be a whole number.

    Raises:
        UsageError: as `evaluate`, or it is not whole, or needs more than 64 bits.
    """
    value = evaluate(tree, names)
    if value.denominator != 1:
        at = ", ".join(f"{name} = {number}" for name, number in names.items() if name in ast.unparse(tree))
        text = ast.unparse(tree)
        raise UsageError(f"{text} is not whole{at and f' for {at}'}: write ceil({text}), or // for /")
    if abs(value) >= 2**MAX_BITS:
        raise UsageError(f"{ast.unparse(tree)} is too large a number: it needs more than {MAX_BITS} bits")
    return int(value)
