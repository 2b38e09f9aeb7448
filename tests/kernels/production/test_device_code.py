"""Instances and launches by name: what the device code declares is what is passed, in its order and of its types."""

import numpy as np
import pytest

from cornerturn.kernels.production.device_code import COMMON, DeviceCode
from cornerturn.toolchain import compile_source

TILE = {
    "E": 4,
    "R": 32,
    "C": 32,
    "P": 2,
    "THREADS": 128,
    "X_UNITS": True,
    "HALO": 0,
    "GROUPED": False,
    "NEAR": 0,
    "READ": 1,
    "RESIDENT": 1,
    "AXES": 2,
}
CODE = DeviceCode("tile")
NUMBERS = {"rows": 32, "cols": 2**30, "pitch_in": -(2**40), "pitch_out": 128, "x_first": 0, "x_end": 64}


def test_an_instance_lists_its_arguments_as_the_template_does() -> None:
    assert CODE.entry(dict(reversed(TILE.items()))) == "tile<4, 32, 32, 2, 128, true, 0, false, 0, 1, 1, 2>"


@pytest.mark.parametrize("given", [{}, {**TILE, "MORE": 1}, {name: TILE[name] for name in list(TILE)[1:]}])
def test_a_name_too_few_or_too_many_is_said(given: dict[str, int]) -> None:
    with pytest.raises(TypeError, match=r"tile has the template arguments E, R, C, P, THREADS, .*, AXES: got "):
        CODE.entry(given)


def test_a_launch_passes_values_of_the_declared_types_in_the_declared_order() -> None:
    axes = np.zeros((), "V16")[()]
    launch = CODE.production(TILE, blocks=7, shared_bytes=32, axes=axes, **dict(reversed(NUMBERS.items()))).launch
    assert (launch.grid, launch.block, launch.shared_bytes) == ((7, 1, 1), (128, 1, 1), 32)
    assert launch.arguments == ("x", "y", *NUMBERS.values(), axes)
    assert [type(each) for each in launch.arguments[2:8]] == [np.int32] * 2 + [np.int64] * 4


def test_a_parameter_that_is_missing_is_said() -> None:
    with pytest.raises(TypeError, match=r"tile has the parameters x, y, rows, .*, axes: got axes, rows, x, y"):
        CODE.production(TILE, 1, axes=None, rows=1)


def test_a_source_is_compiled_after_what_is_common_and_names_both_files() -> None:
    made = CODE.production(TILE, 1, axes=None, **NUMBERS)
    assert made.source.preceding == (COMMON,)
    ptx = compile_source(made.source).ptx
    assert all(f'"{file}"' in ptx for file in ("common.cu", "tile.cu"))
