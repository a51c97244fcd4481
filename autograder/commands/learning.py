"""Commands for learners, such as lab, check and progress."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..language import LANGUAGES
from .options import Run, add_command, add_language, positive


def add_commands(commands: Any) -> None:
    """Add the commands for learners to argparse's `commands`."""
    lab = add_command(commands, "lab", _lab, "open JupyterLab on a working copy of the notebooks", extra="lab")
    add_language(lab)
    lab.add_argument("--work", type=Path, default=Path("work"), help="the working copy (default: work)")
    lab.add_argument("--prepare", action="store_true", help="only prepare the working copy")

    check = add_command(commands, "check", _check, "check the answers in a Python file, without a notebook")
    check.add_argument("file", type=Path, metavar="FILE.py", help="functions, classes and tables, or percent cells")
    check.add_argument("--lesson", default="", help="check only exercises of this lesson")
    check.add_argument("--watch", action="store_true", help="check again whenever the file is saved")
    add_language(check)

    hint = _about_an_exercise(commands, "hint", _hint, "show the hints for an exercise")
    hint.add_argument("--number", type=positive, metavar="N", help="show the hints up to number N")
    says = "show the solution of an exercise and other ways to write it"
    solution = _about_an_exercise(commands, "solution", _solution, says)
    solution.add_argument("--give-up", action="store_true", help="also before your answer has passed")
    says = "show why the answer to an exercise is right, once yours has passed"
    _about_an_exercise(commands, "why", _why, says)
    _about_an_exercise(commands, "again", _again, "show an exercise with a fresh stub and new cases")

    add_language(add_command(commands, "progress", _progress, "show what you have done"))
    add_language(add_command(commands, "review", _review, "list what is due for review, and ask short questions on it"))
    recall = add_command(commands, "recall", _recall, "ask two questions on what a lesson builds on")
    recall.add_argument("lesson", metavar="LESSON")
    add_language(recall)

    says = "explain an error of torch's autograd, of a script or a message"
    explain = add_command(commands, "explain", _explain, says)
    add_language(explain)
    says = "watch the first N steps of its optimizers, say what is wrong in them without an error, and end"
    explain.add_argument("--steps", type=positive, metavar="N", help=says)
    explain.add_argument("what", metavar="FILE.py | MESSAGE", help="a script to run, or the text of an error in quotes")
    explain.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="what the script gets")

    says = "be JupyterHub's server for one user, in the language that the hub names"
    add_command(commands, "singleuser", _singleuser, says, extra="hub")


def _about_an_exercise(commands: Any, name: str, run: Run, says: str) -> argparse.ArgumentParser:
    command = add_command(commands, name, run, says)
    command.add_argument("exercise", metavar="EXERCISE")
    add_language(command)
    return command


def _lab(chosen: argparse.Namespace) -> int:
    from ..learner.lab import CONTENTS, open_lab, show_contents
    from ..learner.notebooks.working_copy import prepare_copy

    try:
        prepare_copy(chosen.work, chosen.language)
        show_contents(chosen.work / chosen.language, chosen.language)
    except OSError as error:
        raise UserError(f"cannot write to {chosen.work} ({error.strerror}): name another folder with --work") from error
    if chosen.prepare:
        print(f"the notebooks are in {chosen.work / chosen.language}: begin with {CONTENTS}")
        return 0
    return open_lab(chosen.work, chosen.language)


def _check(chosen: argparse.Namespace) -> int:
    from ..learner.checks.answer_file import check_file, watch_file
    from ..session import SESSION

    if chosen.watch:
        lesson = ["--lesson", chosen.lesson] if chosen.lesson else []
        again = [sys.executable, "-m", "autograder", "check", str(chosen.file), "--language", chosen.language, *lesson]
        return watch_file(again, chosen.file)
    SESSION.language = chosen.language
    return check_file(chosen.file, chosen.lesson)


def _hint(chosen: argparse.Namespace) -> int:
    from ..learner.commands import hint

    number = chosen.number or 1
    following = f'hint("{chosen.exercise}")', f"autograder hint {chosen.exercise} --number {number + 1}"
    return _say(chosen, lambda: str(hint(chosen.exercise, number)).replace(*following))


def _solution(chosen: argparse.Namespace) -> int:
    from ..learner.commands import solution

    return _say(chosen, lambda: solution(chosen.exercise, give_up=chosen.give_up))


def _why(chosen: argparse.Namespace) -> int:
    from ..learner.commands import why

    return _say(chosen, lambda: why(chosen.exercise))


def _again(chosen: argparse.Namespace) -> int:
    from ..learner.commands import again

    return _say(chosen, lambda: again(chosen.exercise))


def _say(chosen: argparse.Namespace, reply: Callable[[], object]) -> int:
    """Print a reply to a learner in the chosen language, and return the exit status."""
    from ..learner.replies import as_commands
    from ..session import SESSION

    SESSION.language = chosen.language
    print(as_commands(str(reply())))
    return 0


def _progress(chosen: argparse.Namespace) -> int:
    from ..learner.commands import progress

    return _say(chosen, progress)


def _recall(chosen: argparse.Namespace) -> int:
    from .. import exercises
    from ..learner.reviews.terminal import recall_here

    recall_here(exercises.bare(chosen.lesson), chosen.language)
    return 0


def _review(chosen: argparse.Namespace) -> int:
    from ..learner.reviews.terminal import review_here

    review_here(chosen.language)
    return 0


def _explain(chosen: argparse.Namespace) -> int:
    from ..learner.explanations import Explained, explain, run_and_explain
    from ..session import SESSION

    # Right after the file or the message these options are ours; what comes later is the script's.
    while chosen.arguments[:1] in (["--language"], ["--steps"]):
        option, *given = chosen.arguments
        if option == "--language":
            if not given or given[0] not in LANGUAGES:
                chosen.refuse(f"--language is one of: {', '.join(LANGUAGES)}")
            chosen.language, *chosen.arguments = given
        else:
            if not given or not given[0].isdigit() or int(given[0]) < 1:
                chosen.refuse("--steps is a number from 1")
            chosen.steps, chosen.arguments = int(given[0]), given[1:]
    SESSION.language = chosen.language
    if chosen.what.endswith(".py"):
        if not Path(chosen.what).is_file():
            raise UserError(f"there is no file {chosen.what}: name a script, or put the text of an error in quotes")
        return run_and_explain(Path(chosen.what), chosen.arguments, chosen.steps or 0)
    explained = explain(" ".join([chosen.what, *chosen.arguments]))
    print(explained)
    return int(not isinstance(explained, Explained))


def _singleuser(chosen: argparse.Namespace) -> int:
    from ..learner.servers.hub import serve_hub

    serve_hub()
