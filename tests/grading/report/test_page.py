"""The instructor's report on a small class: what its page says."""

from __future__ import annotations

import re
import shutil
import statistics
from collections import Counter
from urllib.parse import unquote

import pytest
from bs4 import BeautifulSoup, Tag

from autograder import exercises
from autograder.messages.reasons import REASONS
from autograder.messages.report import WORDS
from support.course import Course
from support.report import DOUBLES, EXERCISE, STUDENT, SUMS, exercise, plain, report, text


def who(tag: Tag) -> set[str]:
    return {span.get_text() for span in tag.select(".ids span")}


def says(mistake: str, language: str = "en", name: str = EXERCISE) -> str:
    return exercises.misconceptions_of(exercises.find(name))[mistake].says.read(language).replace("`", "")


def test_the_page_stands_alone_and_runs_nothing(page: BeautifulSoup) -> None:
    assert not page.find_all(["script", "iframe", "object", "embed", "link", "img", "form"])
    for tag in page.find_all(True):
        outside = [
            value for name, value in tag.attrs.items() if name in ("src", "href") and not value.startswith(("#", "../"))
        ]
        outside = [value for value in outside if not value.endswith(".project.html")]
        assert outside == [], tag
        assert not any(name.startswith("on") for name in tag.attrs), tag
    assert "@import" not in page.style.string
    assert "url(" not in page.style.string
    targets = {tag["href"][1:] for tag in page.find_all("a") if tag["href"].startswith("#")}
    assert targets <= {tag["id"] for tag in page.find_all(id=True)}
    assert len(targets) > 3


def test_the_head_has_the_gradebooks_numbers(graded: Course, page: BeautifulSoup) -> None:
    with graded.gradebook() as gradebook:
        found = {s.student_id: s for s in gradebook.find_assignment(graded.name).submissions}
        owed = {student: submission.late_submission_penalty or 0 for student, submission in found.items()}
        scores = [each.score - owed[student] for student, each in found.items() if student != "spoilt"]
        waits = {student for student, submission in found.items() if submission.needs_manual_grade} - {"spoilt"}
        maximum = gradebook.find_assignment(graded.name).max_score
    tiles = {text(tile.dt): text(tile.dd) for tile in page.select(".tiles > div")}
    assert tiles["submissions"] == str(len(scores)) == "15"
    assert tiles["mean score"] == f"{round(statistics.mean(scores), 1):g} of {maximum:g}"
    assert tiles["median score"] == f"{round(statistics.median(scores), 1):g} of {maximum:g}"
    assert waits == {"patches"}
    assert tiles["wait for a person"] == str(len(waits))
    assert (tiles["handed in nothing"], text(page.select_one("#idle .ids"))) == ("1", "Ли Ян (lazy)")
    assert f"{len(waits)} of 15 submissions still wait for points from a person." in text(page.header)
    assert "Submissions with a penalty: 1, points taken off: 1.5." in text(page.header)
    assert re.search(r"Made on [\d-]+ [\d:]+ \(UTC\+07:00\)", text(page.header))
    flagged = [text(row.td) for row in page.select("#remarks tbody tr")]
    assert tiles["flagged by the grading"] == str(len(flagged)) == "1"
    assert not {text(row.td) for row in page.select("#unread tbody tr")} & {*flagged}
    histogram = page.select("#scores table tr")
    labels, counts = ([text(cell) for cell in row.find_all("td")] for row in histogram)
    assert {label: int(n) for label, n in zip(labels, counts) if n != "0"} == Counter(str(int(s)) for s in scores)


def test_whose_work_has_no_place_yet_is_not_blamed(graded: Course) -> None:
    table = graded.folder / "unplaced" / "a.zip" / "reasons.csv"
    table.parent.mkdir(parents=True)
    table.write_text("file,reason,path in the archive\n001.ipynb,nobody,x\n,unread,y\n", encoding="utf-8")
    try:
        page = report(graded, "--language", "ru", ending=".ru")
    finally:
        shutil.rmtree(table.parents[1])
    said = "Ничего не сдали, или работу пока не удалось отнести ни к одному студенту (файлов в unplaced/: 2)"
    assert text(page.select_one("#idle h2")) == said
    assert WORDS["idle_doubt"].ru in [text(tile) for tile in page.select(".tiles dt")]


def test_it_begins_with_what_most_misunderstand(page: BeautifulSoup) -> None:
    first = page.main.find("section")
    items = first.find_all("li")
    assert [plain(item.select_one(".says")) for item in items] == [
        says("sums_the_means"),
        says("backward_overwrites", name="predict_accumulation"),
        says("keeps_only_the_last"),
    ]
    assert text(items[0].select_one(".share")) == "4 of 12 answers (33%)"
    assert items[0].a["href"] == f"#exercise-{EXERCISE}"


