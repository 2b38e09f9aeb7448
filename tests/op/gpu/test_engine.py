"""The engine's launchers: of a production kernel, all that its launch says, loaded once."""

import numpy as np
import pytest

from cornerturn.measure.cases import Case
from cornerturn.measure.tune import problem_of
from cornerturn.op.gpu import engine
from cornerturn.op.gpu.plan import choose, plan
from cornerturn.op.gpu.tuned import profile_of
from cornerturn.op.strided_view import StridedView
from cornerturn.toolchain import compile_source

from ..adapters.fake_gpu import FACTS

PRODUCTION = plan(problem_of(Case((512, 768), (1, 0)), 4), 0, 0)


@pytest.fixture
def launchers(monkeypatch):
    """What is loaded, and what launchers are made of."""
    loaded, made = [], []
    monkeypatch.setattr(engine, "_kernel", lambda *code: loaded.append(code) or "kernel")
    monkeypatch.setattr(engine, "Launcher", lambda *parts: made.append(parts) or parts)
    return loaded, made


def test_a_launcher_is_made_of_the_compiled_kernel_and_its_launch(launchers):
    loaded, _ = launchers
    launch, image = PRODUCTION.launch, compile_source(PRODUCTION.source, "sm_90").image(PRODUCTION.entry)
    parts = ("kernel", PRODUCTION.entry, launch.grid, launch.block, launch.arguments, launch.shared_bytes)
    assert engine.launcher(PRODUCTION, "sm_90") == parts
    assert loaded == [(image.cubin, image.symbol, f"{PRODUCTION.entry} for sm_90")]
    assert all(isinstance(argument, str | np.generic) for argument in launch.arguments)


def test_a_module_that_is_compiled_already_is_not_compiled_again(launchers, monkeypatch):
    module = compile_source(PRODUCTION.source, "sm_90")
    monkeypatch.setattr(engine, "compile_source", None)
    assert engine.launcher(PRODUCTION, "sm_90", module)[0] == "kernel"


def test_the_choice_is_for_a_new_array_and_knows_where_x_begins(monkeypatch):
    monkeypatch.setattr(engine, "facts_of", lambda ordinal: FACTS if ordinal == 1 else None)
    source = StridedView(4096 + 4, 4, (60, 100), (-4, 240))
    problem, x, y = engine.into_new(source)
    assert (problem.strides_in, problem.strides_out, x, y) == ((-4, 240), (400, 4), 4, 0)
    assert str(engine.choice_for(source, 1)) == str(choose(problem, 4, 0, profile_of(FACTS)))
