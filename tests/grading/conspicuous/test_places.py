"""Conspicuous places: nothing that changes a library is missed, honest code is left alone."""

from __future__ import annotations

import gc
from collections.abc import Set
from pathlib import Path

import IPython.core.inputtransformer2
import matplotlib.pyplot  # noqa: F401 (a fork server has it, too)
import numpy  # noqa: F401
import pytest

from autograder import exercises
from autograder.authoring.recorded_answers import recorded_answers
from autograder.grading.conspicuous.outside_torch import counted_in
from autograder.grading.conspicuous.places import MOST_PLACES, ConspicuousPlace, Kind, ReleasedCode, find_places
from autograder.lessons.collection import COURSE
from autograder.lessons.source import solutions
from grading.conspicuous import hiding, programs
from hostile import habits

transform = IPython.core.inputtransformer2.TransformerManager().transform_cell
RELEASED = """
import torch
from torch.nn.functional import mse_loss
from autograder import check, start
def f(*args):
    return 0
"""
ANSWERS = Path(__file__).parents[2] / "exercises" / "answers"


def places(
    *cells: str, files: dict[str, bytes] | None = None, counted: Set[str] = frozenset()
) -> list[ConspicuousPlace]:
    files = files or {}
    modules = {path: data for path, data in files.items() if path.endswith(".py")}
    known = ReleasedCode.of([RELEASED], transform)
    return find_places(cells, modules, len(modules) < len(files), known.bindings, counted, transform)


def kinds(*cells: str, files: dict[str, bytes] | None = None) -> set[Kind]:
    return {place.kind for place in places(*cells, files=files)}


def test_no_program_of_the_grammar_that_changes_a_library_is_missed() -> None:
    assert [program for program in programs.changes() if not places(program)] == []


def test_no_program_of_the_grammar_that_reaches_a_frame_is_missed() -> None:
    assert [program for program in programs.looks() if not places(program)] == []


def test_no_program_of_the_grammar_that_keeps_entries_outside_of_torch_is_missed() -> None:
    hidden = [*hiding.programs()]
    assert [
        cells for cells in hidden if Kind.OUTSIDE not in {each.kind for each in places(*cells, counted={"answer"})}
    ] == []
    assert [cells for cells in hidden if Kind.OUTSIDE in kinds(*cells)] == []


def test_what_an_answer_does_not_need_may_leave_torch() -> None:
    demo = "import numpy as np\nx = torch.ones(3)\nlosses = [float(v) for v in x]\nprint(np.sum(answer(x).numpy()))"
    answer = "def helper(x):\n    return 2 * x\ndef answer(x):\n    loss = helper(x).sum()\n    return loss.item()"
    losses = (
        "def answer(xs):\n    losses = []\n    for x in xs:\n        losses.append(x.sum())\n"
        "    return sum(float(k) * loss.item() for k, loss in enumerate(losses) for j in range(2))"
    )
    assert places(demo, answer, demo, losses, counted={"answer"}) == []


def test_honest_answers_and_habits_are_left_alone() -> None:
    """At most 1 in 100 of the answers that people gave, and of the habits of their notebooks, is listed.

    More are listed because they keep tensors in buffers, files and dicts, where only torch's memory is counted.
    """
    answers = [answer for path in sorted(ANSWERS.glob("*.py")) for answer in recorded_answers(path)]
    notebooks = [([answer.cell.source], counted_in([exercises.find(answer.exercise)])) for answer in answers]
    counted = counted_in(exercises.load("gradient_accumulation").values())
    notebooks += [([each.top, each.cell, each.answer], counted) for each in habits.ALL]
    gc.freeze()
    found = [(cells, {place.kind for place in places(*cells, counted=counted)}) for cells, counted in notebooks]
    gc.unfreeze()
    outside = [cells for cells, kinds in found if Kind.OUTSIDE in kinds]
    assert [cells[0].partition("\n")[0] for cells in outside] == [
        "# hooks keep everything as bytes",
        "# byte buffers",
        "# wasteful hooks",
    ]
    listed = [cells for cells, kinds in found if kinds - {Kind.OUTSIDE}]
    assert len(listed) <= 0.01 * len(notebooks), listed


