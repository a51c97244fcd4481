"""Every built notebook in a real kernel, untouched and solved."""

import copy
import re
from collections import defaultdict
from itertools import cycle
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from autograder.checking.verdict import MIME, Verdict
from autograder.language import LANGUAGES
from autograder.lessons.collection import COURSE

pytestmark = [pytest.mark.long(10), pytest.mark.usefixtures("quick_kernels")]

TWO = ("first_gradient", "gradient_accumulation")  # the gate runs the answers and the given code of all
NIGHTLY = pytest.mark.nightly(
    twin="tests/test_lessons.py::test_a_notebook_runs_untouched_and_then_solved_gets_every_point"
)
LESSONS = [
    pytest.param(lesson, language, marks=[] if lesson.name in TWO else NIGHTLY)
    for lesson, language in zip(COURSE.read(), cycle(LANGUAGES))  # the code is the same in both languages
]


def execute(notebook, folder: Path) -> dict[str, list[Verdict]]:
    """Run all cells; any error in a cell raises. The verdicts of the check cells, by exercise."""
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    client.execute()
    found = defaultdict(list)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert output.get("name") != "stderr", output
            if MIME in output.get("data", {}):
                verdict = Verdict.from_json(output["data"][MIME])
                assert output["data"]["text/plain"] == repr(verdict)
                found[verdict.exercise].append(verdict)
    return found


@pytest.mark.parametrize(("lesson", "language"), LESSONS, ids=lambda x: getattr(x, "name", x))
def test_a_notebook_runs_untouched_and_then_solved_gets_every_point(lesson, language, tmp_path):
    """As a learner works: run all, write the answers, run all again in the same kernel."""
    notebook = nbformat.read(COURSE.notebooks / language / f"{lesson.file_name}.ipynb", as_version=4)
    pictures = [cell.source for cell in lesson.cells if cell.is_picture]  # they depend on no answer, and take time
    solved = [cell for cell in copy.deepcopy(notebook.cells) if cell.source not in pictures]
    for cell in solved:
        name = cell.id.removeprefix("answer-")
        if name != cell.id:
            cell.source = lesson.of("answer", name)[0].source
        cell.id = f"again-{cell.id}"
    notebook.cells += solved
    verdicts = execute(notebook, tmp_path)
    states = {name: [verdict.state for verdict in found] for name, found in verdicts.items()}
    assert states == {name: ["not attempted", "passed"] for name in COURSE.exercises(lesson)}
    cards = [o["data"]["text/html"] for c in notebook.cells for o in c.get("outputs", []) if MIME in o.get("data", {})]
    assert all(f'lang="{language}"' in card for card in cards)
    assert all(bool(re.search("[а-я]", card)) == (language == "ru") for card in cards)
