"""All tests share a compiled-kernel cache of their own, and the user's stays as it was.

What lies in a cache named by CORNERTURN_CACHE is there from the start: a machine without the CuTe DSL can so be given
the kernels of that family.
"""

import os
import shutil
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# No test asserts a time, and an example may compile a kernel. In CI every run draws the same examples, so that what
# fails there fails again; elsewhere each run draws new ones.
settings.register_profile("untimed", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("untimed")

# A shell without job control starts what it puts in the background with SIGINT ignored, and children inherit that:
# the tests that interrupt a process would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


# What a command prints depends on the terminal's width; a pipe has none, wherever the tests run.
os.environ.pop("COLUMNS", None)


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory):
    outside = os.environ.get("CORNERTURN_CACHE")
    temporary = tmp_path_factory.getbasetemp()
    shared = temporary.parent if "PYTEST_XDIST_WORKER" in os.environ else temporary  # what one compiles serves all
    own = shared / "cornerturn-cache"
    own.mkdir(exist_ok=True)
    if outside is not None and Path(outside).is_dir():
        shutil.copytree(outside, own, dirs_exist_ok=True)
    os.environ["CORNERTURN_CACHE"] = str(own)
    yield
    os.environ.pop("CORNERTURN_CACHE")
    if outside is not None:
        os.environ["CORNERTURN_CACHE"] = outside
