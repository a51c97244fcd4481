"""Collections of lessons: the course's own, and an instructor's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .. import exercises
from ..cells import BrokenSource
from ..checking.exercise import PUBLIC_SEED, Exercise
from ..errors import UserError
from ..language import LANGUAGES
from .execute import run
from .keys import build_key
from .source import SOURCES, Lesson, read
from .summary import NAME as SUMMARY
from .summary import with_contents


@dataclass(frozen=True)
class Collection:
    """A folder of lesson sources with their exercise modules and notebooks.

    `lessons` is the folder of sources, `modules` that of the exercises' packages, `notebooks` that of the built
    notebooks. The base class is for the course's own lessons, the subclass `Private` for an instructor's.
    """

    lessons: Path
    modules: Path
    notebooks: Path

    def read(self, names: list[str] | None = None) -> list[Lesson]:
        """Return the lesson sources with these names.

        The number may be left out: "gradient_accumulation" stands for "03_gradient_accumulation".
        If `names` is None, return all files whose names begin with a number. Other files have no exercises, such as the
        gallery of plots.
        Raises Unknown if a name matches no file.
        """
        files = {path.stem: path for path in sorted(self.lessons.glob("*.py")) if names or path.stem[:2].isdigit()}
        by_bare = {exercises.bare(stem): stem for stem in files}
        for name in names or []:
            if exercises.bare(name) not in by_bare:
                raise exercises.Unknown("lesson", name, list(by_bare))
        wanted = {by_bare[exercises.bare(name)] for name in names or by_bare}
        return [read(path) for stem, path in files.items() if stem in wanted]

    def exercises(self, lesson: Lesson) -> dict[str, Exercise]:
        """Return a dict from name to exercise of a lesson.

        Raises BrokenSource if the exercise modules are missing or cannot be imported.
        """
        if _is_page(lesson):
            return {}
        path = self.path(lesson)
        if not (path / "__init__.py").is_file():
            wrong = f'lesson {lesson.file_name} needs this file, with its exercises in order: EXERCISES = ("first",)'
            raise BrokenSource(path / "__init__.py", 1, wrong)
        try:
            return exercises.load_path(path)
        except Exception as error:
            file, line = _origin(error, exercises.module_files(path))
            raise BrokenSource(file, line, f"the module cannot be imported: {type(error).__name__}: {error}") from error

    def path(self, lesson: Lesson) -> Path:
        """Return the path of the package that holds a lesson's exercises."""
        return self.modules / lesson.name

    def keys(self, lesson: Lesson) -> dict[Path, str | bytes]:
        """Return a dict from path to text for the keys of a lesson's exercises.

        Raises BrokenSource if the lesson cannot be executed, or has no answer to an exercise.
        """
        known = self.exercises(lesson)
        ran = run(lesson, known)
        missing = [name for name in known if name not in ran.solutions]
        if missing:
            wrong = f'no answer cell for {", ".join(missing)}: add `# %% answer="{missing[0]}"`'
            raise BrokenSource(lesson.path, 1, wrong)
        return {
            (path := exercises.key_in(self.path(lesson), name)): build_key(each, ran.expect(each, PUBLIC_SEED), path)
            for name, each in known.items()
        }

    def students_notebooks(self, lesson: Lesson) -> dict[Path, str | bytes]:
        """Return a dict from path to text for the notebooks of a lesson, one in each language."""
        from .notebooks import source_notebook, student_notebook, to_text

        source = source_notebook(self.complete(lesson), self.exercises(lesson))
        return {
            self.notebooks / language / f"{lesson.file_name}.ipynb": to_text(student_notebook(source, language))
            for language in LANGUAGES
        }

    def complete(self, lesson: Lesson) -> Lesson:
        """Return a lesson as it is, and the page `summary` with what it collects of all lessons."""
        return with_contents(lesson, self.read()) if lesson.file_name == SUMMARY else lesson

    def files(self, lesson: Lesson) -> dict[Path, str | bytes]:
        """Return a dict from path to content for every file built from a lesson source. Writes nothing.

        Raises BrokenSource if the lesson cannot be built.
        """
        return {**({} if _is_page(lesson) else self.keys(lesson)), **self.students_notebooks(lesson)}


class Private(Collection):
    """An instructor's own lessons in an nbgrader course folder.

    `notebooks` is the folder `source/`, from which nbgrader makes students' notebooks. The exercises are copied to
    `exercises/` beside each notebook, without their mistakes. nbgrader hands that folder out, and `check` looks there
    for private exercises.
    """

    def read(self, names: list[str] | None = None) -> list[Lesson]:
        """Return lesson sources as `Collection.read` does.

        Raises BrokenSource if a file's name does not begin with a number.
        """
        for path in sorted(self.lessons.glob("[!_]*.py")):
            if not path.stem[:2].isdigit():
                wrong = f"a lesson's file begins with its number: rename it to 50_{path.name}"
                raise BrokenSource(path, 1, wrong)
        return super().read(names)

    def files(self, lesson: Lesson) -> dict[Path, str | bytes]:
        """Return a dict from path to content for every file built from a lesson source.

        Includes copies of data files beside the lesson source.
        Raises BrokenSource if the lesson cannot be built.
        """
        from .notebooks import source_notebook, to_text

        keys, folder, package = self.keys(lesson), self.notebooks / lesson.file_name, self.path(lesson)
        own = sorted(path for path in lesson.files.rglob("*") if path.is_file())
        shared = [*exercises.module_files(package).values(), *sorted(package.glob("programs/*.py"))]
        handed_out = {**{path: path.read_bytes() for path in shared}, **keys}
        return {
            **{folder / path.relative_to(lesson.files): path.read_bytes() for path in own},
            **keys,
            folder / f"{lesson.file_name}.ipynb": to_text(source_notebook(lesson, self.exercises(lesson))),
            **{folder / "exercises" / path.relative_to(self.modules): data for path, data in handed_out.items()},
        }


COURSE = Collection(SOURCES, exercises.PACKAGED, SOURCES.parent)


def private(course: Path) -> Private:
    """Return an instructor's own lessons, in `lessons/` and `exercises/` of an nbgrader course folder.

    Raises UserError if `course` is no such folder.
    Raises BrokenSource if a lesson has the name of a lesson of the course itself.
    """
    if not (course / "lessons").is_dir():
        raise UserError(f"{course} is no course folder, it has no `lessons`: make one with `autograder course DIR`")
    for path in sorted((course / "lessons").glob("*.py")):
        if exercises.lesson_path(exercises.PACKAGED, exercises.bare(path.stem)):
            raise BrokenSource(path, 1, "the course itself has a lesson of this name: rename yours and its module")
    return Private(course / "lessons", course / "exercises", course / "source")


def _is_page(lesson: Lesson) -> bool:
    return lesson.name == lesson.file_name


def _origin(error: BaseException, modules: Mapping[str, Path]) -> tuple[Path, int]:
    """Return the exercise module and the line in it at which `error` arose.

    `modules` is a dict from module name to file. If `error` is a syntax error, return the place of that error.
    """
    files = {path.resolve(): path for path in modules.values()}
    if isinstance(error, SyntaxError) and error.filename and (file := files.get(Path(error.filename).resolve())):
        return file, error.lineno or 1
    found, tb = (modules[""], 1), error.__traceback__
    while tb is not None:
        if file := files.get(Path(tb.tb_frame.f_code.co_filename).resolve()):
            found = file, tb.tb_lineno
        tb = tb.tb_next
    return found
