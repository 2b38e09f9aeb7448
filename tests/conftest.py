"""All tests share a compiled-kernel cache of their own, and the user's stays as it was."""

import os

import pytest


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory):
    outside = os.environ.get("CORNERTURN_CACHE")
    os.environ["CORNERTURN_CACHE"] = str(tmp_path_factory.mktemp("cornerturn-cache"))
    yield
    os.environ.pop("CORNERTURN_CACHE")
    if outside is not None:
        os.environ["CORNERTURN_CACHE"] = outside
