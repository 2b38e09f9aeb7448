"""The rounds, with engines that do nothing but say that they were asked."""

import pytest

from cornerturn.measure import compare as comparison
from cornerturn.measure.cases import Case
from cornerturn.measure.compare import ROUNDS, Measurement, compare, explained

CASE = Case((6, 10), (1, 0))


class Fake:
    """Work that takes ``seconds`` and notes what it is asked."""

    def __init__(self, seconds=1.0, right=True, asked=None, name="fake"):
        self.seconds, self.right, self.name = seconds, right, name
        self.asked = [] if asked is None else asked

    def sample(self):
        self.asked.append(("sample", self.name))
        return self.seconds.pop(0) if isinstance(self.seconds, list) else self.seconds

    def spoil(self):
        self.asked.append(("spoil", self.name))

    def is_right(self):
        self.asked.append(("check", self.name))
        return self.right


def compared(engines, copies=None):
    copies = copies or [Fake(2.0)]
    made = {name: (lambda work=work: work) for name, work in engines.items()}
    return compare(CASE, "float32", 240, [lambda copy=copy: copy for copy in copies], made)


def test_all_take_turns_and_the_last_round_is_checked():
    asked = []
    compared({name: Fake(asked=asked, name=name) for name in "ab"})
    last = [(what, name) for name in "ab" for what in ("spoil", "sample", "check")]
    assert asked == [("sample", "a"), ("sample", "b")] * (ROUNDS - 1) + last


def test_the_time_is_the_median_of_the_rounds():
    (_, row) = compared({"mine": Fake([9.0, 1.0, 4.0, 4.0, 4.0, 4.0, 8.0, 1.0, 9.0])})
    assert (row.seconds, row.roof_seconds, row.roof_share, row.gbps) == (4.0, 2.0, 0.5, 480 / 4e9)


def test_the_roof_is_the_fastest_copy_that_is_right():
    roof, row = compared({"mine": Fake(8.0)}, [Fake(1.0, right=False), Fake(4.0), Fake(2.0)])
    assert (roof.engine, roof.seconds, roof.roof_share, row.roof_share) == ("copy", 2.0, 1.0, 0.25)


def test_without_a_copy_there_is_no_share():
    roof, row = compared({"mine": Fake()}, [Fake(right=False)])
    assert (roof.status, row.status, row.roof_share) == ("wrong", "valid", None)


def test_a_wrong_result_has_no_time():
    (_, row) = compared({"mine": Fake(right=False)})
    assert (row.status, row.seconds, row.roof_share) == ("wrong", None, None)


@pytest.mark.parametrize("step", ["prepare", "sample", "spoil", "is_right"])
def test_an_error_is_its_engines_alone(step):
    def broken():
        raise RuntimeError("out of luck\nand more")

    work = Fake()
    if step != "prepare":
        setattr(work, step, broken)
    rows = compare(
        CASE,
        "float32",
        240,
        [Fake],
        {"bad": broken if step == "prepare" else lambda: work, "picky": lambda: "takes cubes only", "fine": Fake},
    )
    assert [row.status for row in rows] == ["valid", "failed", "refused", "valid"]
    assert [row.refused for row in rows] == [None, "failed: out of luck", "takes cubes only", None]
    assert rows[1].seconds is None


def test_an_interrupt_is_not_swallowed():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(CASE, "float32", 240, [Fake], {"stopped": interrupted})


def test_a_kernel_is_named_for_a_valid_result_of_ours():
    rows = [Measurement(CASE, "float32", name, 480, status) for name, status in NAMED]
    assert [row.kernel for row in explained(rows, lambda: "tile")] == ["tile", None, None]


NAMED = [(comparison.OURS, "valid"), (comparison.OURS, "wrong"), (comparison.ROOF, "valid")]


def test_json_has_the_documented_keys():
    row = Measurement(CASE, "float32", "mine", 480, "valid", 2.0, 1.0)
    keys = ["case", "shape", "axes", "dtype", "bytes", "engine", "seconds", "gbps", "roof_share"]
    assert list(row.to_json()) == keys
    named = Measurement(Case((6, 10), (1, 0), label="heads"), "float32", "cornerturn", 480, "valid", kernel="tile")
    assert list(named.to_json()) == [*keys, "name", "kernel"]
