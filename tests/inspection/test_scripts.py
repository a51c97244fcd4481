"""Training scripts of other people, run as they are: what is wrong in them, and what only looks strange."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.messages.inspection import SAYS

pytestmark = pytest.mark.long(60)

HERE = Path(__file__).parent
WRONG, RIGHT = (sorted((HERE / "scripts" / kind).glob("*.py")) for kind in ("wrong", "right"))
SECONDS = 600


@pytest.fixture(scope="module")
def reports():
    """A dict from the name of a script to what is said about its first steps."""
    command = [sys.executable, str(HERE / "fork_scripts.py"), *map(str, WRONG + RIGHT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def pattern(id):
    """A regular expression for the sentence `id` with any parameters."""
    return re.sub(r"\\\{\w+\\\}", ".*", re.escape(SAYS[id].en))


@pytest.mark.parametrize("file", WRONG, ids=lambda file: file.stem)
def test_what_is_wrong_is_found(file, reports):
    """The line where the way ends is one of the script's."""
    source, report = file.read_text(encoding="utf-8"), reports[file.name]
    (finds,) = re.findall(r"^# finds: (.*)$", source, re.M)
    assert re.search(pattern(finds), report), report
    if finds.startswith("inspect.cut."):
        assert any(line in source for line in re.findall(r"at `(.*?)` \(", report)), report


@pytest.mark.parametrize("file", RIGHT, ids=lambda file: file.stem)
def test_what_only_looks_strange_is_not_accused(file, reports):
    assert "✗" not in reports[file.name]
    assert "ended by" not in reports[file.name]


@pytest.mark.parametrize(("file", "status"), [(WRONG[-1], 1), (RIGHT[-1], 0)], ids=["wrong", "right"])
def test_the_command_watches_the_first_steps_and_ends_the_script(file, status):
    command = [sys.executable, "-m", "autograder", "explain", str(file), "--steps", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == status, done.stderr
    assert ("✗" in done.stdout) == bool(status)
    assert "watched: 2" in done.stdout or status


def test_the_number_of_steps_is_a_number():
    command = [sys.executable, "-m", "autograder", "explain", str(RIGHT[0]), "--steps", "none"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 2
    assert "--steps" in done.stderr
