"""The working copy: made, brought up to date with the answers, and nothing of the student's ever lost."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from autograder.authoring.build import COURSE
from autograder.learner.lab import has_screen, open_lab
from autograder.learner.working_copy import prepare

NAME = "03_gradient_accumulation.ipynb"
ANSWER = "answer-accumulate_uneven"


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The notebooks of the lesson, built from its source as it is now."""
    folder = tmp_path_factory.mktemp("built")
    (lesson,) = COURSE.read(["gradient_accumulation"])
    for path, text in COURSE.files(lesson).items():
        if path.suffix == ".ipynb":
            (folder / path.parent.name).mkdir(exist_ok=True)
            (folder / path.parent.name / path.name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def notebooks(built, tmp_path):
    return Path(shutil.copytree(built, tmp_path / "notebooks"))


@pytest.fixture
def work(tmp_path):
    return tmp_path / "work"


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def cell_of(notebook, grade_id):
    (cell,) = (c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == grade_id)
    return cell


def source(path, grade_id=ANSWER):
    return "".join(cell_of(read(path), grade_id)["source"])


def edit(path, text, grade_id=ANSWER, at=None):
    """Type `text` into an answer cell and save; `at` is the file's time in seconds."""
    notebook = read(path)
    cell_of(notebook, grade_id)["source"] = text
    path.write_text(json.dumps(notebook), encoding="utf-8")
    if at is not None:
        os.utime(path, (at, at))
    return path.read_bytes()


def publish(notebooks, change):
    """A newer version of the lesson, in both languages."""
    for path in notebooks.glob("*/*.ipynb"):
        notebook = read(path)
        change(notebook)
        path.write_text(json.dumps(notebook), encoding="utf-8")


def new_prose(notebook):
    notebook["cells"].insert(1, {"cell_type": "markdown", "id": "new", "metadata": {}, "source": "A new paragraph."})


def old_copies(work):
    return sorted(str(path.relative_to(work)) for path in work.glob("*/old/*"))


def test_a_fresh_copy_is_the_lesson(work, notebooks, capsys):
    prepare(work, "ru", notebooks)
    assert read(work / "ru" / NAME) == read(notebooks / "ru" / NAME)
    assert old_copies(work) == []
    assert capsys.readouterr().out == ""


def test_a_second_time_touches_nothing(work, notebooks, capsys):
    prepare(work, "en", notebooks)
    bytes_ = edit(work / "en" / NAME, "mine = 1")
    for _ in range(2):
        prepare(work, "en", notebooks)
    assert (work / "en" / NAME).read_bytes() == bytes_
    assert old_copies(work) == []
    assert capsys.readouterr().out == ""


def test_a_newer_lesson_keeps_answers_and_the_old_copy(work, notebooks, capsys):
    prepare(work, "en", notebooks)
    bytes_ = edit(work / "en" / NAME, "mine = 1")
    publish(notebooks, new_prose)
    prepare(work, "en", notebooks)
    assert source(work / "en" / NAME) == "mine = 1"
    assert read(work / "en" / NAME)["cells"][1]["source"] == "A new paragraph."
    assert old_copies(work) == ["en/old/03_gradient_accumulation-1.ipynb"]
    assert (work / "en/old/03_gradient_accumulation-1.ipynb").read_bytes() == bytes_
    said = capsys.readouterr().out
    assert "Your answers carried over: 1." in said
    assert "old/03_gradient_accumulation-1.ipynb" in said

    publish(notebooks, new_prose)
    prepare(work, "en", notebooks)
    assert len(old_copies(work)) == 2
    assert (work / "en/old/03_gradient_accumulation-1.ipynb").read_bytes() == bytes_


def test_an_untouched_answer_takes_the_new_stub(work, notebooks):
    prepare(work, "en", notebooks)

    def new_stub(notebook):
        cell_of(notebook, ANSWER)["source"] = "def accumulate_uneven(model, batches): ..."

    publish(notebooks, new_stub)
    prepare(work, "en", notebooks)
    assert source(work / "en" / NAME) == "def accumulate_uneven(model, batches): ..."


def test_an_answer_whose_exercise_is_gone_is_named(work, notebooks, capsys):
    prepare(work, "ru", notebooks)
    edit(work / "ru" / NAME, "mine = 1")
    publish(notebooks, lambda notebook: notebook["cells"].remove(cell_of(notebook, ANSWER)))
    prepare(work, "ru", notebooks)
    assert "в уроке больше нет: accumulate_uneven" in capsys.readouterr().out
    assert source(work / "ru/old/03_gradient_accumulation-1.ipynb") == "mine = 1"


def test_the_other_language_opens_with_the_answers(work, notebooks, capsys):
    prepare(work, "en", notebooks)
    written = next(g for g in grade_ids(work / "en" / NAME) if g.startswith("written-"))
    edit(work / "en" / NAME, "mine = 1")
    edit(work / "en" / NAME, "In my words.", written)
    prepare(work, "ru", notebooks)
    assert source(work / "ru" / NAME) == "mine = 1"
    assert source(work / "ru" / NAME, written) == "In my words."
    assert old_copies(work) == []
    assert re.search(r"перенесено ответов из .*en.*: 2\.", capsys.readouterr().out)


def grade_ids(path):
    return [c["metadata"]["nbgrader"]["grade_id"] for c in read(path)["cells"] if "nbgrader" in c["metadata"]]


def test_between_two_copies_the_latest_answer_wins(work, notebooks):
    now = 2_000_000_000
    prepare(work, "en", notebooks)
    edit(work / "en" / NAME, "first = 1", at=now)
    prepare(work, "ru", notebooks)
    bytes_ = edit(work / "ru" / NAME, "second = 2", at=now + 10)
    prepare(work, "en", notebooks)
    assert source(work / "en" / NAME) == "second = 2"
    assert len(old_copies(work)) == 1

    edit(work / "en" / NAME, "third = 3", at=now + 20)
    prepare(work, "ru", notebooks)
    assert source(work / "ru" / NAME) == "third = 3"
    assert (work / "ru/old/03_gradient_accumulation-1.ipynb").read_bytes() == bytes_


def test_an_older_answer_does_not_come_back_with_a_newer_file(work, notebooks):
    """The Russian file is saved last, but this answer in it is the older one."""
    now = 2_000_000_000
    prepare(work, "en", notebooks)
    edit(work / "en" / NAME, "first = 1", at=now)
    prepare(work, "ru", notebooks)
    edit(work / "en" / NAME, "second = 2", at=now + 10)
    edit(work / "ru" / NAME, "other = 0", "answer-accumulate_equal", at=now + 20)
    prepare(work, "en", notebooks)
    assert source(work / "en" / NAME) == "second = 2"
    assert source(work / "en" / NAME, "answer-accumulate_equal") == "other = 0"


def test_an_untouched_cell_never_replaces_an_answer(work, notebooks):
    prepare(work, "en", notebooks)
    prepare(work, "ru", notebooks)
    bytes_ = edit(work / "ru" / NAME, "mine = 1")
    stub = source(notebooks / "en" / NAME)
    edit(work / "en" / NAME, stub, at=2_000_000_000)
    prepare(work, "ru", notebooks)
    assert (work / "ru" / NAME).read_bytes() == bytes_


def test_own_cells_stay_when_only_answers_come_over(work, notebooks):
    prepare(work, "en", notebooks)
    prepare(work, "ru", notebooks)
    notebook = read(work / "en" / NAME)
    notebook["cells"].append({"cell_type": "markdown", "id": "own", "metadata": {}, "source": "My note."})
    (work / "en" / NAME).write_text(json.dumps(notebook), encoding="utf-8")
    edit(work / "ru" / NAME, "mine = 1", at=2_000_000_000)
    prepare(work, "en", notebooks)
    assert source(work / "en" / NAME) == "mine = 1"
    assert read(work / "en" / NAME)["cells"][-1]["source"] == "My note."


BROKEN = {
    "cut off": b'{"cells": [{"cell_type": "co',
    "empty": b"",
    "a list": b"[]",
    "no cells": b'{"nbformat": 4}',
    "cells of a wrong kind": b'{"cells": [1, {"source": 3}]}',
    "no text": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_read_is_left_and_named(work, notebooks, capsys, data):
    prepare(work, "ru", notebooks)
    (work / "ru" / NAME).write_bytes(data)
    publish(notebooks, new_prose)
    prepare(work, "ru", notebooks)
    assert (work / "ru" / NAME).read_bytes() == data
    said = capsys.readouterr().out
    assert "не читается как тетрадь" in said
    assert "переименуйте" in said

    prepare(work, "en", notebooks)
    assert read(work / "en" / NAME) == read(notebooks / "en" / NAME)
    assert "no answers were carried over" in capsys.readouterr().out


@pytest.mark.parametrize("state", [b"", b"[]", b'{"en/x.ipynb": 1}', b"not JSON"])
def test_a_lost_memory_loses_no_answer(work, notebooks, state):
    prepare(work, "en", notebooks)
    bytes_ = edit(work / "en" / NAME, "mine = 1")
    (work / ".autograder.json").write_bytes(state)
    prepare(work, "en", notebooks)
    assert source(work / "en" / NAME) == "mine = 1"
    assert (work / "en/old/03_gradient_accumulation-1.ipynb").read_bytes() == bytes_


def test_no_half_written_files(work, notebooks):
    prepare(work, "en", notebooks)
    names = {path.name for path in work.rglob("*")}
    assert names == {"en", NAME, ".autograder.json"}


def test_without_lessons_it_says_so(work, tmp_path):
    with pytest.raises(SystemExit, match="нет уроков"):
        prepare(work, "ru", tmp_path / "nowhere")


def test_the_command_line_prepares(work):
    command = [sys.executable, "-m", "autograder.cli", "lab", "--prepare", "--language", "ru", "--work", str(work)]
    subprocess.run(command, check=True, cwd=COURSE.notebooks.parent)
    assert (work / "ru" / NAME).is_file()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is always a screen")
def test_is_there_a_screen():
    assert has_screen({"DISPLAY": ":0"})
    assert has_screen({"WAYLAND_DISPLAY": "wayland-0"})
    assert not has_screen({"DISPLAY": ":0", "CI": "true"})
    assert not has_screen({})


def test_open_lab_prints_an_address_that_answers(work, notebooks):
    """The real server, as `make lab` starts it, stopped as Ctrl+C stops it."""
    prepare(work, "ru", notebooks)
    opened = f"open_lab(Path({str(work)!r}), 'ru')"
    listens = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # tests may run behind "&"
    script = f"{listens}; from pathlib import Path; from autograder.learner.lab import open_lab; exit({opened})"
    env = {**os.environ, "CI": "true"}
    lab = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env
    )
    try:
        address = re.search(r"http://\S+", lab.stdout.readline())[0]
        assert "/lab/tree/ru?token=" in address
        assert "нажмите Ctrl+C" in lab.stdout.readline()
        page = urlopen(address, timeout=30).read().decode()
        assert "JupyterLab" in page
        with urlopen(re.sub(r"lab/tree/ru", "api/contents/ru", address), timeout=30) as answer:
            assert NAME in answer.read().decode()
    finally:
        lab.send_signal(2)
        stopped = lab.wait(30)
        lab.stdout.close()
    assert stopped == 0


def test_open_lab_writes_only_below_work(work, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", NotStarted)
    assert open_lab(work, "ru") == 3
    assert {str(p.relative_to(work)) for p in work.rglob("*.json")} == {
        ".jupyter/labconfig/default_setting_overrides.json",
        ".jupyter/labconfig/page_config.json",
    }
    started = NotStarted.last
    assert started["env"]["JUPYTER_CONFIG_PATH"].startswith(str(work))


class NotStarted:
    """A server that ended at once."""

    last = None
    pid = -1

    def __init__(self, command, env):
        NotStarted.last = {"command": command, "env": env}

    def poll(self):
        return 3

    wait = poll
