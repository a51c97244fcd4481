"""The command `autograder course DIR`, which creates or updates a course folder."""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from nbgrader.api import Gradebook
from sqlalchemy.exc import SQLAlchemyError

from ...errors import UserError
from ...language import LANGUAGES
from ...lessons.collection import COURSE, Collection
from ...lessons.source import source_digest
from ..course.settings import course_settings
from ..gradebook.database import database_message, default_url
from ..nbgrader_path import put_interpreter_on_path
from ..rules.assignment_notebooks import assignment_notebooks
from ..rules.course_file import RULES_FILE, parse_rules, read_rules
from ..rules.toml_table import EXAMPLES
from .chosen_lessons import choose_lessons, missing_before, remove_left_out
from .upgrade import is_handed_in, is_released, list_differences, with_applied_points

_TEXTS = Path(__file__).parents[1] / "templates" / "course"
_COURSE_RECORD = ".autograder.json"  # the course id, and hashes of the files as we wrote them


class NoCourse(UserError):
    """An error: a course folder cannot be created, with a remedy."""


def make_course(
    directory: Path,
    course_id: str | None,
    lessons: Collection = COURSE,
    language: str | None = None,
    chosen: Sequence[str] = (),
    counting: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> None:
    """Create or update the nbgrader course folder `directory`. Print the changes and the next commands.

    `course_id` is nbgrader's name of the course; the default is the folder's name. `language` is that of a new course,
    and `chosen` are its lessons, by name or number; without any it has all. `counting` maps lessons to the exercises
    that count there, where these are not those of the core.
    A file that an instructor has changed is not overwritten. A lesson that students have handed in is not overwritten
    either, if its newer version has other graded cells.
    Raises NoCourse if the folder cannot be created, BrokenSource if a lesson cannot be built.
    """
    directory = directory.resolve()
    record = _read_record(directory / _COURSE_RECORD)
    name = course_id if course_id is not None else record["course_id"] or directory.name
    if not re.fullmatch(r"[\w.-]+", name):
        raise NoCourse(f"{name!r} cannot be a course id: give one of letters, digits, - and _ with --id")
    sources = lessons.read()
    if not sources:
        raise NoCourse(
            f"no lesson sources in {lessons.lessons}: they come with the course repository, not with the installed "
            "package. Clone it and run `autograder course` from its environment (make install)"
        )
    rules, template = read_rules(directory), ""
    if not (directory / RULES_FILE).exists():
        template = _rules_text(language or rules.language, choose_lessons(sources, chosen), counting)
        rules = parse_rules(template, RULES_FILE)
    elif chosen:
        raise NoCourse(f"{directory / RULES_FILE} is there already: state the lessons in it", EXAMPLES["lessons"])
    rules, waiting = with_applied_points(directory, rules)
    files = {
        Path("nbgrader_config.py"): _text("nbgrader_config.py.txt", course_id=repr(name), nbgrader=_beside("nbgrader")),
        Path("lessons", "README.md"): _text("lessons.md", course=str(directory)),
        **({Path(RULES_FILE): template} if template else {}),
    }
    files |= assignment_notebooks(rules, sources, lessons, _private_lessons(directory))
    try:
        for folder in ("lessons", "exercises"):
            (directory / folder).mkdir(parents=True, exist_ok=True)
        for line in [*_write(directory, files, record["files"]), *remove_left_out(directory, files, record["files"])]:
            print(line)
        for line in missing_before(sources, {path.stem for path in files if path.suffix == ".ipynb"}):
            print(line)
        for assignment in waiting:
            where = shlex.quote(str(directory))
            print(
                f"{assignment} keeps its points, for other ones would change grades: `autograder course {where} "
                "--check` lists them, and with --apply they change"
            )
        record["course_id"] = name
        (directory / _COURSE_RECORD).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        _make_secret(directory / "secret")
        _make_gradebook(directory, name)
    except BrokenPipeError:
        raise  # nobody reads what is printed: no fault of the folder
    except OSError as error:
        raise NoCourse(
            f"{error.filename or directory}: {error.strerror or error}: choose a folder you can write to"
        ) from error
    assignments = sorted({path.parts[1] for path in files if path.parts[0] == "source"})
    print(_next(directory, name, read_rules(directory).language, assignments))


def _private_lessons(directory: Path) -> set[str]:
    """Return the names of the lessons that an instructor has added to the course folder."""
    return {path.stem for path in (directory / "lessons").glob("*.py")}


def _rules_text(language: str, chosen: Sequence[str], counting: Mapping[str, Sequence[str]]) -> str:
    """Return the text of a new `course.toml`. `chosen` are the names of the course's lessons; without any it has all.

    The file is made once, for the instructor to fill in. It states what counts in the lessons of `counting`.
    """
    text = _text(f"course.{language}.toml.txt")
    if not chosen:
        return text
    stated = f"lessons = [{', '.join(map(json.dumps, chosen))}]"
    text = re.sub(r"(?m)^# lessons = .*$", lambda found: stated, text, count=1)
    own = (f"\n[assignments.{lesson}]\nexercises = {json.dumps(list(names))}\n" for lesson, names in counting.items())
    return "".join([text, *own])


def _text(name: str, **values: str) -> str:
    """Return the text of a template file, with its placeholders filled in.

    A placeholder is a name in braces. `values` holds the text for each placeholder.
    """
    text = (_TEXTS / name).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace("{" + key + "}", value)
    return text


def _beside(command: str) -> str:
    """Return the path of the program `command` in the folder of this Python's executable.

    The path is valid even if the virtual environment is not activated.
    """
    return str(Path(sys.executable).parent / command)


def _read_record(path: Path) -> dict[str, Any]:
    """Return the data that an earlier `autograder course` stored in the file `path`.

    The dict has the keys `course_id` and `files`. `files` maps relative paths to hashes of the texts as written. If the
    file is missing, `course_id` is None and `files` is empty.
    Raises NoCourse if the file cannot be read.
    """
    record: dict[str, Any] = {"course_id": None, "files": {}}
    if path.is_file():
        try:
            record |= json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, TypeError) as error:
            why = f"{path} cannot be read ({error}): remove it; files that differ from ours will be kept"
            raise NoCourse(why) from error
    return record


