"""``setp`` (PTX ISA, comparison and selection instructions), worked out with Python's own comparisons."""

from collections.abc import Callable
from itertools import product
from math import inf, nan

from .notation import Case, case, f32

NUMBERS = (-inf, -1.0, -0.0, 0.0, 2.5, nan)
WORDS = (0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF)
SIGNED = {word: word - 2**32 if word >= 2**31 else word for word in WORDS}

ORDERED: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a < b or a > b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
COMBINE: dict[str, Callable[[int, int], int]] = {
    "and": lambda p, q: p & q,
    "or": lambda p, q: p | q,
    "xor": lambda p, q: p ^ q,
}


def compare(name: str, a: float, b: float) -> int:
    """What ``setp.name`` says of two numbers, of which one may be NaN."""
    unordered = a != a or b != b
    if name in ("num", "nan"):
        return int(unordered == (name == "nan"))
    if name.endswith("u"):  # true also when a or b is NaN
        return int(unordered or ORDERED[name[:-1]](a, b))
    return int(not unordered and ORDERED[UNSIGNED.get(name, name)](a, b))


def _integer(name: str, kind: str, values: dict[int, int]) -> Case:
    rows = (((a, b), compare(name, values[a], values[b])) for a, b in product(values, repeat=2))
    return case("pred = b32, b32", f"setp.{name}.{kind} %d, %a, %b;", *rows)


def _float(name: str) -> Case:
    pairs = ((a, b) for a, b in product(NUMBERS, repeat=2) if not a > b)
    return case(
        "pred = f32, f32",
        f"setp.{name}.f32 %d, %a, %b;",
        *(((f32(a), f32(b)), compare(name, a, b)) for a, b in pairs),
        ((f32(2.5), f32(-1.0)), compare(name, 2.5, -1.0)),
    )


def _combined(name: str, combine: str) -> Case:
    pairs = ((1.0, 2.0), (2.0, 2.0), (3.0, 2.0)) if name in UNSIGNED else ((1.0, 2.0), (2.0, 2.0), (3.0, nan))
    kind, bits = ("u32", int) if name in UNSIGNED else ("f32", f32)
    return case(
        f"pred = {kind}, {kind}, pred",
        f"setp.{name}.{combine}.{kind} %d, %a, %b, %c;",
        *(((bits(a), bits(b), c), COMBINE[combine](compare(name, a, b), c)) for (a, b), c in product(pairs, (0, 1))),
    )


FLOAT_NAMES = (*ORDERED, *(f"{name}u" for name in ORDERED), "num", "nan")

COMPARISONS = (
    *(_integer(name, "u32", {word: word for word in WORDS}) for name in (*ORDERED, *UNSIGNED)),
    *(_integer(name, "s32", SIGNED) for name in ORDERED),
    *(_float(name) for name in FLOAT_NAMES),
    *(_combined(name, combine) for name, combine in product((*FLOAT_NAMES, *UNSIGNED), COMBINE)),
    case("pred = f32, f32", "setp.lt.ftz.f32 %d, %a, %b;", ((0, 1), 0), ((0, f32(1.0)), 1)),
    case(
        "pred = b16, b16",
        "setp.ltu.f16 %d, %a, %b;",
        ((0x3C00, 0x7E00), 1),
        ((0x3C00, 0x4000), 1),
        ((0x4000, 0x3C00), 0),
    ),
    case("pred = b16, b16", "setp.eq.bf16 %d, %a, %b;", ((0x3F80, 0x3F80), 1), ((0, 0x8000), 1), ((0x7FC0, 0x7FC0), 0)),
    case("pred = b64, b64", "setp.lt.s64 %d, %a, %b;", (((1 << 64) - 1, 0), 1), ((0, 1 << 63), 0)),
)
