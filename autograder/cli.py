"""Commands of `autograder`, such as lab, review, grade and report."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING

# Everything else is imported in `main`, so that Ctrl+C during imports also ends with one line.
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from .lessons.collection import Collection

_STOPPED, _NOBODY_READS = 130, 141  # the exit statuses that shells use for SIGINT and SIGPIPE
_BEGIN = """\
A course on torch.autograd, and the grader of its notebooks.

to learn:          autograder lab
without notebooks: autograder check FILE.py
по-русски:         autograder lab --language ru
to teach a class:  autograder course DIR
all commands:      autograder --help"""

_FOR_INSTRUCTORS = (
    "build",
    "course",
    "handout",
    "collect",
    "return",
    "grade",
    "watch",
    "requests",
    "feedback",
    "report",
    "doctor",
)
# The extra whose packages a command imports. A command that is not named needs torch and numpy alone.
_EXTRAS = {
    "lab": "lab",
    "singleuser": "hub",
    "site": "site",
    **dict.fromkeys(_FOR_INSTRUCTORS, "instructor"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command of `autograder` and return its exit status.

    The status is 0, or 1 if something must be fixed, which stderr then names. It is 130 after Ctrl+C. It is 141 if the
    program that reads the output has ended, such as `head` in a pipe.
    """
    _accept_any_name(own_process=arguments is None)
    try:
        try:
            return _run(arguments)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("autograder: stopped", file=sys.stderr)
        return _STOPPED
    except BrokenPipeError:
        if not _drop_unread_output():
            raise
        return _NOBODY_READS


def _accept_any_name(own_process: bool) -> None:
    """Let the command read and print every name of a file or a person, whatever the locale.

    Characters that the terminal lacks are escaped. Where file names are not in UTF-8, this process is replaced by one
    in which they are (PEP 540), unless `own_process` is False.
    """
    import contextlib
    import os

    if own_process and sys.getfilesystemencoding() != "utf-8":
        said = f"{sys.stdout.encoding}:backslashreplace"
        os.environ |= {"PYTHONUTF8": "1", "PYTHONIOENCODING": os.environ.get("PYTHONIOENCODING", said)}
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors != "backslashreplace":
            with contextlib.suppress(OSError):  # a file that has become a pipe has no position
                stream.reconfigure(errors="backslashreplace")


def _drop_unread_output() -> bool:
    """Redirect stdout and stderr to the null device if nobody reads them any more.

    Python would otherwise report an error at exit. Returns whether a stream was redirected.
    """
    import os
    import select

    poll = select.poll()
    for stream in (1, 2):
        poll.register(stream, 0)  # poll reports errors even with an empty mask
    unread = [stream for stream, _ in poll.poll(0)]
    for stream in unread:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    return bool(unread)


def _run(arguments: Sequence[str] | None) -> int:
    """Run one command of `autograder` and return its exit status."""
    from .arguments import read_arguments
    from .errors import UserError

    chosen = read_arguments(arguments)
    if chosen.command is None:
        print(_BEGIN)
        return 0
    try:
        if chosen.command in _EXTRAS:
            from .extras import refuse_others, require

            if chosen.command == "doctor":
                refuse_others()
            require(_EXTRAS[chosen.command], f"`autograder {chosen.command}`")
        return int(globals()[f"_{chosen.command}"](chosen))
    except UserError as error:
        print(f"autograder: {error}", file=sys.stderr)
        return 1


def _lab(chosen: argparse.Namespace) -> int:
    from .errors import UserError
    from .learner.lab import CONTENTS, open_lab, show_contents
    from .learner.notebooks.working_copy import prepare

    try:
        prepare(chosen.work, chosen.language)
        show_contents(chosen.work / chosen.language, chosen.language)
    except OSError as error:
        raise UserError(f"cannot write to {chosen.work} ({error.strerror}): name another folder with --work") from error
    if chosen.prepare:
        print(f"the notebooks are in {chosen.work / chosen.language}: begin with {CONTENTS}")
        return 0
    return open_lab(chosen.work, chosen.language)


def _check(chosen: argparse.Namespace) -> int:
    from .learner.answer_file import check_file, watch_file
    from .session import SESSION

    if chosen.watch:
        lesson = ["--lesson", chosen.lesson] if chosen.lesson else []
        again = [sys.executable, "-m", "autograder", "check", str(chosen.file), "--language", chosen.language, *lesson]
        return watch_file(again, chosen.file)
    SESSION.language = chosen.language
    return check_file(chosen.file, chosen.lesson)


def _hint(chosen: argparse.Namespace) -> int:
    from .learner.commands import hint

    number = chosen.number or 1
    following = f'hint("{chosen.exercise}")', f"autograder hint {chosen.exercise} --number {number + 1}"
    return _say(chosen, lambda: str(hint(chosen.exercise, number)).replace(*following))


