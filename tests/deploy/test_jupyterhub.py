"""The recipe of `deploy/jupyterhub`: a class on a real JupyterHub, in Chromium, in both languages."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest
from nbgrader.api import Gradebook
from playwright.sync_api import Browser, expect

from autograder.exercises import misconceptions_of
from autograder.lessons.source import REPOSITORY
from autograder.messages.feedback import WORDS
from autograder.messages.learners import message
from support.browser import Notebook, picture
from support.exercises import typed
from support.first_gradient import FIRST, NAME, SOLVED, TOTAL
from support.hub import browser, proxy, running, services
from support.image import Image
from support.machine import Machine, machine
from support.people import ADDRESS, Person

pytestmark = pytest.mark.long(15)

RECIPE = REPOSITORY / "deploy" / "jupyterhub"
COURSE = "/srv/autograd"
MISTAKE, TOLD = next(iter(misconceptions_of(FIRST).items()))


class Student(NamedTuple):
    """A student's language and answers."""

    language: str
    answers: dict[str, str]


STUDENTS = {"ann": Student("en", SOLVED), "boris": Student("ru", {**SOLVED, FIRST.name: typed(FIRST, MISTAKE)})}


@dataclass
class Hub:
    """A hub that was started by the recipe."""

    machine: Machine
    image: Image


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """The image's steps and the services of the compose file, as they are there."""
    log = tmp_path_factory.mktemp("hub") / "log"
    with machine([proxy().parent.parent]) as alone:
        image = Image(RECIPE / "Dockerfile", alone)
        started = services(RECIPE / "compose.yaml")
        alone.run(*started["course"]["command"], user=started["course"]["user"])
        with running(alone, image, started["hub"], log):
            yield Hub(alone, image)


@pytest.fixture(scope="module")
def chromium(hub: Hub) -> Iterator[Browser]:
    with browser(hub.machine) as started:
        yield started


def commands(number: int) -> str:
    """Return the commands of a code block of the recipe's page, as one command line."""
    blocks = re.findall(r"^```\n(.*?)^```", (RECIPE / "README.md").read_text(encoding="utf-8"), re.S | re.M)
    return " && ".join(blocks[number].splitlines())


def solve(person: Person, notebook: Notebook, answers: dict[str, str], language: str) -> None:
    """Type the answers, run the notebook, read the cards, save."""
    cells = json.loads((person.home / NAME / f"{NAME}.ipynb").read_text(encoding="utf-8"))["cells"]
    at = {cell["metadata"].get("nbgrader", {}).get("grade_id"): index for index, cell in enumerate(cells)}
    for name, answer in answers.items():
        notebook.type_into(at[f"answer-{name}"], answer)
    notebook.run_all()
    for name, answer in answers.items():
        state = "passed" if answer == SOLVED[name] else "not yet"
        card = notebook.card(at[f"check-{name}"])
        expect(card).to_contain_text(message(f"state.{state}").read(language))
        expect(card).to_have_attribute("lang", language)
        notebook.picture(f"{person.name}-{name}", at[f"check-{name}"])
    notebook.wait_until_idle()
    notebook.save()
    expect(person.page.locator(".lm-TabBar-tab.jp-mod-current.jp-mod-dirty")).to_have_count(0)


def scores(hub: Hub, copy: Path) -> dict[str, float]:
    """Return each student's score in a copy of the gradebook."""
    copy.write_bytes(hub.machine.path(f"{COURSE}/gradebook.db").read_bytes())
    with Gradebook(f"sqlite:///{copy}", "autograd") as gradebook:
        return {each.student_id: each.score for each in gradebook.find_assignment(NAME).submissions}


@dataclass
class People:
    """An instructor and students in their JupyterLabs. A lesson is released in both languages."""

    instructor: Person
    students: list[Person]


