"""Checks after a restart, and after cells that ended with an error, in a live kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.exercises import load
from autograder.lessons.source import solutions
from autograder.messages.learners import message
from support.kernel import Kernel

RIGHT = solutions(load("gradient_accumulation")["accumulate_equal"])[0]
CHECK = 'from autograder import check\nprint(check("accumulate_equal"))'
PASSED = "✓ "


@pytest.fixture
def kernel(notebooks: Path, language: str) -> Iterator[Kernel]:
    """A kernel that has run nothing yet."""
    opened = Kernel(notebooks / language / "03_gradient_accumulation.ipynb")
    yield opened
    opened.close()


@pytest.mark.usefixtures("quick_kernels")
def test_after_a_restart_the_card_speaks_the_notebooks_language_and_names_the_cell_above(
    kernel: Kernel, language: str
) -> None:
    kernel.run("import torch\n" + RIGHT)
    card = kernel.run(CHECK)
    other = "ru" if language == "en" else "en"
    assert message("note.cell_above", name="mse_loss").read(language) in card
    assert message("state.not yet").read(language) in card
    assert message("state.not yet").read(other) not in card


@pytest.mark.usefixtures("quick_kernels")
def test_a_cell_that_ended_early_is_told_from_the_answer_before_it(kernel: Kernel, language: str) -> None:
    def ended(error: str, line: int) -> str:
        return message("absent.cell_ended", name="accumulate_equal", error=error, line=line).read(language)

    kernel.run("import torch\nfrom torch.nn.functional import mse_loss")
    kernel.run(RIGHT, "answer")
    assert kernel.run(CHECK, "check").startswith(PASSED)
    broken = {
        RIGHT.replace(":\n", "\n", 1): ended("SyntaxError", 1),
        "1 / 0\n" + RIGHT: ended("ZeroDivisionError", 1),
        "@missing\n" + RIGHT: ended("NameError", 1),
        "x = 1\n  y = 2\n" + RIGHT: ended("IndentationError", 2),
    }
    for source, said in broken.items():
        kernel.run(source, "answer")
        assert said in kernel.run(CHECK, "check")
    for judged in (RIGHT + "\n1 / 0", "%time x = 1\n" + RIGHT, RIGHT):
        kernel.run(judged, "answer")
        assert kernel.run(CHECK, "check").startswith(PASSED)
    kernel.run("accumulate_equal = None\n1 / 0", "other")
    assert ended("ZeroDivisionError", 2) not in kernel.run(CHECK, "check")
