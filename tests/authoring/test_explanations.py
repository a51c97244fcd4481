"""Explanations that give an answer away: folded, behind its check."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest

from autograder import exercises
from autograder.cells import BrokenSource
from autograder.language import LANGUAGES
from autograder.lessons.collection import COURSE
from autograder.lessons.notebooks import source_notebook
from autograder.lessons.source import read
from support.solved import built_notebook

LESSONS = {lesson.name: lesson for lesson in COURSE.read() if lesson.name not in ("index", "gallery")}
FOLDED = re.compile(r"<details>\n<summary>[^<]+</summary>\n\n(?P<told>.+?)\n\n</details>(?:\n\n#|\Z)", re.S)


@pytest.mark.parametrize("name", LESSONS)
def test_every_prediction_has_an_explanation_in_both_languages(name):
    lesson = LESSONS[name]
    predictions = [each.name for each in exercises.load(name).values() if each.kind == "predict"]
    order = [
        next(iter(cell.role or ()), "explains") for cell in lesson.cells if cell.role or "explains" in cell.metadata
    ]
    told = [(cell.metadata["explains"], cell.language) for cell in lesson.cells if "explains" in cell.metadata]
    explained = {name for name, _ in told}
    assert {*predictions} <= explained
    assert sorted(told) == sorted((each, language) for each in explained for language in LANGUAGES)
    assert all(before in ("check", "explains") for before, after in pairwise(order) if after == "explains")


def test_an_explanation_of_an_unknown_exercise_is_refused(tmp_path):
    (tmp_path / "20_some.py").write_text('# %% [markdown] tags=["en"] explains="squares"\n# Because.\n')
    with pytest.raises(BrokenSource, match=r"20_some.py:1: no exercise is called squares"):
        source_notebook(read(tmp_path / "20_some.py"), {})


@pytest.mark.parametrize("language", LANGUAGES)
def test_students_open_the_explanation_by_a_click(language):
    lesson = LESSONS["gradient_hooks"]  # the heading of the next section is in the same cell
    sources = [cell.source for cell in lesson.cells if "explains" in cell.metadata and cell.language == language]
    cells = ["".join(cell["source"]) for cell in json.loads(built_notebook(lesson, language))["cells"]]
    behind = [
        re.sub(r"\{([.,;:!?)])\}\$", r"$\1", cell) for cell in cells if cell.startswith("<details>")
    ]  # as in the source
    for source, folded in zip(sources, behind, strict=True):
        told = FOLDED.match(folded)
        assert told
        assert source.startswith(told["told"])
        assert folded.endswith(source.removeprefix(told["told"]).lstrip())
        assert not re.search("^#", told["told"], re.M)