@pytest.fixture(scope="module")
def people(hub: Hub, chromium: Browser) -> People:
    instructor, *students = (Person(hub.machine, chromium, name) for name in ("instructor", *STUDENTS))
    for person in (instructor, *students):
        person.sign_up()
    instructor.log_in()
    instructor.let_in(STUDENTS)
    instructor.page.goto(f"{ADDRESS}/hub/spawn")
    instructor.start("en")
    for student in students:
        student.log_in()
        student.start(STUDENTS[student.name].language)
    instructor.wait_for_lab()
    instructor.terminal()
    instructor.begin(commands(1))  # generate and release
    for student in students:
        student.wait_for_lab()
    instructor.finish()
    return People(instructor, students)


def test_a_student_may_sign_up(hub: Hub) -> None:
    read = f"import urllib.request as web; print(web.urlopen('{ADDRESS}/hub/signup').read().decode())"
    assert 'name="signup_password"' in hub.machine.run("python", "-c", read)


@pytest.mark.nightly(twin="tests/deploy/test_jupyterhub.py::test_a_student_may_sign_up")
def test_a_class_fetches_solves_submits_and_reads_its_feedback(hub: Hub, people: People, tmp_path: Path) -> None:
    instructor, students = people.instructor, people.students
    for student in students:
        language, answers = STUDENTS[student.name]
        expect(student.page.locator(".lm-MenuBar-item").first).to_have_text({"en": "File", "ru": "Файл"}[language])
        solve(student, student.fetch(NAME), answers, language)
        student.submit(NAME)
    instructor.begin(commands(2))  # collect, grade, release feedback
    instructor.finish()

    page = instructor.formgrader()
    expect(page.locator("tr", has_text=NAME).locator(".num-submissions")).to_have_text("2")
    picture(page, "formgrader")
    page.close()

    found = scores(hub, tmp_path / "gradebook.db")
    assert found == {"ann": TOTAL, "boris": TOTAL - FIRST.points}
    for student in students:
        page = student.read_feedback(NAME)
        expect(page.locator("h1").first).to_have_text(WORDS["feedback"].read(STUDENTS[student.name].language))
        expect(page.locator("tfoot .points")).to_have_text(f"{found[student.name]:g} / {TOTAL:g}")
    expect(page).to_contain_text(TOLD.says.ru.replace("`", ""))


@pytest.mark.nightly(twin="tests/deploy/test_jupyterhub.py::test_a_student_may_sign_up")
@pytest.mark.usefixtures("people")
def test_nobody_reads_or_removes_what_is_not_theirs(hub: Hub) -> None:
    def tries(command: str) -> str:
        line = hub.machine.command("sh", "-c", command, user="ann")
        done = subprocess.run(line, env=hub.machine.variables, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else "refused"

    assert tries("ls /srv/nbgrader/exchange/autograd/outbound") == f"{NAME}\n"
    for command in (
        f"ls {COURSE}",
        "ls /home/boris",
        "ls /srv/nbgrader/exchange/autograd/inbound",
        "mv /srv/nbgrader/exchange/autograd /srv/nbgrader/exchange/mine",
        f"touch /srv/nbgrader/exchange/autograd/outbound/{NAME}/mine",
        "ls /srv/jupyterhub",
    ):
        assert tries(command) == "refused", command


@pytest.mark.nightly(twin="tests/deploy/test_jupyterhub.py::test_a_student_may_sign_up")
def test_nobody_gets_an_account_of_the_system(hub: Hub, chromium: Browser, people: People) -> None:
    person = Person(hub.machine, chromium, "daemon")
    person.sign_up()
    people.instructor.let_in([person.name])
    person.log_in()
    expect(person.page.locator(".login_error")).to_be_visible()
    person.picture("refused")


@pytest.mark.nightly(twin="tests/deploy/test_jupyterhub.py::test_a_student_may_sign_up")
@pytest.mark.usefixtures("people")
def test_accounts_come_back_with_the_ids_of_their_homes(hub: Hub) -> None:
    def ids() -> dict[str, str]:
        return {name: hub.machine.run("id", "--user", name) for name in STUDENTS}

    before = ids()
    for name in STUDENTS:
        hub.machine.run("userdel", "--force", name)
    hub.machine.run(*hub.image.command, "--show-config", cwd=hub.image.workdir)  # reads its config, as at a start
    assert ids() == before
    assert len(set(before.values())) == len(STUDENTS)
