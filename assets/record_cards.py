"""Record `assets/card.png` and `card.ru.png`, the pictures of a card in both READMEs: `make cards`.

A wrong answer is put into a copy of the notebook of lesson 03, which runs up to its check. The three cells of the
exercise are shown as JupyterLab shows them, in a headless Chromium.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from playwright.sync_api import sync_playwright

from autograder.language import LANGUAGES

HERE = Path(__file__).parent
LESSON, EXERCISE = "03_gradient_accumulation", "accumulate_uneven"
WRONG = """\
def accumulate_uneven(model, batches):
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()"""
WIDTH, MARGIN = 932, 24  # pixels
FILES = {"en": "card.png", "ru": "card.ru.png"}


def shown_cells(language: str) -> nbformat.NotebookNode:
    """Return the exercise's task, answer and check, after a run of the notebook."""
    notebook = nbformat.read(HERE.parent / "notebooks" / language / f"{LESSON}.ipynb", as_version=4)
    names = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells]
    answer = names.index(f"answer-{EXERCISE}")
    notebook.cells[answer].source = WRONG
    del notebook.cells[answer + 2 :]
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, allow_errors=True, resources={"metadata": {"path": folder}}).execute()
    notebook.cells = notebook.cells[answer - 1 :]
    return notebook


def record(language: str) -> None:
    """Write the picture of one language."""
    page_text, _ = HTMLExporter(template_name="lab").from_notebook_node(shown_cells(language))
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder, "cells.html")
        file.write_text(page_text, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 1200}, device_scale_factor=1)
        page.goto(file.as_uri())
        last = page.locator(".jp-Cell").last.bounding_box()
        assert last
        height = last["y"] + last["height"] + MARGIN
        page.screenshot(path=HERE / FILES[language], clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
        browser.close()
    print(f"wrote {HERE / FILES[language]}")


if __name__ == "__main__":
    for language in LANGUAGES:
        record(language)
