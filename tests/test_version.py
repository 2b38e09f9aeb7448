import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from cornerturn import version

OWN = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]["version"]


@pytest.mark.parametrize("installed", ["7.8.9", None])
def test_the_version_is_that_of_the_installation_or_of_the_source_tree(installed, monkeypatch: pytest.MonkeyPatch):
    def ask(name: str) -> str:
        assert name == "cornerturn"
        if installed is None:
            raise PackageNotFoundError(name)
        return installed

    monkeypatch.setattr(version, "version", ask)
    assert version.package_version() == (installed or OWN)