def _solution(chosen: argparse.Namespace) -> int:
    from .learner.commands import solution

    return _say(chosen, lambda: solution(chosen.exercise, give_up=chosen.give_up))


def _why(chosen: argparse.Namespace) -> int:
    from .learner.commands import why

    return _say(chosen, lambda: why(chosen.exercise))


def _again(chosen: argparse.Namespace) -> int:
    from .learner.commands import again

    return _say(chosen, lambda: again(chosen.exercise))


def _say(chosen: argparse.Namespace, reply: Callable[[], object]) -> int:
    """Print a reply to a learner in the chosen language, and return the exit status."""
    from .learner.replies import as_commands
    from .session import SESSION

    SESSION.language = chosen.language
    print(as_commands(str(reply())))
    return 0


def _progress(chosen: argparse.Namespace) -> int:
    from .learner.commands import progress
    from .learner.progress.study_record import write_record
    from .learner.progress.transfer import export_history, import_history

    if chosen.export:
        said = export_history(chosen.export, chosen.language)
    elif chosen.bring:
        said = import_history(chosen.bring, chosen.language).says()
    elif chosen.page:
        said = write_record(chosen.page, chosen.language)
    else:
        return _say(chosen, progress)
    print(said.read(chosen.language))
    return 0


def _review(chosen: argparse.Namespace) -> int:
    from .learner.reviews.review import list_due

    print(list_due(chosen.language))
    return 0


def _explain(chosen: argparse.Namespace) -> int:
    from pathlib import Path

    from .errors import UserError
    from .learner.explanations import Explained, explain, run_and_explain
    from .session import SESSION

    SESSION.language = chosen.language
    if chosen.what.endswith(".py"):
        if not Path(chosen.what).is_file():
            raise UserError(f"there is no file {chosen.what}: name a script, or put the text of an error in quotes")
        return run_and_explain(Path(chosen.what), chosen.arguments)
    explained = explain(" ".join([chosen.what, *chosen.arguments]))
    print(explained)
    return int(not isinstance(explained, Explained))


def _singleuser(chosen: argparse.Namespace) -> int:
    from .learner.servers.hub import serve

    serve()


def _build(chosen: argparse.Namespace) -> int:
    from .authoring import build, lint
    from .cells import BrokenSource
    from .language import quantity

    collection, made, complaints = _collection(chosen), {}, []
    for lesson in collection.read(chosen.lessons):
        if chosen.accept:
            print(f"{lesson.path}: {quantity(build.accept(lesson), 'Russian cell')} accepted")
            (lesson,) = collection.read([lesson.name])
        complaints += [f"{lesson.path}:{line}: {complaint}" for line, complaint in lint.problems(lesson)]
        try:
            made[lesson.name] = collection.files(lesson)
        except BrokenSource as error:
            complaints.append(str(error))
    if chosen.check:
        for name, files in made.items():
            stale = "not what its source gives: run `autograder build"
            complaints += [f"{path}: {stale} {name}`" for path in build.stale(files)]
    elif complaints:
        complaints.append("autograder: no notebook and no key was written: mend the lines above")
    else:
        written = [f"wrote {path}" for files in made.values() for path in build.write(files)]
        print("\n".join(written) or "nothing changed")
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return int(bool(complaints))


def _site(chosen: argparse.Namespace) -> int:
    from .language import quantity
    from .site.build import build_site
    from .site.publishing.addresses import Addresses

    cache = chosen.cache or chosen.directory.absolute().parent / ".site-cache"
    addresses = Addresses(chosen.address, chosen.repository)
    written = len(build_site(chosen.directory, cache, chosen.lessons, addresses))
    print(f"wrote {quantity(written, 'file')}: begin with {chosen.directory / 'index.html'}")
    return 0


def _verify(chosen: argparse.Namespace) -> int:
    import json

    from .authoring import gate, recorded_answers, trials
    from .language import quantity

    number = chosen.trials or trials.TRIALS
    collection = _collection(chosen)
    reports, failed = [], False
    wanted = [name.partition(".")[::2] for name in chosen.lessons] or [
        (lesson.name, "") for lesson in collection.read()
    ]
    for name, only in wanted:
        (lesson,) = collection.read([name])
        found, whole = gate.verify(lesson, collection.exercises(lesson), only, number)
        reports += found
        for complaint in whole:
            print(f"{lesson.file_name}: {complaint}", file=sys.stderr)
        for report in found:
            for problem in report.problems:
                print(f"{report.lesson}.{report.exercise}: {problem}", file=sys.stderr)
        failed |= bool(whole or any(report.problems for report in found))
        if chosen.answers:
            verified = [collection.exercises(lesson)[report.exercise] for report in found]
            never = recorded_answers.never_made(verified, chosen.answers / f"{lesson.name}.py")
            for exercise, mistakes in never.items():
                print(f"{lesson.name}.{exercise}: no recorded answer makes {', '.join(mistakes) or 'no mistake'}")
    if chosen.json:
        print(json.dumps([report.to_json() for report in reports], ensure_ascii=False, indent=2))
    else:
        for report in reports:
            known = sum(report.mistakes[name] == name for name in report.mistakes)
            sign = "✗" if report.problems else "✓"
            alternatives = quantity(len(report.alternatives), "alternative")
            print(
                f"{sign} {report.exercise}: {report.solution}, {known}/{len(report.mistakes)} mistakes, {alternatives}"
            )
    return int(failed)


