"""The learner's own engine: kept when a step passes, used in another lesson, saved as a file that runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder import exercises
from autograder.lessons.collection import COURSE
from autograder.lessons.source import solutions
from support.kernel import Kernel

pytestmark = pytest.mark.long(20)

PARTS = COURSE.lessons / "own_engine"
VALUE = (PARTS / "value.py").read_text(encoding="utf-8")
GIVEN = (PARTS / "rules_and_walk.py").read_text(encoding="utf-8")
START = 'import torch\nfrom autograder import check, save_mine, start, use_mine\nstart("{lesson}", language="en")'
# Another way to write the rules, with a helper from another cell and an import of its own.
HELPER = "import math\n\ndef same(x):\n    return math.e * x / math.e"
RULES = """
def four_rules():
    return {
        "+": lambda g, out, a, b: (g, g),
        "*": lambda g, out, a, b: (same(g * b), g * a),
        "@": lambda g, out, a, b: (g @ b.mT, a.mT @ g),
        "sum": lambda g, out, a: (g + torch.zeros_like(a),),
        "tanh": lambda g, out, a: (g - g * out * out,),
    }
"""
WALK = "import torch\n\n\n" + GIVEN[GIVEN.index("def walk_nodes") :]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def kernel(tmp_path: Path, home: Path) -> Iterator[Kernel]:
    kernel = Kernel(tmp_path / "lesson.ipynb", {"AUTOGRADER_HOME": str(home)})
    yield kernel
    kernel.close()


def begin(kernel: Kernel, lesson: str) -> None:
    for cell in (START.format(lesson=lesson), VALUE, GIVEN):
        kernel.run(cell)


def test_an_engine_grows_and_goes_to_another_lesson(kernel: Kernel, home: Path, tmp_path: Path) -> None:
    begin(kernel, "graph_and_backward")
    assert "stays" in kernel.run("use_mine()", "1")
    assert "no engine of yours yet" in kernel.run("save_mine()", "2")
    kernel.run(HELPER, "3")
    kernel.run(RULES.replace("g - g * out * out", "g * out"), "4")  # wrong
    kernel.run('check("four_rules")', "5")
    assert not (home / "my_engine.py").exists()
    kernel.run(RULES, "4")
    kernel.run('check("four_rules")', "5")
    kernel.run(WALK, "6")
    assert "my_engine.py" in kernel.run('print(check("walk_nodes"))', "7")

    kernel.run("%reset -f")
    begin(kernel, "saved_tensors")
    assert "`four_rules`, `walk_nodes`" in kernel.run("use_mine()")
    found = "x = Value(torch.ones(2).double())\n(x * x).sum().backward()\nprint(x.grad.tolist(), 'same' in globals())"
    assert "[2.0, 2.0] True" in kernel.run(found)

    assert str(tmp_path / "my_engine.py") in kernel.run("save_mine()")
    ran = subprocess.run([sys.executable, "my_engine.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "differ from torch's by at most" in ran.stdout
    imported = "from my_engine import Value, four_rules, walk_nodes"
    assert subprocess.run([sys.executable, "-c", imported], cwd=tmp_path, check=False).returncode == 0


def test_the_class_of_the_last_lesson_takes_the_place_of_its_parts(kernel: Kernel, home: Path, tmp_path: Path) -> None:
    begin(kernel, "graph_and_backward")
    kernel.run(HELPER, "1")
    kernel.run(RULES, "2")
    kernel.run('check("four_rules")')
    kernel.run("%reset -f")
    kernel.run(START.format(lesson="capstones"))
    kernel.run(solutions(exercises.find("own_engine", "capstones"))[0], "3")
    kernel.run('check("own_engine")', "4")
    kernel.run("save_mine()")
    saved = (tmp_path / "my_engine.py").read_text()
    assert saved.count("class Value") == 1
    assert "four_rules" not in saved
    file = home / "my_engine.py"
    assert "four_rules" in file.read_text()
    file.write_text(file.read_text().replace("class Value", "# my own words\nclass Value"))
    for _ in range(2):  # the second time the file beside the notebook holds the edit, too
        assert "joins the steps before it" in kernel.run("print(save_mine())")
    assert "# my own words" in (tmp_path / "my_engine.py").read_text()
    ran = subprocess.run([sys.executable, "my_engine.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "differ from torch's by at most" in ran.stdout


def test_what_a_learner_edits_stays(kernel: Kernel, home: Path, tmp_path: Path) -> None:
    begin(kernel, "graph_and_backward")
    kernel.run(HELPER, "1")
    kernel.run(RULES, "2")
    kernel.run('check("four_rules")')
    file = home / "my_engine.py"
    file.write_text(file.read_text().replace("g - g * out * out", "g - g * out**2"))
    assert "was edited by hand" in kernel.run('print(check("four_rules"))')
    assert "g - g * out**2" in file.read_text()
    kernel.run("save_mine()")
    (tmp_path / "my_engine.py").write_text((tmp_path / "my_engine.py").read_text().replace("out**2", "out**3"))
    assert "was not overwritten" in kernel.run("print(save_mine())")
    assert "out**3" in (tmp_path / "my_engine.py").read_text()
    file.write_text(file.read_text().replace("return {", "return {{{"))
    assert "cannot be run, the course's stays: SyntaxError" in kernel.run("print(use_mine())")
    assert "6.0" in kernel.run("x = Value(torch.tensor(3.0).double())\n(x * x).backward()\nprint(x.grad.item())")


def test_a_graded_notebook_keeps_the_given_engine(tmp_path: Path, home: Path) -> None:
    home.mkdir()
    (home / "my_engine.py").write_text("# --- four_rules (00000000) ---\nfour_rules = None\n")
    variables = {"AUTOGRADER_HOME": str(home), "NBGRADER_EXECUTION": "validate"}
    kernel = Kernel(tmp_path / "lesson.ipynb", variables)
    try:
        begin(kernel, "saved_tensors")
        assert "stays" in kernel.run("use_mine()")
        assert "function" in kernel.run("print(four_rules)")
    finally:
        kernel.close()
