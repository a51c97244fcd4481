"""Lookup of exercises in packages and single modules, the course's own and private ones."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder import exercises
from autograder.cells import BrokenSource
from autograder.exercises import module_files
from autograder.exercises.module_texts import defined_in, importable, modules_of
from autograder.lessons.collection import COURSE, Collection
from autograder.lessons.source import Lesson

EXERCISE = """
from autograder.checking.exercise import Case, aspect, exercise
from autograder.language import Text
{imports}

@exercise(title=Text("T", "T"), kind="complete", hints=[],
          aspects=[aspect("value", {points}, en="V", ru="V")])
def {name}(answer, case):
    return {{"value": answer.{name}()}}
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
    lesson = [name for name in printed if name.count(".") > 2 or name.endswith("leaf_tensors")]
    assert lesson == ["autograder.exercises.leaf_tensors", "autograder.exercises.leaf_tensors.predict_leaf"]


def test_no_lesson_imports_the_compiler() -> None:
    """`autograder check FILE.py` loads all lessons, and `torch._dynamo` takes longer than all of them."""
    look = (
        "import sys; from autograder import exercises; [exercises.load(each) for each in exercises.lessons()];"
        "print('torch._dynamo' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["False"]


@pytest.mark.parametrize("lesson", COURSE.read(), ids=lambda lesson: lesson.name)
def test_every_module_of_a_lesson_is_an_exercise_or_imported(lesson: Lesson) -> None:
    """A file that is not listed in EXERCISES would be forgotten without a word."""
    path = exercises.PACKAGED / lesson.name
    listed = exercises.load(lesson.name)
    helpers = exercises.module_files(path).keys() - {"", *listed}
    texts = [file.read_text(encoding="utf-8") for file in path.rglob("*.py")]
    assert [name for name in helpers if not any(f"from .{name} import" in text for text in texts)] == []
    for folder, ending in (("mistakes", ".py"), ("key", ".json"), ("programs", ".py")):
        found = {file.stem for file in (path / folder).glob(f"*{ending}")} - {"common"}
        assert found <= listed.keys() if folder == "programs" else found == listed.keys()
    assert all(exercises.path_of(exercise) == path for exercise in listed.values())
    assert {exercise.lesson for exercise in listed.values()} == {lesson.name}


def test_a_private_lesson_is_found_beside_the_notebook(here: Path) -> None:
    write_package(here, points=3)
    assert exercises.find("cosine", "20_angles").points == 2
    assert list(exercises.load("angles")) == ["sine", "cosine"]
    assert [each.lesson for each in exercises.load("angles").values()] == ["angles", "angles"]
    assert exercises.find("sine").points == 3
    assert exercises.key_path(exercises.find("sine")) == here / "angles" / "key" / "sine.json"
    assert "angles" in exercises.lessons()


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


def test_a_package_loads_from_texts_without_its_files(tmp_path: Path) -> None:
    files = module_files(write_package(tmp_path))
    texts = {name: file.read_text(encoding="utf-8") for name, file in sorted(files.items(), reverse=True)}
    made = defined_in(modules_of("private_exercises.texts", texts))
    assert [(name, each.points, each.lesson) for name, each in made.items()] == [
        ("sine", 1, "texts"),
        ("cosine", 2, "texts"),
    ]
    assert not [name for name in sys.modules if name.startswith("private_exercises.texts")]


def test_a_lesson_of_texts_is_out_of_reach_afterwards() -> None:
    lesson = "autograder.exercises.first_gradient"
    files = module_files(exercises.PACKAGED / "first_gradient")
    before = exercises.find("descend"), vars(exercises).get("first_gradient"), sys.modules.get(lesson)
    made = modules_of(lesson, {name: file.read_text(encoding="utf-8") for name, file in files.items()})
    assert made["descend"].descend is not before[0]
    assert (exercises.find("descend"), vars(exercises).get("first_gradient"), sys.modules.get(lesson)) == before
    with importable(lesson, made, {"more": "from .descend import descend"}):
        assert importlib.import_module(f"{lesson}.more").descend is made["descend"].descend
    assert f"{lesson}.more" not in sys.modules
