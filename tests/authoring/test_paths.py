"""Paths through the course: files, the course folder that each makes, and the page of contents."""

import json

import pytest

from autograder import contents
from autograder.cli import main
from autograder.grade_ids import GradeId
from autograder.lessons.collection import COURSE
from autograder.lessons.paths import UnknownPath, path_names, read_path
from autograder.lessons.prose.sections import exercise_minutes, lesson_minutes, misplaced, notes_between
from autograder.lessons.source import NOTEBOOKS

LESSONS = {lesson.file_name: lesson for lesson in COURSE.read()}


@pytest.mark.parametrize("name", path_names())
def test_a_path_has_what_its_lessons_build_on(name):
    before = set()
    for step in read_path(name).steps:
        whole = [part for part in step if set(core_of(part.lesson)) <= set(part.counts)]
        before |= {part.lesson[:2] for part in step}
        for part in whole:
            assert {need for need in LESSONS[part.lesson].needs.split(", ") if need} <= before, part.lesson


def core_of(lesson):
    exercises = COURSE.exercises(LESSONS[lesson])
    return [name for name, each in exercises.items() if each.core] + [
        n for n, _ in LESSONS[lesson].with_role("written")
    ]


@pytest.mark.parametrize("name", path_names())
def test_a_step_names_exercises_of_its_lessons_and_fits_an_evening(name):
    file = NOTEBOOKS / "paths" / f"{name}.toml"
    stated = file.read_text(encoding="utf-8")
    path = read_path(name)
    for exercise in [each for names in path.counts.values() for each in names]:
        assert any(
            exercise in COURSE.exercises(LESSONS[lesson]) or exercise in core_of(lesson) for lesson in path.counts
        )
    listed = [line for line in stated.splitlines() if line.startswith(("also", "only"))]
    chosen = {each for line in listed for each in json.loads(line.partition("=")[2])}
    assert chosen <= {each for names in path.counts.values() for each in names}
    assert all(sum(part.minutes for part in step) <= 120 for step in path.steps)


def test_minutes_of_a_path_are_those_of_its_sections():
    path = read_path("six-weeks")
    lesson = LESSONS["03_gradient_accumulation"]
    exercises = COURSE.exercises(lesson)
    core, _ = lesson_minutes(lesson, exercises)
    assert path.minutes_of(lesson.file_name) == core + exercise_minutes(lesson, exercises["train_epoch"])


def test_the_course_of_a_path_has_its_lessons_and_points_and_no_others(tmp_path):
    path = read_path("six-weeks")
    assert main(["course", str(tmp_path / "calculus"), "--path", "six-weeks"]) == 0
    made = sorted(file.parent.name for file in (tmp_path / "calculus" / "source").glob("*/*.ipynb"))
    assert made == sorted(path.counts)
    for lesson, counts in path.counts.items():
        notebook = json.loads((tmp_path / "calculus" / "source" / lesson / f"{lesson}.ipynb").read_text())
        graded = [cell["metadata"].get("nbgrader", {}) for cell in notebook["cells"]]
        assert {GradeId(each["grade_id"]).exercise for each in graded if each.get("grade")} == set(counts)


def test_an_unknown_path_names_the_others(tmp_path, capsys):
    assert main(["course", str(tmp_path), "--path", "short"]) == 1
    assert "the paths are training, six-weeks" in capsys.readouterr().err
    with pytest.raises(UnknownPath):
        read_path("short")


@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_chosen_path_is_kept_until_another_is_chosen(language):
    path = read_path("training")
    assert len(table(contents(language))) == len(LESSONS)
    assert [row[:2] for row in table(contents(language, path="training"))] == [each[:2] for each in path.counts]
    shown = contents(language)
    assert len(table(shown)) == len(path.counts)
    assert path.title.read(language) in str(shown)
    assert "training" in str(contents(language, path="somewhere"))
    assert len(table(contents(language, path="all"))) == len(LESSONS)


def table(shown):
    return [line for line in str(shown).splitlines() if line[:2].isdigit() and line[2] == " "]


@pytest.mark.parametrize("lesson", LESSONS.values(), ids=lambda lesson: lesson.name)
def test_the_core_comes_first_and_a_long_one_has_a_place_to_stop(lesson):
    exercises = COURSE.exercises(lesson)
    core, extra = lesson_minutes(lesson, exercises)
    notes = [note.en for note in notes_between(lesson, exercises).values()]
    assert [*misplaced(lesson, exercises)] == []
    assert any("A place to stop" in note for note in notes) == (core > 50)
    assert any("end of the core" in note for note in notes) == any(not each.core for each in exercises.values())
    assert core <= 90
    assert extra > 0


def test_the_whole_course_stays_short():
    exercises = {name: COURSE.exercises(lesson) for name, lesson in LESSONS.items()}
    assert sum(map(len, exercises.values())) <= 160
    assert sum(lesson_minutes(lesson, exercises[name])[0] for name, lesson in LESSONS.items()) <= 18 * 60
