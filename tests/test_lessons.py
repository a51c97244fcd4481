"""Every built notebook in a real kernel, untouched and solved."""

import re
from itertools import cycle
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from autograder.authoring.build import COURSE
from autograder.checking.exercise import Exercise
from autograder.checking.verdict import MIME, Verdict
from autograder.language import LANGUAGES

pytestmark = pytest.mark.long

LESSONS = COURSE.read()
# The code is the same in both languages, so that a lesson is run untouched in one and solved in the other.
UNTOUCHED = list(zip(LESSONS, cycle(LANGUAGES)))
SOLVED = list(zip(LESSONS, cycle(reversed(LANGUAGES))))


def opened(lesson, language):
    return nbformat.read(COURSE.notebooks / language / f"{lesson.file_name}.ipynb", as_version=4)


def execute(notebook, folder: Path) -> dict[str, Verdict]:
    """Run all cells; any error in a cell raises. The verdicts of the check cells."""
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    client.execute()
    found = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert output.get("name") != "stderr", output
            if MIME in output.get("data", {}):
                verdict = Verdict.from_json(output["data"][MIME])
                assert output["data"]["text/plain"] == repr(verdict)
                found[verdict.exercise] = verdict
    return found


def known(lesson) -> dict[str, Exercise]:
    return COURSE.exercises(lesson)


@pytest.mark.parametrize(("lesson", "language"), UNTOUCHED, ids=lambda x: getattr(x, "name", x))
def test_an_untouched_notebook_runs_to_its_end(lesson, language, tmp_path):
    verdicts = execute(opened(lesson, language), tmp_path)
    assert {name: verdict.state for name, verdict in verdicts.items()} == dict.fromkeys(known(lesson), "not attempted")


@pytest.mark.parametrize(("lesson", "language"), SOLVED, ids=lambda x: getattr(x, "name", x))
def test_a_solved_notebook_gets_every_point(lesson, language, tmp_path):
    notebook = opened(lesson, language)
    for cell in notebook.cells:
        name = cell.id.removeprefix("answer-")
        if name != cell.id:
            cell.source = lesson.of("answer", name)[0].source
    verdicts = execute(notebook, tmp_path)
    assert {name: verdict.state for name, verdict in verdicts.items()} == dict.fromkeys(known(lesson), "passed")
    cards = [o["data"]["text/html"] for c in notebook.cells for o in c.get("outputs", []) if MIME in o.get("data", {})]
    assert all(f'lang="{language}"' in card for card in cards)
    assert all(bool(re.search("[а-я]", card)) == (language == "ru") for card in cards)
