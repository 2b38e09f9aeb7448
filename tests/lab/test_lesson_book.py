import pytest

from cornerturn.errors import UsageError
from cornerturn.kernels.catalogue import find
from cornerturn.lab.lesson_book import LESSONS, find_lessons


def test_lessons_are_found_by_name():
    assert find_lessons([]) == LESSONS
    assert [lesson.name for lesson in find_lessons(["view", "padding", "view"])] == ["view", "padding"]
    with pytest.raises(UsageError, match="unknown lesson 'pading': did you mean 'padding'"):
        find_lessons(["pading"])


def test_names_are_unique_and_claims_are_sentences():
    assert len({lesson.name for lesson in LESSONS}) == len(LESSONS)
    for lesson in LESSONS:
        assert lesson.claim.endswith(".")
        assert all(find(name) for name in lesson.kernels)
