"""A real JupyterLab in a real Chromium, and a notebook in it."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

PATIENCE = 60_000  # milliseconds that any one thing may take; nothing waits longer than it has to
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def chromium():
    """Return the path of Chromium. Without one a test fails in CI and is skipped elsewhere."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not found:
        why = "no Chromium on PATH: install it (Debian: apt-get install chromium)"
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)
    return found


@contextmanager
def jupyterlab(work, language):
    """JupyterLab on `work`, started by `open_lab` with settings of nobody; gives its address."""
    opened = f"open_lab(Path({str(work)!r}), {language!r})"
    interruptible = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # off in background jobs
    script = f"{interruptible}; from pathlib import Path; from autograder.learner.lab import open_lab; {opened}"
    nobody = work.parent / "nobody"
    env = {
        **os.environ,
        "CI": "true",
        "AUTOGRADER_HOME": str(nobody),
        "JUPYTER_CONFIG_DIR": str(nobody / "config"),
        "JUPYTERLAB_SETTINGS_DIR": str(nobody / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(nobody / "workspaces"),
    }
    with (work / "jupyter.log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=log, text=True, env=env
        )
        try:
            line = server.stdout.readline()
            address = re.search(r"http://\S+", line)
            assert address, f"no address in {line!r}: {(work / 'jupyter.log').read_text()}"
            yield address[0]
        finally:
            server.send_signal(2)
            server.wait(30)
            server.stdout.close()


@contextmanager
def browser_page(scheme="light"):
    """An empty page of a new Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM)
        page = browser.new_page(viewport={"width": 1280, "height": 1000}, color_scheme=scheme)
        page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        yield page
        browser.close()


class Notebook:
    """A notebook open in JupyterLab, used by its cells' positions."""

    def __init__(self, page: Page, address: str, name: str) -> None:
        self.page = page
        page.goto(address.replace("?", f"/{name}?"), wait_until="domcontentloaded")
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        self.wait_until_idle()

    def wait_until_idle(self) -> None:
        self.page.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]').first.wait_for()

    def cell(self, index):
        return self.page.locator(f'.jp-Notebook .jp-Cell[data-windowed-list-index="{index}"]')

    def type_into(self, index, text):
        """Replace what an editable code cell holds."""
        editor = self.cell(index).locator(".cm-content")
        editor.scroll_into_view_if_needed()
        editor.click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)
        first_line = text.strip().splitlines()[0]
        expect(editor).to_contain_text(first_line)

    def run(self, index):
        """Shift+Enter in a cell."""
        editor = self.cell(index).locator(".cm-content")
        editor.scroll_into_view_if_needed()
        editor.click()
        self.page.keyboard.press("Shift+Enter")

    def run_all(self):
        self.page.locator(".lm-MenuBar-item").nth(3).click()
        self.page.locator('.lm-Menu-item[data-command="runmenu:run-all"]').click()

    def insert_below(self, index, text):
        """A cell of one's own below, run with Shift+Enter. Gives its position."""
        self.cell(index).locator(".jp-InputPrompt").click()
        self.page.keyboard.press("b")
        expect(self.cell(index + 1).locator(".cm-content")).to_have_text("")
        self.type_into(index + 1, text)
        self.run(index + 1)
        return index + 1

    def card(self, index):
        """Return the text of a cell's output in a language."""
        return self.cell(index).locator(".jp-OutputArea-output div[lang]").first

    def save(self):
        self.page.keyboard.press("Control+S")

    def picture(self, name, index):
        """A screenshot of a cell, into the folder that AUTOGRADER_SCREENSHOTS names."""
        folder = os.environ.get("AUTOGRADER_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.cell(index).scroll_into_view_if_needed()
            self.page.screenshot(path=Path(folder) / f"{name}.png")
