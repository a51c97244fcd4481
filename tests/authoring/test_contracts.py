"""Contracts in lessons: labels, and the tie of each line to what checks it."""

from __future__ import annotations

import pytest

from autograder import exercises
from autograder.language import LANGUAGES
from autograder.lessons.collection import COURSE
from autograder.lessons.prose.contracts import Part, contract_problems, read_contract
from autograder.lessons.source import read
from support.solved import built_notebook

LESSONS = {lesson.name: lesson for lesson in COURSE.read()}


@pytest.mark.parametrize("name", sorted(LESSONS))
def test_every_exercise_has_a_contract_that_names_its_aspects(name):
    lesson, known = LESSONS[name], exercises.load(name)
    assert list(contract_problems(lesson, known)) == []
    for exercise in known.values():
        if exercise.asks_for != "dict":
            assert all(read_contract(lesson, exercise.name, language) for language in LANGUAGES), exercise.name


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (" <!-- dtypes -->", "", "end line 4 of its contract with `<!-- ASPECT -->`"),
        (" <!-- dtypes -->", " <!-- no aspect: nobody counts -->", "no line of its contract names the aspect dtypes"),
        (" <!-- dtypes -->", " <!-- dtype -->", "its contract names the aspect dtype, which it has not"),
        ("* **Not allowed.**", "* **Leave.**", "its contract in Russian has other labels or comments than in English"),
    ],
)
def test_a_line_and_an_aspect_without_each_other_are_told(tmp_path, old, new, complaint):
    source = LESSONS["first_gradient"].path.read_text(encoding="utf-8")
    path = tmp_path / LESSONS["first_gradient"].path.name
    path.write_text(source.replace(old, new), encoding="utf-8")
    found = list(contract_problems(read(path), exercises.load("first_gradient")))
    assert any(each.startswith(f"numerical_slope: {complaint}") for each in found), found


@pytest.mark.parametrize(("language", "label"), [("en", "**Result.**"), ("ru", "**Результат.**")])
def test_students_see_no_comments_and_each_label_once_where_lines_follow_each_other(language, label):
    lesson = LESSONS["first_gradient"]
    assert "<!--" in lesson.path.read_text(encoding="utf-8")
    built = built_notebook(lesson, language)
    assert "<!--" not in built
    assert built.count(label) == 2  # of the two exercises; the second has three results
    assert built.count(Part.LEAVE.label.read(language)) == 2
