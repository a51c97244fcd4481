"""Lookup of exercises in packages and single modules, the course's own and private ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder import exercises
from autograder.authoring.build import COURSE, Collection
from autograder.authoring.redaction import LessonSource, read_lesson
from autograder.authoring.source import BrokenSource, Lesson

EXERCISE = """
from autograder.checking.exercise import Case, aspect, exercise
from autograder.language import Text
{imports}

@exercise(title=Text("T", "T"), kind="complete", minutes=1, hints=[],
          aspects=[aspect("value", {points}, en="V", ru="V")])
def {name}(answer, case):
    return {{"value": answer.{name}()}}

@{name}.mistake(en="It is one.", ru="Один.")
def returns_one():
    return 1
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A notebook's folder, with `exercises/` beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exercises").mkdir()
    yield tmp_path / "exercises"
    for name in [name for name in sys.modules if name.startswith("private_exercises")]:
        del sys.modules[name]


def write_package(folder: Path, points: int = 1) -> Path:
    """Write a lesson of two exercises, one of which takes its points from a helper module."""
    package = folder / "angles"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('EXERCISES = ("sine", "cosine")\n')
    (package / "common.py").write_text(f"POINTS = {points}\nUNUSED = 5\n")
    (package / "sine.py").write_text(
        EXERCISE.format(name="sine", points="POINTS", imports="from .common import POINTS")
    )
    (package / "cosine.py").write_text(EXERCISE.format(name="cosine", points=2, imports=""))
    return package


def test_one_check_imports_one_exercise() -> None:
    look = (
        "import sys; from autograder.exercises import find; assert find('predict_leaf', 'leaf_tensors').core;"
        "print(*sorted(m for m in sys.modules if m.startswith('autograder.exercises.')))"
    )
    printed = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout.split()
    assert printed == ["autograder.exercises.leaf_tensors", "autograder.exercises.leaf_tensors.predict_leaf"]


@pytest.mark.parametrize("lesson", COURSE.read(), ids=lambda lesson: lesson.name)
def test_every_module_of_a_lesson_is_an_exercise_or_imported(lesson: Lesson) -> None:
    """A file that is not listed in EXERCISES would be forgotten without a word."""
    path = exercises.PACKAGED / lesson.name
    listed = exercises.load(lesson.name)
    helpers = exercises.module_files(path).keys() - {"", *listed, *map(exercises.mistakes_of, listed)}
    texts = [file.read_text(encoding="utf-8") for file in exercises.module_files(path).values()]
    assert [name for name in helpers if not any(f"from .{name} import" in text for text in texts)] == []
    assert all(exercises.path_of(exercise) == path for exercise in listed.values())
    assert {exercise.lesson for exercise in listed.values()} == {lesson.name}


def test_a_private_lesson_may_be_a_package(here: Path) -> None:
    write_package(here, points=3)
    assert exercises.find("cosine", "20_angles").points == 2
    assert list(exercises.load("angles")) == ["sine", "cosine"]
    assert [each.lesson for each in exercises.load("angles").values()] == ["angles", "angles"]
    assert exercises.find("sine").points == 3
    assert exercises.key_path("angles") == here / "angles" / "key.json"
    assert "angles" in exercises.lessons()


def test_mistakes_may_be_in_a_module_of_their_own(tmp_path: Path) -> None:
    package = write_package(tmp_path)
    program = (
        "from .cosine import cosine\n\n@cosine.mistake(en='It is two.', ru='Два.')\ndef returns_two():\n    return 2\n"
    )
    (package / "cosine_mistakes.py").write_text(program)
    assert list(exercises.load_path(package)["cosine"].mistakes) == ["returns_one", "returns_two"]
    source = read_lesson(package)
    made = exercises.defined_in(exercises.modules_of("private_exercises.angles", source.redacted()))
    assert [each.program() for each in made["cosine"].mistakes.values()] == [None, None]
    assert "return 2" in source.extract("cosine", ["returns_two"])


def test_a_private_lesson_may_be_one_module(here: Path) -> None:
    (here / "angles.py").write_text(EXERCISE.format(name="sine", points=4, imports=""))
    assert exercises.find("sine", "angles").points == 4
    assert exercises.key_path("angles") == here / "keys" / "angles.json"


def test_packages_of_one_name_in_two_folders_do_not_mix(tmp_path: Path) -> None:
    first, second = write_package(tmp_path / "a", points=1), write_package(tmp_path / "b", points=5)
    assert exercises.load_path(first)["sine"].points == 1
    assert exercises.load_path(second)["sine"].points == 5
    assert exercises.load_path(first)["cosine"].lesson == "angles"


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("__init__.py", "", "list the lesson's exercises in order"),
        ("__init__.py", "EXERCISES = ['sine']", "list the lesson's exercises in order"),
        ("__init__.py", 'EXERCISES = ("sine", "tangent")', "EXERCISES names tangent, but there is no tangent.py"),
        ("cosine.py", "cosine = 5", "cosine.py defines no exercise called cosine"),
    ],
)
def test_a_slip_in_a_package_is_named(file: str, text: str, said: str, tmp_path: Path) -> None:
    package = write_package(tmp_path / "exercises")
    (package / file).write_text(text)
    (tmp_path / "20_angles.py").write_text("")
    lesson = Lesson(tmp_path / "20_angles.py", ())
    with pytest.raises(BrokenSource, match="the module cannot be imported") as broken:
        Collection(tmp_path, tmp_path / "exercises", tmp_path).exercises(lesson)
    assert said in str(broken.value)


def test_a_redacted_package_loads_without_its_files(tmp_path: Path) -> None:
    sources = read_lesson(write_package(tmp_path)).redacted()
    assert list(sources).index("common") < list(sources).index("sine")
    assert "UNUSED" not in sources["common"]
    made = exercises.defined_in(exercises.modules_of("private_exercises.angles", sources))
    assert [(name, each.points, each.lesson) for name, each in made.items()] == [
        ("sine", 1, "angles"),
        ("cosine", 2, "angles"),
    ]
    assert all(each.mistakes["returns_one"].program() is None for each in made.values())
    assert not [name for name in sys.modules if name.startswith("private_exercises.angles")]


def test_extraction_follows_imports_between_modules() -> None:
    source = LessonSource(
        {
            "": 'EXERCISES = ("sine",)',
            "common": "import math\nHALF = 0.5\ndef half(x):\n    return HALF * x\ndef other():\n    pass\n",
            "sine": "from .common import half\ndef wrong(x):\n    return half(x)\n",
        }
    )
    space: dict[str, object] = {}
    text = source.extract("sine", ["wrong"])
    exec(text, space)
    assert space["wrong"](4) == 2  # type: ignore[operator]
    assert "other" not in text
