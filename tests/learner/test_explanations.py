"""Explanations of torch's errors in a project of one's own: notebooks, scripts, a terminal."""

import os
import subprocess
import sys
import warnings

import nbformat
import pytest
from nbclient import NotebookClient

import autograder
from autograder import cli
from autograder.explained import table
from autograder.explained.table import EXPLANATIONS
from autograder.learner.replies import Reply
from autograder.messages.learners import message
from autograder.session import SESSION
from support.torch_programs import told

TWICE = "import torch\ny = torch.rand(2, requires_grad=True).exp().sum()\ny.backward()\ny.backward()\n"
SAYS = {"en": "The first `backward()` freed", "ru": "Первый `backward()` освободил"}
WARNS = {"en": "stores gradients in leaves only", "ru": "записывает градиенты только в листовые тензоры"}
ENDS = {"en": "in exercise `predict_second_backward`.", "ru": "в упражнении `predict_second_backward`."}
# One entry of each lesson; its program warns or raises.
SAMPLE = {
    entry.lesson: entry for entry in EXPLANATIONS if entry.program and "distributed" not in entry.program
}.values()


@pytest.fixture(autouse=True)
def own_process(monkeypatch):
    """A script gets arguments and a path of its own; the test gives them back."""
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.delattr(sys, "last_value", raising=False)


@pytest.mark.usefixtures("quick_kernels")
def test_in_any_notebook_after_load_ext():
    cells = ["%load_ext autograder", TWICE, "from autograder import explain\nexplain()", "1 / 0", "explain()"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, allow_errors=True, timeout=120).execute()
    loaded, failed, explained, _, unknown = (cell.outputs for cell in notebook.cells)
    assert loaded == []
    assert failed[0].output_type == "error"
    assert failed[1].data == explained[0].data
    for language in SAYS:
        assert SAYS[language] in explained[0].data["text/plain"]
        assert f'<div lang="{language}">' in explained[0].data["text/html"]
    assert "ZeroDivisionError: division by zero" in unknown[0].data["text/plain"]


@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_script_runs_as_python_runs_it_and_its_error_is_explained(language, tmp_path, monkeypatch, capfd):
    (tmp_path / "beside.py").write_text("name = 'a module beside the script'")
    script = tmp_path / "train.py"
    reads = "import sys, beside\nprint(sys.argv[1:], __name__, beside.name)\n"
    script.write_text(reads + TWICE)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["explain", "--language", language, "train.py", "--rate", "1"]) == 1
    out, err = capfd.readouterr()
    assert out == "['--rate', '1'] __main__ a module beside the script\n"
    shown, _, explained = err.rpartition("\n\n")
    assert shown.startswith('Traceback (most recent call last):\n  File "train.py", line 6')
    assert "autograder" not in shown
    assert explained.startswith(SAYS[language])
    assert explained.endswith(f"{ENDS[language]}\n")


@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_warning_of_a_script_is_explained(language, tmp_path, capfd):
    script = tmp_path / "warns.py"
    script.write_text(
        "import torch, warnings\ntorch.set_warn_always(True)\nwarnings.simplefilter('always')\n"
        "x = torch.ones(1, requires_grad=True)\nassert (2 * x).grad is None\n"
    )
    with warnings.catch_warnings():
        assert cli.main(["explain", "--language", language, str(script)]) == 0
    assert WARNS[language] in capfd.readouterr().err


@pytest.mark.parametrize(("locale", "language", "other"), [("C.UTF-8", "en", "ru"), ("ru_RU.UTF-8", "ru", "en")])
def test_a_plain_script_prints_one_language(locale, language, other):
    """The warning, the error and what is not known, outside of IPython and without `start`."""
    program = (
        "import warnings, torch, autograder\nfrom autograder.learner.tracebacks import explain_warnings\n"
        "explain_warnings()\nwarnings.simplefilter('always')\n"
        "assert (2 * torch.ones(1, requires_grad=True)).grad is None\n"
        "print(autograder.explain('Trying to backward through the graph a second time'))\n"
        "print(autograder.explain('bogus'))\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "LC_ALL"} | {"LANG": locale}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    unknown = message("explain.unknown", error="bogus")
    for said, where in ((SAYS, done.stdout), (WARNS, done.stderr), (dict(en=unknown.en, ru=unknown.ru), done.stdout)):
        assert said[language] in where
        assert said[other] not in where


def test_a_script_ends_with_its_own_status(tmp_path):
    script = tmp_path / "ends.py"
    script.write_text("raise SystemExit(7)")
    with pytest.raises(SystemExit) as ended:
        cli.main(["explain", str(script)])
    assert ended.value.code == 7


@pytest.mark.parametrize("entry", SAMPLE, ids=lambda entry: entry.name)
def test_a_text_is_explained_alone_and_at_the_end_of_a_traceback(entry, language):
    """Told by the table itself, from the text alone."""
    for text, _ in told(entry.program):
        expected = table.explain(text)
        for given in (text, f'Traceback (most recent call last):\n  File "a.py", line 1\ntorch.SomeError: {text}\n'):
            shown = autograder.explain(given)
            if expected is None:
                assert isinstance(shown, Reply)
            else:
                assert repr(shown).startswith(expected.says.read(language))


def test_a_cause_is_explained_where_a_framework_wraps_an_error():
    SESSION.language = "en"
    with pytest.raises(RuntimeError) as cause:
        exec(TWICE, {})
    wrapped = LookupError("the trainer failed")
    wrapped.__cause__ = cause.value
    assert SAYS["en"] in repr(autograder.explain(wrapped))


@pytest.mark.parametrize("language", ["en", "ru"])
def test_in_a_terminal(language, tmp_path, capsys):
    def say(*words):
        status = cli.main(["explain", "--language", language, *words])
        return status, "".join(capsys.readouterr())

    text = "Trying to backward through the graph a second time"
    status, printed = say(text)
    assert (status, printed[:10]) == (0, SAYS[language][:10])
    assert say(*text.split()) == (status, printed)
    for half in (
        ("backward through the graph", "--language", language),
        ("element 0 of tensors", "--language", language),
    ):
        assert cli.main(["explain", *half]) == 0
    assert SAYS[language] in capsys.readouterr().out
    status, printed = say("does not require grad")
    assert (status, "One of the differentiated Tensors does not require grad" in printed) == (1, True)
    assert say("an error of somebody else") == (
        1,
        message("explain.unknown", error="an error of somebody else").read(language) + "\n",
    )
    status, printed = say("missing.py")
    assert (status, "no file missing.py" in printed) == (1, True)


def test_without_an_error_it_says_so(language):
    said = autograder.explain()
    assert isinstance(said, Reply)
    assert str(said) == message("explain.nothing").read(language)
