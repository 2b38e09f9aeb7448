from collections.abc import Iterator

import pytest

from cornerturn.gpu import Device, open_device, unavailable_reason


@pytest.fixture(scope="session")
def device() -> Iterator[Device]:
    """The first CUDA device; a test that asks for it is skipped where there is none."""
    if reason := unavailable_reason():
        pytest.skip(f"needs a GPU: {reason}")
    yield open_device()
