"""Instances and launches by name: what the device code declares is what is passed, in its order and of its types."""

import numpy as np
import pytest

from cornerturn.kernels.production.device_code import COMMON, DeviceCode
from cornerturn.toolchain import compile_source

WEAVE = {"E": 4, "K": 3, "THREADS": 64, "INTERLEAVE": True, "AXES": 2}


def test_an_instance_lists_its_arguments_as_the_template_does() -> None:
    shuffled = dict(reversed(WEAVE.items()))
    assert DeviceCode("weave").entry(shuffled) == "weave<4, 3, 64, true, 2>"
    woven = {"AXES": 2, "E": 4, "K": 3, "INTERLEAVE": True, "X_UNITS": False, "HALO": 2, "THREADS": 128}
    assert DeviceCode("ragged_weave", "weave").entry(woven) == "ragged_weave<4, 3, 128, true, false, 2, 2>"


@pytest.mark.parametrize("given", [{}, {**WEAVE, "READ": 1}, {name: WEAVE[name] for name in list(WEAVE)[1:]}])
def test_a_name_too_few_or_too_many_is_said(given: dict[str, int]) -> None:
    with pytest.raises(TypeError, match="weave has the template arguments E, K, THREADS, INTERLEAVE, AXES: got "):
        DeviceCode("weave").entry(given)


def test_a_launch_passes_values_of_the_declared_types_in_the_declared_order() -> None:
    axes = np.zeros((), "V16")[()]
    made = DeviceCode("weave").production(WEAVE, blocks=7, shared_bytes=32, axes=axes, pitch=-(2**40), groups=2**31)
    launch = made.launch
    assert (launch.grid, launch.block, launch.shared_bytes) == ((7, 1, 1), (64, 1, 1), 32)
    assert launch.arguments == ("x", "y", np.uint32(2**31), np.int64(-(2**40)), axes)
    assert [type(each) for each in launch.arguments[2:4]] == [np.uint32, np.int64]


def test_a_parameter_that_is_missing_is_said() -> None:
    with pytest.raises(TypeError, match="weave has the parameters x, y, groups, pitch, axes: got axes, groups, x, y"):
        DeviceCode("weave").production(WEAVE, 1, axes=None, groups=1)


def test_a_source_is_compiled_after_what_it_builds_on_and_names_each_file() -> None:
    code = DeviceCode("ragged_weave", "weave")
    template = {"E": 1, "K": 3, "THREADS": 64, "INTERLEAVE": True, "X_UNITS": True, "HALO": 0, "AXES": 2}
    made = code.production(template, 1, records=1, pitch=4, x_first=0, x_end=4, axes=None)
    assert [each.file for each in made.source.preceding] == [COMMON.file, "weave.cu"]
    ptx = compile_source(made.source).ptx
    files = ["common.cu", "weave.cu", "ragged_weave.cu"]
    assert [file for file in files if f'"{file}"' in ptx] == files
