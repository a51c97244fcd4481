"""`autograder check FILE.py`: answers in a plain file, without a notebook."""

import os
import subprocess
import sys

import pytest

from autograder import cli, exercises
from autograder.history import verdicts
from autograder.lessons.source import solutions
from autograder.messages.learners import message
from autograder.session import SESSION

EQUAL, CLIP = "accumulate_equal", "clip_once"
IMPORTS = "import torch\nfrom torch.nn.functional import mse_loss\n"


def solved(*names):
    return IMPORTS + "\n\n".join(solutions(exercises.find(name))[0] for name in names) + "\n"


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    """The status of `autograder check answers.py` on a text, stdout, and stderr."""
    monkeypatch.chdir(tmp_path)

    def check(text, *options):
        (tmp_path / "answers.py").write_text(text, encoding="utf-8")
        status = cli.main(["check", "answers.py", *options])
        return status, *capsys.readouterr()

    return check


def test_functions_in_a_plain_file_are_checked_and_recorded(checked):
    status, said, _ = checked(solved(EQUAL, CLIP))
    assert status == 0
    assert message("file.passed", count=2, total=2).read("en") in said
    assert [verdict.exercise for verdict in verdicts()] == [EQUAL, CLIP]


@pytest.mark.parametrize("language", ["en", "ru"])
def test_cells_after_an_error_are_checked_and_the_answer_in_its_cell_is_not(checked, language):
    text = f"""# %% [markdown]
# # Notes: 1/0
# %%
%matplotlib inline
from autograder import check
{solved(CLIP)}
check("{CLIP}")
# %%
1 / 0
def {EQUAL}(model, batches): ...
# %%
def train_epoch(:
"""
    status, said, errors = checked(text, "--language", language)
    assert status == 1
    line = text[: text.index("1 / 0")].count("\n") + 1
    assert message("file.broken", line=line, error="ZeroDivisionError").read(language) in said
    assert f'answers.py", line {line}' in errors
    assert "autograder" not in errors  # no frame of ours
    last = text[: text.index("def train_epoch(:")].count("\n") + 1
    for error, name, at in ("ZeroDivisionError", EQUAL, line), ("SyntaxError", "train_epoch", last):
        assert message("absent.file_ended", name=name, error=error, line=at).read(language) in said
    assert message("file.passed", count=1, total=3).read(language) in said
    assert [verdict.exercise for verdict in verdicts()].count(CLIP) == 1


def test_start_in_the_file_and_the_option_leave_one_lesson(checked):
    both = solved(EQUAL) + "def chain(): ...\npredict_chain = {}\n"
    assert "predict_chain" in checked(both)[1]
    assert "predict_chain" not in checked(both, "--lesson", "03_gradient_accumulation")[1]
    begin = 'from autograder import start\nstart("gradient_accumulation", language="ru")\n'
    said = checked(begin + both)[1]
    assert "predict_chain" not in said
    assert "верно" in said
    SESSION.lesson = None


def test_a_misspelt_name_beside_other_answers_is_told(checked):
    said = checked(solved(EQUAL) + "def acumulate_uneven(model, batches): ...\n")[1]
    assert message("file.near", name="acumulate_uneven", near="accumulate_uneven").read("en") in said


def test_a_lesson_may_be_given_by_its_number(checked):
    assert checked(solved(EQUAL), "--lesson", "03")[0] == 0
    assert checked(solved(EQUAL), "--lesson", "3")[0] == 0


def test_a_card_in_a_terminal_names_commands_and_no_calls(checked, capsys):
    said = checked(solved(EQUAL).replace("zero_grad", "eval"))[1]
    assert f"autograder hint {EQUAL}" in said
    assert "hint(" not in said
    cli.main(["hint", EQUAL, "--number", "2"])
    assert f"autograder hint {EQUAL} --number 3" in capsys.readouterr().out
    cli.main(["solution", EQUAL])
    assert f"autograder solution {EQUAL} --give-up" in capsys.readouterr().out


UNUSABLE = {
    "nothing.py": (b"x = 1\n", "file.nothing"),
    "lesson.ipynb": (b"{}", "file.suffix"),
    "latin.py": ("# é".encode("latin-1"), "file.unreadable"),
    "missing.py": (None, "file.unreadable"),
}


@pytest.mark.parametrize("name", UNUSABLE)
@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_file_that_cannot_be_checked_gets_one_sentence(name, language, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    content, id = UNUSABLE[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert cli.main(["check", name, "--language", language]) == 1
    said = capsys.readouterr().err
    ends = message(id, file=name, error="{}").read(language).rpartition("{}")[2]
    assert ends[-30:] in said
    assert len(said.splitlines()) == 1


def test_watching_checks_again_after_each_save(tmp_path):
    file = tmp_path / "answers.py"
    file.write_text(solved(EQUAL).replace("zero_grad", "eval"), encoding="utf-8")
    command = [sys.executable, "-m", "autograder", "check", str(file), "--watch"]
    variables = {**os.environ, "AUTOGRADER_HOME": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables, encoding="utf-8") as watching:
        try:
            passed = message("file.passed", count=0, total=1).read("en")
            assert any(passed in line for line in watching.stdout)
            file.write_text(solved(EQUAL), encoding="utf-8")
            passed = message("file.passed", count=1, total=1).read("en")
            assert any(passed in line for line in watching.stdout)
        finally:
            watching.terminate()


@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_terminal_shows_hints_solutions_and_variants(language, capsys):
    shown = {
        "hint": exercises.find(CLIP).hints[0].read(language),
        "solution": message("solution.locked", exercise=CLIP).read(language).partition("`")[0],
        "why": message("why.absent", exercise=CLIP).read(language),
        "again": message("again.text").read(language),
    }
    for command, says in shown.items():
        assert cli.main([command, CLIP, "--language", language]) == 0
        assert says in capsys.readouterr().out
    assert cli.main(["solution", CLIP, "--give-up"]) == 0
    assert solutions(exercises.find(CLIP))[0] in capsys.readouterr().out
