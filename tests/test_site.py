"""The static site, built by the command and looked at in a real Chromium."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page

from autograder import exercises
from autograder.checking.comparison import compare
from autograder.checking.exercise import Exercise
from autograder.checking.judge import judge
from autograder.checking.run import Run
from autograder.checking.values import Other
from autograder.cli import main
from autograder.exercises import key_of
from autograder.language import LANGUAGES
from autograder.learner.reviews.recall import recall_questions
from autograder.lessons.collection import COURSE
from autograder.lessons.source import solutions
from autograder.messages.site import WORDS
from autograder.site.headings import places
from autograder.site.pages import TEMPLATES, lesson_page
from autograder.site.pages import Page as LessonPage
from autograder.site.predictions import judge_data
from support.browser import barriers, browser_page, picture, served

pytestmark = pytest.mark.long(25)

PAGE, LATER = "00_first_gradient.html", "11_transforms.html"
ADDRESS = "https://example.org/autograd"
LESSONS = ["first_gradient", "transforms"]
COMMAND = [*LESSONS, "--address", ADDRESS, "--repository", "https://github.com/someone/course/tree/main"]
TABLES = [each for name in exercises.lessons() for each in exercises.load(name).values() if each.asks_for == "dict"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("site") / "below" / "site"
    assert main(["site", str(folder), *COMMAND]) == 0
    return folder


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browser_page() as page:
        yield page


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    found = {path: path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return {name: (path.read_bytes(), path.stat().st_mtime_ns) for path, name in found.items()}


def test_a_build_without_changes_runs_and_writes_nothing(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(site)
    monkeypatch.setattr("autograder.site.running.cells._run", None)
    assert main(["site", str(site), *COMMAND]) == 0
    assert "wrote 0 files" in capsys.readouterr().out
    assert files(site) == before


def test_no_page_holds_a_solution(site: Path) -> None:
    for language in LANGUAGES:
        shown = unescape(re.sub(r"<[^>]*>", "", (site / language / PAGE).read_text(encoding="utf-8")))
        for exercise in exercises.load("first_gradient").values():
            for code in solutions(exercise):
                body = code.partition("\n")[2]
                assert body
                assert body not in shown
        assert '"x.grad": ...' in shown
        assert shown.count("    raise NotImplementedError") == 2


def test_the_sitemap_lists_every_page(site: Path) -> None:
    listed = re.findall(r"<loc>(.*?)</loc>", (site / "sitemap.xml").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(f"{ADDRESS}/{path.relative_to(site).as_posix()}" for path in site.glob("*/*.html"))


def test_a_lesson_opens_in_colab_and_is_downloaded(site: Path) -> None:
    for language in LANGUAGES:
        text, name = (site / language / PAGE).read_text(encoding="utf-8"), Path(PAGE).stem
        opened = f"https://colab.research.google.com/github/someone/course/blob/main/notebooks/{language}/{name}.ipynb"
        assert f'<a href="{opened}">' in text
        assert f'<a href="{name}.ipynb" download>' in text
        assert (site / language / f"{name}.ipynb").read_bytes() == (
            COURSE.notebooks / language / f"{name}.ipynb"
        ).read_bytes()


def test_a_lesson_says_from_where_pip_installs_the_course(site: Path) -> None:
    for language in LANGUAGES:
        assert "%pip install git+https://github.com/someone/course@main" in (site / language / PAGE).read_text("utf-8")
        page = lesson_page(LessonPage("00", language, "", "", [], [], notebook="{}"), None, None)
        assert f"%pip install &quot;{'FILE' if language == 'en' else 'ФАЙЛ'}&quot;" in page
        assert "pip install autograd-course" not in page


def heads(folder: Path) -> dict[str, dict[str, str]]:
    """Facts that search engines and other sites read of each page, by the page's file."""
    found = {}
    for path in folder.rglob("*.html"):
        head = path.read_text(encoding="utf-8").partition("</head>")[0]
        found[path.relative_to(folder).as_posix()] = {
            "title": re.findall("<title>(.*?)</title>", head)[0],
            **dict(re.findall(r'<meta (?:name|property)="([\w:]+)" content="(.*?)">', head)),
            **{f"in {language}": href for language, href in re.findall(r'hreflang="([\w-]+)" href="(.*?)"', head)},
            "canonical": re.findall(r'rel="canonical" href="(.*?)"', head)[0],
        }
    return found


def test_a_page_says_what_other_sites_ask(site: Path) -> None:
    known = heads(site)
    assert len(known) > 10
    for file, head in known.items():
        assert head["canonical"] == head["og:url"] == f"{ADDRESS}/{file}"
        assert head["og:title"] == head["title"]
        assert head["og:description"] == head["description"]
        assert (site / head["og:image"].removeprefix(f"{ADDRESS}/")).is_file()
        for language in LANGUAGES:  # the other page says the same
            other = known[head[f"in {language}"].removeprefix(f"{ADDRESS}/")]
            assert {key: other[key] for key in ("in en", "in ru")} == {key: head[key] for key in ("in en", "in ru")}
    for key in ("title", "description"):
        assert len({head[key] for file, head in known.items() if "/" in file}) == len(known) - 1, key


