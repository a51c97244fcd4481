"""Record the screenshots of both READMEs: `make screenshots`.

They are a card, a graph, the stepper, a step with a mistake and a report, in English as NAME.png and in Russian as
NAME.ru.png. Cells run in a real kernel and are shown as JupyterLab shows them, in a headless Chromium.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from playwright.sync_api import Page, sync_playwright

from autograder import exercises
from autograder.language import LANGUAGES
from autograder.lessons.mistakes import mistakes_of
from autograder.lessons.source import solutions

HERE = Path(__file__).parent
LESSON, EXERCISE = "03_gradient_accumulation", "accumulate_uneven"
WRONG = """\
def accumulate_uneven(model, batches):
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()"""
SETUP = 'import torch\nfrom autograder import draw, start, steps\n\nstart(language="{language}")'
GRAPH = """\
torch.manual_seed(0)
x = torch.rand(4, 3)
w = torch.rand(3, 2, requires_grad=True)
loss = torch.tanh(x @ w).square().sum()
draw(loss)"""
STEPS = "steps(loss)"
MODEL = """\
from torch import nn
from autograder import inspect_step

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16))
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        features = self.body(x).detach()
        return self.head(features)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
x, y = torch.rand(32, 8), torch.randint(0, 3, (32,))"""
TROUBLE = """\
with inspect_step(net, optimizer):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()

loss = nn.functional.cross_entropy(net(x), y)
draw(loss, net)"""
STUDENTS, MISTAKEN = 24, ("accumulate_equal", "accumulate_uneven")
NAMES = ["card", "graph", "steps", "trouble", "report"]
WIDTH, MARGIN, HEIGHT = 932, 24, 1000  # pixels


def card_cells(language: str) -> nbformat.NotebookNode:
    """Return the exercise's task, answer and check, after a run of the notebook."""
    notebook = nbformat.read(HERE.parent / "notebooks" / language / f"{LESSON}.ipynb", as_version=4)
    names = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells]
    answer = names.index(f"answer-{EXERCISE}")
    notebook.cells[answer].source = WRONG
    del notebook.cells[answer + 2 :]
    return run(notebook, first=answer - 1)


def cells(language: str, *sources: str) -> nbformat.NotebookNode:
    """Return a notebook with the last of these cells, after a run of all of them."""
    code = [nbformat.v4.new_code_cell(source) for source in (SETUP.format(language=language), *sources)]
    return run(nbformat.v4.new_notebook(cells=code), first=len(sources))


def run(notebook: nbformat.NotebookNode, first: int) -> nbformat.NotebookNode:
    """Run a notebook and return it with its cells from position `first`."""
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, resources={"metadata": {"path": folder}}).execute()
    notebook.cells = notebook.cells[first:]
    return notebook


def cells_page(name: str, language: str, folder: Path) -> Path:
    """Write the cells of a screenshot as a page into `folder`; return its path."""
    sources = {"graph": (GRAPH,), "steps": (GRAPH, STEPS), "trouble": (MODEL, TROUBLE)}
    notebook = card_cells(language) if name == "card" else cells(language, *sources[name])
    page = folder / f"{name}.html"
    page.write_text(HTMLExporter(template_name="lab").from_notebook_node(notebook)[0], encoding="utf-8")
    return page


def make_report(folder: Path) -> dict[str, Path]:
    """Grade a class in the new folder `folder`. Returns the report's path by language.

    The students make different mistakes.
    """
    autograder, nbgrader = ([sys.executable, "-m", package] for package in ("autograder", "nbgrader"))
    subprocess.run([*autograder, "course", folder], check=True, capture_output=True)
    subprocess.run([*nbgrader, "generate_assignment", LESSON], cwd=folder, check=True, capture_output=True)
    known = exercises.load(LESSON[3:])
    for number in range(STUDENTS):
        notebook = nbformat.read(folder / "release" / LESSON / f"{LESSON}.ipynb", as_version=4)
        for cell in notebook.cells:
            role, _, name = cell.metadata.get("nbgrader", {}).get("grade_id", "").partition("-")
            if role == "answer" and number % 8 < 7:
                cell.source = answer(known[name], number)
        submitted = folder / "submitted" / f"student{number:02}" / LESSON
        submitted.mkdir(parents=True)
        nbformat.write(notebook, submitted / f"{LESSON}.ipynb")
    subprocess.run([*autograder, "grade", folder], check=True, capture_output=True)
    for language in LANGUAGES:
        subprocess.run([*autograder, "report", folder, "--language", language], check=True, capture_output=True)
    return {"en": folder / "report" / f"{LESSON}.html", "ru": folder / "report" / f"{LESSON}.ru.html"}


def answer(exercise: exercises.Exercise, number: int) -> str:
    """Return a student's answer: a solution, or in some exercises a mistake of every third student."""
    if number % 3 or exercise.name not in MISTAKEN:
        return solutions(exercise)[0]
    mistakes = mistakes_of(exercise)
    return mistakes.code([*mistakes.cells][min(number // 9, 2)])


def record(page: Page, name: str, language: str, source: Path, clicks: int = 0) -> None:
    """Write the screenshot of the page in the file `source`.

    `clicks` is the number of steps to go forward.
    """
    page.goto(source.as_uri())
    for _ in range(clicks):
        page.locator("[data-film] button").nth(1).click()
    last = page.locator(".jp-Cell").last
    box = last.bounding_box() if last.count() else None
    height = box["y"] + box["height"] + MARGIN if box else HEIGHT
    path = HERE / (f"{name}.png" if language == "en" else f"{name}.{language}.png")
    page.screenshot(path=path, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
    print(f"wrote {path}")


def main(names: Iterable[str]) -> None:
    """Record the screenshots with these names, or all."""
    wanted = [*names] or NAMES
    browsers = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    chromium = next(filter(None, map(shutil.which, browsers)), None)
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = Path(temporary)
        os.environ["AUTOGRADER_HOME"] = str(folder / "records")
        reports = make_report(folder / "course") if "report" in wanted else {}
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 4 * HEIGHT}, device_scale_factor=1)
        for language in LANGUAGES:
            for name in wanted:
                source = reports[language] if name == "report" else cells_page(name, language, folder)
                record(page, name, language, source, clicks=3 if name == "steps" else 0)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
