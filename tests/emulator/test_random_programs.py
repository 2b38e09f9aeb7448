"""Random structured programs: compiled by NVRTC and emulated, against the same program interpreted lane by lane."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.kernels.kernel import CudaSource
from cornerturn.toolchain.nvrtc import compile_with_nvrtc

from .harness import launch_ptx

THREADS = 64
WORD = 2**32
NAMES = "abcd"

Tree = Any
"""An expression, a condition or a statement: a tuple that begins with its kind."""

OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<< 7 ^": lambda a, b: a << 7 ^ b,
    ">> 3 ^": lambda a, b: a >> 3 ^ b,
    "% 13u +": lambda a, b: a % 13 + b,
    "/ 5u ^": lambda a, b: a // 5 ^ b,
}
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}

leaves = st.one_of(
    st.tuples(st.just("name"), st.sampled_from(NAMES)),
    st.tuples(st.just("number"), st.integers(0, 40) | st.integers(0, WORD - 1)),
)
expressions = st.recursive(
    leaves,
    lambda inner: st.tuples(st.just("operation"), st.sampled_from(sorted(OPERATIONS)), inner, inner),
    max_leaves=4,
)
conditions = st.one_of(
    st.tuples(st.just("compare"), st.sampled_from(sorted(COMPARISONS)), expressions, expressions),
    st.tuples(st.just("bit"), st.sampled_from(NAMES), st.integers(0, 3)),
)
simple = st.one_of(
    st.tuples(st.just("set"), st.sampled_from(NAMES), expressions),
    st.tuples(st.just("leave"), st.sampled_from(["break", "continue", "return"]), conditions),
)


def _compound(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    body = st.lists(inner, min_size=1, max_size=4)
    return st.one_of(
        st.tuples(st.just("if"), conditions, body, body),
        st.tuples(st.just("loop"), expressions, body),
    )


programs = st.lists(st.recursive(simple, _compound, max_leaves=10), min_size=2, max_size=5)


# --- as CUDA C++ --------------------------------------------------------------------------------------------------


def text_of(tree: Tree, depth: int = 0) -> str:
    """C++ of a tree; ``depth`` is the number of loops around it."""
    match tree:
        case ("name", name):
            return str(name)
        case ("number", value):
            return f"{value}u"
        case ("operation" | "compare", sign, left, right):
            return f"({text_of(left)} {sign} {text_of(right)})"
        case ("bit", name, place):
            return f"({name} >> {place} & 1u)"
        case ("set", name, value):
            return f"{name} = {text_of(value)}; trace = trace * 31u + {name};"
        case ("leave", "return", condition):
            return f"if ({text_of(condition)}) {{ y[i] = trace; return; }}"
        case ("leave", how, condition):
            return f"if ({text_of(condition)}) {how};" if depth else ""
        case ("if", condition, yes, no):
            return f"if ({text_of(condition)}) {{ {block(yes, depth)} }} else {{ {block(no, depth)} }}"
        case ("loop", bound, body):
            turn = f"turn{depth}"
            head = f"for (unsigned {turn} = 0; {turn} < ({text_of(bound)} & 3u); ++{turn})"
            return f"{head} {{ {block(body, depth + 1)} }}"
    raise AssertionError(tree)


def block(trees: list[Tree], depth: int) -> str:
    return "\n".join(text_of(tree, depth) for tree in trees)


def source(program: list[Tree]) -> str:
    return f"""extern "C" __global__ void kernel(const unsigned* x, unsigned* y) {{
        const unsigned i = threadIdx.x;
        unsigned a = x[i], b = i, c = 3u, d = x[i + {THREADS}], trace = 1u;
        {block(program, 0)}
        y[i] = trace;
    }}"""


# --- in Python ----------------------------------------------------------------------------------------------------


def value_of(tree: Tree, names: dict[str, int]) -> int:
    match tree:
        case ("name", name):
            return names[name]
        case ("number", value):
            return int(value)
        case ("operation", sign, left, right):
            return OPERATIONS[sign](value_of(left, names), value_of(right, names)) % WORD
        case ("compare", sign, left, right):
            return int(COMPARISONS[sign](value_of(left, names), value_of(right, names)))
        case ("bit", name, place):
            return names[name] >> place & 1
    raise AssertionError(tree)


def run(trees: list[Tree], names: dict[str, int], depth: int = 0) -> str | None:
    """Interpret statements; gives how they were left, if not at their end."""
    for tree in trees:
        how = step(tree, names, depth)
        if how is not None:
            return how
    return None


def step(tree: Tree, names: dict[str, int], depth: int) -> str | None:
    match tree:
        case ("set", name, value):
            names[name] = value_of(value, names)
            names["trace"] = (names["trace"] * 31 + names[name]) % WORD
        case ("leave", how, condition):
            if (depth or how == "return") and value_of(condition, names):
                return str(how)
        case ("if", condition, yes, no):
            return run(yes if value_of(condition, names) else no, names, depth)
        case ("loop", bound, body):
            turn = 0
            while turn < value_of(bound, names) & 3:
                how = run(body, names, depth + 1)
                if how == "return":
                    return how
                if how == "break":
                    break
                turn += 1
    return None


def interpret(program: list[Tree], x: list[int], i: int) -> int:
    names = {"a": x[i], "b": i, "c": 3, "d": x[i + THREADS], "trace": 1}
    run(program, names)
    return names["trace"]


@settings(max_examples=30)
@given(program=programs, seed=st.integers(0, 3))
def test_random_programs(program: list[Tree], seed: int):
    generator = np.random.default_rng(seed)
    x = np.concatenate([generator.integers(0, 8, THREADS), generator.integers(0, WORD, THREADS)]).astype(np.uint32)
    y = np.zeros(THREADS, dtype=np.uint32)
    # Straight to the compiler: programs that are never met again have no place in the cache.
    module = compile_with_nvrtc(CudaSource("random.cu", source(program), ("kernel",)), "sm_90")
    emulation = launch_ptx(module.ptx, "kernel", x, y, block=THREADS)
    assert y.tolist() == [interpret(program, x.tolist(), i) for i in range(THREADS)]
    assert emulation.hazards == ()
    stored = [access for access in emulation.accesses if access.kind == "store"]
    assert sum(access.lanes for access in stored) == THREADS
