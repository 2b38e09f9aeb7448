"""Answers of the driver, and errors."""

import pytest

from cornerturn.errors import DeviceError
from cornerturn.gpu.driver import check, device_errors

driver = pytest.importorskip("cuda.bindings.driver")
OK, BAD = driver.CUresult.CUDA_SUCCESS, driver.CUresult.CUDA_ERROR_INVALID_VALUE


@pytest.mark.parametrize(("result", "values"), [((OK,), ()), ((OK, 3), 3), ((OK, 3, b"4"), (3, b"4"))])
def test_the_values_after_a_status(result, values):
    assert check(result) == values


@pytest.mark.parametrize(("complaint", "begin"), [("", ""), ("it does not turn", "it does not turn: ")])
@pytest.mark.parametrize(("text", "said"), [(b"invalid argument", "invalid argument"), (None, "no description")])
def test_a_failure_says_what_did_not_work_and_why(complaint, begin, text, said, monkeypatch):
    monkeypatch.setattr(driver, "cuGetErrorString", lambda status: (OK, text))
    with pytest.raises(DeviceError) as caught:
        check((BAD, None), complaint)
    assert str(caught.value) == f"{begin}CUDA_ERROR_INVALID_VALUE ({said})"


def test_any_error_becomes_one_of_the_device():
    with pytest.raises(DeviceError, match=r"^turning failed: upside down$"), device_errors("turning"):
        raise RuntimeError("upside down")
