"""Pages for instructors and students in Chromium: nothing that a student handed in acts on them."""

from __future__ import annotations

import base64
import json
import mimetypes
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.server_extensions.formgrader import handlers
from playwright.sync_api import Page, Route

from autograder.cli import main
from autograder.grading.course.course import open_course
from grading.plugin.acting_markup import acting_markup
from support.browser import browser_page
from support.course import Course
from support.first_gradient import NAME, SOLVED
from support.submissions import Submission, read

COUNT = 400
STATIC = Path(handlers.__file__).parent / "static"
HERE = "http://instructor.test"
PICTURE = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f"
    b"\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82"
).decode()
# JavaScript that returns the controls of the page which something else lies over.
COVERED = """() => [...document.querySelectorAll("input, textarea, button, .navbar a, nav a")].filter(control => {
    control.scrollIntoView({block: "center"});
    const box = control.getBoundingClientRect();
    if (!box.width || !box.height) return false;
    const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return top && top !== control && !control.contains(top) && !top.contains(control);
}).map(control => control.outerHTML)"""
LINKS = "() => [...document.querySelectorAll('a[href], area[href], form[action]')].map(a => a.href || a.action)"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A course in which `mallory` handed in markup that acts, and `ann` handed in honest pictures."""
    course = Course.make(tmp_path_factory.mktemp("pages") / "calculus", languages=["en"])
    for student in ("mallory", "ann"):
        notebook = Submission(student, "en", SOLVED).notebook(read(course.released("en")))
        if student == "mallory":
            texts = acting_markup(COUNT)
            notebook.cells += [new_markdown_cell(text) for text in texts]
            show = f"from IPython.display import HTML, display\nfor text in {texts[::2]!r}:\n    display(HTML(text))"
            notebook.cells.append(new_code_cell(show))
        else:
            notebook.cells += [
                new_markdown_cell(
                    "![a](attachment:my%20plot.png) ![b](attachment:gone.png) ![](attachment:)",
                    attachments={"my plot.png": {"image/png": PICTURE}},
                ),
                new_markdown_cell("[web](https://pytorch.org) **bold**"),
                new_markdown_cell("[other](attachment:gone.html)"),
            ]
        course.hand_in(student, nbformat.writes(notebook))
    evil = course.folder / "submitted" / "mallory" / NAME
    for name in ("evil.html", "evil.svg", "evil.xml", "evil.js", "data.csv"):
        (evil / name).write_text("<script>top.acted=1</script>")
    assert main(["grade", str(course.folder)]) == 0
    assert main(["feedback", str(course.folder), NAME]) == 0
    assert main(["report", str(course.folder)]) == 0
    return course


def formgrader(course: Course, student: str) -> str:
    """The page of a submission, as formgrader's server makes it."""
    config = open_course(course.folder).config
    config.HTMLExporter.template_name = "formgrade"
    config.HTMLExporter.extra_template_basedirs = [handlers.template_path]
    named = ("student", "last_name", "first_name", "notebook_path", "base_url", "mathjax_url")
    resources = dict.fromkeys(named, "") | {"submission_id": "1", "index": 0, "total": 1}
    resources |= {"assignment_id": NAME, "notebook_id": NAME}
    page: str = HTMLExporter(config=config).from_filename(str(course.autograded(student)), resources=resources)[0]
    return page


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with browser_page() as page:
        yield page


def requests_of(page: Page, text: str, address: str) -> set[str]:
    """Open a page with all that formgrader's server would serve beside it. Returns the addresses that it asked for."""
    asked: set[str] = set()

    def answer(route: Route) -> None:
        url = urlsplit(route.request.url)
        if route.request.url == HERE + address:
            route.fulfill(body=text, content_type="text/html; charset=utf-8")
            return
        asked.add(route.request.url)
        place = STATIC / url.path.partition("/static/")[2]
        if url.hostname == "instructor.test" and place.is_file():
            route.fulfill(path=place, content_type=mimetypes.guess_type(place)[0] or "text/plain")
        else:
            route.abort()

    page.unroute_all()
    page.route("**/*", answer)
    page.goto(HERE + address, wait_until="load")
    page.wait_for_timeout(300)
    return asked


@pytest.mark.parametrize("kind", ["formgrader", "feedback", "report", "index"])
def test_nothing_acts_on_a_page(kind: str, graded: Course, browser: Page) -> None:
    if kind == "formgrader":
        pages, address = (formgrader(graded, "mallory"), formgrader(graded, "ann")), "/formgrader/submissions/1/"
    elif kind == "feedback":
        pages, address = (graded.feedback("mallory"), graded.feedback("ann")), "/feedback/x.html"
    else:
        found = next((graded.folder / "report").glob("index.html" if kind == "index" else f"{NAME}*.html"))
        pages, address = (found.read_text(encoding="utf-8"),) * 2, "/report/x.html"
    assert len(pages[0]) > 20_000 or kind == "index"
    dialogs: list[str] = []
    browser.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    usual = requests_of(browser, pages[1], address)
    links = set(browser.evaluate(LINKS))
    assert requests_of(browser, pages[0], address) - usual == set()
    assert browser.evaluate("window.acted") is None
    assert dialogs == []
    assert browser.evaluate(COVERED) == []
    for link in set(browser.evaluate(LINKS)) - links:
        url = urlsplit(link)
        outside = url.scheme in ("http", "https", "mailto") and url.hostname != "instructor.test"
        assert outside or link.partition("#")[0] == HERE + address, link


def test_files_that_could_act_have_names_under_which_they_do_not(graded: Course) -> None:
    folder = graded.autograded("mallory").parent
    there = {path.name for path in folder.iterdir() if "evil" in path.name or path.suffix == ".csv"}
    assert there == {"evil.html.txt", "evil.svg.txt", "evil.xml.txt", "evil.js.txt", "data.csv"}


def test_a_pasted_picture_is_shown_and_one_that_is_gone_is_named(graded: Course) -> None:
    kept = json.loads(graded.autograded("ann").read_text(encoding="utf-8"))["cells"]
    assert {"my plot.png": {"image/png": PICTURE}} in [cell.get("attachments") for cell in kept]
    for page in (formgrader(graded, "ann"), graded.feedback("ann")):
        assert f"data:image/png;base64,{PICTURE}" in page
        assert "(a picture is not in the notebook: <code>gone.png</code>)" in page
        assert "<strong>bold</strong>" in page
