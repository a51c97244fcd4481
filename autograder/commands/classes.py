"""Commands for a class apart from grading, such as course and collect."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..language import LANGUAGES
from .options import add_assignment, add_command, add_course_folder, add_worksheet, assignment, positive


def add_commands(commands: Any) -> None:
    """Add the commands for a class to argparse's `commands`."""
    says = "make an nbgrader course folder, or bring one up to date"
    course = add_command(commands, "course", _course, says, extra="instructor")
    course.add_argument("directory", type=Path, metavar="DIR")
    what = course.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="only explain the rules, and which grades they would change")
    what.add_argument("--apply", action="store_true", help="let grades follow the rules as they stand now")
    course.add_argument("--language", choices=LANGUAGES, default=None, help="of a new course (default: en)")
    which = course.add_mutually_exclusive_group()
    says = "the lessons of a new course, by number or name (default: all)"
    which.add_argument("--lessons", nargs="+", default=[], metavar="LESSON", help=says)
    says = "a new course on one path through the lessons, such as six-weeks; an unknown name lists them"
    which.add_argument("--path", metavar="NAME", help=says)
    course.add_argument("--id", default=None, help="nbgrader's course id (default: the folder's name)")

    says = "make what students get, in both languages"
    release = add_command(commands, "release", _release, says, extra="instructor")
    add_course_folder(release)
    says = "made anew (default: all in source/ that are not released, or old)"
    release.add_argument("assignments", nargs="*", type=assignment, metavar="ASSIGNMENT", help=says)
    release.add_argument("--language", choices=LANGUAGES, default=None, help="only in this language")
    release.add_argument("--exchange", action="store_true", help="then put them into nbgrader's exchange")

    says = "give each student tables of predictions of their own"
    handout = add_command(commands, "handout", _handout, says, extra="instructor")
    add_course_folder(handout)
    handout.add_argument("assignment", type=assignment, help="a released assignment")

    says = "take submissions out of what an LMS gives: zip archives or folders"
    collect = add_command(commands, "collect", _collect, says, extra="instructor")
    collect.add_argument("files", nargs="+", type=Path, metavar="FILE", help="archives, folders or notebooks")
    collect.add_argument("--course", type=Path, default=Path(), metavar="DIR", help="the course folder (default: here)")
    add_worksheet(collect, "names, and times where the LMS tells them")
    collect.add_argument("--add", action="store_true", help="add unknown people to students.csv")

    says = "write grades and feedback in the forms that an LMS imports"
    hand_back = add_command(commands, "return", _return, says, extra="instructor")
    add_course_folder(hand_back)
    add_assignment(hand_back, "all, and a total")
    add_worksheet(hand_back, "gets the grades (default: Moodle's worksheet that was collected)")
    says = "also replace grades and comments that a person has written in the LMS"
    hand_back.add_argument("--overwrite", action="store_true", help=says)

    says = "take a student's work out of an assignment; it is kept in withdrawn/"
    withdraw = add_command(commands, "withdraw", _withdraw, says, extra="instructor")
    add_course_folder(withdraw)
    withdraw.add_argument("assignment", type=assignment, help="an assignment")
    withdraw.add_argument("students", nargs="+", metavar="STUDENT", help="as the folders in submitted/ are called")
    what = withdraw.add_mutually_exclusive_group()
    what.add_argument("--attempt", type=positive, metavar="N", help="only this attempt of one student, the first is 1")
    what.add_argument("--undo", action="store_true", help="bring back what was withdrawn last")

    says = "make the feedback pages that are missing or out of date"
    feedback = add_command(commands, "feedback", _feedback, says, extra="instructor")
    add_course_folder(feedback)
    add_assignment(feedback, "all that were graded")
    feedback.add_argument("--release", action="store_true", help="then release all pages to nbgrader's exchange")

    report = add_command(commands, "report", _report, "make a page on what the class understood", extra="instructor")
    add_course_folder(report)
    add_assignment(report, "all that were graded")
    says = "of the page (default: the course's language)"
    report.add_argument("--language", choices=LANGUAGES, default=None, help=says)


def _course(chosen: argparse.Namespace) -> int:
    from ..grading.creating.course_folder import make_course
    from ..lessons.paths import read_path

    if chosen.check or chosen.apply:
        from ..grading.commands.check_rules import check_rules

        return check_rules(chosen.directory, apply=chosen.apply)
    path = read_path(chosen.path) if chosen.path else None
    lessons, counting = (list(path.counts), path.chosen) if path else (chosen.lessons, {})
    make_course(chosen.directory, chosen.id, language=chosen.language, chosen=lessons, counting=counting)
    return 0


def _release(chosen: argparse.Namespace) -> int:
    from ..grading.commands.release import release

    languages = [chosen.language] if chosen.language else LANGUAGES
    return release(chosen.directory, chosen.assignments, languages, exchange=chosen.exchange)


def _handout(chosen: argparse.Namespace) -> int:
    from ..grading.commands.handout import hand_out

    return hand_out(chosen.directory, chosen.assignment)


def _collect(chosen: argparse.Namespace) -> int:
    from ..grading.commands.collect import collect

    return collect(chosen.course, chosen.files, tables=chosen.worksheet, add=chosen.add)


def _return(chosen: argparse.Namespace) -> int:
    from ..grading.commands.return_grades import return_course

    return return_course(chosen.directory, chosen.assignment, tables=chosen.worksheet, overwrite=chosen.overwrite)


def _withdraw(chosen: argparse.Namespace) -> int:
    from ..grading.commands.withdraw import take_back, withdraw_one, withdraw_work

    if chosen.attempt:
        if len(chosen.students) > 1:
            chosen.refuse("--attempt is about one student")
        return withdraw_one(chosen.directory, chosen.assignment, chosen.students[0], chosen.attempt)
    return (take_back if chosen.undo else withdraw_work)(chosen.directory, chosen.assignment, chosen.students)


def _feedback(chosen: argparse.Namespace) -> int:
    from ..grading.commands.feedback import make_feedback
    from ..grading.course.course import open_course

    return make_feedback(open_course(chosen.directory), chosen.assignment, release=chosen.release)


def _report(chosen: argparse.Namespace) -> int:
    from ..grading.report.page import report_course

    for path in report_course(chosen.directory, chosen.assignment, chosen.language):
        print(path)
    return 0