def _convert(chosen: argparse.Namespace) -> int:
    from .authoring.conversion import convert_course

    for line in convert_course(chosen.directory):
        print(line)
    return 0


def _course(chosen: argparse.Namespace) -> int:
    from .grading.creating.course_folder import make_course

    if chosen.check or chosen.apply:
        from .grading.commands.check_rules import check_rules

        return check_rules(chosen.directory, apply=chosen.apply)
    make_course(chosen.directory, chosen.id, language=chosen.language)
    return 0


def _handout(chosen: argparse.Namespace) -> int:
    from .grading.commands.handout import hand_out

    return hand_out(chosen.directory, chosen.assignment)


def _collect(chosen: argparse.Namespace) -> int:
    from .grading.commands.collect import collect

    return collect(chosen.course, chosen.files, tables=chosen.worksheet, add=chosen.add)


def _return(chosen: argparse.Namespace) -> int:
    from .grading.commands.return_grades import return_course

    return return_course(chosen.directory, chosen.assignment, tables=chosen.worksheet, overwrite=chosen.overwrite)


def _grade(chosen: argparse.Namespace) -> int:
    import contextlib

    from .grading.limits import Wall
    from .grading.sandbox.grader.fork_server_process import ForkServerProcess
    from .grading.sandbox.server.garbage import gc_frozen
    from .grading.terminal import Interrupt

    # jsonschema would import this, which takes a second, for a format that no notebook uses. It works without.
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
    isolation = Wall(chosen.isolation) if chosen.isolation else None
    with contextlib.ExitStack() as opened:
        interrupt = opened.enter_context(Interrupt())
        starting = None
        if not chosen.scheduler:  # else nothing runs here
            starting = opened.enter_context(ForkServerProcess(isolation or Wall.FULL))
            interrupt.clean = starting.end
        with gc_frozen():  # import while the fork server starts, as both take equally long
            from .grading.commands.grade import grade_course, judge_again

        common = {"jobs": chosen.jobs, "isolation": isolation, "as_json": chosen.json}
        if chosen.again and starting:
            what = (chosen.directory, chosen.assignment, chosen.again, starting, interrupt)
            return judge_again(*what, apply=chosen.apply, lower=chosen.lower, **common)
        which = {"force": chosen.force, "students": chosen.student, "scheduler": chosen.scheduler}
        return grade_course(chosen.directory, chosen.assignment, starting, interrupt, **which, **common)


def _watch(chosen: argparse.Namespace) -> int:
    from .grading.limits import Wall
    from .grading.sandbox.grader.fork_server_process import ForkServerProcess
    from .grading.terminal import Interrupt

    isolation = Wall(chosen.isolation) if chosen.isolation else None
    with Interrupt() as interrupt, ForkServerProcess(isolation or Wall.FULL) as starting:
        interrupt.clean = starting.end
        from .grading.commands.watch import watch_course

        options = {"jobs": chosen.jobs, "isolation": isolation, "add": chosen.add}
        return watch_course(chosen.directory, chosen.folders, starting, interrupt, **options)


def _requests(chosen: argparse.Namespace) -> int:
    from .grading.commands.requests import answer_request, list_requests

    if chosen.answer:
        return answer_request(chosen.directory, chosen.assignment, chosen.student, chosen.answer)
    return list_requests(chosen.directory, chosen.assignment)


def _feedback(chosen: argparse.Namespace) -> int:
    from .grading.commands.feedback import make_feedback
    from .grading.course.course import open_course

    return make_feedback(open_course(chosen.directory), chosen.assignment, release=chosen.release)


def _report(chosen: argparse.Namespace) -> int:
    from .grading.report.page import report_course

    for path in report_course(chosen.directory, chosen.assignment, chosen.language):
        print(path)
    return 0


def _doctor(chosen: argparse.Namespace) -> int:
    from .extras import require

    if chosen.scheduler:
        require("scale", "`autograder doctor --scheduler`")
        from .grading.scale.cluster import examine_workers

        healthy, findings = examine_workers(chosen.scheduler)
    else:
        from .grading.doctor import examine

        healthy, findings = examine()
    print(findings)
    return int(not healthy)


def _collection(chosen: argparse.Namespace) -> Collection:
    from .lessons.collection import COURSE, private

    return private(chosen.course) if chosen.course else COURSE


if __name__ == "__main__":
    sys.exit(main())
