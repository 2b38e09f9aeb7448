"""The GPU planner on the emulator: every choice is right, legal however large, and cheap for a known structure."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.errors import UsageError
from cornerturn.kernels.grid import SHARED_BYTES
from cornerturn.kernels.kernel import ELEMENT_SIZES
from cornerturn.kernels.production.axes import MAX_BLOCKS
from cornerturn.kernels.production.box import Box
from cornerturn.kernels.production.h200 import H200
from cornerturn.kernels.production.permute import permute, relaunched
from cornerturn.op.gpu import plan as planner
from cornerturn.op.gpu.plan import choose, forget, plan
from cornerturn.op.problem import Problem, canonical

from ...any_box import any_axes
from ...emulated_move import moved_axes, run

Shape = tuple[int, ...]

CASES: list[tuple[Shape, Shape]] = [
    ((256, 256), (1, 0)),
    ((255, 257), (1, 0)),
    ((256, 255), (1, 0)),
    ((1600, 3), (1, 0)),
    ((3, 1600), (1, 0)),
    ((3, 64, 96), (0, 2, 1)),
    ((2, 16, 32, 3), (0, 3, 1, 2)),
    ((2, 64, 16, 128), (0, 2, 1, 3)),
    ((48, 32, 80), (2, 1, 0)),
    ((52, 52, 64), (1, 0, 2)),
    ((3, 1001), (1, 0)),
    ((5, 5), (1, 0)),
    ((99, 2, 2), (0, 2, 1)),
    ((131, 3, 5, 2), (0, 3, 1, 2)),
    ((3,) * 8, tuple(range(7, -1, -1))),
    ((2,) * 12, (3, 7, 0, 11, 5, 1, 9, 2, 10, 4, 8, 6)),
    ((2, 49, 256), (0, 2, 1)),
    ((1, 4003), (1, 0)),
    ((2, 97, 130, 3), (0, 2, 1, 3)),
    ((1, 1), (1, 0)),
    ((2, 3, 4, 14, 4, 14), (0, 2, 4, 3, 5, 1)),  # patches of an image
]


def transposition(shape: Shape, axes: Shape, element: int) -> Problem:
    result, strides_in, strides_out = zip(*moved_axes(shape, axes, element), strict=True)
    return canonical(element, result, strides_in, strides_out)


@pytest.mark.parametrize("element", ELEMENT_SIZES)
@pytest.mark.parametrize(("shape", "axes"), CASES, ids=str)
def test_every_plan_is_right(shape: Shape, axes: Shape, element: int) -> None:
    x, y = (0, 0) if element in (2, 16) else (element, 3 * element)
    run(plan(transposition(shape, axes, element), x, y), shape, axes, element, x, y)


@given(st.data())
@settings(max_examples=40)
def test_any_permutation(data: st.DataObject) -> None:
    element = data.draw(st.sampled_from(ELEMENT_SIZES))
    shape = tuple(data.draw(st.lists(st.sampled_from([1, 2, 3, 5, 8, 16, 33]), min_size=1, max_size=4)))
    axes = tuple(data.draw(st.permutations(range(len(shape)))))
    x, y = (element * data.draw(st.integers(0, 32 // element)) for _ in range(2))
    run(plan(transposition(shape, axes, element), x, y), shape, axes, element, x, y)


@given(st.data())
@settings(max_examples=15)
def test_lines_that_begin_anywhere(data: st.DataObject) -> None:
    """One short axis or whole rows; longer extents than above."""
    element = data.draw(st.sampled_from([1, 4]))
    batch, short, long = (
        data.draw(st.integers(1, 3)),
        data.draw(st.sampled_from([2, 3, 7, 18])),
        data.draw(st.integers(100, 400)),
    )
    shapes = [((batch, short, long), (0, 2, 1)), ((batch, long, short), (0, 2, 1)), ((short, batch, long), (1, 0, 2))]
    shape, axes = data.draw(st.sampled_from(shapes))
    x, y = (element * data.draw(st.integers(0, 32 // element)) for _ in range(2))
    run(plan(transposition(shape, axes, element), x, y), shape, axes, element, x, y)


def test_elements_of_any_size_are_moved() -> None:
    """Of 3, 6, 12 and 24 bytes: as parts of a size that there is."""
    for parts, element in ((3, 1), (3, 2), (3, 4), (3, 8)):
        shape, axes = (37, 23, parts), (1, 0, 2)
        run(plan(transposition((37, 23), (1, 0), parts * element), 0, 0), shape, axes, element)


@pytest.mark.parametrize(("x", "y"), [(8, 0), (0, 4), (1, 2)])
def test_an_address_that_no_element_fits_is_served_by_smaller_ones(x: int, y: int) -> None:
    run(plan(transposition((40, 24), (1, 0), 16), x, y), (40, 24), (1, 0), 16, x, y)


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((2, 1 << 30), (1, 0)),
        ((1 << 16, (1 << 16) + 8), (1, 0)),
        ((3, 1 << 10, 1 << 21), (2, 1, 0)),
        ((2, 120_000_000, 9), (1, 0, 2)),
        ((2**31 + 10, 1), (1, 0)),
        ((2**31 + 10, 3), (1, 0)),
        ((3, 2**31 + 10), (1, 0)),
    ],
    ids=str,
)
def test_arrays_beyond_31_bits_have_a_legal_launch(shape: Shape, axes: Shape) -> None:
    """Not run: the launch alone must be one that a device takes, and cover the array."""
    for element in (1, 2, 8):
        problem = transposition(shape, axes, element)
        launch = plan(problem, 0, 0).launch
        assert 1 <= launch.grid[0] <= MAX_BLOCKS
        assert launch.grid[1:] == (1, 1)
        assert launch.block[0] <= 1024
        assert launch.shared_bytes <= SHARED_BYTES
        assert launch.grid[0] * SHARED_BYTES >= problem.nbytes


def test_more_blocks_than_a_launch_has_are_refused() -> None:
    with pytest.raises(UsageError, match=r"it takes \d+ blocks, and a launch has at most 2147483647: split an axis"):
        plan(transposition((1 << 30, 1 << 21), (1, 0), 16), 0, 0)


class TestStructures:
    """A move whose structure is known is planned without comparing candidates."""

    @pytest.mark.parametrize(
        ("inner", "axes", "element"),
        [((12, 128, 64), (0, 2, 1, 3), 2), ((49, 256), (0, 2, 1), 2), ((3, 16, 14, 16, 14), (0, 2, 4, 3, 5, 1), 2)],
        ids=str,
    )
    def test_300_batch_sizes_take_a_kernel_or_two(self, inner: Shape, axes: Shape, element: int, monkeypatch) -> None:
        compared = []
        monkeypatch.setattr(planner, "choose", lambda *given: compared.append(given) or choose(*given))
        forget()
        batches = range(301, 601)
        sources = {plan(transposition((batch, *inner), axes, element), 0, 0).source for batch in batches}
        assert len(sources) <= 2  # by the power of two of its size
        assert len(compared) < 30  # by this, and by what divides it

    @given(st.integers(0, 2**32))
    @settings(max_examples=25)
    def test_a_move_of_a_known_structure_is_right(self, seed: int) -> None:
        rng = random.Random(seed)
        element, rank = rng.choice(ELEMENT_SIZES), rng.randint(1, 3)
        inner = tuple(rng.choice([2, 3, 5, 8, 16]) for _ in range(rank))
        axes = tuple(rng.sample(range(rank + 1), rank + 1))
        place = rng.randint(0, rank)
        for long in rng.sample([65, 67, 71, 73, 79, 95, 97, 99, 101, 105], 2):
            shape = (*inner[:place], long, *inner[place:])
            run(plan(transposition(shape, axes, element), 0, 0), shape, axes, element)

    @given(st.integers(0, 2**32))
    @settings(max_examples=40)
    def test_what_is_not_in_a_structure_is_not_in_the_code(self, seed: int) -> None:
        """The kernel of one move serves another one: its text is what the other would be compiled from."""
        rng = random.Random(seed)
        element = rng.choice(ELEMENT_SIZES)
        forget()
        with pytest.MonkeyPatch.context() as patch:
            laid: list[Box] = []
            patch.setattr(planner, "relaunched", lambda kernel, box: laid.append(box) or relaunched(kernel, box))
            axes = any_axes(rng, element, 1 << 20)
            for _ in range(6):
                problem = canonical(element, *zip(*reversed(axes), strict=True))
                production = plan(problem, 0, 0)
                if laid:
                    assert production.source == permute(laid.pop()).source
                place = rng.choice(range(len(axes))[-2:])
                extent, step_in, step_out = axes[place]
                longer, spread = extent + rng.choice((1, 2, 16)), element * rng.choice((0, 0, 1, 4))
                axes = (*axes[:place], (longer, step_in + spread, step_out), *axes[place + 1 :])

    @pytest.mark.parametrize(
        ("shape", "longer", "axes", "element"),
        [
            ((200, 5000, 72), (200, 5000, 120), (0, 2, 1), 1),
            ((72, 200, 5000), (120, 200, 5000), (2, 1, 0), 2),
            ((3, 333, 66), (3, 333, 126), (0, 2, 1), 16),
        ],
        ids=str,
    )
    def test_a_whole_axis_that_is_longer_fits_shared_memory_or_is_planned_anew(
        self, shape: Shape, longer: Shape, axes: Shape, element: int
    ) -> None:
        forget()
        for each in (shape, longer):
            launch = plan(transposition(each, axes, element), 0, 0).launch
            assert launch.shared_bytes <= SHARED_BYTES
            assert launch.block[0] <= 1024

    def test_another_profile_is_another_plan(self) -> None:
        problem = transposition((8192, 8192), (1, 0), 4)
        tiles = replace(H200, tile_share=dict.fromkeys(ELEMENT_SIZES, 9.0))
        boxes = replace(H200, tile_share=dict.fromkeys(ELEMENT_SIZES, 0.1))
        for _ in range(2):
            assert plan(problem, 0, 0, tiles).entry.startswith("tile<4")
            assert plan(problem, 0, 0, boxes).entry == "permute"


def test_candidates_are_ordered_by_their_seconds() -> None:
    choice = choose(transposition((4096, 4096), (1, 0), 4))
    seconds = [candidate.seconds for candidate in choice.candidates]
    assert seconds == sorted(seconds)
    assert min(seconds) >= choice.copy_seconds
