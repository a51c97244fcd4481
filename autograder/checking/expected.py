"""Reference runs of solution, mistakes and given code on one seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .exercise import Exercise
from .observe import Run, code_digest, decode_run, encode_run, observe


@dataclass(frozen=True)
class Expected:
    """Reference observations of one exercise on the cases of one seed.

    `given` holds the runs of the code that the notebook starts from, and `given_code` its `code_digest`. Both are None
    if there is none.
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
    """Observe the solution, every mistake and the given code (None: there is none) on the cases of `seed`."""
    programs = {name: as_answer(exercise, mistake.program, solution) for name, mistake in exercise.mistakes.items()}
    return Expected(
        seed,
        observe(exercise, solution, seed),
        {name: observe(exercise, program, seed) for name, program in programs.items()},
        None if given is None else observe(exercise, given, seed),
        None if given is None else code_digest(given),
    )


def as_answer(exercise: Exercise, program: Any, solution: Any) -> Any:
    """Return a mistake as an answer.

    A class gets the learner's name, and a table is the solution's with the wrong entries.
    """
    if exercise.asks_for == "dict":
        return {**solution, **program}
    return _renamed(program, exercise.asks) if exercise.asks_for == "class" else program


def _renamed(program: type, name: str) -> type:
    """Return a copy of a class under another name: torch's errors name a Function's node after its class."""
    body = {key: value for key, value in vars(program).items() if key not in ("__dict__", "__weakref__")}
    return type(program)(name, program.__bases__, body)
