"""Comparison of observed values with expected ones."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import torch

from .values import RTOL, AtMost, describe, outline, rounded

_ERROR = re.compile(r"(?P<type>\w+(Error|Exception))(: (?P<message>.*))?", re.DOTALL)  # caught by a probe, as text
_NUMBERED = re.compile(r"(?<=[A-Za-z_])\d+|(?<=version )\d+")  # in a name, or the count of all edits of a tensor
# torch 2.15 writes `mm: mat1 and mat2 ...`, earlier ones `mat1 and mat2 ...`; a learner's function has any name
_OPERATION = re.compile(r"\A(\w+: |[\w.<>]+(?=\(\) got an unexpected keyword argument))")


@dataclass(frozen=True)
class Difference:
    """A difference between an observed and an expected value.

    `id` is the id of a sentence that describes the difference, `parameters` are the sentence's parameters.
    """

    id: str
    parameters: dict[str, object]


def compare(expected: Any, got: Any, *, what: str = "", rtol: float = RTOL, reveal: bool = False) -> Difference | None:
    """Return None if `got` equals `expected` within the tolerance, else the difference.

    The difference holds expected numbers only if `reveal` is true. Tensors must agree in shape, dtype and every entry.
    The tolerance is `rtol` times the expected tensor's largest magnitude. NaN equals only NaN. An int may replace a
    float. An `AtMost` is right if its `used` is at most the *expected* limit and its `of` is right. `what` is the
    position of the value in a list or dict, such as `grads[0]`, or empty.
    """
    if isinstance(expected, AtMost):
        if not isinstance(got, AtMost):
            return Difference("differs.value", {"what": _at(what), "got": describe(got)})
        if got.used > expected.limit:
            used, limit = rounded(got.used), rounded(expected.limit)
            return Difference("differs.budget", {"what": _at(what), "used": used, "limit": limit})
        if compare(expected.of, got.of, rtol=rtol) is None:
            return None
        return Difference("differs.counted_run", {"what": _at(what)})
    if _is_error(got) and not isinstance(expected, str):
        wanted = "kind.result" if isinstance(expected, (list, dict)) else _wanted(expected, reveal)
        wanted = "kind.no_error" if expected is None else wanted
        return Difference("differs.raised", {"what": _at(what), "got": got, "expected": wanted})
    if isinstance(expected, torch.Tensor):
        if not isinstance(got, torch.Tensor):
            return Difference("differs.kind", {"what": _at(what), "got": describe(got), "expected": "kind.tensor"})
        return _compare_tensors(expected, got, what, rtol, reveal)
    if isinstance(expected, (list, dict)):
        if type(got) is not type(expected):
            return Difference(
                "differs.kind", {"what": _at(what), "got": describe(got), "expected": _wanted(expected, reveal)}
            )
        return _compare_items(expected, got, what, rtol, reveal)
    if _same_scalar(expected, got, rtol):
        return None
    if expected is None:
        return Difference("differs.kind", {"what": _at(what), "got": describe(got), "expected": "None"})
    return _value(expected, got, what, reveal)


def _value(expected: Any, got: Any, what: str, reveal: bool) -> Difference:
    """Return the difference between two plain values.

    A bool's expected value is never revealed: it is evident.
    """
    said: dict[str, object] = {"what": _at(what), "got": describe(got)}
    if reveal and _is_error(expected) and not isinstance(got, str):
        return Difference("differs.not_raised", {**said, "expected": expected})
    if reveal and not isinstance(expected, bool):
        return Difference("differs.value.expected", {**said, **_told_apart(got, expected)})
    return Difference("differs.value", said)


def _wanted(expected: Any, reveal: bool) -> str:
    """Return a text for an expected value, or the id of a sentence about its kind."""
    if isinstance(expected, torch.Tensor):
        return "kind.tensor"
    return describe(expected) if reveal else outline(expected)


def _is_error(value: object) -> bool:
    """Return whether `value` is the name of an exception, alone or with its message."""
    return isinstance(value, str) and _ERROR.fullmatch(value) is not None


def same_message(mine: str, theirs: str) -> bool:
    """Return whether two messages of an error are the same but for numbered names and torch's version.

    Other numbers tell causes apart: "expected 3 gradients, got 2" is not "got 1".
    A newer version may put an operation's name in front (`mm: ...`) or add something (`..., got 1-D tensor`).
    """
    short, long = sorted((_OPERATION.sub("", _NUMBERED.sub("#", each)) for each in (mine, theirs)), key=len)
    return long.startswith(short) if short else not long


def _same_error(expected: str, got: str) -> bool:
    mine, theirs = _ERROR.fullmatch(expected), _ERROR.fullmatch(got)
    if mine is None or theirs is None or mine["type"] != theirs["type"]:
        return False
    return same_message(mine["message"] or "", theirs["message"] or "")


def _told_apart(got: Any, expected: Any) -> dict[str, object]:
    """Return texts of two values, with as many digits as are needed to tell two numbers apart."""
    texts = describe(got), describe(expected)
    if isinstance(got, float) and isinstance(expected, float):
        pairs = ((f"{got:.{digits}g}", f"{expected:.{digits}g}") for digits in range(6, 18))
        texts = next((pair for pair in pairs if pair[0] != pair[1]), texts)
    return {"got": texts[0], "expected": texts[1]}


def _at(path: str) -> str:
    """Return the start of a sentence that names a position in a list or dict, or "" for the whole value."""
    return f"`{path}`: " if path else ""


def _compare_tensors(
    expected: torch.Tensor, got: torch.Tensor, what: str, rtol: float, reveal: bool
) -> Difference | None:
    if expected.shape != got.shape:
        return Difference(
            "differs.shape", {"what": _at(what), "got": tuple(got.shape), "expected": tuple(expected.shape)}
        )
    if expected.dtype != got.dtype:
        return Difference("differs.dtype", {"what": _at(what), "got": str(got.dtype), "expected": str(expected.dtype)})
    if torch.equal(expected, got) or _clearly_close(expected, got, rtol):  # in 8 instead of 60 µs
        return None
    if expected.dtype.is_floating_point or expected.dtype.is_complex:
        finite = expected[torch.isfinite(expected)]
        largest = finite.abs().max().item() if finite.numel() else 0.0
        close = torch.isclose(got, expected, rtol=rtol, atol=rtol * largest, equal_nan=True)
    else:
        close = got == expected
    if bool(close.all()):
        return None
    if got.numel() == 1:
        return _value(expected.flatten()[0].item(), got.flatten()[0].item(), what, reveal)
    wrong = (~close).nonzero()
    index = tuple(wrong[0].tolist())
    said = {
        "what": _at(what),
        "count": len(wrong),
        "total": got.numel(),
        "index": list(index),
        "got": describe(got[index].item()),
    }
    if reveal:
        return Difference("differs.entry.expected", {**said, **_told_apart(got[index].item(), expected[index].item())})
    return Difference("differs.entry", said)


def _clearly_close(expected: torch.Tensor, got: torch.Tensor, rtol: float) -> bool:
    """Return whether two tensors of one shape and dtype agree, by their largest difference.

    False may also mean that there are NaN or infinite entries, or that the difference is near the tolerance.
    """
    if not expected.dtype.is_floating_point or not expected.numel():
        return False
    largest: float = torch.linalg.vector_norm(expected, torch.inf).item()
    difference: float = torch.dist(expected, got, torch.inf).item()
    return difference <= rtol * largest < torch.inf


def _compare_items(expected: Any, got: Any, what: str, rtol: float, reveal: bool) -> Difference | None:
    if isinstance(expected, dict):
        if expected.keys() != got.keys():
            return Difference("differs.keys", {"what": _at(what), "got": _names(got), "expected": _names(expected)})
        pairs = [(f"{what}[{key!r}]" if what else key, expected[key], got[key]) for key in expected]
    else:
        if len(expected) != len(got):
            return Difference("differs.length", {"what": _at(what), "got": len(got), "expected": len(expected)})
        pairs = [(f"{what}[{i}]", a, b) for i, (a, b) in enumerate(zip(expected, got))]
    return next((d for name, a, b in pairs if (d := compare(a, b, what=name, rtol=rtol, reveal=reveal))), None)


def _names(table: dict[str, Any]) -> str:
    return ", ".join(f"`{name}`" for name in table)


def _same_scalar(expected: Any, got: Any, rtol: float) -> bool:
    if isinstance(expected, str) and isinstance(got, str):
        return expected == got or _same_error(expected, got)
    numbers = [type(v) in (int, float) for v in (expected, got)]
    if not all(numbers):
        return type(expected) is type(got) and bool(expected == got)
    if math.isnan(expected) or math.isnan(got):
        return math.isnan(expected) and math.isnan(got)
    return math.isclose(expected, got, rel_tol=rtol, abs_tol=1e-12)
