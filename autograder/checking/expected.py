"""Observations of an exercise's solution, mistakes and given code on one seed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .exercise import Exercise
from .observe import code_digest, observe
from .run import Run, decode_run, encode_run
from .values import decode

_SHORT = 24  # characters of JSON that a reference would not shorten


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

    def to_json(self, digits: int = 17) -> dict[str, Any]:
        """Return the observations as JSON data, in which equal values are stored once, in the list "values".

        A mistake's run holds only the values that differ from the solution's, and names those that it lacks. Numbers
        are rounded to `digits` decimal digits; 17 keep a float64 as it is.
        """
        pool = _ValuePool(digits)

        def encoded(runs: Sequence[Run]) -> list[dict[str, Any]]:
            found = [encode_run(run) for run in runs]
            for values in (run["values"] for run in found if "values" in run):
                values.update({name: pool.put(value) for name, value in values.items()})
            return found

        solution = encoded(self.solution)
        return {
            "seed": self.seed,
            "solution": solution,
            "mistakes": {name: _differing(encoded(runs), solution) for name, runs in self.mistakes.items()},
            "given": None if self.given is None else encoded(self.given),
            "given_code": self.given_code,
            "values": pool.values,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Expected:
        """Return the observations that `to_json` encoded.

        Raises LookupError, TypeError or ValueError for other data.
        """
        pool: list[Any] = []
        for value in data["values"]:
            pool.append(decode(value, pool))

        def runs(encoded: Sequence[dict[str, Any]]) -> list[Run]:
            return [decode_run(run, pool) for run in encoded]

        given, solution = data["given"], runs(data["solution"])
        return cls(
            data["seed"],
            solution,
            {name: _completed(runs(encoded), encoded, solution) for name, encoded in data["mistakes"].items()},
            None if given is None else runs(given),
            data["given_code"],
        )


def _differing(found: list[dict[str, Any]], solution: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a mistake's encoded runs without the values that the solution shows, too."""
    for run, right in zip(found, solution):
        if "values" in run:
            values, expected = run["values"], right.get("values", {})
            run["lacks"] = [name for name in expected if name not in values]
            shown = {name: json.dumps(value) for name, value in expected.items()}  # 1 is not True there
            run["values"] = {name: value for name, value in values.items() if json.dumps(value) != shown.get(name)}
    return found


def _completed(runs: list[Run], encoded: Sequence[dict[str, Any]], solution: list[Run]) -> list[Run]:
    """Return a mistake's runs with the values that only the solution's runs hold.

    A run that names nothing it lacks is whole.
    """
    found = []
    for run, data, right in zip(runs, encoded, solution):
        if "lacks" in data:
            taken = {name: value for name, value in right.values.items() if name not in data["lacks"]}
            run = replace(run, values=taken | run.values)
        found.append(run)
    return found


def expect(
    exercise: Exercise, solution: object, mistakes: Mapping[str, object], seed: str, given: object = None
) -> Expected:
    """Observe the solution, every mistake and the given code on the cases of `seed`.

    `mistakes` is a dict from name to answer. `given` is the given code's function or class, or None if there is none.
    """
    return Expected(
        seed,
        observe(exercise, solution, seed),
        {name: observe(exercise, program, seed) for name, program in mistakes.items()},
        None if given is None else observe(exercise, given, seed),
        None if given is None else code_digest(given),
    )


class _ValuePool:
    """The distinct tensors, lists and dicts among encoded values.

    `values` is a list of JSON data, in which an entry refers only to earlier entries.
    """

    def __init__(self, digits: int) -> None:
        self.values: list[Any] = []
        self._digits = digits
        self._numbers: dict[str, int] = {}

    def put(self, data: Any) -> Any:
        """Return encoded data with `{"@": NUMBER}` in place of its tensors, lists and dicts.

        `values.decode` reads the result.
        """
        match data:
            case {"dict": items}:
                data = {"names": self.put([*items]), "items": [self.put(item) for item in items.values()]}
            case list():
                data = [self.put(item) for item in data]
            case {"of": of}:
                return {**data, "of": self.put(of)}
            case {"tensor": numbers}:
                data = {**data, "tensor": [self._rounded(number) for number in numbers]}
            case float():
                return self._rounded(data)
            case _:
                return data
        text = json.dumps(data)
        if len(text) <= _SHORT:
            return data
        if text not in self._numbers:
            self._numbers[text] = len(self.values)
            self.values.append(data)
        return {"@": self._numbers[text]}

    def _rounded(self, number: Any) -> Any:
        return float(f"{number:.{self._digits}g}") if isinstance(number, float) else number
