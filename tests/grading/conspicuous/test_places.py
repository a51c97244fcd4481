"""Conspicuous places: nothing that changes a library is missed, honest code is left alone.

Programs run in children behind the wall, as submissions do, because what is read is what runs.
"""

from __future__ import annotations

import ast
import base64
import contextlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import IPython.core.inputtransformer2
import pytest

from autograder.authoring.recorded_answers import recorded_answers
from autograder.checking.exercise import Exercise
from autograder.grading.conspicuous.code_reader import ConspicuousPlace, Kind, KnownNames, read_code
from autograder.grading.conspicuous.noticed_places import MOST_PLACES
from autograder.grading.conspicuous.protected_names import is_protected
from autograder.grading.limits import Limits
from autograder.grading.sandbox.grader.student_process import Ended
from autograder.grading.sandbox.wire.wire_messages import ChildRequest
from autograder.lessons.collection import COURSE
from autograder.lessons.source import Lesson, solutions
from grading.conspicuous import programs, unread
from support.assignment import Assignment, open_assignment

pytestmark = pytest.mark.long(60)
LIMITS = Limits(cell_seconds=10, total_seconds=60, memory=1 << 30, processes=12, disk_bytes=64 << 20)
ANSWERS = Path(__file__).parents[2] / "exercises" / "answers"
transform = IPython.core.inputtransformer2.TransformerManager().transform_cell
BEFORE = "import torch\nf = lambda *args: 0"
Place = tuple[str, int, str, str]  # file, line, kind, and what is there


@pytest.fixture(scope="module")
def assignment(
    lesson_source: Lesson, exercises: dict[str, Exercise], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Assignment]:
    with open_assignment(lesson_source, exercises, tmp_path_factory.mktemp("places"), LIMITS) as opened:
        yield opened


class Programs:
    """Programs that run in children of an assignment's engine."""

    def __init__(self, assignment: Assignment) -> None:
        self._engine = assignment.engine

    def places(self, *cells: str, files: dict[str, bytes] | None = None) -> list[Place]:
        """Return what is noticed or refused when the cells run in a child of their own."""
        with self._engine.fork() as child:
            self._begin(child, files or {})
            refused: list[str] = []
            for cell in cells:
                try:
                    reply = child.ask(ChildRequest.CELL, source=cell, released=False)
                except Ended:  # by the program itself
                    break
                refused += reply["refused"]
            return [*_flat(child.noticed), *(("", 0, "refused", what) for what in refused)]

    @staticmethod
    def _begin(child: Any, files: dict[str, bytes]) -> None:
        child.ask(ChildRequest.BEGIN, lesson="", files={})
        child.ask(ChildRequest.TAKE, files={path: base64.b64encode(data).decode() for path, data in files.items()})
        child.ask(ChildRequest.CELL, source=BEFORE)


def _flat(told: list[Any]) -> list[Place]:
    return [(file, line, kind, what) for each in told for file, line, kind, what in each]


@pytest.fixture(scope="module")
def run(assignment: Assignment) -> Programs:
    return Programs(assignment)


NIGHTLY = pytest.mark.nightly(
    twin="tests/grading/conspicuous/test_places.py::test_no_program_of_the_grammar_that_changes_a_library_is_missed"
)
SOME = pytest.mark.parametrize(
    "part", [slice(0, None, 5), pytest.param(slice(None), marks=NIGHTLY)], ids=["some", "all"]
)


@SOME
def test_no_program_of_the_grammar_that_changes_a_library_is_missed(run: Programs, part: slice) -> None:
    missed = [each for each in [*programs.changes()][part] if not run.places(*each.split("\nCELL\n"))]
    assert missed == []


@SOME
def test_no_program_of_the_grammar_that_reaches_a_frame_is_missed(run: Programs, part: slice) -> None:
    assert [program for program in [*programs.looks()][part] if not run.places(program)] == []


def test_no_text_or_file_hides_what_it_runs(run: Programs) -> None:
    """Prompts, magics, libraries that run texts and rewritten files once hid code from a reader of cells."""
    assert [cells for cells in unread.programs() if not _changes(run.places(*cells))] == []


def test_no_way_to_a_class_hides_what_is_set_in_it(run: Programs) -> None:
    assert [program for program in unread.laundered() if not _changes(run.places(program))] == []


def _changes(places: list[Place]) -> bool:
    hides = {"__setattr__", "del setattr", "exec"}
    return any(kind == Kind.ASSIGNED or what in hides for _, _, kind, what in places)


