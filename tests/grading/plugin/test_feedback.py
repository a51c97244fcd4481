"""Words on feedback pages: their language, and titles of cells."""

from __future__ import annotations

import pytest
from nbformat.v4 import new_notebook

from autograder import exercises
from autograder.grading.plugin.feedback_exporter import language_of, title
from autograder.messages.feedback import WORDS


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({"autograder": {"language": "ru"}}, "ru"),
        ({"autograder": {"language": "en"}}, "en"),
        ({"autograder": {"language": '"><script>'}}, "en"),
        ({"autograder": {"language": ["ru"]}}, "en"),
        ({"autograder": "ru"}, "en"),
        ({"autograder": {}}, "en"),
        ({}, "en"),
    ],
)
def test_the_language_of_a_page(metadata: dict[str, object], language: str) -> None:
    assert language_of(new_notebook(metadata=metadata)) == language


def test_titles_of_cells() -> None:
    known = exercises.load("gradient_accumulation")
    name = next(iter(known))
    assert "<code>.grad</code>" in title("check-predict_accumulation", "gradient_accumulation", "ru")
    assert title(f"check-{name}", "", "en") != name
    assert title("written-why", "gradient_accumulation", "ru") == WORDS["written"].ru
    assert title("<i>theirs</i>", "", "en") == "&lt;i&gt;theirs&lt;/i&gt;"


def test_every_word_is_in_both_languages() -> None:
    assert all(text.en and text.ru and text.en != text.ru for text in WORDS.values())
