"""Tuning: candidates that the kernels take and that are right, and a choice that follows from what is measured."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.errors import DeviceError
from cornerturn.gpu import DeviceFacts
from cornerturn.kernels.kernel import ELEMENT_SIZES
from cornerturn.kernels.production.device_code import Production
from cornerturn.kernels.production.h200 import H200
from cornerturn.kernels.production.profile import Profile
from cornerturn.kernels.production.tile import HALO
from cornerturn.kernels.production.tile_shape import TileShape
from cornerturn.measure import tune as tuning
from cornerturn.measure.cases import Case
from cornerturn.measure.tune import KINDS, Kind, Scale, decisions, fastest, problem_of, tune
from cornerturn.measure.tune_bench import tune_by, untune
from cornerturn.op.gpu import tuned
from cornerturn.op.gpu.tuned import profile_of, tuned_elements
from cornerturn.op.problem import Problem

from ..emulated_move import run
from ..open_profile import OPEN

DEVICE = DeviceFacts(0, "NVIDIA H200", "sm_90", 132, 60 << 20, 140 << 30, True, "13.0")
SCALE = Scale.of(60 << 20, H200.enough_blocks)


def ignore(made: int, label: str, part: float) -> None:
    pass


@dataclass
class FakeBench:
    """A device on which a kernel takes as long as it is told, and its defaults a microsecond a problem."""

    speed: Callable[[Production, Problem], float | None] = lambda production, problem: 1e-6
    right: Callable[[Production, Problem], bool] = lambda production, problem: True
    room: int = 1 << 40
    asked: list[Production] = field(default_factory=list)
    checked: list[Production] = field(default_factory=list)
    prepared: set[str] = field(default_factory=set)

    def prepare(self, productions: Sequence[Production]) -> None:
        self.prepared |= {production.entry for production in productions}

    def seconds(self, production: Production, problem: Problem) -> float | None:
        assert production.entry in self.prepared
        assert problem.nbytes <= self.room
        self.asked.append(production)
        return self.speed(production, problem)

    def is_right(self, production: Production, problem: Problem) -> bool:
        self.checked.append(production)
        return self.right(production, problem)

    def copy_seconds(self, nbytes: int) -> float:
        return 0.5e-6


def favouring(part: str, seconds: float = 0.8e-6) -> FakeBench:
    """A device on which kernels whose instance begins so are faster."""
    return FakeBench(lambda production, problem: seconds if production.entry.startswith(part) else 1e-6)


def kind(name: str) -> Kind:
    return next(kind for kind in KINDS if kind.name == name)


class TestCandidates:
    @pytest.mark.parametrize("element", ELEMENT_SIZES)
    @pytest.mark.parametrize("name", ["aligned", "aligned, small", "ragged", "ragged, small"])
    def test_there_are_some_and_all_obey_the_rules(self, name: str, element: int) -> None:
        found = [profile for stage in kind(name).stages for profile in stage(OPEN, element)]
        assert 5 <= len(found) <= 40 or (element == 1 and "small" in name)
        for profile in found:
            assert not any(shape.broken_rule(element) for shape in profile.aligned[element])
            assert not any(shape.broken_rule(element, HALO) for shape in profile.ragged[element])

    @given(st.data())
    @settings(max_examples=100)
    def test_whatever_tile_is_refined_the_rules_are_kept(self, data: st.DataObject) -> None:
        element, ragged = data.draw(st.sampled_from(ELEMENT_SIZES)), data.draw(st.booleans())
        sizes = st.sampled_from([(1 << 10, 1 << 12), tuning.SMALL_TILES, tuning.LARGE_TILES, (1 << 14, 1 << 16)])
        shapes = list(tuning.tiles(element, ragged, data.draw(sizes), data.draw(st.sampled_from([(2, 4), (8, 16)]))))
        if not shapes:
            return
        first, table = data.draw(st.sampled_from(shapes)), "ragged" if ragged else "aligned"
        halo = HALO if ragged else 0
        assert first.broken_rule(element, halo) is None
        profile = tuning._with(H200, table, element, (first,))
        refined = [getattr(profile, table)[element][0] for profile in kind(table).stages[1](profile, element)]
        assert refined
        assert not any(shape.broken_rule(element, halo) for shape in refined)

    def test_every_candidate_makes_something_of_its_own(self) -> None:
        """At the scale of the device the default was found on, so that no measurement there is for nothing."""
        for element, decided in decisions(ELEMENT_SIZES):
            problems = decided.problems(element, SCALE, OPEN)
            for stage in decided.stages:
                profiles = list(stage(OPEN, element))
                made = {tuple(tuning.identity(decided.made(problem, one)) for problem in problems) for one in profiles}
                assert len(made) >= len(profiles) - 1  # a ragged table has no small tiles by default

    @pytest.mark.parametrize("element", ELEMENT_SIZES)
    @pytest.mark.parametrize("name", ["aligned", "aligned, small", "ragged", "ragged, small"])
    def test_a_sample_is_right_on_the_emulator(self, name: str, element: int) -> None:
        profiles = [profile for stage in kind(name).stages for profile in stage(OPEN, element)]
        rows, cols = (160, 192) if element <= 2 else (80, 96)  # more than one tile, and the last one not full
        shapes = {"aligned": (rows, cols), "ragged": (rows - 3, cols + 3)}
        case = Case(shapes[name.removesuffix(", small")], (1, 0))
        for profile in profiles[element % 3 :: 1 + len(profiles) // 2]:
            # One block is enough, so that the tile tried is the one taken.
            made = kind(name).made(problem_of(case, element), replace(profile, enough_blocks=1))
            run(made, case.shape, case.axes, element)


class TestProblems:
    def test_the_default_solves_each_kind_by_what_the_kind_decides(self) -> None:
        kernels = {"aligned": "tile<{}, ", "ragged": "tile<{}, "}
        for element, decided in decisions(ELEMENT_SIZES):
            problems = decided.problems(element, SCALE, OPEN)
            assert len(problems) == len(decided.cases(element, SCALE))
            for problem in problems:
                entry = decided.made(problem, OPEN).entry
                assert entry.startswith(kernels[decided.name.split(",")[0]].format(element)), (decided.name, entry)
                if entry.startswith("tile"):
                    assert (entry.split(", ")[6] == "2") == decided.name.startswith("ragged"), entry

    @pytest.mark.parametrize("scale", [Scale.of(4 << 20, 160), SCALE, Scale.of(126 << 20, 1184)])
    def test_they_are_as_large_as_the_scale_says(self, scale: Scale) -> None:
        for element, decided in decisions(ELEMENT_SIZES):
            wanted = {"huge": tuning.HUGE * scale.large, "small": scale.small}.get(
                decided.name.rpartition(", ")[2], scale.large
            )
            for case in decided.cases(element, scale):
                assert 0.5 * wanted <= problem_of(case, element).nbytes <= 3.1 * wanted

    def test_the_scale_passes_small_caches_and_stays_moderate(self) -> None:
        assert Scale.of(4 << 20, 160) == Scale(32 << 20, 327680)
        assert Scale.of(60 << 20, 1056) == Scale(128 << 20, 2162688)
        assert Scale.of(24 << 20, 192).large == 64 << 20


class TestFastest:
    def test_a_default_that_is_beaten_by_less_than_the_margin_stays(self) -> None:
        assert fastest(np.array([[[1.0], [0.995]]] * 7), has_default=True) == 0
        assert fastest(np.array([[[1.0], [0.985]]] * 7), has_default=True) == 1
        assert fastest(np.array([[[1.0], [0.995]]] * 7), has_default=False) == 1

    def test_a_gain_in_half_of_the_rounds_is_noise(self) -> None:
        rounds = np.ones((8, 2, 1))
        rounds[::2, 1] = 0.5
        assert fastest(rounds, has_default=True) == 0

    def test_problems_count_alike_however_long_they_take(self) -> None:
        rounds = np.array([[[100.0, 1.0], [105.0, 0.5], [90.0, 1.0]]] * 5)
        assert fastest(rounds, has_default=True) == 1

    def test_a_drift_that_meets_all_alike_hides_no_gain(self) -> None:
        drift = np.linspace(1.0, 2.0, 7)[:, None, None]
        assert fastest(drift * np.array([[[1.0], [0.97]]]), has_default=True) == 1

    @given(st.lists(st.floats(0.5, 2.0), min_size=1, max_size=4), st.integers(1, 9))
    def test_the_winner_is_the_fastest_or_the_default(self, seconds: list[float], rounds: int) -> None:
        best = fastest(np.array([[[one] for one in (1.0, *seconds)]] * rounds), has_default=True)
        assert best == 0 or (1.0, *seconds)[best] == min(1.0, *seconds) <= math.exp(-tuning.MARGIN)


class TestChoice:
    def test_where_nothing_is_faster_the_default_stays(self) -> None:
        profile, choices = tune(OPEN, ELEMENT_SIZES, SCALE, FakeBench(), ignore)
        assert profile == OPEN
        assert len(choices) == len(decisions(ELEMENT_SIZES)) == 21
        assert all(choice.chosen == choice.default and choice.gain == 0 for choice in choices)

    @pytest.mark.parametrize(
        ("entry", "element", "name", "chosen"),
        [
            ("tile<4, 32, 64, 4, 128, true", 4, "aligned", "32x64x4, 128 threads, wide reads"),
            ("tile<2, 64, 32, 4, 64, true, 0", 2, "aligned, small", "64x32x4, 64 threads, wide reads"),
            ("tile<2, 64, 64, 4, 64, false, 2", 2, "ragged", "64x64x4, 64 threads, 16 resident"),
            ("tile<8, 16, 32, 1, 128, false, 2", 8, "ragged, small", "16x32x1, 128 threads, wide reads, 8 resident"),
        ],
    )
    def test_what_is_faster_is_chosen_and_made(self, entry: str, element: int, name: str, chosen: str) -> None:
        bench = favouring(entry)
        profile, choices = tune(OPEN, [element], SCALE, bench, ignore)
        choice = next(choice for choice in choices if choice.kind == name)
        assert choice.chosen == chosen
        assert choice.gain is not None
        assert choice.gain >= 0.1
        entries = [kind(name).made(one, profile).entry for one in kind(name).problems(element, SCALE, profile)]
        assert any(made.startswith(entry) for made in entries)
        others = {size: shapes for size, shapes in profile.aligned.items() if size != element}
        assert others == {size: shapes for size, shapes in H200.aligned.items() if size != element}

    def test_groups_are_chosen_by_their_arguments(self) -> None:
        """The kernel is one for all groups: they differ in the numbers of tiles that it is given."""
        [huge] = kind("aligned, huge").problems(16, SCALE, OPEN)
        wanted = tuning.identity(kind("aligned, huge").made(huge, replace(OPEN, groups={16: (16, 16)})))
        bench = FakeBench(lambda production, _: 0.5e-6 if tuning.identity(production) == wanted else 1e-6)
        profile, _ = tune(OPEN, [16], SCALE, bench, ignore)
        assert profile.groups == {16: (16, 16)}

    def test_groups_are_given_up_where_they_do_not_help(self) -> None:
        bench = FakeBench(lambda production, _: 1e-6 if ", true, 0, 1" in production.entry else 0.9e-6)
        profile, choices = tune(OPEN, [16], SCALE, bench, ignore)
        assert profile.groups == {}
        assert next(choice for choice in choices if choice.kind == "aligned, huge").chosen == "no groups"

    def test_a_chosen_tile_is_refined(self) -> None:
        def speed(production: Production, _: Problem) -> float:
            found = production.entry.startswith("tile<4, 64, 64, 2, 128, false, 2, false, 0, ")
            return 0.8e-6 - 0.1e-6 * (", 1, 5, 2>" not in production.entry) if found else 1e-6

        def finer(production: Production, problem: Problem) -> float:
            seconds = speed(production, problem)
            return seconds / 2 if production.entry.endswith("false, 2, false, 0, 1, 12, 2>") else seconds

        profile, _ = tune(OPEN, [4], SCALE, FakeBench(finer), ignore)
        assert profile.ragged[4][0] == TileShape(64, 64, 2, 128, wide=False, resident=12)

    def test_what_is_wrong_never_wins(self) -> None:
        bench = favouring("tile<4, 32, 64, 4, 128, true", 0.1e-6)
        bench.right = lambda production, _: not production.entry.startswith("tile<4, 32, 64, 4, 128, true")
        assert tune(OPEN, [4], SCALE, bench, ignore)[0] == OPEN

    def test_what_wins_was_checked_on_every_problem(self) -> None:
        bench = favouring("tile<4, 32, 64, 4, 128, true")
        tune(OPEN, [4], SCALE, bench, ignore)
        winner = [production for production in bench.checked if production.entry.startswith("tile<4, 32, 64, 4, 128")]
        assert len({tuning.identity(production) for production in winner}) >= len(kind("aligned").cases(4, SCALE))

    def test_what_does_not_run_is_dropped(self) -> None:
        bench = FakeBench(lambda production, _: None if ", 64, 4, 64" in production.entry else 1e-6)
        assert tune(OPEN, [4], SCALE, bench, ignore)[0] == OPEN

    @pytest.mark.parametrize("fault", ["does not run", "is wrong"])
    def test_a_default_that_cannot_stay_is_replaced(self, fault: str) -> None:
        def faulty(production: Production, _: Problem) -> bool:
            return production.entry.startswith("tile<4, 64, 64, 4, 256, false, 2")

        bench = FakeBench()
        if fault == "is wrong":
            bench.right = lambda production, problem: not faulty(production, problem)
        else:
            bench.speed = lambda production, problem: None if faulty(production, problem) else 1e-6
        profile, choices = tune(OPEN, [4], SCALE, bench, ignore)
        assert profile.ragged[4] != OPEN.ragged[4]
        assert any((choice.default_seconds, choice.gain) == (None, None) for choice in choices)

    def test_problems_that_have_no_room_are_left_out(self) -> None:
        bench = FakeBench(room=SCALE.large)
        _, choices = tune(OPEN, [4], SCALE, bench, ignore)
        assert "aligned, huge" not in {choice.kind for choice in choices}
        assert "aligned" in {choice.kind for choice in choices}

    def test_nothing_that_runs_means_nothing_found(self) -> None:
        assert tune(OPEN, [4], SCALE, FakeBench(lambda production, problem: None), ignore) == (OPEN, [])

    def test_progress_never_goes_back(self) -> None:
        told: list[tuple[int, str, float]] = []
        tune(OPEN, [1, 16], SCALE, FakeBench(), lambda *step: told.append(step))
        done = [made + part for made, _, part in told]
        assert done == sorted(done)
        assert all(0 <= part < 1 for _, _, part in told)
        assert (told[0][1], told[-1][1]) == ("1 bytes, aligned", "16 bytes, ragged, small")

    def test_figures_of_a_choice(self) -> None:
        bench = favouring("tile<2, 64, 64, 4, 64, false, 2", 0.5e-6)
        choice = next(one for one in tune(OPEN, [2], SCALE, bench, ignore)[1] if one.kind == "ragged")
        assert (choice.default, choice.chosen) == (
            "128x64x4, 256 threads, 5 resident",
            "64x64x4, 64 threads, 16 resident",
        )
        assert choice.to_json() == {
            "kind": "ragged",
            "element": 2,
            "default": choice.default,
            "chosen": choice.chosen,
            "default_seconds": pytest.approx(2e-6),
            "seconds": pytest.approx(1e-6),
            "copy_seconds": pytest.approx(1e-6),
            "nbytes": choice.nbytes,
            "gbps": pytest.approx(choice.nbytes / 1e-6 / 1e9),
            "roof_share": pytest.approx(1.0),
            "gain": pytest.approx(1.0),
        }
        assert choice.nbytes == 2 * sum(problem_of(case, 2).nbytes for case in kind("ragged").cases(2, SCALE))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CORNERTURN_CACHE", str(tmp_path))
    tuned._load_once.cache_clear()
    return tmp_path


@pytest.mark.usefixtures("cache")
class TestTarget:
    def test_what_is_found_is_kept_and_loaded(self) -> None:
        bench = favouring("tile<4, 64, 64, 2, 256, true")
        found = list(tune_by(DEVICE, [2, 4], SCALE, bench, ignore))
        assert [choices[0].element for choices in found] == [2, 4]
        assert tuned_elements(DEVICE) == (2, 4)
        # As fast at small problems: no smaller tile is needed there.
        assert profile_of(DEVICE) == replace(H200, aligned={**H200.aligned, 4: (TileShape(64, 64, 2, 256),)})
        assert untune(DEVICE)
        assert profile_of(DEVICE) == H200

    def test_tuned_again_it_starts_from_the_default(self) -> None:
        list(tune_by(DEVICE, [4], SCALE, favouring("tile<4, 32, 64, 4, 128, true"), ignore))
        list(tune_by(DEVICE, [4], SCALE, FakeBench(), ignore))
        assert profile_of(DEVICE) == H200

    def test_another_device_begins_with_its_own_number_of_blocks(self) -> None:
        small = replace(DEVICE, name="NVIDIA L4", arch="sm_89", multiprocessors=58)
        list(tune_by(small, [4], SCALE, FakeBench(), ignore))
        assert profile_of(small).enough_blocks == 464

    def test_interrupted_it_keeps_whole_element_sizes(self, cache: Path) -> None:
        def speed(production: Production, _: Problem) -> float:
            if production.entry.startswith("tile<4, "):
                raise KeyboardInterrupt
            return 1e-6

        with pytest.raises(KeyboardInterrupt):
            list(tune_by(DEVICE, [2, 4], SCALE, FakeBench(speed), ignore))
        assert tuned_elements(DEVICE) == (2,)
        assert [path.suffix for path in cache.iterdir()] == [".json"]

    def test_a_device_on_which_nothing_runs_stays_untuned(self) -> None:
        with pytest.raises(DeviceError, match="no kernel for elements of 4 bytes runs and is right on NVIDIA H200"):
            list(tune_by(DEVICE, [4], SCALE, FakeBench(lambda production, problem: None), ignore))
        assert tuned_elements(DEVICE) == ()

    def test_progress_counts_all_element_sizes(self) -> None:
        told: list[int] = []
        list(tune_by(DEVICE, [1, 16], SCALE, FakeBench(), lambda made, label, part: told.append(made)))
        assert told == sorted(told)
        assert told[-1] == len(decisions([1, 16])) - 1


def test_what_is_tuned_is_part_of_the_profile() -> None:
    """What a tuned device has of its own; all else is that of an H200."""
    tuned_tables = {"aligned", "ragged", "groups"}
    assert (
        set(tuned._entry(H200, 16)) - {"group"} == tuned_tables - {"groups"} <= {each.name for each in fields(Profile)}
    )
