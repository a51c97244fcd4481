"""Warm-up of the fork server: IPython, a lesson's released cells, its probes.

Each child inherits imported modules, filled caches and specialized bytecode. A child that did this work itself would
write to thousands of memory pages, and copy each of these pages.
Only code that every child may see runs here: no solution, no secret.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import tempfile
import warnings
from collections.abc import Iterator
from glob import glob
from types import FunctionType
from typing import Any

import matplotlib
import torch
from matplotlib_inline.backend_inline import configure_inline_support

from ....checking.containment.surroundings import undisturbed
from ....checking.containment.switches import as_in_a_fresh_process
from ....checking.counting.allocations import live_bytes
from ....checking.exercise import Exercise
from ....checking.observe import observe
from ....exercises.module_texts import importable
from ....language import Note
from ....session import SESSION, Session
from ...demonstrations.needless_cells import RehearsedCell
from ...limits import Limits
from ..child.guard import Guard, LessonModules
from ..child.shell import Shell
from ..child.worker import Worker
from ..wire.run_codec import Rehearsal, pack_run

_SEED = "rehearsal"
_FILE = "<rehearsal>"  # the file name of answers


def warm_shell() -> Shell:
    """Return an IPython shell that has already imported slow modules.

    Figures are shown in the notebook.
    """
    shell: Shell = Shell.instance(colors="nocolor")
    matplotlib.use("module://matplotlib_inline.backend_inline")
    matplotlib.interactive(True)  # a figure shows when its cell ends
    configure_inline_support(shell, "module://matplotlib_inline.backend_inline")  # type: ignore[no-untyped-call]
    # The first optimizer step or gradient check imports torch._dynamo. This takes a second and replaces some of torch's
    # functions, so it must happen before the guard looks.
    shell.run_cell("import matplotlib.pyplot, sympy, torch._dynamo, torch.func, torch.testing")
    shell.run_cell("raise NotImplementedError")  # a child's first traceback takes 5 ms, not 24
    from torch._dynamo import eval_frame, mutation_guard

    shell.run_cell("import autograder.learner.tracebacks, autograder.learner.ready")  # `start` imports them
    # An answer that raises is explained, which takes 0.1 s of imports.
    shell.run_cell("import autograder.explained.table")
    gc.freeze()  # `reset` collects garbage: exclude torch's many objects
    shell.reset()
    with contextlib.suppress(Exception):  # patches of torch's functions that the first `torch.compile` makes
        mutation_guard.install_generation_tagging_init()
        eval_frame.TorchPatcher.patch()
    for optimizer in vars(torch.optim).values():
        if isinstance(optimizer, type) and issubclass(optimizer, torch.optim.Optimizer):
            with contextlib.suppress(Exception):  # the first optimizer of a class wraps its `step` in a hook
                optimizer([torch.nn.Parameter(torch.zeros(1))])  # type: ignore[call-arg]
    return shell


def warm_up(shell: Shell, modules: LessonModules, asked: Rehearsal) -> tuple[bool, list[RehearsedCell]]:
    """Run a rehearsal in the fork server: imports, a lesson's released cells, a wrong answer to each exercise.

    Children that are forked later inherit what was imported and cached.
    `asked` names what to import and run. `modules` maps lesson names to the loaded modules of exercises. The answers
    are deleted afterwards, so no child finds them.
    Returns whether the process can still be forked, and the cells as they ran. It can be forked if no thread was
    added, and no function of an answer is left: torch keeps the formulas of custom operators for ever.
    Backward passes add no thread, because without a GPU torch runs them on the calling thread.
    The thread of torch's profiler is allowed. Probes count bytes with the profiler, which works in a fork even though
    this thread is missing there.
    """
    with live_bytes():
        pass
    threads = len(os.listdir("/proc/self/task"))
    ran = list[RehearsedCell]()
    for name in asked.imports:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    with _elsewhere(), undisturbed([]):
        worker = Worker(shell, Guard(modules), Limits(), modules)
        known = worker.begin(asked.lesson, {})
        for cells in asked.notebooks:
            with _forgotten(shell):
                ran += [_rehearsed(worker, source) for source in cells]
        with importable(f"autograder.exercises.{asked.lesson}", modules.get(asked.lesson, {}), asked.helpers):
            for name, source in asked.answers.items():
                _try_answer(known[name], source)
    gc.collect()
    shell.outputs.clear(0)
    return len(os.listdir("/proc/self/task")) == threads and not _answers_left(), ran


def _answers_left() -> bool:
    return any(type(each) is FunctionType and each.__code__.co_filename == _FILE for each in gc.get_objects())


def _rehearsed(worker: Worker, source: str) -> RehearsedCell:
    before = _settings_and_files()
    outputs = worker.do_cell(source)["outputs"]
    failed = any(output["output_type"] == "error" or output.get("name") == "stderr" for output in outputs)
    return RehearsedCell(source, not failed and _settings_and_files() == before)


def _settings_and_files() -> tuple[list[Note], list[Any], list[str]]:
    """Return torch's unusual settings, the filters of warnings, and the paths of all files in the working folder."""
    with as_in_a_fresh_process() as unusual:
        return unusual, [*warnings.filters], [*glob("**", recursive=True)]


def _try_answer(exercise: Exercise, source: str) -> None:
    """Run an exercise's probe on one answer, and discard the results. More answers would make no child faster.

    `source` is code that defines the answer. It may import from the package of the exercise's lesson.
    """
    package = f"{exercise.probe.__module__.rpartition('.')[0]}.mistakes"
    namespace: dict[str, Any] = {"__name__": "__main__", "__package__": package}
    exec(compile(source, _FILE, "exec"), namespace)
    for run in observe(exercise, namespace[exercise.asks], _SEED):
        pack_run(run)
    namespace.clear()


@contextlib.contextmanager
def _forgotten(shell: Shell) -> Iterator[None]:
    """Undo the effects of the cells that run in the `with` block. This is a context manager.

    The effects are defined names, a `from __future__ import`, and the settings and hooks of the learner's command
    `start`.
    """
    flags, callbacks = shell.compile.flags, {name: list(each) for name, each in shell.events.callbacks.items()}
    try:
        yield
    finally:
        shell.reset()
        shell.compile.flags = flags
        shell.events.callbacks.update(callbacks)
        shell.set_custom_exc((), None)
        vars(SESSION).update(vars(Session()))


@contextlib.contextmanager
def _elsewhere() -> Iterator[None]:
    """Run the `with` block in an empty temporary folder. This is a context manager.

    At the end of the `with` block the working folder and the file descriptors 1 and 2 are restored. A worker redirects
    these two.
    """
    before, kept = os.getcwd(), [os.dup(number) for number in (1, 2)]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
            for number, copy in zip((1, 2), kept):
                os.dup2(copy, number)
                os.close(copy)
