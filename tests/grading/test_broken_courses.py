"""Courses that have lost the gradebook or a source, or have a broken source."""

from __future__ import annotations

import re
import shlex
import shutil

import pytest

from autograder.cli import main
from support.course import Course, files_below, run_autograder
from support.first_gradient import NAME, SOLVED, TOTAL

pytestmark = pytest.mark.long(10)


def test_a_lost_gradebook_is_filled_again(course: Course) -> None:
    """This is also where a teacher gets who has only made the Russian release, with --no-db."""
    course.hand_in("ann", SOLVED)
    (course.folder / "gradebook.db").unlink()
    before = files_below(course.folder / "release")
    for name in (f"{NAME}/", f"source/{NAME}/"):  # as a shell completes it
        assert main(["grade", str(course.folder), name]) == 0
    assert course.scores() == {"ann": TOTAL}
    assert files_below(course.folder / "release") == before


# Kills the process when it writes the third cell of a kind into the gradebook.
KILL = """
import os, signal
from nbgrader.api import Gradebook
written, write = [], Gradebook.update_or_create_{kind}_cell
def killed(*arguments, **more):
    written.append(arguments)
    if len(written) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return write(*arguments, **more)
Gradebook.update_or_create_{kind}_cell = killed
"""


@pytest.mark.parametrize("kind", ["grade", "source"])
def test_a_lost_gradebook_is_filled_again_after_a_kill(kind: str, course: Course) -> None:
    course.hand_in("ann", SOLVED)
    with course.gradebook() as gradebook:
        before = gradebook.find_notebook(NAME, NAME).to_dict()
        cells = {each.name for each in gradebook.find_notebook(NAME, NAME).source_cells}
    (course.folder / "gradebook.db").unlink()
    assert run_autograder("grade", course.folder, first=KILL.format(kind=kind)).returncode == -9
    assert main(["grade", str(course.folder)]) == 0
    assert course.scores() == {"ann": TOTAL}
    with course.gradebook() as gradebook:
        notebook = gradebook.find_notebook(NAME, NAME)
        assert notebook.to_dict() | {"id": "", "num_submissions": 0} == before | {"id": ""}
        assert {each.name for each in notebook.source_cells} == cells


def test_one_assignment_that_cannot_be_graded_does_not_stop_the_others(
    course: Course, capsys: pytest.CaptureFixture[str]
) -> None:
    course.hand_in("ann", SOLVED)
    other = "01_leaf_tensors"
    (course.folder / "submitted" / "ann" / other).mkdir()
    shutil.copy(course.folder / "source" / other / f"{other}.ipynb", course.folder / "submitted" / "ann" / other)
    shutil.rmtree(course.folder / "source" / other)
    assert main(["grade", str(course.folder)]) == 1
    said = capsys.readouterr().err
    assert f"{other} was not graded" in said
    assert course.scores() == {"ann": TOTAL}

    remedy = re.search(r"`autograder (course [^`]+)`", said)
    assert remedy
    assert main(shlex.split(remedy[1])) == 0
    assert main(["grade", str(course.folder)]) == 0


def test_the_command_that_is_said_of_a_broken_source_tells_why(
    course: Course, capsys: pytest.CaptureFixture[str]
) -> None:
    course.hand_in("ann", SOLVED)
    (course.folder / "gradebook.db").unlink()
    source = course.folder / "source" / NAME / f"{NAME}.ipynb"
    source.write_text(source.read_text(encoding="utf-8").replace('"points": 4', '"points": "many"'), encoding="utf-8")
    assert main(["grade", str(course.folder)]) == 1
    remedy = re.search(r"`nbgrader ([^`]+)`", capsys.readouterr().err)
    assert remedy
    with pytest.raises(AssertionError, match="many"):
        course.nbgrader(*shlex.split(remedy[1]))
