"""Ways of working that Jupyter allows, and that cost no points in grading: own modules, missing packages, restarts."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from autograder.checking.exercise import Exercise
from autograder.grading.limits import Limits
from autograder.grading.submission.notebook_run import Outcome, run_notebook
from autograder.grading.wall_kinds import Wall
from autograder.lessons.source import Lesson
from support.assignment import Assignment, open_assignment, points

pytestmark = pytest.mark.long(15)

LIMITS = Limits(cell_seconds=20, total_seconds=60, memory=2 << 30)
HELPER = "def scaled(loss, count):\n    return loss / count\n"
USES = """
def accumulate_equal(model, batches):
    from MODULE import scaled
    model.zero_grad()
    for x, y in batches:
        scaled(mse_loss(model(x), y), len(batches)).backward()
"""


NIGHTLY = pytest.mark.nightly(
    twin="tests/hostile/test_ways_of_working.py::test_the_end_of_the_own_kernel_costs_nothing"
)


@pytest.fixture(scope="module", params=[Wall.FULL, pytest.param(Wall.LANDLOCK, marks=NIGHTLY)])
def assignment(
    request: pytest.FixtureRequest,
    lesson_source: Lesson,
    exercises: dict[str, Exercise],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Assignment]:
    folder = tmp_path_factory.mktemp("working")
    with open_assignment(lesson_source, exercises, folder, LIMITS, wall=request.param) as opened:
        yield opened


def encoded(**files: str) -> dict[str, str]:
    return {f"{name}.py": base64.b64encode(text.encode()).decode() for name, text in files.items()}


def graded(
    assignment: Assignment,
    first: str = "",
    last: str = "",
    answers: dict[str, str] | None = None,
    files: dict[str, str] | None = None,
    beside: dict[str, str] | None = None,
) -> tuple[Outcome, Any]:
    raw = assignment.notebook({**assignment.solved, **(answers or {})}, first=first, last=last)
    raw["cells"] = raw["cells"][1:]  # the tests' own cell
    clean = assignment.sanitized(raw)
    outcome = run_notebook(assignment.engine, clean.notebook, assignment.judge, files or {}, beside)
    return outcome, clean.notebook


def is_perfect(outcome: Outcome, assignment: Assignment) -> bool:
    assert (outcome.flags, outcome.places, outcome.ended) == ([], [], None)
    assert points(outcome) == assignment.all_points()
    return True


def test_a_module_that_a_cell_writes_is_imported(assignment: Assignment) -> None:
    outcome, _ = graded(
        assignment, f"%%writefile helper.py\n{HELPER}", answers={"accumulate_equal": USES.replace("MODULE", "helper")}
    )
    assert is_perfect(outcome, assignment)


def test_a_module_that_was_released_beside_the_notebook_is_imported(assignment: Assignment) -> None:
    answers = {"accumulate_equal": USES.replace("MODULE", "constants")}
    outcome, _ = graded(assignment, answers=answers, files=encoded(constants=HELPER))
    assert is_perfect(outcome, assignment)
    outcome, _ = graded(assignment, answers=answers, files=encoded(constants=HELPER), beside=encoded(constants=HELPER))
    assert is_perfect(outcome, assignment)


@pytest.mark.parametrize("name", ["test", "cgi", "utils", "helpers"])
def test_a_module_of_ones_own_is_imported_whatever_its_name(name: str, assignment: Assignment) -> None:
    answers = {"accumulate_equal": USES.replace("MODULE", name)}
    outcome, _ = graded(assignment, answers=answers, beside=encoded(**{name: HELPER}))
    assert is_perfect(outcome, assignment)


def test_a_file_named_like_a_module_that_is_imported_already_is_explained(assignment: Assignment) -> None:
    outcome, notebook = graded(assignment, "from random import scaled", beside=encoded(random=HELPER))
    assert any("misses a name of random.py" in note for note in outcome.notes)
    assert "your file random.py was not read" in json.dumps(notebook.cells)
    assert points(outcome) == assignment.all_points()


@pytest.mark.parametrize(
    "cell",
    [
        "from tqdm.auto import tqdm, trange\nassert [i for i in tqdm([1, 2], desc='x')] == [1, 2]\n"
        "bar = trange(3)\nfor i in bar:\n    bar.set_postfix(loss=0.1)\nassert i == 2",
        "from tqdm import tqdm\nwith tqdm(total=3) as bar:\n    bar.update(1)\ntqdm.write('done')",
        "from rich.progress import track\nfrom rich import print\n"
        "assert list(track(range(3))) == [0, 1, 2]\nprint('x')",
        "import wandb\nwandb.init(project='x')\nwandb.config.lr = 0.1\nwandb.log({'loss': 1})\nwandb.finish()",
        "from torch.utils.tensorboard import SummaryWriter\n"
        "with SummaryWriter('runs') as w:\n    w.add_scalar('a', 1, 2)",
        "import seaborn as sns\nsns.set_theme(style='whitegrid')",
    ],
    ids=lambda cell: cell.split()[1],
)
def test_decoration_that_is_not_installed_does_nothing(cell: str, assignment: Assignment) -> None:
    outcome, notebook = graded(assignment, cell)
    assert is_perfect(outcome, assignment)
    assert not any(output["output_type"] == "error" for cell in notebook.cells for output in cell.get("outputs", []))
    assert any("a stand-in without effect took its place" in note for note in outcome.notes)


# What packages for torch replace when they are imported: some 40 were imported one by one, and sources were read.
REPLACING = {
    # lightning 2.6, src/lightning/fabric/wrappers.py and src/lightning/fabric/utilities/warnings.py
    "lightning": """