def read(*cells: str) -> list[ConspicuousPlace]:
    """Return what the reader finds in code, without the watch over what runs."""
    known = KnownNames(lambda top: find_spec(top) is None, is_protected)
    found = []
    for cell in (BEFORE, *cells):
        with contextlib.suppress(SyntaxError):
            code = compile(transform(cell), "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
            found += read_code(code, known)
    return found


def test_honest_answers_are_left_alone() -> None:
    """At most 1 in 200 of the answers that people gave is listed. Their habits: tests/hostile/test_habits.py."""
    answers = [each.cell.source for path in sorted(ANSWERS.glob("*.py")) for each in recorded_answers(path)]
    listed = [(answer, found) for answer in answers if (found := read(answer))]
    assert len(listed) <= 0.005 * len(answers), listed


def test_the_courses_own_solutions_are_left_alone() -> None:
    exercises = [each for lesson in COURSE.read() for each in COURSE.exercises(lesson).values()]
    found = [(each.name, read(source)) for each in exercises for source in solutions(each)]
    assert [(name, listed) for name, listed in found if listed] == []


def test_a_place_has_the_line_the_words_and_the_file(run: Programs) -> None:
    help_me = b"import gc\ngc.get_referents()"
    assert run.places("import numpy as np\n\nnp.sum = f\nimport help_me", files={"help_me.py": help_me}) == [
        ("", 3, Kind.ASSIGNED, "numpy.sum"),
        ("help_me.py", 2, Kind.USED, "gc.get_referents"),
        ("", 0, "refused", "gc.get_referents"),
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
        "        setattr(self, f'fc{1}', 2)\nNet()",
        "class A:\n    count = 0\n    def __init__(self):\n        self.__class__.count += 1",
        "def add_to_class(Class):\n    def wrapper(obj):\n        setattr(Class, obj.__name__, obj)\n"
        "    return wrapper\n"
        "class A:\n    pass\n@add_to_class(A)\ndef do(self):\n    pass",
        "class Value:\n    def __add__(self, other):\n        return self\nValue.__radd__ = Value.__add__",
        "class Options:\n    pass\noptions = Options()\noptions.device, options.name = 'cpu', 'x'",
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Point:\n    x: int = 1\nPoint()",
        "from collections import namedtuple\nnamedtuple('Pair', 'a b')(1, 2)",
        "import pickle, copy\nmodel = torch.nn.Linear(2, 1)\npickle.loads(pickle.dumps(model))\ncopy.deepcopy(model)",
        "torch.save(torch.ones(2), 'x.pt')\ntorch.load('x.pt', weights_only=False)",
        "import enum\nclass Colour(enum.Enum):\n    RED = 1",
        "%timeit -n1 -r1 torch.ones(1)",
        "%%time\nx = torch.ones(1)",
        "import numpy as np, pandas as pd\npd.DataFrame({'a': [1]}).query('a > 0')",
        "import torch.fx\nclass Twice(torch.nn.Module):\n    def forward(self, x):\n        return 2 * x\n"
        "torch.fx.symbolic_trace(Twice())(torch.ones(1))",
        "import sympy\nx = sympy.symbols('x')\nsympy.lambdify(x, x**2)(2)\nsympy.simplify('x + x')",
        "@torch.compile(backend='eager')\ndef twice(x):\n    return 2 * x\ntwice(torch.ones(1))",
        "import inspect\ndef g(x: 'int') -> 'float':\n    pass\ninspect.signature(g)",
        "def g():\n    '>>> 1 + 1\\n2'\nimport doctest\ndoctest.run_docstring_examples(g, globals())",
    ],
)
def test_what_notebooks_do_is_ordinary(cell: str, run: Programs) -> None:
    found = run.places(cell)
    assert found == []


def test_code_that_is_too_long_is_named(run: Programs) -> None:
    deep = "exec(" + repr("lambda: " * 80 + "1") + ")"
    assert {kind for *_, kind, _ in run.places(deep)} <= {Kind.UNREAD}
    long = b"def g():\n" + b"    x = 1\n" * 100_000
    assert run.places("import long", files={"long.py": long}) == [("long.py", 1, Kind.UNREAD, "")]


def test_many_places_hide_none_of_another_kind_and_are_counted(assignment: Assignment) -> None:
    flood = "".join(f"\n    torch._C.a{number}" for number in range(100))
    raw = assignment.notebook({}, first=f"def never():{flood}\nimport ctypes")
    raw["cells"] = raw["cells"][1:]  # the tests' own cell
    outcome, _ = assignment.hand_in(raw)
    assert len(outcome.places) == MOST_PLACES + 1
    assert (outcome.places[-1].id, outcome.places[-1].parameters["what"]) == ("look.more", str(101 - MOST_PLACES))
    assert "look.imported" in {place.id for place in outcome.places}


def test_what_is_said_has_one_line(run: Programs) -> None:
    ((*_, what),) = run.places("setattr(torch, '_a\\n\\x1b[97mto look at: nothing\\u202e', None)")
    assert what.isprintable()
