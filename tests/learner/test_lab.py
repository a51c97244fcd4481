"""`autograder lab`: it prepares a working copy and opens JupyterLab in it."""

import os
import re
import signal
import subprocess
import sys
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from autograder.learner.lab import has_screen, open_lab
from autograder.learner.notebooks.working_copy import prepare_copy
from autograder.learner.progress.contents import Contents
from autograder.lessons.collection import COURSE

NAME = "03_gradient_accumulation.ipynb"


def test_without_lessons_it_says_so(work, tmp_path):
    with pytest.raises(SystemExit, match="нет уроков"):
        prepare_copy(work, "ru", tmp_path / "nowhere")


def test_the_command_line_prepares(work):
    command = [sys.executable, "-m", "autograder.cli", "lab", "--prepare", "--language", "ru", "--work", str(work)]
    subprocess.run(command, check=True, cwd=COURSE.notebooks.parent)
    assert (work / "ru" / NAME).is_file()


def test_the_page_of_contents_counts_from_zero(notebooks):
    shown = Contents("en", notebooks)._repr_markdown_()
    assert "[03 Gradient accumulation](03_gradient_accumulation.ipynb) | a training loop for your own engine" in shown
    assert re.match(r"1.3 hours in all. Begin with \[03 Gradient accumulation\](.|\n)*\| 0/\d+ \|$", shown)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is always a screen")
def test_is_there_a_screen():
    assert has_screen({"DISPLAY": ":0"})
    assert has_screen({"WAYLAND_DISPLAY": "wayland-0"})
    assert not has_screen({"DISPLAY": ":0", "CI": "true"})
    assert not has_screen({})


KILL = pytest.param(
    signal.SIGTERM,
    marks=pytest.mark.nightly(twin="tests/learner/test_lab.py::test_open_lab_prints_an_address_that_answers"),
)


@pytest.mark.parametrize("ending", [signal.SIGINT, KILL])
def test_open_lab_prints_an_address_that_answers(work, notebooks, ending):
    """The real server, as `make lab` starts it, stopped by Ctrl+C or by `kill`."""
    prepare_copy(work, "ru", notebooks)
    opened = f"open_lab(Path({str(work)!r}), 'ru')"
    listens = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # tests may run behind "&"
    script = f"{listens}; from pathlib import Path; from autograder.learner.lab import open_lab; exit({opened})"
    env = {**os.environ, "CI": "true"}
    lab = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env
    )
    try:
        address = re.search(r"http://\S+", lab.stdout.readline())[0]
        assert "/lab/tree/ru/index.ipynb?token=" in address
        assert "нажмите Ctrl+C" in lab.stdout.readline()
        page = urlopen(address, timeout=200).read().decode()
        assert "JupyterLab" in page
        with urlopen(re.sub(r"lab/tree/ru/index.ipynb", "api/contents/ru", address), timeout=200) as answer:
            assert NAME in answer.read().decode()
    finally:
        lab.send_signal(ending)
        stopped = lab.wait(30)
        lab.stdout.close()
    assert stopped == 0
    with pytest.raises(URLError):
        urlopen(address)


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

    def __init__(self, command, env, start_new_session):
        NotStarted.last = {"command": command, "env": env}

    def poll(self):
        return 3

    wait = poll
