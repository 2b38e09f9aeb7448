from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from cornerturn.cli import kernel_commands, main
from cornerturn.errors import MissingExtraError
from cornerturn.gpu import DeviceFacts
from cornerturn.kernels.catalogue import find, in_family
from cornerturn.kernels.kernel import Kernel, Source
from cornerturn.kernels.production.device_code import Production
from cornerturn.kernels.production.h200 import H200
from cornerturn.kernels.production.profile import Profile
from cornerturn.measure.groups import parse_move
from cornerturn.op.gpu.engine import into_new
from cornerturn.op.gpu.plan import plan
from cornerturn.op.gpu.tuned import default_for
from cornerturn.op.problem import Problem
from cornerturn.toolchain import Module, build, compilation, compile_source, unavailable_reason

H200_FACTS = DeviceFacts(0, "NVIDIA H200", "sm_90", 132, 60 << 20, 140 << 30, True, "13.0")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def kernel(name: str) -> Kernel:
    entry = find(name)
    assert isinstance(entry, Kernel)
    return entry


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, with nothing remembered in this process either."""
    monkeypatch.setenv("CORNERTURN_CACHE", str(tmp_path / "cache"))
    compilation._compile_once.cache_clear()
    return tmp_path / "cache"


class TestBuild:
    def test_fills_the_cache_with_one_module_a_source_and_architecture(self, cache: Path) -> None:
        done = run("build", "--family", "textbook", "--family", "controls", "--arch", "sm_80", "--arch", "sm_90")
        assert done.exit_code == 0
        lines = [line.split()[:5] for line in done.stdout.splitlines()]
        assert lines[:4] == [
            [file, *count, "for", arch]
            for file, count in (("textbook.cu", ("8", "kernels")), ("controls.cu", ("1", "kernel")))
            for arch in ("sm_80", "sm_90")
        ]
        assert str(cache) in "".join(done.stdout.split())
        assert len(list(cache.iterdir())) == 4

    @pytest.mark.skipif(
        unavailable_reason(kernel("cute_row_smem").source) is not None, reason="the CuTe DSL is not installed"
    )
    def test_what_it_leaves_serves_where_there_is_no_compiler(
        self, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert run("build", "--family", "cute").exit_code == 0
        compilation._compile_once.cache_clear()
        monkeypatch.setattr(compilation, "compile_with_cute", None)
        assert all(build(entry).cubin for entry in in_family("cute") if isinstance(entry, Kernel))

    @pytest.fixture
    def few(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A catalogue of two sources, for one of which there is no compiler."""

        def missing(source: Source, arch: str) -> Module:
            raise MissingExtraError("needs the DSL: pip install it")

        monkeypatch.setattr(compilation, "compile_with_cute", missing)
        monkeypatch.setattr(kernel_commands, "CATALOGUE", [*in_family("controls"), *in_family("cute")])

    def test_of_the_whole_catalogue_it_omits_what_has_no_compiler_and_says_so(self, few: None) -> None:
        done = run("build", "--arch", "sm_80")
        assert done.exit_code == 0
        made, omitted = (" ".join(line.split()) for line in done.stdout.splitlines()[:2])
        assert made.startswith("controls.cu 1 kernel for sm_80 by nvrtc")
        assert omitted == "cute.py 11 kernels for sm_80 omitted: needs the DSL: pip install it"

    @pytest.mark.parametrize("named", [True, False])
    def test_what_is_asked_for_by_name_and_what_leaves_nothing_is_an_error(
        self, few: None, monkeypatch: pytest.MonkeyPatch, named: bool
    ) -> None:
        monkeypatch.setattr(kernel_commands, "CATALOGUE", in_family("cute"))
        done = run("build", *(["--family", "controls", "--family", "cute"] if named else []))
        assert (done.exit_code, done.stdout) == (2, "")
        assert "needs the DSL: pip install it" in done.stderr

    def test_the_first_call_of_a_move_finds_its_kernel(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        names = ("30x40x50:2,0,1", "300x400[:,1:]", "30x40x50:2,0,1")
        done = run("build", *(word for name in names for word in ("--move", name)), "--element-bytes", "2")
        assert done.exit_code == 0
        assert len(list(cache.iterdir())) == 2
        compilation._compile_once.cache_clear()
        monkeypatch.setattr(compilation, "compile_with_nvrtc", None)
        for case in map(parse_move, names):
            production = plan(*into_new(case.view(2).permuted(case.axes)), default_for(H200_FACTS))
            assert compile_source(production.source, "sm_90").image(production.entry).cubin

    def test_it_is_that_of_this_machines_gpu(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        profiles = []

        def noted(problem: Problem, x: int, y: int, profile: Profile) -> Production:
            profiles.append(profile)
            return plan(problem, x, y, profile)

        facts = replace(H200_FACTS, arch="sm_80", multiprocessors=108)
        monkeypatch.setattr(kernel_commands, "unavailable_reason", lambda: None)
        monkeypatch.setattr(kernel_commands, "facts_of", lambda ordinal: facts)
        monkeypatch.setattr(kernel_commands, "plan", noted)
        assert run("build", "--move", "300x400", "--arch", "sm_80", "--arch", "sm_90").exit_code == 0
        assert profiles == [default_for(facts), H200]

    def test_without_a_tuned_profile_an_h200_plans_as_is_built_without_one(self) -> None:
        assert default_for(H200_FACTS) == H200

    def test_a_cache_that_cannot_be_written_is_an_error(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "file").write_text("in the way")
        monkeypatch.setenv("CORNERTURN_CACHE", str(tmp_path / "file"))
        done = run("build", "--family", "controls")
        assert done.exit_code == 2
        assert "is not writable: set CORNERTURN_CACHE" in done.stderr

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--arch", "sm_12x"], "unknown architecture 'sm_12x'"),
            (["--element-bytes", "2"], "--element-bytes is about --move: give a move, or omit it"),
            (["--move", "large"], "unknown move: got 'large'"),
            (["--move", "1048576x1048576"], "at most 1 TiB is supported"),
            (["--family", "cutie"], "unknown family 'cutie': did you mean 'cute'?"),
        ],
    )
    def test_bad_usage_is_one_line(self, arguments: list[str], message: str, cache: Path) -> None:
        done = run("build", *arguments)
        assert (done.exit_code, done.stdout) == (2, "")
        assert message in done.stderr and len(done.stderr.splitlines()) == 1


class TestLayout:
    def test_shows_both_sides_and_the_shared_tile(self) -> None:
        pytest.importorskip("tensor_layouts")
        done = run("layout", "tiled_16")
        assert done.exit_code == 0
        for words in ("of the tile of x", "of the tile of y", "padded, as in this kernel", "(16,16):(17,1)"):
            assert words in done.stdout

    def test_writes_an_svg_file(self, tmp_path: Path) -> None:
        pytest.importorskip("tensor_layouts")
        picture = tmp_path / "layout.svg"
        assert run("layout", "shared_padding", "--svg", picture).exit_code == 0
        assert ElementTree.parse(picture).getroot().tag.endswith("svg")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["cute_row"], "unknown kernel 'cute_row': did you mean"),
            (["view"], "view moves nothing"),
            (["tiled_16", "--svg", "/no/such/folder/layout.svg"], "cannot be written"),
        ],
    )
    def test_bad_usage_is_one_line(self, arguments: list[str], message: str) -> None:
        pytest.importorskip("tensor_layouts")
        done = run("layout", *arguments)
        assert (done.exit_code, done.stdout) == (2, "")
        assert message in done.stderr and len(done.stderr.splitlines()) == 1