def test_both_languages_have_the_same_sections_and_pictures(site: Path) -> None:
    texts = [(site / language / PAGE).read_text(encoding="utf-8") for language in LANGUAGES]
    sections, pictures = ([re.findall(what, text) for text in texts] for what in (r'<h\d id="([^"]+)"', r"<img "))
    assert sections[0] == sections[1]
    assert {"predict_chain", "descend", "what-to-keep"} <= set(sections[0])
    assert len(pictures[0]) == len(pictures[1]) > 3
    for language, text in zip(LANGUAGES, texts):
        assert f'<div data-film lang="{language}"' in text
    for name, pictures_there in (
        ("instructors.html", 5),
        ("guide.html", 0),
        ("index.html", 9),
    ):  # a film, a card, two lessons
        texts = [(site / language / name).read_text(encoding="utf-8") for language in LANGUAGES]
        sections = [re.findall(r'<h\d id="([^"]+)"', text) for text in texts]
        assert sections[0] == sections[1]
        assert [text.count("<img ") for text in texts] == [pictures_there] * 2


def test_links_lead_to_what_is_there(site: Path) -> None:
    whole = ("summary.html", "gallery.html")  # left out with the other lessons
    for path in site.rglob("*.html"):
        for link in re.findall(r'(?:href|src)="([^"]+)"', path.read_text(encoding="utf-8")):
            name, _, place = unescape(link).removeprefix(f"{ADDRESS}/").partition("#")
            if name.startswith(("data:", "https:")):
                continue
            above = site if link.startswith(ADDRESS) else path.parent
            target = (above / name) if name else path
            if name in whole or (name[:2].isdigit() and name not in (PAGE, LATER)):
                continue
            assert target.is_file(), f"{path.name}: {link}"
            assert not place or f'id="{place}"' in target.read_text(encoding="utf-8"), f"{path.name}: {link}"