def _write(directory: Path, files: dict[Path, str], ours: dict[str, str]) -> Iterator[str]:
    """Write files, except those that an instructor has changed since the last `autograder course`.

    `files` maps relative paths to texts. `ours` maps relative paths to hashes of the texts as last written, and is
    updated. Yields a sentence for the terminal for each file that was written or not overwritten.
    """
    old_releases: list[str] = []
    for name, text in files.items():
        path, key = directory / name, name.as_posix()
        old = path.read_text(encoding="utf-8") if path.is_file() else None
        if old is not None and old != text and ours.get(key) != source_digest(old, 64):
            remedy = "which you have changed; to get ours, move it away and run this again"
            yield f"kept {path}, {remedy}"
            continue
        assignment = name.parts[1] if path.suffix == ".ipynb" else ""
        if assignment and old and (other := list_differences(old, text)) and is_handed_in(directory, assignment):
            yield (
                f"kept {path}: students have handed in {assignment}, and our newer version has other cells that "
                f"nbgrader records ({', '.join(other)}). Take it for the next run of the course: `autograder course` "
                "with another folder"
            )
            continue
        ours[key] = source_digest(text, 64)
        if old != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            yield f"wrote {path}"
            if assignment and old and is_released(directory, assignment):
                old_releases.append(assignment)
    if old_releases:
        names, where = " ".join(dict.fromkeys(old_releases)), shlex.quote(str(directory))
        yield f"what is released is old now; make it anew: {_beside('autograder')} release {where} {names}"


def _make_secret(path: Path) -> None:
    """Create the file `path` with the course's secret, from which the seeds of hidden cases derive.

    An existing secret is not replaced: a new secret would change the cases.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(secrets.token_hex(32) + "\n")


def _make_gradebook(directory: Path, course_id: str) -> None:
    """Create the course's database, or its tables in the database that the config names.

    Raises NoCourse if that database cannot be opened.
    """
    course = course_settings(directory)
    if course.db_url == default_url(directory) and (directory / "gradebook.db").exists():
        return
    put_interpreter_on_path()
    try:
        with Gradebook(course.db_url, course_id):
            pass
    except SQLAlchemyError as error:
        raise NoCourse(f"{course.shown_db_url} cannot be opened: {database_message(error)}") from error


def _next(directory: Path, course_id: str, language: str, assignments: list[str]) -> str:
    """Return a text for the terminal with the commands that an instructor runs next.

    `course_id` is without the ending of a language. `language` is the language of the course.
    """
    nbgrader, lesson = _beside("nbgrader"), assignments[0]
    autograder, folder = _beside("autograder"), shlex.quote(str(directory))
    return f"""
The course is in {directory}: {", ".join(assignments)}.
In the exchange it is called {course_id}{"" if language == LANGUAGES[0] else f"-{language}"}.
Next, in that folder:
  {autograder} release {folder}    # what students get, in both languages: release/ and release-ru/
  {autograder} doctor              # once: can answers be isolated on this machine?
and when students have submitted:
  {autograder} collect ZIP         # from an LMS; from nbgrader's exchange: {nbgrader} collect {lesson}
  {autograder} grade {folder}
  {autograder} feedback {folder}
  {autograder} return {folder}          # for an LMS: what you upload there
  {autograder} report {folder}
Your own lessons go into lessons/ and exercises/: see lessons/README.md. Keep the file `secret` to yourself."""
