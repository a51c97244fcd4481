"""A bound on backward passes that run inside one another."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

# torch goes to another thread from 60 on, and loses an exception on its way back.
MOST = 50


class PassesWithoutEnd(BaseException):
    """The exception raised in an answer whose backward passes nest too deep.

    The base class is BaseException: an answer's `except Exception` does not catch it.
    """


@contextmanager
def around_backward(run: Callable[..., Any]) -> Iterator[None]:
    """Let `run(engine, roots, *args, **kwargs)` replace torch's engine inside the `with` block.

    Every call that starts a backward pass then calls `run` instead of `engine`.
    """
    engine = torch.autograd._engine_run_backward  # type: ignore[attr-defined]
    torch.autograd._engine_run_backward = functools.partial(run, engine)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch.autograd._engine_run_backward = engine  # type: ignore[attr-defined]


@contextmanager
def passes_bounded() -> Iterator[None]:
    """Raise PassesWithoutEnd where the `with` block starts a pass inside `MOST` others.

    A time limit cannot end them: the main thread waits in torch's engine, and runs no handler of a signal. Without a
    bound, a hook that calls itself has 470 threads and 0.7 GB after 10 seconds.
    """
    depth = 0

    def run(engine: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        nonlocal depth
        if depth >= MOST:
            raise PassesWithoutEnd(f"{MOST} backward passes run inside one another: does a hook start its own pass?")
        depth += 1
        try:
            return engine(*args, **kwargs)
        finally:
            depth -= 1

    with around_backward(run):
        yield
