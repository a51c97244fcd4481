"""The lesson in real JupyterLab in real Chromium, in both languages."""

import ast
import inspect
import json

import pytest
from playwright.sync_api import expect

from autograder.authoring.build import COURSE
from autograder.authoring.source import solutions
from autograder.learner.working_copy import prepare
from autograder.messages.cards import message
from support.browser import Notebook, browser_page, jupyterlab

pytestmark = pytest.mark.long

(LESSON,) = COURSE.read(["gradient_accumulation"])
EXERCISES = COURSE.exercises(LESSON)
WRONG = EXERCISES["accumulate_uneven"]
MISTAKE = next(iter(WRONG.mistakes.values()))

SECOND_BACKWARD = "loss = torch.ones(2, requires_grad=True).exp().sum()\nloss.backward()\nloss.backward()"


def as_typed(program, name):
    """The program of a mistake as a learner would write it: under the name asked for, without annotations."""
    (function,) = ast.parse(inspect.getsource(program)).body
    function.name, function.decorator_list, function.returns = name, [], None
    for argument in function.args.args:
        argument.annotation = None
    return ast.unparse(function)


@pytest.fixture
def work(tmp_path, language):
    """The working copy of the lesson as its source is now."""
    for path, text in COURSE.files(LESSON).items():
        if path.suffix == ".ipynb":
            built = tmp_path / "notebooks" / path.parent.name / path.name
            built.parent.mkdir(parents=True, exist_ok=True)
            built.write_text(text, encoding="utf-8")
    prepare(tmp_path / "work", language, tmp_path / "notebooks")
    return tmp_path / "work"


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_lesson_works_in_the_browser(work, language):
    name = f"{LESSON.file_name}.ipynb"
    cells = json.loads((work / language / name).read_text(encoding="utf-8"))["cells"]
    at = {cell["metadata"].get("nbgrader", {}).get("grade_id"): index for index, cell in enumerate(cells)}

    def says(id, **parameters):
        return message(id, **parameters).read(language)

    with jupyterlab(work, language) as address, browser_page() as page:
        notebook = Notebook(page, address, name)
        interface = {"en": "File", "ru": "Файл"}[language]
        expect(page.locator(".lm-MenuBar-item").first).to_have_text(interface)

        for exercise in EXERCISES.values():
            notebook.type_into(at[f"answer-{exercise.name}"], solutions(exercise)[0])
        notebook.run_all()
        for exercise in EXERCISES.values():
            card = notebook.card(at[f"check-{exercise.name}"])
            expect(card).to_contain_text(f"✓ {says('state.passed')}")
            expect(card).to_have_attribute("lang", language)
        notebook.picture(f"{language}-passed", at[f"check-{WRONG.name}"])

        notebook.type_into(at[f"answer-{WRONG.name}"], as_typed(MISTAKE.program, WRONG.asks))
        notebook.run(at[f"answer-{WRONG.name}"])
        check = at[f"check-{WRONG.name}"]
        notebook.run(check)
        expect(notebook.card(check)).to_contain_text(f"✗ {says('state.not yet')}")
        expect(notebook.card(check)).to_contain_text(MISTAKE.says.read(language).replace("`", ""))
        notebook.picture(f"{language}-mistake", check)

        hint = notebook.insert_below(check, f'from autograder import hint\nhint("{WRONG.name}")')
        expect(notebook.cell(hint).locator(".jp-OutputArea")).to_contain_text(says("hint.title", number=1, total=3))
        notebook.picture(f"{language}-hint", hint)

        error = notebook.insert_below(hint, SECOND_BACKWARD)
        expect(notebook.cell(error).locator(".jp-OutputArea")).to_contain_text("RuntimeError")
        expect(notebook.card(error)).to_contain_text("02_graph_and_backward")
        notebook.picture(f"{language}-error", error)

        notebook.save()
        ready = notebook.insert_below(error, "from autograder import ready\nready()")
        expect(notebook.cell(ready).locator(".jp-OutputArea")).to_contain_text(
            says("ready.file", path=work / language / name)
        )
        notebook.picture(f"{language}-ready", ready)
