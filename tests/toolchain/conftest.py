from pathlib import Path

import pytest

from cornerturn.toolchain import compilation


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an empty disk cache, with nothing remembered in this process either."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("CORNERTURN_CACHE", str(folder))
    compilation._compile_once.cache_clear()
    return folder
