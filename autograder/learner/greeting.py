"""The part of `start`'s greeting for a learner who comes back."""

from __future__ import annotations

from collections.abc import Iterator

from ..checking.verdict import VerdictState
from ..exercises import bare
from ..history import History, read_history, standings
from ..language import LANGUAGES, Text
from ..messages.learners import message
from ..session import being_graded
from .cells_run import shell
from .chosen_path import chosen_path
from .notebooks.headings import link_to
from .notebooks.own_notebook import linked_file
from .points import LessonNotebook
from .reviews.counting import due_now


def describe_return(lesson: str, notebook: LessonNotebook, *, new_kernel: bool) -> Iterator[Text]:
    """Yield sentences on what is done in a lesson, on the next exercise and on reviews.

    Yields nothing at the first start, when the history has no check of the lesson. Yields nothing while nbgrader runs
    the notebook.
    """
    history = History(()) if being_graded() else read_history()
    found = [*history.verdicts()]
    if not any(verdict.lesson == lesson for verdict in found):
        return
    done = standings(found)
    known = _known(notebook)
    passed = [name for name in known if name in done and done[name].best.state == VerdictState.PASSED]
    core = counting_here(lesson, notebook)
    left = [name for name in known if name not in passed]
    following = next((name for name in core if name in left), left[0] if left and not chosen_path() else None)
    extra = len(set(passed) - set(core))
    counts = {"count": len(set(passed) & set(core)), "total": len(core)}
    said = []
    for one in LANGUAGES:
        more = message("contents.extra", count=extra).read(one) if extra else ""
        name = _linked(notebook, following, one) if following else ""
        said.append(message("start.next" if following else "start.done", extra=more, exercise=name, **counts).read(one))
    yield Text(*said)
    if new_kernel and following and hasattr(shell(), "kernel"):
        yield message("start.kernel")
    if due := len(due_now(history)):
        yield message("start.due", count=due)


def describe_path(lesson: str, notebook: LessonNotebook) -> Iterator[Text]:
    """Yield a sentence on what counts in this lesson on the chosen path, if that differs from the notebook."""
    path, here = chosen_path(), counting_here(lesson, notebook)
    if path and not being_graded() and here != [name for name in _known(notebook) if notebook.counts(name)]:
        named = ", ".join(f"`{name}`" for name in here)
        yield Text(*(message("start.path", path=path.title.read(one), names=named).read(one) for one in LANGUAGES))


def counting_here(lesson: str, notebook: LessonNotebook) -> list[str]:
    """Return the names of the exercises that count for this learner: on the chosen path, or in the notebook."""
    path = chosen_path()
    chosen = next((names for file, names in path.counts.items() if bare(file) == lesson), ()) if path else ()
    return [name for name in _known(notebook) if (name in chosen if chosen else notebook.counts(name))]


def _known(notebook: LessonNotebook) -> list[str]:
    return [name for name, exercise in notebook.exercises.items() if not exercise.withdrawn]


def _linked(notebook: LessonNotebook, name: str, language: str) -> str:
    """Return title and name of an exercise. The title is a link where the front end follows links."""
    title = notebook.exercises[name].title.read(language)
    return f"{link_to(notebook.cells, linked_file(), name, title)} · `{name}`"
