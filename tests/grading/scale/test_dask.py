"""Grading on Dask workers: results equal to those of one machine, whatever happens to a worker."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import autograder
from autograder.cli import main
from autograder.lessons.collection import COURSE
from support.course import Course
from support.dask_cluster import DaskCluster
from support.submissions import all_of

pytestmark = pytest.mark.long(20)

KINDS = ("solved", "blank", "mistakes-0", "raises", "warns", "no-check")


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Honest submissions, files beside them that are read or named, and one that is no notebook."""
    (lesson,) = COURSE.read(["first_gradient"])
    chosen = [each for each in all_of(lesson) if each.student.startswith(KINDS)]
    course = Course.make(tmp_path_factory.mktemp("dask") / "calculus", lesson, submissions=chosen)
    course.hand_in_all()
    course.hand_in("garbage", "no notebook")
    folder = course.hand_in("files", {}, name="renamed", beside={"a/b.txt": "deep"}, came="2026-01-01 10:00 UTC").parent
    (folder / "link.txt").symlink_to(course.folder / "secret")
    (folder / "large.bin").write_bytes(bytes(21 << 20))
    return course


@pytest.fixture(scope="module")
def one(handed_in: Course, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The same, to be graded on one machine."""
    return copy(handed_in, tmp_path_factory.mktemp("one"))


@pytest.fixture(scope="module")
def expected(one: Course) -> dict[str, Any]:
    return comparable(one.grade())


def copy(course: Course, folder: Path) -> Course:
    """Copy a course, and put a pipe among the files of a student: pipes cannot be copied."""
    copied = course.copy(folder)
    os.mkfifo(copied.submitted("files").parent / "pipe")
    return copied


def comparable(results: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Results without what differs from run to run."""
    return {student: {**each, "seconds": 0} for student, each in results.items()}


def graded_files(course: Course) -> dict[str, bytes]:
    return {
        str(path.relative_to(course.folder)): path.read_bytes()
        for path in sorted((course.folder / "autograded").rglob("*"))
        if path.is_file() and path.suffix != ".ipynb"
    }


def test_a_worker_gives_the_same_results(handed_in: Course, tmp_path: Path) -> None:
    some = [word for student in ("solved-en", "mistakes-0", "files", "garbage") for word in ("--student", student)]
    course, other = copy(handed_in, tmp_path / "many"), copy(handed_in, tmp_path / "one")
    with DaskCluster(tmp_path / "cluster", hidden=course.folder.parent) as cluster:
        cluster.add_worker()
        results = course.grade("--scheduler", cluster.address, *some)
    assert comparable(results) == comparable(other.grade(*some))
    assert course.scores() == other.scores()
    assert graded_files(course) == graded_files(other)


@pytest.mark.nightly(twin="tests/grading/scale/test_dask.py::test_a_worker_gives_the_same_results")
def test_local_workers_give_the_same_results(
    handed_in: Course, one: Course, expected: dict[str, Any], tmp_path: Path
) -> None:
    course = copy(handed_in, tmp_path / "many")
    assert comparable(course.grade("--scheduler", "local:2")) == expected
    assert course.scores() == one.scores()
    assert graded_files(course) == graded_files(one)


@pytest.mark.nightly(twin="tests/grading/scale/test_dask.py::test_a_worker_gives_the_same_results")
def test_a_worker_with_another_version_is_named_and_not_used(
    handed_in: Course, expected: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course, other = copy(handed_in, tmp_path / "course"), tmp_path / "other"
    package = Path(autograder.__file__).parent
    shutil.copytree(package, other / "autograder", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(package.parent / "notebooks", other / "notebooks")
    with (other / "autograder" / "checking" / "values.py").open("a") as changed:
        changed.write("# another version\n")
    with DaskCluster(tmp_path / "cluster", hidden=course.folder.parent) as cluster:
        cluster.add_worker(str(other), hide=False)
        assert main(["grade", str(course.folder), "--scheduler", cluster.address]) == 1
        said = capsys.readouterr().err
        assert "is not used: autograder " in said
        assert "no worker has the versions of this machine" in said
        assert main(["doctor", "--scheduler", cluster.address]) == 1
        assert "✗ not used: autograder " in capsys.readouterr().out
        cluster.add_worker()
        assert comparable(course.grade("--scheduler", cluster.address)) == expected
        again = course.grade("--scheduler", cluster.address)
        assert {each["state"] for each in again.values()} == {"unchanged", "failed"}, "graded ones are not sent again"
        assert main(["doctor", "--scheduler", cluster.address]) == 1
        assert capsys.readouterr().out.count("✓ answers are isolated by the first wall") == 1


def test_a_scheduler_that_is_not_there(handed_in: Course, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--scheduler", "no address"]) == 1
    assert "no Dask scheduler answers at no address" in capsys.readouterr().err
    assert main(["grade", str(handed_in.folder), "--scheduler", "local:no"]) == 1
    assert "write local:2 for two workers" in capsys.readouterr().err


def test_what_is_missing_is_named(handed_in: Course) -> None:
    blocked = "import sys; sys.modules['distributed'] = None; from autograder.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", blocked, "grade", str(handed_in.folder), "--scheduler", "local:1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'pip install "autograd-course[scale]"' in done.stderr