@pytest.mark.parametrize(("language", "scheme", "width"), [("en", "light", 1280), ("ru", "dark", 390)])
@pytest.mark.parametrize("name", ["index.html", "instructors.html", PAGE, LATER])
def test_a_page_has_no_barrier_and_asks_nobody(
    site: Path, page: Page, name: str, language: str, scheme: Literal["light", "dark"], width: int
) -> None:
    said: list[str] = []
    page.on("console", listen := lambda message: said.append(message.text))
    page.on("pageerror", fail := lambda error: said.append(str(error)))
    page.on("request", ask := lambda request: request.url.startswith(("file:", "data:")) or said.append(request.url))
    page.emulate_media(color_scheme=scheme)
    page.goto((site / language / name).as_uri())
    for each in (768, 1600, width):
        page.set_viewport_size({"width": each, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= each
    assert said == []
    picture(page, f"site-{language}-{name}-{scheme}")
    assert barriers(page) == []
    for event, listener in (("console", listen), ("pageerror", fail), ("request", ask)):
        page.remove_listener(event, listener)


def test_a_learner_predicts_and_finds_the_answers_again(site: Path, page: Page) -> None:
    page.goto((site / "en" / PAGE).as_uri())
    form = page.locator("#table-predict_chain")
    for number, written in enumerate(["9 / 2", "4.5", "1", ""]):
        form.locator("input").nth(number).fill(written)
    form.get_by_role("button", name="Check").click()
    assert form.locator(".outcome").all_inner_texts() == ["✓ right", "✓ right", "✗ not yet", "… empty"]
    assert form.locator(".verdict").inner_text() == "Right so far: 2 of 4."
    form.locator("input").nth(3).fill("1.0")
    form.get_by_role("button", name="Check").click()
    assert "The mean was forgotten" in form.locator(".verdict").inner_text()
    page.reload()
    assert form.locator("input").nth(0).input_value() == "9 / 2"
    form.locator("input").nth(2).fill("1/4")
    page.keyboard.press("Enter")
    assert form.locator(".verdict").inner_text() == "Every entry is right."


def test_a_lesson_asks_first_what_the_learner_did_not_know(site: Path, page: Page) -> None:
    """Without a history it asks two questions; a wrong one comes back first, a right one last."""
    page.goto((site / "en" / LATER).as_uri())
    box = page.locator(".recall")

    def asked() -> list[str | None]:
        return [each.get_attribute("data-name") for each in box.locator(".asked:visible").all()]

    first = asked()
    assert [f"{each.exercise.lesson}.{each.exercise.name}" for each in recall_questions("transforms", ())] == first
    for name, said in zip(first, ("right", "wrong")):
        question = box.locator(f'[data-name="{name}"]')
        assert not question.locator("button").first.is_visible()  # our answer comes before the verdict
        question.locator("summary").click()
        question.locator(f'button[value="{said}"]').click()
        assert question.get_by_role("status").inner_text() == "Noted in this browser."
    assert barriers(page, ".recall") == []
    page.reload()
    then = asked()
    assert then[0] == first[1]
    assert then[1] not in first
    total = box.locator(".asked").count()
    for _ in range(total):  # everything right: the oldest answer comes first, and no question is lost
        question = box.locator(".asked:visible").first
        question.locator("summary").click()
        question.locator('button[value="right"]').click()
        page.reload()
    assert box.locator(".asked").count() == total
    assert len(asked()) == 2


def test_the_language_changes_at_the_same_section(site: Path, page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{(site / 'en' / PAGE).as_uri()}#descend")
    box = page.locator("a.language").bounding_box()
    assert box
    page.mouse.click(box["x"] + 5, box["y"] + 5)  # `click` would scroll first
    page.wait_for_url("**/ru/*")
    assert page.url.endswith(f"/ru/{PAGE}#descend")


def test_the_script_is_small() -> None:
    assert len((TEMPLATES / "site.js").read_bytes()) <= 10_000


def written(value: Any) -> str:
    """A value as a learner writes it in a cell of Python."""
    return "torch.float64" if value == Other("dtype") else repr(value)


def tables(exercise: Exercise) -> dict[str, dict[str, Any]]:
    expected, aspect = key_of(exercise).expected, exercise.aspects[0].name
    return {
        "": expected.solution[0].values[aspect],
        **{name: runs[0].values[aspect] for name, runs in expected.mistakes.items()},
    }


@pytest.mark.parametrize("exercise", TABLES, ids=lambda each: each.name)
def test_the_page_judges_recorded_tables_as_the_checker_does(site: Path, page: Page, exercise: Exercise) -> None:
    if not page.url.endswith(PAGE):
        page.goto((site / "en" / PAGE).as_uri())
    key, aspect = key_of(exercise), exercise.aspects[0].name
    truth, recorded = tables(exercise)[""], tables(exercise)
    judged = page.evaluate(
        """([data, tables]) => {
            const opened = site.open({dataset: {judge: data}});
            return tables.map(table => site.judge(opened, table.map(site.read)));
        }""",
        [judge_data(exercise, "en"), [[written(table[entry]) for entry in truth] for table in recorded.values()]],
    )
    sentences = json.loads(base64.b64decode(judge_data(exercise, "en")))["mistakes"]
    for (name, table), ours in zip(recorded.items(), judged, strict=True):
        verdict = judge(exercise, [Run({**key.expected.solution[0].values, aspect: table})], key.expected)
        assert ours["entries"] == [compare(value, table[entry]) is None for entry, value in truth.items()], name
        assert (ours["mistake"] is None) == (verdict.mistake is None), name
        if verdict.mistake:
            names = [each for each in recorded if compare(truth, recorded[each]) is not None]
            assert ours["mistake"] == sentences[names.index(verdict.mistake)][0], name


@pytest.mark.parametrize("language", LANGUAGES)
def test_slips_of_writing_are_said_and_not_judged(site: Path, page: Page, language: str) -> None:
    page.goto((site / language / PAGE).as_uri())
    form = page.locator("form.prediction").first
    for input, value in zip(form.locator("input").all(), ("4,5", "yes", " Ошибка "), strict=False):
        input.fill(value)
    form.locator("button[type=submit]").click()
    said = form.locator(".outcome").all_inner_texts()[:3]
    assert said == [WORDS["comma"].read(language), *[WORDS["casual"].read(language)] * 2]
    assert form.locator(".outcome.wrong").count() == 0


def test_search_finds_a_word_in_another_form(site: Path, page: Page) -> None:
    """The site lies below a sub-path of its server."""
    with served(site.parents[1]) as root:
        address = f"{root}/below/site"
        for language, word, title in (
            ("en", "derivatives", "A first gradient"),
            ("ru", "усреднять", "Первый градиент"),
        ):
            page.goto(f"{address}/{language}/index.html")
            page.locator("header a", has_text="Search" if language == "en" else "Поиск").click()
            page.get_by_role("searchbox").fill(word)
            page.keyboard.press("Enter")
            page.locator("#found a", has_text=title).click()
            page.wait_for_url(f"{address}/{language}/{PAGE}")


def test_every_exercise_has_a_place_of_its_name() -> None:
    """Pages of errors link there."""
    for lesson in COURSE.read():
        ids = places(lesson)
        assert set(COURSE.exercises(lesson)) <= set(ids)
        assert len(set(ids)) == len(ids)
