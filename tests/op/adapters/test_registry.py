import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import cornerturn
from cornerturn.errors import UsageError
from cornerturn.op.adapters import registry
from cornerturn.op.adapters.adapter import MainMemory


@pytest.fixture
def registered(monkeypatch):
    """What is registered, to be forgotten after the test."""
    adapters = {}
    monkeypatch.setattr(registry, "_registered", adapters)
    return adapters


class Named(MainMemory):
    array = str


class Exporter:
    """It would go to the adapter of DLPack."""

    def __dlpack__(self):
        raise AssertionError

    __dlpack_device__ = __dlpack__


@pytest.mark.parametrize("x", [[[1, 2]], 3.0, None, "text"])
def test_what_is_no_array_is_refused(x):
    with pytest.raises(UsageError, match=f"transpose takes an array: got {type(x).__name__}"):
        cornerturn.transpose(x)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("scipy.sparse._csr.csr_matrix", r"a sparse matrix; x.toarray\(\) makes an array"),
        ("dask.array.core.Array", r"x.compute\(\) makes an array; x.T.map_blocks"),
        ("zarr.core.array.Array", r"an array in a store; x\[...\] reads it"),
        ("pandas.DataFrame", r"x.to_numpy\(\) makes an array"),
    ],
)
@pytest.mark.parametrize("call", [cornerturn.transpose, cornerturn.matrix_transpose, cornerturn.explain_plan])
def test_of_what_other_libraries_hold_it_says_what_it_is_and_what_to_do(call, kind, message):
    module, _, name = kind.rpartition(".")
    x = type(name, (), {"__module__": module, "ndim": 2})()
    with pytest.raises(UsageError, match=f"transpose takes an array in memory: got {re.escape(kind)}, .*{message}"):
        call(x)


def test_a_sparse_matrix_is_turned_as_it_says():
    sparse = pytest.importorskip("scipy.sparse")
    x = sparse.csr_matrix(np.arange(6).reshape(2, 3))
    with pytest.raises(UsageError, match=r"x.toarray\(\)"):
        cornerturn.transpose(x)
    assert (cornerturn.transpose(x.toarray()) == x.toarray().T).all()


def test_half_imported_libraries_do_no_harm(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    with pytest.raises(UsageError, match="got list"):
        cornerturn.transpose([])


def test_what_is_registered_serves_its_class_and_subclasses_and_goes_before_the_protocols(registered):
    class Ours(Named):
        array = Exporter

    adapter = Ours()
    registry.register(adapter)
    assert registry.adapter_of(Exporter()) is adapter
    assert registry.adapter_of(type("Special", (Exporter,), {})()) is adapter
    with pytest.raises(UsageError, match="got str"):
        registry.adapter_of("text")


def test_the_example_of_the_guide_runs(registered, capsys):
    guide = (Path(__file__).parents[3] / "docs" / "extend.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    names = {}
    exec(example, names)
    assert capsys.readouterr().out == re.search(r"# (\(3, 2\).*)", example)[1] + "\n"
    x, grid = names["x"], names["Grid"]
    out = grid(3, 2)
    assert cornerturn.matrix_transpose(x, out=out) is out
    np.testing.assert_array_equal(list(out.numbers), [0, 3, 1, 4, 2, 5])
    with pytest.raises(UsageError, match="arrays of type Grid are moved is not known: their adapter has no plan"):
        cornerturn.explain_plan(x)
    with pytest.raises(UsageError, match=r"result's shape \(3, 2\): got \(2, 3\)"):
        cornerturn.transpose(x, out=grid(2, 3))
    with pytest.raises(UsageError, match="shares memory with x"):
        cornerturn.transpose(square := grid(3, 3), out=square)
    with pytest.raises(UsageError, match=r"out must be a .*Grid as x is: got ndarray"):
        cornerturn.transpose(x, out=np.zeros((3, 2), "f4"))
