"""A real JupyterLab in a real Chromium, and a notebook in it."""

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect, sync_playwright

from support.needs import find_program

PATIENCE = 300_000  # milliseconds that any one thing may take on a busy machine; nothing waits longer than it has to
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def chromium():
    """Return the path of Chromium. Without one a test fails in CI and is skipped elsewhere."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")  # the first one is fastest
    return find_program(*names, remedy="apt-get install chromium-headless-shell (Debian)")


@contextmanager
def jupyterlab(work, language):
    """JupyterLab on `work`, started by `open_lab` with settings of nobody; gives its address."""
    opened = f"open_lab(Path({str(work)!r}), {language!r})"
    with _server(work, f"from autograder.learner.lab import open_lab; {opened}") as address:
        yield address


@contextmanager
def classic_notebook(work):
    """Notebook 7 on `work`, with settings of nobody; gives its address."""
    options = [f"--ServerApp.root_dir={work}", "--no-browser", "--allow-root", "--ServerApp.log_level=WARN"]
    started = (
        f"sys.argv[1:] = {options!r}; from notebook.app import main; threading.Thread(target=tell).start(); main()"
    )
    tell = """
import sys, threading, time
from jupyter_server.serverapp import list_running_servers
def tell():
    while not (found := [s for s in list_running_servers() if s["pid"] == os.getpid()]):
        time.sleep(0.2)
    print(found[0]["url"] + "tree?token=" + found[0]["token"], flush=True)
"""
    with _server(work, f"import os; {tell.strip()}\n{started}") as address:
        yield address


@contextmanager
def _server(work, code):
    """A Jupyter server that `code` starts and whose address it prints, with settings of nobody."""
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
        command = [sys.executable, "-c", f"from pathlib import Path\n{code}"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=env)
        try:
            line = server.stdout.readline()
            address = re.search(r"http://\S+", line)
            assert address, f"no address in {line!r}: {(work / 'jupyter.log').read_text()}"
            yield address[0]
        finally:
            server.terminate()
            server.wait(30)
            server.stdout.close()


class _Silent(SimpleHTTPRequestHandler):
    """A handler that prints no line for each request."""

    def log_message(self, *words):
        pass


@contextmanager
def served(folder):
    """The files of a folder on a server of this machine; gives its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


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


# JavaScript that returns true if the kernel of the page's notebook is idle, and the page is connected to it.
_CONNECTED = """async () => {
    const {baseUrl, token} = JSON.parse(document.getElementById("jupyter-config-data").textContent);
    const headers = token ? {Authorization: `token ${token}`} : {};  // a hub's page has a cookie instead
    const sessions = await (await fetch(`${baseUrl}api/sessions`, {headers})).json();
    const mine = sessions.find(each => decodeURI(location.pathname).endsWith(`/${each.path}`));
    return mine && mine.kernel.connections && mine.kernel.execution_state === "idle";
}"""


class Notebook:
    """A notebook open in JupyterLab or Notebook 7, used by its cells' positions."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        # Before, the indicator says idle, but cells that are run are forgotten.
        page.wait_for_function(_CONNECTED, polling=200)
        self.wait_until_idle()

    @classmethod
    def open(cls, page: Page, address: str) -> "Notebook":
        page.goto(address, wait_until="domcontentloaded")
        return cls(page)

    def wait_until_idle(self) -> None:
        self.page.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]').first.wait_for()

    def cell(self, index):
        return self.page.locator(f'.jp-Notebook .jp-Cell[data-windowed-list-index="{index}"]')

    def _enter(self, index):
        """Put the cursor into a code cell. On a busy page formulas come late, and a click hits the cell beside it."""
        editor = self.cell(index).locator(".cm-content")
        editor.scroll_into_view_if_needed()
        editor.click()
        editor.focus()
        expect(editor).to_be_focused()
        return editor

    def type_into(self, index, text):
        """Replace what an editable code cell holds."""
        editor = self._enter(index)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)
        expect(editor).to_contain_text(text.strip().splitlines()[-1].strip())  # the stub has the same first line

    def run(self, index):
        """Shift+Enter in a cell."""
        self._enter(index)
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
        """A screenshot of a cell, where `picture` puts it."""
        self.cell(index).scroll_into_view_if_needed()
        picture(self.page, name)


def barriers(page, inside="html"):
    """What axe-core finds against level AA of WCAG 2.2 in a part of a page: a list of texts, empty if all is well.

    Plots that a cell draws with matplotlib are left out: JupyterLab gives them no alternative text.
    """
    levels = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
    found = (
        Axe()
        .run(
            page,
            {"include": [[inside]], "exclude": [[".jp-RenderedImage"]]},
            {"runOnly": {"type": "tag", "values": levels}},
        )
        .response
    )
    assert found["passes"], f"axe-core has looked at nothing in {inside}"
    return [f"{each['id']}: {node['html'][:300]}" for each in found["violations"] for node in each["nodes"]]


def picture(page, name):
    """A screenshot of a page, into the folder that AUTOGRADER_SCREENSHOTS names."""
    folder = os.environ.get("AUTOGRADER_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png")
