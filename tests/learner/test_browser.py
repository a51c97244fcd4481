"""The lesson in real JupyterLab in real Chromium, in both languages."""

import json

import pytest
from playwright.sync_api import expect

from autograder.exercises import misconceptions_of
from autograder.language import LANGUAGES
from autograder.learner.lab import show_contents
from autograder.learner.notebooks.working_copy import prepare_copy
from autograder.lessons.collection import COURSE
from autograder.lessons.source import solutions
from autograder.messages.learners import message
from support.browser import Notebook, barriers, browser_page, classic_notebook, jupyterlab
from support.exercises import typed
from support.first_gradient import EXERCISES, FIRST, LESSON
from support.solved import built_notebook

pytestmark = [pytest.mark.long(30), pytest.mark.usefixtures("quick_kernels")]

(CONTENTS,) = COURSE.read(["index"])
MISTAKE, TOLD = next(iter(misconceptions_of(FIRST).items()))

SECOND_BACKWARD = "loss = torch.ones(2, requires_grad=True).exp().sum()\nloss.backward()\nloss.backward()"


@pytest.fixture
def work(tmp_path, language):
    """The working copy of the lesson and of the page of contents as their sources are now."""
    for each in LANGUAGES:
        (tmp_path / "notebooks" / each).mkdir(parents=True)
        for lesson in (LESSON, CONTENTS):
            path = tmp_path / "notebooks" / each / f"{lesson.file_name}.ipynb"
            path.write_text(built_notebook(lesson, each), encoding="utf-8")
    prepare_copy(tmp_path / "work", language, tmp_path / "notebooks")
    show_contents(tmp_path / "work" / language, language)
    return tmp_path / "work"


# In Russian: Notebook 7 below, and a student of the hub in `tests/deploy`.
@pytest.mark.parametrize("language", ["en"])
def test_the_lesson_works_in_the_browser(work, language):
    name = f"{LESSON.file_name}.ipynb"
    cells = json.loads((work / language / name).read_text(encoding="utf-8"))["cells"]
    at = {cell["metadata"].get("nbgrader", {}).get("grade_id"): index for index, cell in enumerate(cells)}

    def says(id, **parameters):
        return message(id, **parameters).read(language)

    with jupyterlab(work, language) as address, browser_page() as page:
        notebook = Notebook.open(page, address.replace("index.ipynb", name))
        interface = {"en": "File", "ru": "Файл"}[language]
        expect(page.locator(".lm-MenuBar-item").first).to_have_text(interface)

        for exercise in EXERCISES.values():
            notebook.type_into(at[f"answer-{exercise.name}"], solutions(exercise)[0])
        notebook.run_all()
        for exercise in EXERCISES.values():
            card = notebook.card(at[f"check-{exercise.name}"])
            expect(card).to_contain_text(f"✓ {says('state.passed')}")
            expect(card).to_have_attribute("lang", language)
        notebook.picture(f"{language}-passed", at[f"check-{FIRST.name}"])

        notebook.type_into(at[f"answer-{FIRST.name}"], typed(FIRST, MISTAKE))
        notebook.run(at[f"answer-{FIRST.name}"])
        check = at[f"check-{FIRST.name}"]
        notebook.run(check)
        expect(notebook.card(check)).to_contain_text(f"✗ {says('state.not yet')}")
        assert barriers(page, ".jp-Notebook .jp-Cell-outputArea") == []
        expect(notebook.card(check)).to_contain_text(TOLD.says.read(language).replace("`", ""))
        notebook.picture(f"{language}-mistake", check)

        hint = notebook.insert_below(check, f'from autograder import hint\nhint("{FIRST.name}")')
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
        assert barriers(page, ".jp-Notebook .jp-Cell-outputArea") == []


@pytest.mark.nightly(twin="tests/learner/test_browser.py::test_the_lesson_works_in_the_browser")
@pytest.mark.parametrize("language", ["ru"])
def test_the_page_of_contents_opens_first_and_leads_to_a_lesson(work, language):
    with jupyterlab(work, language) as address, browser_page() as page:
        contents = Notebook.open(page, address)
        expect(page.locator(".jp-RenderedHTMLCommon table tr")).to_have_count(1 + len(COURSE.read()))
        contents.picture(f"{language}-contents", 0)
        title = f"{LESSON.file_name[:2]} {LESSON.titles()[language]}"
        page.locator(".jp-OutputArea a", has_text=title).first.click()
        expect(page.locator(".jp-Notebook:visible h1").first).to_contain_text(LESSON.titles()[language])


@pytest.mark.nightly(twin="tests/learner/test_browser.py::test_the_lesson_works_in_the_browser")
@pytest.mark.parametrize("language", ["ru"])
def test_the_lesson_works_in_classic_notebook_7(work, language):
    name = f"{LESSON.file_name}.ipynb"
    cells = json.loads((work / language / name).read_text(encoding="utf-8"))["cells"]
    at = {cell["metadata"].get("nbgrader", {}).get("grade_id"): index for index, cell in enumerate(cells)}
    answer, check = at[f"answer-{FIRST.name}"], at[f"check-{FIRST.name}"]
    with classic_notebook(work) as address, browser_page() as page:
        notebook = Notebook.open(page, address.replace("tree?", f"notebooks/{language}/{name}?"))
        notebook.type_into(answer, solutions(FIRST)[0])
        notebook.run_all()
        expect(notebook.card(check)).to_contain_text(f"✓ {message('state.passed').read(language)}")
        notebook.save()
        ready = notebook.insert_below(check, "from autograder import ready\nready()")
        expect(notebook.cell(ready).locator(".jp-OutputArea")).to_contain_text(
            message("ready.file", path=work / language / name).read(language)
        )
        notebook.picture(f"{language}-notebook7", check)
