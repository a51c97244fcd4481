"""The picture on each lesson's first screen."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from autograder.cells import BrokenSource
from autograder.language import LANGUAGES
from autograder.lessons.collection import COURSE
from autograder.lessons.drawing import WIDTH
from autograder.lessons.openings import opening_of
from autograder.lessons.source import read
from support.browser import browser_page

LESSONS = COURSE.read()
BOXES = """texts => texts.map(text => {
  const box = text.getBBox();
  return [box.x, box.y, box.x + box.width, box.y + box.height, parseFloat(getComputedStyle(text).fontSize)];
})"""


def test_every_lesson_shows_its_picture_before_its_second_paragraph() -> None:
    for lesson in LESSONS:
        for language in LANGUAGES:
            text = (COURSE.notebooks / language / f"{lesson.file_name}.ipynb").read_text(encoding="utf-8")
            first = text.partition("cell_type")[2].partition("cell_type")[0]
            assert first.count("<img alt=") == 1, lesson.name
            assert first.index("<img") < 1800, lesson.name


def test_texts_of_a_drawing_are_legible_on_a_phone_and_apart() -> None:
    """One unit is one pixel there."""
    with browser_page() as page:
        for lesson in LESSONS:
            drawing = opening_of(lesson)
            assert drawing is not None, lesson.name
            for language in LANGUAGES:
                page.set_content(drawing.svg(language))
                boxes = page.locator("text").evaluate_all(BOXES)
                for left, top, right, bottom, letters in boxes:
                    where = (lesson.name, language, left, top, right, bottom)
                    assert min(left, top, WIDTH - right, drawing.height - bottom) >= 0, where
                    assert letters >= 11, where
                for number, one in enumerate(boxes):
                    for other in boxes[:number]:
                        across = min(one[2], other[2]) - max(one[0], other[0])
                        down = min(one[3], other[3]) - max(one[1], other[1])
                        assert across <= 1 or down <= 4, (lesson.name, language, one, other)


def test_a_drawing_says_the_same_numbers_in_both_languages() -> None:
    for lesson in LESSONS:
        drawing = opening_of(lesson)
        assert drawing is not None
        told = [re.findall(r"\d+(?:\.\d+)?", text) for text in drawing.says]
        assert sorted(told[0]) == sorted(told[1]), lesson.name
        counts = [len(ElementTree.fromstring(drawing.svg(language))) for language in LANGUAGES]
        assert counts[0] == counts[1]


def test_a_drawing_that_fails_is_named_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "openings").mkdir()
    (tmp_path / "openings" / "mine.py").write_text("def opening():\n    return 1 / 0\n", encoding="utf-8")
    (tmp_path / "50_mine.py").write_text('# %% [markdown] tags=["en"]\n# # Mine\n', encoding="utf-8")
    lesson = read(tmp_path / "50_mine.py")
    with pytest.raises(BrokenSource, match=r"openings/mine\.py:1: opening\(\) cannot be drawn: ZeroDivisionError"):
        opening_of(lesson)
