"""Instances and launches by name: what the device code declares is what is passed, in its order and of its types."""

import numpy as np
import pytest

from cornerturn.kernels.production.device_code import COMMON, DeviceCode
from cornerturn.toolchain import compile_source

ROWS = {"E": 4, "THREADS": 64, "ITEMS": 2, "AXES": 2}


def test_an_instance_lists_its_arguments_as_the_template_does() -> None:
    shuffled = dict(reversed(ROWS.items()))
    assert DeviceCode("rows").entry(shuffled) == "rows<4, 64, 2, 2>"
    woven = {"AXES": 2, "E": 4, "K": 3, "INTERLEAVE": True, "X_UNITS": False, "HALO": 2, "THREADS": 128}
    assert DeviceCode("ragged_weave", "weave").entry(woven) == "ragged_weave<4, 3, 128, true, false, 2, 2>"


@pytest.mark.parametrize("given", [{}, {**ROWS, "READ": 1}, {name: ROWS[name] for name in list(ROWS)[1:]}])
def test_a_name_too_few_or_too_many_is_said(given: dict[str, int]) -> None:
    with pytest.raises(TypeError, match="rows has the template arguments E, THREADS, ITEMS, AXES: got "):
        DeviceCode("rows").entry(given)


def test_a_launch_passes_values_of_the_declared_types_in_the_declared_order() -> None:
    axes = np.zeros((), "V16")[()]
    made = DeviceCode("rows").production(ROWS, blocks=7, shared_bytes=32, axes=axes, inner=1, slab=2**31)
    launch = made.launch
    assert (launch.grid, launch.block, launch.shared_bytes) == ((7, 1, 1), (64, 1, 1), 32)
    assert launch.arguments == ("x", "y", np.uint32(2**31), np.uint32(1), axes)
    assert [type(each) for each in launch.arguments[2:4]] == [np.uint32, np.uint32]


def test_a_parameter_that_is_missing_is_said() -> None:
    with pytest.raises(TypeError, match="rows has the parameters x, y, slab, inner, axes: got axes, slab, x, y"):
        DeviceCode("rows").production(ROWS, 1, axes=None, slab=1)


def test_a_source_is_compiled_after_what_it_builds_on_and_names_each_file() -> None:
    code = DeviceCode("tile_run", "tile")
    template = {"E": 4, "R": 16, "C": 64, "P": 4, "THREADS": 64, "X_UNITS": True, "AXES": 2}
    made = code.production(template, 1, cols=1, pitch_in=4, x_first=0, x_end=4, axes=None)
    assert [each.file for each in made.source.preceding] == [COMMON.file, "tile.cu"]
    ptx = compile_source(made.source).ptx
    assert [file for file in ("common.cu", "tile.cu", "tile_run.cu") if f'"{file}"' in ptx] == [
        "common.cu",
        "tile.cu",
        "tile_run.cu",
    ]
