"""The learner's commands on Windows, as far as Linux can show it, and with a home that is read-only."""

import json
import os

from support.blocked import run_without

# What Python lacks on Windows.
WINDOWS = """
import os, signal, sys
import torch  # it asks for sysconf where it thinks that this is Linux
for name in ("fork", "forkpty", "wait3", "wait4", "getuid", "geteuid", "getpgid", "killpg", "setsid", "sysconf"):
    delattr(os, name)
for name in ("setitimer", "getitimer", "alarm", "SIGALRM", "SIGKILL", "SIGCHLD", "SIGHUP", "pthread_kill"):
    delattr(signal, name)
"""
UNIX_MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"}
CHECKS = """
import json, sys, torch
from autograder import check, hint, progress, reproduce, solution, start

start("first_gradient", language={language!r})
sys.modules["__main__"].numerical_slope = lambda f, x, h: (f(x + h) - f(x - h)) / (2 * h)
verdicts = [check("numerical_slope") for _ in range(2)]
texts = [repr(each) for each in (hint("numerical_slope"), solution("numerical_slope"), reproduce("numerical_slope"))]
cards = [verdict.text({language!r}) for verdict in verdicts]
print(json.dumps({{"states": [v.state for v in verdicts], "cards": cards, "progress": repr(progress())}}))
"""


def run(tmp_path, environment, language, blocked=frozenset(), first=""):
    done = run_without(blocked, tmp_path, CHECKS.format(language=language), environment, first)
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found["states"] == ["passed", "passed"]
    assert "numerical_slope" in found["progress"]
    return found["cards"]


def test_without_fork_and_timers_checks_work_and_say_once_that_there_is_no_limit(tmp_path, language):
    environment = {**os.environ, "AUTOGRADER_HOME": str(tmp_path / "records")}
    cards = run(tmp_path, environment, language, UNIX_MODULES, WINDOWS)
    said = {"en": "checks have no time limit", "ru": "время проверки не ограничено"}[language]
    assert [said in card for card in cards] == [True, False]


def test_a_home_that_cannot_be_written_is_named_once_and_progress_lasts_as_long_as_the_kernel(tmp_path, language):
    nowhere = "/proc/nobody"
    environment = {name: value for name, value in os.environ.items() if name != "AUTOGRADER_HOME"}
    cards = run(tmp_path, {**environment, "HOME": nowhere}, language)
    assert [f"{nowhere}/.autograder" in card for card in cards] == [True, False]


def test_what_could_not_be_written_is_written_into_the_folder_named_later(tmp_path):
    code = CHECKS.format(language="en") + (
        f"import os; os.environ['AUTOGRADER_HOME'] = {str(tmp_path / 'Мой диск')!r}; check('numerical_slope')"
    )
    done = run_without((), tmp_path, code, {**os.environ, "AUTOGRADER_HOME": "/proc/nobody"})
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "Мой диск" / "progress.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["verdict"]["state"] for line in lines] == ["passed"] * 3
