"""What a user without a GPU is told; these tests run everywhere."""

import sys

import pytest

from cornerturn.errors import DeviceError
from cornerturn.gpu import open_device, unavailable_reason


def test_without_cuda_core_the_pip_line_is_given(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "cuda", None)
    with pytest.raises(DeviceError, match=r"pip install 'cornerturn\[gpu\]'"):
        open_device()
    assert "cuda-core" in (unavailable_reason() or "")


def test_the_reason_is_what_opening_would_raise():
    reason = unavailable_reason()
    if reason is None:
        assert open_device().facts.ordinal == 0
    else:
        with pytest.raises(DeviceError) as caught:
            open_device()
        assert str(caught.value) == reason


@pytest.mark.parametrize("ordinal", [-1, 99])
def test_a_device_that_is_not_there_is_an_error(ordinal: int):
    with pytest.raises(DeviceError):
        open_device(ordinal)
