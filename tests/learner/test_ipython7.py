"""A lesson in IPython 7.34, as Colab has it: without JupyterLab, and in Colab itself."""

import json
import subprocess
import sys
import textwrap

import nbformat
import pytest

from autograder.lessons.collection import COURSE
from support.blocked import BEYOND_TORCH, block
from support.kernel import Kernel
from support.solved import as_colab_gives_it, as_vs_code_saves_it, grade_id, solved_notebook

pytestmark = pytest.mark.long(20)

(LESSON,) = COURSE.read(["gradient_accumulation"])
EXERCISES = COURSE.exercises(LESSON)
NAME = "Копия 03.ipynb"
KERNEL = {"IPython", "ipykernel", "jupyter_client", "traitlets"}
# IPython and ipykernel as Colab has them, and what they need beyond the packages of the present IPython.
PACKAGES = ("ipython==7.34.0", "ipykernel==6.17.1", "backcall", "decorator", "pickleshare")
# The call that Colab's own tools use to get the open notebook.
COLAB = """
import json, os
from pathlib import Path

def blocking_request(request_type, request="", timeout_sec=5, parent=None):
    assert (request_type, request) == ("get_ipynb", ""), request_type
    Path("asked").open("a").write("x")
    return {"ipynb": json.loads(Path(os.environ["COLAB_NOTEBOOK"]).read_text())}
"""


@pytest.fixture(scope="module")
def old_ipython(tmp_path_factory):
    """A folder with IPython 7.34, to be put in front of the module search path."""
    folder = tmp_path_factory.mktemp("old")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*command, "--target", str(folder), *PACKAGES], check=True, capture_output=True)
    return folder


@pytest.fixture
def open_kernel(old_ipython, tmp_path):
    """Start a kernel of IPython 7.34 without `blocked` packages.

    Its folder has a space and Cyrillic letters in its name.
    """
    kernels = []

    def start(blocked=frozenset(), more=(), **variables):
        modules, folder = tmp_path / "modules", tmp_path / "Мои тетради"
        modules.mkdir()
        folder.mkdir(exist_ok=True)
        path = block(blocked, modules, more=[old_ipython, *more])
        kernels.append(Kernel(folder / NAME, {"PYTHONPATH": path, **variables}))
        assert kernels[-1].run("import IPython\nIPython.__version__") == "'7.34.0'"
        return kernels[-1], folder

    yield start
    for kernel in kernels:
        kernel.close()


NIGHTLY = pytest.mark.nightly(
    twin="tests/learner/test_ipython7.py::test_with_torch_and_ipython_alone_the_lesson_is_solved_from_top_to_bottom"
)


@pytest.mark.parametrize("language", ["en", pytest.param("ru", marks=NIGHTLY)])
def test_with_torch_and_ipython_alone_the_lesson_is_solved_from_top_to_bottom(open_kernel, language):
    kernel, folder = open_kernel(BEYOND_TORCH - KERNEL)
    notebook = as_vs_code_saves_it(solved_notebook(LESSON, language), pasted=False)
    nbformat.write(notebook, folder / NAME)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            shown = kernel.outputs(cell.source)
            if grade_id(cell).startswith("check-"):
                worth = EXERCISES[grade_id(cell).removeprefix("check-")].points
                assert shown[-1]["text/plain"] == f"{worth:g}"
                assert f'lang="{language}"' in shown[-1]["text/html"]
            else:
                assert "Error" not in "".join(each["text/plain"] for each in shown), cell.source
    assert kernel.run("print(check('accumulate_equal'))").startswith("✓")
    said = kernel.run("ready()")
    total = sum(exercise.points for exercise in EXERCISES.values() if exercise.core)
    assert {"en": f"{total:g} of {total:g}", "ru": f"{total:g} из {total:g}"}[language] in said
    assert "pip install nbclient" in said
    assert str(folder / NAME) in said.splitlines()[-1]
    error = kernel.run("t = torch.ones(2, requires_grad=True).exp().sum()\nt.backward()\nt.backward()")
    assert "02_graph_and_backward" in error


@pytest.fixture
def colab(open_kernel, tmp_path):
    """A kernel in a stand-in of Colab.

    The open notebook is the solved lesson with 3 points more for one exercise.
    """
    notebook = solved_notebook(LESSON, "en")
    check = next(cell for cell in notebook.cells if grade_id(cell) == "check-accumulate_uneven")
    check.metadata.nbgrader.points += 3
    keep = {"answer-accumulate_uneven", "check-accumulate_uneven"}
    code = [c for c in notebook.cells if c.cell_type == "code" and "ready()" not in c.source]
    notebook.cells = [c for c in code if not grade_id(c) or grade_id(c) in keep]
    (tmp_path / "open.json").write_text(json.dumps(as_colab_gives_it(notebook, NAME)))
    google = tmp_path / "colab" / "google" / "colab"
    google.mkdir(parents=True)
    (google / "__init__.py").touch()
    (google / "_message.py").write_text(textwrap.dedent(COLAB))
    kernel, folder = open_kernel(
        more=[tmp_path / "colab"],
        JPY_SESSION_NAME=None,
        COLAB_NOTEBOOK=str(tmp_path / "open.json"),
        AUTOGRADER_HOME=None,
        HOME=str(tmp_path / "gone with the machine"),
    )
    for cell in notebook.cells:
        kernel.run(cell.source)
    return kernel, folder


@pytest.mark.nightly(
    twin="tests/learner/test_ipython7.py::test_with_torch_and_ipython_alone_the_lesson_is_solved_from_top_to_bottom"
)
def test_colab(colab, tmp_path):
    kernel, folder = colab
    name, points = "accumulate_uneven", EXERCISES["accumulate_uneven"].points + 3
    assert f"worth {points:g} points" in kernel.run(f"from autograder import check, progress\nprint(check({name!r}))")
    assert f"{points:g}/{points:g}" in kernel.run("progress()")
    assert (folder / "asked").read_text() == "x"  # one request for all checks: each takes a while
    ready = kernel.run("ready()")
    assert f"{points:g}/{points:g}" in ready
    assert f"The file to hand in: {NAME}. Download it with" in ready.splitlines()[-1]
    drive = tmp_path / "Мой диск"
    kernel.run(f"import os\nos.environ['AUTOGRADER_HOME'] = {str(drive)!r}\ncheck({name!r})")
    assert name in (drive / "progress.jsonl").read_text()


@pytest.mark.nightly(
    twin="tests/learner/test_ipython7.py::test_with_torch_and_ipython_alone_the_lesson_is_solved_from_top_to_bottom"
)
def test_a_colab_that_does_not_answer(colab, tmp_path):
    kernel, _ = colab
    (tmp_path / "open.json").write_text("no JSON")
    assert "Which notebook is this?" in kernel.run("ready()")
