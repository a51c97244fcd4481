"""Warm what a submission will run: IPython with its modules, a lesson's cells as they were released, and its probes.

What runs here has run before in every child: modules are imported, caches filled, bytecode is specialized (a child that
did it itself would write to, and so copy, thousands of pages). Only what every child may see: no solution, no secret.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import matplotlib
import torch
from matplotlib_inline.backend_inline import configure_inline_support

from ...checking.containment import undisturbed
from ...checking.exercise import Exercise
from ...checking.observe import observe
from ...learner.session import SESSION, Session
from ..limits import Limits
from .guard import Guard
from .run_codec import Rehearsal, pack_run
from .shell import Shell
from .worker import Worker

_SEED = "rehearsal"


def warm_shell(kind: type[Shell]) -> Shell:
    """IPython with everything imported that takes long, and its figures shown where they are made."""
    shell: Shell = kind.instance(colors="nocolor")
    matplotlib.use("module://matplotlib_inline.backend_inline")
    matplotlib.interactive(True)  # a figure shows when its cell ends
    configure_inline_support(shell, "module://matplotlib_inline.backend_inline")  # type: ignore[no-untyped-call]
    # torch._dynamo comes with the first optimizer step or check of gradients, takes a second, and puts other functions
    # in the place of some of torch's own: before the guard looks.
    shell.run_cell("import matplotlib.pyplot, sympy, torch._dynamo, torch.func, torch.testing")
    from torch._dynamo import eval_frame, mutation_guard

    shell.run_cell("import autograder.learner.tracebacks, autograder.learner.ready")  # `start` imports them
    gc.freeze()  # to reset is to collect garbage, too: not in all of torch
    shell.reset()
    with contextlib.suppress(Exception):  # what the first `torch.compile` puts in the place of torch's functions
        mutation_guard.install_generation_tagging_init()
        eval_frame.TorchPatcher.patch()
    for optimizer in vars(torch.optim).values():
        if isinstance(optimizer, type) and issubclass(optimizer, torch.optim.Optimizer):
            with contextlib.suppress(Exception):  # the first optimizer of a class puts a hook around its `step`
                optimizer([torch.nn.Parameter(torch.zeros(1))])  # type: ignore[call-arg]
    return shell


def warm_up(shell: Shell, modules: Mapping[str, ModuleType], asked: Rehearsal) -> bool:
    """Import modules, run a lesson's cells as they were released, and its probes on every mistake.

    The mistakes are forgotten: no child finds them. Returns whether the process can still be forked: with a second
    thread it cannot. Without a GPU torch runs backward on the thread that calls it.
    """
    for name in asked.imports:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    with _elsewhere(), undisturbed([]):
        worker = Worker(shell, Guard(modules), Limits(), modules)
        known = worker.begin(asked.lesson, {})
        for cells in asked.notebooks:
            with _forgotten(shell):
                for source in cells:
                    worker.do_cell(source)
        for name, source in asked.mistakes.items():
            _try_mistakes(known[name], source)
    gc.collect()
    shell.outputs.clear(0)
    return len(os.listdir("/proc/self/task")) == 1


def _try_mistakes(exercise: Exercise, source: str) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "<rehearsal>", "exec"), namespace)
    for mistake in exercise.mistakes.values():
        for run in observe(exercise, namespace[mistake.program.__name__], _SEED):
            pack_run(run)
    namespace.clear()


@contextlib.contextmanager
def _forgotten(shell: Shell) -> Iterator[None]:
    """What cells leave is taken back: names, a `from __future__ import`, and what `start` has chosen and put in."""
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
    """In an empty folder, with the standard descriptors put back: a worker takes them."""
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
