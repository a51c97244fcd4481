"""The course without the packages of its extras: the learner's commands work, and what is missing is named."""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.extras import MODULES
from support.blocked import BEYOND_TORCH, run_without

LEARNER = """
import json, sys, torch
from autograder import check, draw, hint, plot_jacobian, progress, ready, solution, start, steps

start("first_gradient", language={language!r})
sys.modules["__main__"].numerical_slope = lambda f, x, h: (f(x + h) - f(x - h)) / (2 * h)
verdict = check("numerical_slope")
x = torch.ones(2, requires_grad=True)
y = (x * x).sum()
shown = [draw(y), steps(y), plot_jacobian(lambda x: x * 2, torch.ones(2))]
bundles = [each._repr_mimebundle_() for each in shown]
kinds = [(bundle[0] if isinstance(bundle, tuple) else bundle) for bundle in bundles]
texts = [repr(command) for command in (hint("numerical_slope"), solution("numerical_slope"), progress(), ready("x"))]
print(json.dumps({{"state": verdict.state, "shown": kinds, "texts": texts}}, default=str))
"""
# A program `dot` for a machine that has Graphviz but not pygraphviz. The real one is in pygraphviz's libraries.
DOT = """#!{python}
import sys, pygraphviz
graph = pygraphviz.AGraph(string=sys.stdin.read())
sys.stdout.buffer.write(graph.draw(format=sys.argv[1].removeprefix("-T"), prog="dot", args=" ".join(sys.argv[2:])))
"""


@pytest.mark.parametrize(("language", "said"), [("en", "install what is missing"), ("ru", "выполните")])
def test_pictures_are_text_that_names_what_to_install(tmp_path, language, said):
    done = run_without(BEYOND_TORCH, tmp_path, LEARNER.format(language=language))
    assert done.stderr == ""
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["state"] == "passed"
    for bundle in found["shown"]:
        assert "<img" not in bundle.get("text/html", "")
        assert f'{said}: pip install "autograd-course[pictures]"' in bundle["text/plain"]
    assert all(found["texts"])


@pytest.mark.parametrize("lacking", ["the package", "its libraries"])
def test_the_program_dot_takes_the_place_of_pygraphviz(lacking, tmp_path):
    program = tmp_path / "bin" / "dot"
    program.parent.mkdir()
    program.write_text(DOT.format(python=sys.executable))
    program.chmod(0o755)
    code = (
        "import torch; from autograder import draw\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "bundle, sizes = draw(x.exp().sum())._repr_mimebundle_()\n"
        "print(bundle['text/html'].count('<img'), bundle['image/png'][:4], sizes)"
    )
    environment = {**os.environ, "PATH": str(program.parent)}
    # The program itself may import pygraphviz: it is started without the block.
    program.write_text(program.read_text().replace(f"#!{sys.executable}", f"#!{sys.executable} -I"))
    if lacking == "the package":
        done = run_without({"pygraphviz"}, tmp_path, code, environment)
    else:  # as in a slim container
        (tmp_path / "pygraphviz.py").write_text(
            "raise ImportError('libgobject-2.0.so.0: cannot open shared object file')"
        )
        environment["PYTHONPATH"] = str(tmp_path)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.startswith("1 b'\\x89PNG' {'image/png': {'width':"), done.stderr


@pytest.mark.parametrize("missing", MODULES["lab"])
def test_lab_names_what_to_install(tmp_path, missing):
    code = "import sys; from autograder.cli import main; sys.exit(main(['lab']))"
    done = run_without({missing}, tmp_path, code)
    assert done.returncode == 1
    wanted = f'autograder: `autograder lab` needs {missing}, not installed here: pip install "autograd-course[lab]"\n'
    assert done.stderr == wanted


@pytest.mark.parametrize("command", ["build", "course .", "grade .", "feedback .", "report .", "doctor"])
def test_a_command_of_instructors_names_what_to_install(tmp_path, command):
    code = f"import sys; from autograder.cli import main; sys.exit(main({command.split()}))"
    done = run_without(BEYOND_TORCH, tmp_path, code)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"autograder: `autograder {command.split()[0]}` needs nbconvert, nbgrader, nh3, sqlalchemy, yaml, "
        "not installed here: "
        'pip install "autograd-course[instructor]"\n'
    )
    assert not (Path(tmp_path) / "gradebook.db").exists()


def test_the_server_of_a_hubs_user_names_what_to_install(tmp_path):
    code = "import sys; from autograder.cli import main; sys.exit(main(['singleuser']))"
    done = run_without({"jupyterhub"}, tmp_path, code)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith('needs jupyterhub, not installed here: pip install "autograd-course[hub]"\n')


def test_without_a_command_the_program_says_where_to_begin():
    done = subprocess.run([sys.executable, "-m", "autograder"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    for command in ("autograder lab", "autograder lab --language ru", "autograder course DIR", "autograder --help"):
        assert command in done.stdout


def test_the_version_is_that_of_the_package():
    done = subprocess.run([sys.executable, "-m", "autograder", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"autograd-course {importlib.metadata.version('autograd-course')}\n")


def test_doctor_notices_another_package_of_our_name(tmp_path):
    other = tmp_path / "autograder-3.7.7.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: autograder\nVersion: 3.7.7\n")
    (other / "top_level.txt").write_text("autograder\n")
    code = "import sys; from autograder.cli import main; sys.exit(main(['doctor']))"
    done = run_without((), tmp_path, code)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "autograder: another package is installed under the name autograder: autograder. "
        "Remove both: pip uninstall autograder autograd-course, then pip install autograd-course\n"
    )
