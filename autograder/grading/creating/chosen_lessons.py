"""The lessons that an instructor has chosen for a course."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from ... import exercises
from ...lessons.source import Lesson, source_digest
from ..rules.course_file import RULES_FILE
from .upgrade import is_handed_in, is_released


def choose_lessons(sources: Sequence[Lesson], asked: Sequence[str]) -> list[str]:
    """Return the file names of the lessons that `asked` names, by name or number, in the order of the course.

    Raises Unknown if there is no such lesson.
    """
    names = [lesson.file_name for lesson in sources]
    for each in asked:
        if not any(_is(name, each) for name in names):
            raise exercises.Unknown("lesson", each, names)
    return [name for name in names if any(_is(name, each) for each in asked)]


def missing_before(sources: Sequence[Lesson], chosen: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each of the `chosen` lessons that builds on one that is not chosen."""
    numbers = {name.partition("_")[0] for name in chosen}
    for lesson in sources:
        lacks = [number for number in lesson.needs.split(", ") if number and number not in numbers]
        if lesson.file_name in chosen and lacks:
            yield f"{lesson.file_name} builds on lesson {' and '.join(lacks)}, which this course does not have"


def remove_left_out(directory: Path, files: Collection[Path], ours: dict[str, str]) -> Iterator[str]:
    """Remove source notebooks that are none of the course's any more, so that formgrader lists the others alone.

    `files` are the relative paths of what the course has now. `ours` maps relative paths to hashes of the texts as last
    written, and is updated. What is released, handed in or changed stays. Yields a sentence for each notebook.
    """
    for key in [key for key in ours if key.startswith("source/") and Path(key) not in files]:
        path, assignment = directory / key, Path(key).parts[1]
        if not path.is_file():
            del ours[key]
        elif is_released(directory, assignment) or is_handed_in(directory, assignment):
            yield f"kept {path}, which {RULES_FILE} does not name: it is released, or students have handed it in"
        elif source_digest(path.read_text(encoding="utf-8"), 64) != ours[key]:
            yield f"kept {path}, which {RULES_FILE} does not name, for you have changed it"
        else:
            path.unlink()
            del ours[key]
            if not any(path.parent.iterdir()):
                path.parent.rmdir()
            yield f"removed {path}, for {RULES_FILE} does not name it"


def _is(name: str, asked: str) -> bool:
    return asked in (name, exercises.bare(name), name.partition("_")[0])