def test_every_exercise_has_its_shares(graded: Course, page: BeautifulSoup) -> None:
    titles = {e.title.en.replace("`", ""): name for name, e in exercises.load(graded.lesson.name).items()}
    shown = {}
    for table in page.select("figure + .scroll table"):
        head = [text(cell) for cell in table.select("th")]
        for row in table.select("tbody tr"):
            cells = [plain(cell) for cell in row.find_all("td")]
            shown[titles[cells[0]]] = dict(zip(head[1:], cells[1:]))
    assert set(shown) == set(titles.values())
    assert -1 <= float(shown[EXERCISE].pop("discrimination").replace("−", "-")) <= 1
    assert shown[EXERCISE] == {
        "solved": "13%", "mean share of points": "0.13", "passed": "2", "not yet": "9", "not attempted": "2",
        "stopped by an error": "1", "held back until a person has looked": "1",
    }  # fmt: skip
    assert shown["predict_accumulation"]["not yet"] == "4"
    core = [name for name, each in exercises.load(graded.lesson.name).items() if each.core]
    figures = page.find_all("svg", attrs={"role": "img"})
    assert len(figures) == 3
    drawn = [text(label) for label in figures[1].find_all("text")]
    assert {exercises.find(name).title.en.replace("`", "") for name in core} <= set(drawn)
    assert {"passed", "not yet", "not attempted", "held back until a person has looked"} <= set(drawn)
    assert [a["id"] for a in page.find_all("article")[: len(core)]] == [f"exercise-{name}" for name in core]


def test_recognised_mistakes_come_with_their_sentence_and_students(page: BeautifulSoup) -> None:
    recognised = exercise(page).select("ul.wrong")[0]
    found = [(text(li.select_one(".count")), plain(li.p), who(li)) for li in recognised.find_all("li")]
    assert found == [
        ("4", says("sums_the_means"), {"Иванов Пётр (sums-1)", "Анна Ким (sums-2)", STUDENT, "sums-4"}),
        ("2", says("keeps_only_the_last"), {"zeroes-1", "zeroes-2"}),
    ]
    assert recognised.pre.get_text().strip() == SUMS.strip()


def test_students_have_names_and_links_to_their_work(graded: Course, page: BeautifulSoup) -> None:
    links = {text(link): link["href"] for link in page.select(".ids a")}
    assert links["Иванов Пётр (sums-1)"] == f"../feedback/sums-1/{graded.name}/{graded.name}.html"
    assert links["Анна Ким (sums-2)"] == f"../autograded/sums-2/{graded.name}/{graded.name}.ipynb"
    for link in page.find_all("a"):
        if not link["href"].startswith("#"):
            assert (graded.folder / "report" / unquote(link["href"])).is_file()
    assert text(page.select_one("#remarks a")) == "patches"


def test_an_answer_that_does_not_run_is_no_blank(page: BeautifulSoup) -> None:
    (group,) = [li for li in exercise(page).select("ul.wrong")[1].find_all("li") if who(li) == {"syntax"}]
    assert "The cell with the answer ends in an error: SyntaxError: expected ':'" in plain(group)
    assert group.pre.get_text().startswith("def accumulate_uneven(model, data)\n")


def test_wrong_answers_that_behave_alike_are_one_group(page: BeautifulSoup) -> None:
    other = exercise(page).select("ul.wrong")[1]
    groups = [li for li in other.find_all("li") if who(li) != {"syntax"}]
    assert [who(li) for li in groups] == [{"doubles-1", "doubles-2"}, {"alone"}]
    (gradient,) = [a for a in exercises.find(EXERCISE).aspects if a.name == "gradient"]
    assert gradient.says.en.replace("`", "") in plain(groups[0])
    assert re.search(r"Came back: 3 of 3 entries differ; the first, at \[0, 0\], is \S+", plain(groups[0]))
    assert groups[0].pre.get_text().strip() == DOUBLES.strip()


def test_what_needs_a_look_and_what_was_not_read(page: BeautifulSoup) -> None:
    rows = {text(row) for row in page.select("#look tbody tr")}
    tampered = [row for row in rows if row.startswith("What the check relies on was replaced")]
    assert len(tampered) == 1
    assert "math.isclose" in tampered[0]
    assert tampered[0].endswith("1 patches")
    unread = dict([text(cell) for cell in row.find_all("td")] for row in page.select("#unread tbody tr"))
    assert unread.keys() == {"garbage", "late", "spoilt"}
    assert unread["late"] == "handed in, but not graded yet"
    assert all("is no notebook" in unread[student] for student in ("garbage", "spoilt"))


def test_each_language_has_a_page(graded: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    report(graded)
    monkeypatch.setenv("AUTOGRADER_LANGUAGE", "ru")
    assert report(graded, ending=".ru").html["lang"] == "ru"
    english = (graded.folder / "report" / f"{graded.name}.html").read_text(encoding="utf-8")
    assert '<html lang="en">' in english
    assert report(graded, "--language", "en").html["lang"] == "en"


def test_reasons_are_in_the_language_of_the_page(graded: Course) -> None:
    page = report(graded, "--language", "ru", ending=".ru")
    rows = [[text(cell) for cell in row.find_all("td")] for row in page.select("#remarks tr, #unread tr")]
    said = {row[0]: row[1] for row in rows if row}
    assert "deletes" not in said  # a check that was put back is a note of `grade`
    assert "заменено или оставлено включённым: " in said["patches"]
    assert said["garbage"].startswith(f"{graded.name}.ipynb: это не тетрадь, JSON не читается (")
    assert [id for id, reason in REASONS.items() if not reason.placeholders_agree()] == []


def test_the_russian_page_is_russian(graded: Course) -> None:
    page = report(graded, "--language", "ru", ending=".ru")
    assert page.html["lang"] == "ru"
    assert plain(page.select_one(".leading .says")) == says("sums_the_means", "ru")
    for quoted in page.select("code, pre, .ids, #unread td"):
        quoted.decompose()
    whole = text(page)
    for name, words in WORDS.items():
        assert words.placeholders_agree(), name
        parts = [part.strip() for part in re.split(r"\{\w+\}", words.en) if len(part.strip()) > 4]
        assert not any(part in whole for part in parts), name
