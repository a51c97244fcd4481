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


NIGHTLY = pytest.mark.nightly(twin="tests/inspection/test_scripts.py::test_what_is_wrong_is_found")


def scripts(files):
    """Return scripts as arguments of a test: every commit runs one in four."""
    return [pytest.param(file, id=file.stem, marks=NIGHTLY if place % 4 else ()) for place, file in enumerate(files)]


@pytest.fixture(scope="module")
def reports(request):
    """A dict from the name of a script to what is said about its first steps. All that are asked for run together."""
    asked = {str(each.callspec.params["file"]) for each in request.session.items if "reports" in each.fixturenames}
    command = [sys.executable, str(HERE / "fork_scripts.py"), *sorted(asked)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def pattern(id):
    """A regular expression for the sentence `id` with any parameters."""
    return re.sub(r"\\\{\w+\\\}", ".*", re.escape(SAYS[id].en))


@pytest.mark.parametrize("file", scripts(WRONG))
def test_what_is_wrong_is_found(file, reports):
    """The line where the way ends is one of the script's."""
    source, report = file.read_text(encoding="utf-8"), reports[file.name]
    (finds,) = re.findall(r"^# finds: (.*)$", source, re.M)
    assert re.search(pattern(finds), report), report
    if finds.startswith("inspect.cut."):
        assert any(line in source for line in re.findall(r"at `(.*?)` \(", report)), report


@pytest.mark.parametrize("file", scripts(RIGHT))
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


SILENT = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(6):
    loss = net(torch.ones(2, 4)).square().sum()
    loss.backward()
    optimizer.step()
print("the end")
"""
IN_PLACE = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(4, 4))
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(3):
    h = torch.sigmoid(net(torch.ones(2, 4)))
    if step:
        h += 1
    optimizer.zero_grad()
    h.sum().backward()
    optimizer.step()
"""


def explained(source, tmp_path):
    """`autograder explain` of a script, in English."""
    file = tmp_path / "train.py"
    file.write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "autograder", "explain", "--language", "en", str(file)]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


def test_without_a_number_of_steps_the_script_runs_to_its_end_and_its_first_steps_are_watched(tmp_path):
    done = explained(SILENT, tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("the end\n")
    assert re.search(r"`\.grad` of .*`0.weight`.* at `loss.backward\(\)` \(train.py:8\)", done.stdout), done.stdout
    assert done.stderr == ""
    done = explained(SILENT.replace("    loss.backward()", "    optimizer.zero_grad()\n    loss.backward()"), tmp_path)
    assert (done.returncode, done.stdout) == (
        0,
        "the end\nSteps of an optimizer that were watched: 3. Nothing found.\n",
    )


def test_the_line_of_an_edit_that_backward_refused_is_named(tmp_path):
    done = explained(IN_PLACE, tmp_path)
    assert done.returncode == 1
    assert "`h += 1` (train.py:9)" in done.stdout
    assert "The result of the operation `Sigmoid`, a tensor of shape `[2, 4]`" in done.stderr
    assert "autograder" not in done.stderr.partition("\n\n")[0]  # no frame of the watch
