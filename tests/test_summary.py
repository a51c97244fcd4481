"""The page of what to keep: built from lessons, explanations and glossary."""

import re

import nbformat
import pytest

from autograder.cli import main
from autograder.explained.table import EXPLANATIONS
from autograder.language import LANGUAGES
from autograder.lessons.collection import COURSE
from autograder.lessons.summary import readable

SAMPLES = ("1", "x", "x.y", ":0", "(3,)", "", " ")


def test_what_is_committed_is_what_lessons_and_tables_give(capsys):
    assert main(["build", "--check", "summary"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_holds_every_lesson_and_every_explanation(language):
    page = nbformat.read(COURSE.notebooks / language / "summary.ipynb", as_version=4)
    text = "\n".join(cell.source for cell in page.cells)
    for lesson in COURSE.read():
        assert f"]({lesson.file_name}.ipynb)" in text
    counted = re.findall(r"<summary>[^<]*: (\d+)</summary>", text)
    assert sum(map(int, counted)) == len(EXPLANATIONS)
    assert all(each.says.read(language) in text for each in EXPLANATIONS)


def test_a_text_on_the_page_is_one_that_its_explanation_matches():
    for pattern in {each.pattern.pattern for each in EXPLANATIONS}:
        filled = [readable(pattern).replace("…", sample) + end for sample in SAMPLES for end in ("", " ")]
        assert any(re.search(pattern, text) for text in filled), pattern
