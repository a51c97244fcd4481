"""Observations of an exercise's solution, mistakes and given code on one seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from .exercise import Exercise
from .observe import Run, code_digest, decode_run, encode_run, observe


@dataclass(frozen=True)
class Expected:
    """The observations with which an answer to one exercise is compared.

    `solution` and `given` hold one `Run` per case of `seed`. `mistakes` is a dict from the name of a mistake to its
    runs. `given_code` is the digest of the given code's source. `given` and `given_code` are None if the exercise has
    no given code.
    """

    seed: str
    solution: Sequence[Run]
    mistakes: Mapping[str, Sequence[Run]]
    given: Sequence[Run] | None = None
    given_code: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "solution": [encode_run(run) for run in self.solution],
            "mistakes": {name: [encode_run(run) for run in runs] for name, runs in self.mistakes.items()},
            "given": None if self.given is None else [encode_run(run) for run in self.given],
            "given_code": self.given_code,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Expected:
        def runs(encoded: Sequence[dict[str, Any]]) -> list[Run]:
            return [decode_run(run) for run in encoded]

        given = data["given"]
        return cls(
            data["seed"],
            runs(data["solution"]),
            {name: runs(encoded) for name, encoded in data["mistakes"].items()},
            None if given is None else runs(given),
            data["given_code"],
        )


def expect(exercise: Exercise, solution: object, seed: str, given: object = None) -> Expected:
    """Observe the solution, every mistake and the given code on the cases of `seed`.

    `given` is the given code's function or class, or None if there is none.
    """
    programs = {name: as_answer(exercise, mistake.program, solution) for name, mistake in exercise.mistakes.items()}
    return Expected(
        seed,
        observe(exercise, solution, seed),
        {name: observe(exercise, program, seed) for name, program in programs.items()},
        None if given is None else observe(exercise, given, seed),
        None if given is None else code_digest(given),
    )


def as_answer(exercise: Exercise, program: Any, solution: Any) -> Any:
    """Return a mistake's program in the form of an answer.

    If the program is a class, return a copy with the name that the exercise asks for. If the program is the dict of
    wrong entries in a table, return the solution's table with these entries.
    """
    if exercise.asks_for == "dict":
        return {**solution, **program}
    return _renamed(program, exercise.asks) if exercise.asks_for == "class" else program


def _renamed(program: type, name: str) -> type:
    """Return a copy of a class under another name.

    A mistake needs the learner's name, because torch's errors contain the name of a custom Function. Python's errors
    contain that of a method.
    """
    body = {
        key: staticmethod(_method_of(name, value.__func__)) if isinstance(value, staticmethod) else value
        for key, value in vars(program).items()
        if key not in ("__dict__", "__weakref__")
    }
    return type(program)(name, program.__bases__, body)


def _method_of(name: str, function: Any) -> Any:
    """Return a copy of a function that is called a method of the class `name`."""
    if not isinstance(function, FunctionType):
        return function
    copied = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copied.__dict__.update(function.__dict__)
    copied.__kwdefaults__, copied.__qualname__ = function.__kwdefaults__, f"{name}.{function.__name__}"
    return copied