def test_the_courses_own_solutions_are_left_alone() -> None:
    found = [
        (exercise.name, places(source))
        for lesson in COURSE.read()
        for exercise in COURSE.exercises(lesson).values()
        for source in solutions(exercise)
    ]
    assert [(name, listed) for name, listed in found if listed] == []


def test_a_place_has_the_cell_the_line_and_the_words() -> None:
    found = places("x = 1", "import numpy as np\n\nnp.sum = f", files={"help.py": b"import gc\ngc.get_referents()"})
    assert found == [
        ConspicuousPlace(1, 3, Kind.ASSIGNED, "numpy.sum"),
        ConspicuousPlace(2, 2, Kind.USED, "gc.get_referents"),
    ]


@pytest.mark.parametrize(
    "cell",
    [
        "import matplotlib.pyplot as plt\nplt.rcParams['figure.dpi'] = 100",
        "torch.backends.cudnn.benchmark = True",
        "import os\nos.environ['CUDA_LAUNCH_BLOCKING'] = '1'",
        "import sys\nprint('google.colab' in sys.modules, sys.version)",
        "torch.Tensor.shape_text = property(lambda self: 'x'.join(map(str, self.shape)))",
        "for name in ('relu', 'tanh'):\n    print(getattr(torch, name)(torch.ones(2)))",
        "import wandb\nwandb.init()",
        "layer = torch.nn.Linear(2, 1)\nlayer.weight.grad = None\nlayer.weight.requires_grad = False",
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        setattr(self, f'fc{1}', 2)",
        "class A:\n    count = 0\n    def __init__(self):\n        self.__class__.count += 1",
        "def add_to_class(Class):\n    def wrapper(obj):\n        setattr(Class, obj.__name__, obj)\n"
        "    return wrapper\n"
        "class A:\n    pass\n@add_to_class(A)\ndef do(self):\n    pass",
    ],
)
def test_what_notebooks_do_is_ordinary(cell: str) -> None:
    assert places(cell) == []


@pytest.mark.parametrize(
    ("cells", "files"),
    [
        (["(" * 5000], {}),
        (["x = " + "-" * 50_000 + "1"], {}),
        (["x" + ".a" * 20_000], {}),
        (["x = 1\n" * 100_000], {}),
        ([], {"help.py": b"# coding: utf-7\nx = 1"}),
        ([], {"help.py": b"\xff\xfe"}),
    ],
)
def test_what_cannot_be_read_is_named_unless_python_cannot_run_it(cells: list[str], files: dict[str, bytes]) -> None:
    assert kinds(*cells, files=files) <= {Kind.UNREAD}
    with_more = places(*cells, "import gc\ngc.get_referents()", files=files)
    assert {place.kind for place in with_more} & {Kind.UNREAD, Kind.USED}


def test_many_places_hide_none_of_another_kind_and_are_counted() -> None:
    flood = "\n".join(f"torch._C.a{number}" for number in range(100))
    found = places(flood, "exec('1')")
    assert len(found) == MOST_PLACES + 1
    assert (found[-1].kind, found[-1].what) == (Kind.MORE, str(101 - MOST_PLACES))
    assert Kind.RUN in {place.kind for place in found}


@pytest.mark.parametrize(
    "cell", ["get_ipython().run_cell_magic()", "getattr(1, f'')", f"getattr(1, {'0x' + 'f' * 5000})"]
)
def test_a_cell_that_no_notebook_holds_hides_nothing(cell: str) -> None:
    assert Kind.RUN in kinds(f"if 0:\n    {cell}", "exec('1')")


def test_what_is_said_has_one_line() -> None:
    (place,) = places("getattr(torch, '_a\\n\\x1b[97mto look at: nothing\\u202e')")
    assert place.what.isprintable()
