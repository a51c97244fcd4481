"""Commands for authors of lessons: build, verify and site."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..language import quantity
from .options import add_command, natural

if TYPE_CHECKING:
    from ..authoring.gate import Report
    from ..lessons.collection import Collection


def add_commands(commands: Any) -> None:
    """Add the commands for authors to argparse's `commands`."""
    says = "write notebooks and keys from the lesson sources"
    built_files = add_command(commands, "build", _build, says, extra="instructor")
    built_files.add_argument("lessons", nargs="*", metavar="LESSON")
    how = built_files.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true", help="write nothing; fail if a built file is out of date")
    says = "record that the Russian texts of LESSON match the English ones"
    how.add_argument("--accept", action="store_true", help=says)
    _add_private_course(built_files)

    says = "check the exercises: solutions pass, stubs do not, each mistake is recognised"
    verify = add_command(commands, "verify", _verify, says)
    verify.add_argument("lessons", nargs="*", metavar="LESSON[.EXERCISE]")
    verify.add_argument("--json", action="store_true", help="print the reports as a JSON list")
    says = "try each answer N times, four times in a process (default: 20); 0: only judge what the key holds"
    verify.add_argument("--trials", type=natural, metavar="N", help=says)
    says = "also list the mistakes that no answer recorded in DIR/LESSON.py makes"
    verify.add_argument("--answers", type=Path, metavar="DIR", help=says)
    _add_private_course(verify)

    site = add_command(commands, "site", _site, "build the course as a static site, in both languages", extra="site")
    site.add_argument("directory", type=Path, metavar="DIR")
    site.add_argument("lessons", nargs="*", metavar="LESSON", help="only these lessons (default: all)")
    says = "where the site will be, for search engines"
    site.add_argument("--address", default="", metavar="URL", help=says)
    says = "the course's branch, https://github.com/OWNER/NAME/tree/BRANCH, for links to Colab and to sources"
    site.add_argument("--repository", default="", metavar="URL", help=says)
    says = "keeps outputs of cells (default: .site-cache beside the site)"
    site.add_argument("--cache", type=Path, metavar="DIR", help=says)


def _add_private_course(command: argparse.ArgumentParser) -> None:
    says = "the private lessons of this course folder instead"
    command.add_argument("--course", type=Path, metavar="DIR", help=says)


def _collection(chosen: argparse.Namespace) -> Collection:
    from ..lessons.collection import COURSE, private

    return private(chosen.course) if chosen.course else COURSE


def _build(chosen: argparse.Namespace) -> int:
    from ..authoring import built_files, lint, trust
    from ..cells import BrokenSource
    from ..lessons.summary import NAME

    if chosen.accept and not chosen.lessons:
        chosen.refuse("--accept needs the name of a lesson: it says that you have read its Russian texts")
    collection, made, complaints = _collection(chosen), {}, []
    for lesson in collection.read(chosen.lessons):
        if chosen.accept:
            print(f"{lesson.path}: {quantity(built_files.accept(lesson), 'Russian cell')} accepted")
            (lesson,) = collection.read([lesson.name])
        complaints += [f"{lesson.path}:{line}: {complaint}" for line, complaint in lint.problems(lesson)]
        try:
            made[lesson.name] = collection.files(lesson) | (trust.files() if lesson.name == NAME else {})
        except BrokenSource as error:
            complaints.append(str(error))
    if chosen.check:
        for name, files in made.items():
            stale = "not what its source gives: run `autograder build"
            complaints += [f"{path}: {stale} {name}`" for path in built_files.stale(files)]
    elif complaints:
        complaints.append("autograder: no notebook and no key was written: mend the lines above")
    else:
        written = [f"wrote {path}" for files in made.values() for path in built_files.write(files)]
        print("\n".join(written) or "nothing changed")
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return int(bool(complaints))


def _verify(chosen: argparse.Namespace) -> int:
    import json

    from ..authoring import gate, recorded_answers, trials

    number = trials.TRIALS if chosen.trials is None else chosen.trials
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
            print(_line_on(report))
    return int(failed)


def _line_on(report: Report) -> str:
    known = sum(report.mistakes[name] == name for name in report.mistakes)
    sign = "✗" if report.problems else "✓"
    alternatives = quantity(len(report.alternatives), "alternative")
    return f"{sign} {report.exercise}: {report.solution}, {known}/{len(report.mistakes)} mistakes, {alternatives}"


def _site(chosen: argparse.Namespace) -> int:
    from ..site.build import build_site
    from ..site.publishing.addresses import Addresses

    cache = chosen.cache or chosen.directory.absolute().parent / ".site-cache"
    addresses = Addresses(chosen.address, chosen.repository)
    written = len(build_site(chosen.directory, cache, chosen.lessons, addresses))
    print(f"wrote {quantity(written, 'file')}: begin with {chosen.directory / 'index.html'}")
    return 0
