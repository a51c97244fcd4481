"""Any names, forms and versions: nobody disappears, nobody is merged, grades are right, twice changes nothing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from autograder.grading.tables.csv_text import write_csv
from support.course import Course, files_below
from support.first_gradient import NAME
from support.lms import canvas, collect, moodle
from support.lms.quick_grades import give_back, give_grades

Marked = Callable[[object], str]
pytestmark = pytest.mark.long(10)

anything = settings(
    max_examples=5,
    phases=(Phase.generate,),
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
WORDS = st.text("абЁёАж aBzé\u0308'’_-.()&1", min_size=1, max_size=7).map(
    lambda text: unicodedata.normalize("NFC", " ".join(text.split()))
)
NAMES = WORDS.filter(lambda text: any(map(str.isalpha, text)))
PEOPLE = st.lists(st.tuples(NAMES, NAMES, st.booleans()), min_size=2, max_size=6)
TEAM = st.text("абЁ aBz&<>?*|_/:'.-12", min_size=1, max_size=8).map(lambda text: " ".join(text.split()))
GROUPS = st.lists(
    TEAM.filter(lambda name: len(letters(name)) > 1), min_size=3, max_size=3, unique_by=lambda name: letters(name)
)
MOODLE = st.builds(
    moodle.Assignment,
    st.builds(list),
    version=st.sampled_from([(3, 1), (3, 9), (4, 1), (4, 2), (5, 1)]),
    language=st.sampled_from(["en", "en_us", "ru"]),
    folders=st.booleans(),
    blind=st.booleans(),
    teams=st.booleans(),
    surname_first=st.booleans(),
    identity=st.sampled_from([(), ("email",), ("idnumber", "email")]),
    group_mode=st.sampled_from(["", "Группа-А"]),
    groups=GROUPS.map(lambda groups: dict(zip(groups, (101, 900, 901)))),
    maximum=st.sampled_from([10.0, 100.0, 7.0]),
    markers=st.booleans(),
    separator=st.sampled_from(",;"),
)


def letters(team: str) -> str:
    """Return what tells a team's name from others also after an LMS has removed characters and tags."""
    return re.sub(r"<.*|[^абЁaBz12]", "", team)


CANVAS = st.builds(
    canvas.Site,
    st.builds(list),
    title=st.just(NAME),
    points=st.sampled_from([10.0, 100.0]),
    separator=st.sampled_from(",;"),
    bom=st.booleans(),
    split_names=st.booleans(),
    manual=st.booleans(),
)


@pytest.fixture
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Course]:
    """Return a function that makes a course in which nothing is handed in."""
    return lambda: Course.make(tmp_path_factory.mktemp("any", numbered=True) / "course", languages=["en"])


def marks_in(folder: Path) -> dict[str, set[str]]:
    """Return the marks of the notebooks below each folder in `folder`."""
    found: dict[str, set[str]] = {}
    for path in folder.glob("*/**/*"):
        if path.suffix == ".ipynb":
            said = re.findall(r"mark:(.*?)!", path.read_text(encoding="utf-8"))
            found.setdefault(path.relative_to(folder).parts[0], set()).update(said)
    return found


def check_nobody_is_lost(course: Course, marks: set[str]) -> dict[str, str]:
    """Check that every mark is one student's or a team's, or has no place. Returns a dict from mark to a student."""
    placed = marks_in(course.folder / "attempts")
    assert all(len(found) == 1 for found in placed.values()), "two people are one student"
    unplaced = set().union(*marks_in(course.folder / "unplaced").values())
    assert set().union(*placed.values(), unplaced) == marks
    return {mark: student for student, (mark,) in placed.items()}


def twice(course: Course, *arguments: object) -> None:
    """Collect again, and check that nothing changes."""
    before = {name: files_below(course.folder / name) for name in ("submitted", "attempts", "unplaced")}
    collect(course, *arguments)
    assert before == {name: files_below(course.folder / name) for name in before}