import functools, warnings, torch
def _capture_compile_kwargs(compile_fn):
    @functools.wraps(compile_fn)
    def _capture(*args, **kwargs):
        return compile_fn(*args, **kwargs)
    return _capture
torch.compile = _capture_compile_kwargs(torch.compile)
warnings.formatwarning = lambda message, *_, **__: f"{message}\\n"
""",
    # torch_geometric 2.8, torch_geometric/hash_tensor.py
    "torch_geometric": """
import torch
_old_select, _old_index_select = torch.select, torch.index_select
torch.select = lambda input, dim, index: _old_select(input, dim, index)
torch.index_select = lambda input, dim, index: _old_index_select(input, dim, index)
""",
    # tensordict 0.14 and torchrl 0.14, tensordict/nn/functional_modules.py
    "tensordict": """
import torch._functorch.vmap as vmap
_process_batched_inputs = vmap._process_batched_inputs
vmap._process_batched_inputs = lambda *args: _process_batched_inputs(*args)
""",
}


@pytest.mark.parametrize("name", REPLACING)
def test_a_package_that_replaces_names_of_torch_costs_nothing(name: str, assignment: Assignment) -> None:
    outcome, _ = graded(assignment, f"import {name}", beside=encoded(**{name: REPLACING[name]}))
    assert (outcome.flags, points(outcome)) == ([], assignment.all_points())


def test_a_progress_bar_in_an_answer_costs_nothing(assignment: Assignment) -> None:
    answer = USES.replace("from MODULE import scaled", "from tqdm.notebook import tqdm")
    answer = answer.replace("in batches:", "in tqdm(batches, leave=False):").replace("scaled(", "torch.div(")
    outcome, _ = graded(assignment, answers={"accumulate_equal": answer})
    assert is_perfect(outcome, assignment)


def test_a_deleted_working_folder_costs_nothing(assignment: Assignment) -> None:
    outcome, _ = graded(
        assignment, "import os, shutil\nos.makedirs('work')\nos.chdir('work')\nshutil.rmtree('../work')"
    )
    assert is_perfect(outcome, assignment)


def test_the_end_of_the_own_kernel_costs_nothing(assignment: Assignment) -> None:
    """As Colab's users restart theirs."""
    outcome, _ = graded(assignment, last="import os\nos.kill(os.getpid(), 9)")
    assert is_perfect(outcome, assignment)