@anything
@given(people=PEOPLE, site=MOODLE, with_worksheet=st.booleans())
def test_moodle(
    fresh: Callable[[], Course],
    marked: Marked,
    people: list[tuple[str, str, bool]],
    site: moodle.Assignment,
    with_worksheet: bool,
) -> None:
    course = fresh()
    above = course.folder.parent
    for at, (given_name, surname, came) in enumerate(people):
        group = [*site.groups][at % 3] if site.teams and at < 4 else ""
        mark = (group or "nobody") if site.teams and site.version >= (4, 1) else str(at)
        member = moodle.Member(100 + at, given_name, surname, f"s{at}@uni.example", f"n{at}", group)
        if came or site.teams:
            member.came, member.files = datetime(2026, 9, 17, 18, 5), {f"{NAME}.ipynb": marked(mark)}
        site.members.append(member)
    archive, sheet = site.archive(above / "all.zip"), site.worksheet(above / "w.csv")
    arguments = [archive, *(["--worksheet", sheet] if with_worksheet else [])]
    status = collect(course, *arguments)
    came = [each for each in site.members if each.files]
    texts = {each.number: re.findall("mark:(.*?)!", (each.files or {})[f"{NAME}.ipynb"])[0] for each in came}
    whose = check_nobody_is_lost(course, set(texts.values()))
    twice(course, *arguments)
    if not with_worksheet:
        return
    assert status == 0
    points = give_grades(course)
    assert give_back(course) == 0
    place = course.folder / "returned" / NAME
    before = files_below(place)
    assert give_back(course) == 0
    assert files_below(place) == before
    if came:
        site.import_worksheet((place / "worksheet.csv").read_bytes())
        pages = site.import_feedback((place / "moodle_feedback.zip").read_bytes())
    for each in site.members:
        if not each.files:
            assert each.grade == ""
            continue
        mark = texts[each.number]
        grade = float(each.grade.replace(",", "."))
        assert grade == pytest.approx(points[whose[mark]] * site.maximum / 10, abs=0.006)
        if not (site.teams and not each.group and site.version >= (4, 1)) and takes_team_pages(site):
            assert [mark in page.decode() for page in pages[each.number].values()] == [True]


def takes_team_pages(site: moodle.Assignment) -> bool:
    """Return whether Moodle finds a team by its number: 4.1 had the number in paths, but not in the import."""
    return not site.teams or site.version != (4, 1)


@anything
@given(people=PEOPLE, site=CANVAS, with_gradebook=st.booleans())
@pytest.mark.nightly(twin="tests/grading/lms/test_any_class.py::test_moodle")
def test_canvas(
    fresh: Callable[[], Course],
    marked: Marked,
    people: list[tuple[str, str, bool]],
    site: canvas.Site,
    with_gradebook: bool,
) -> None:
    course = fresh()
    above = course.folder.parent
    site.users = [
        canvas.User(4000 + at, given_name, surname, f"login{at}", f"sis{at}", late=late)
        for at, (given_name, surname, late) in enumerate(people)
    ]
    for at, user in enumerate(site.users):
        user.files = {88_000 + at: (f"{NAME}.ipynb", marked(user.number))}
    if not with_gradebook:  # names such as "agent_7" need numbers that are known
        for user in site.users:
            user.given = f"{user.given} z"
    archive, book = site.archive(above / "all.zip"), site.gradebook(above / "book.csv")
    arguments = [archive, *(["--worksheet", book] if with_gradebook else [])]
    assert collect(course, *arguments) == 0
    whose = check_nobody_is_lost(course, {str(user.number) for user in site.users})
    if with_gradebook:
        assert whose == {str(user.number): user.login for user in site.users}
    twice(course, *arguments)
    points = give_grades(course)
    assert give_back(course, "--gradebook", book) == 0
    place = course.folder / "returned" / NAME
    before = files_below(place)
    assert give_back(course, "--gradebook", book) == 0
    assert files_below(place) == before
    assert site.import_gradebook((place / "canvas_gradebook.csv").read_bytes()) == {}
    for user in site.users:
        assert float(user.score) == pytest.approx(points[whose[str(user.number)]] * site.points / 10, abs=0.006)


@anything
@given(people=PEOPLE, teams=GROUPS, late=st.booleans(), first=st.integers(2, 9))
def test_teams_in_canvas(
    fresh: Callable[[], Course],
    marked: Marked,
    people: list[tuple[str, str, bool]],
    teams: list[str],
    late: bool,
    first: int,
) -> None:
    """On a new site, where numbers of people and files coincide, a team's work is never somebody else's."""
    course = fresh()
    site = canvas.Site([], title=NAME, group=True)
    for at, (given_name, surname, _) in enumerate(people):
        team = f"{teams[at % 3]}_{(at + 1) % 3 + 2}" if at < 5 else ""
        user = canvas.User(2 + at, given_name, surname, f"login{at}", late=late, group=team)
        if at < 3 or not team:
            user.files = {first + at: (f"{NAME}.ipynb", marked(user.number))}
        site.users.append(user)
    rows = [["id", "name", "lms", "group"]]
    rows += [[each.login, f"{each.given} {each.surname}", str(each.number), each.group] for each in site.users]
    write_csv(course.folder / "students.csv", rows)
    collect(course, site.archive(course.folder.parent / "all.zip"))
    check_nobody_is_lost(course, {str(each.number) for each in site.users if each.files})
    placed = marks_in(course.folder / "attempts")
    for each in site.users:
        team_of = {str(other.number) for other in site.users if other.group == each.group and other.files}
        assert placed.get(each.login, set()) <= (team_of if each.group else {str(each.number)})
