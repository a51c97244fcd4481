"""Choices of a multiple-choice question, made from observed values."""

from __future__ import annotations

from fractions import Fraction

import torch

from ....checking.run import Run
from ....checking.values import AtMost
from ....language import Text
from ....messages.report import WORDS

_MOST_COUNTED = 1000  # passes and operations can be counted by hand, bytes cannot
_EXACT = 1e-4  # relative deviation of a fraction
_LARGEST_TERM = 20  # of a fraction that students can derive
_MISSING = object()


def choice_for(run: Run, right: Run, aspect: str, path: tuple[str, ...]) -> Text | None:
    """Return a value in the observation `run` as a choice of a question, or None if no short text can tell it.

    `aspect` and `path` name the value: the aspect, and the keys inside its dict. `right` is the solution's observation.
    Numbers depend on random inputs. They are told relative to the right ones, such as "2 times the right value".
    """
    if run.raised:
        kind = run.raised.parameters.get("type")
        return WORDS["choice_error"].format(kind=kind) if kind else None
    value, wanted = _entry(run, aspect, path), _entry(right, aspect, path)
    if isinstance(value, AtMost):
        return _same(f"{value.used:g}") if value.used == int(value.used) and value.used <= _MOST_COUNTED else None
    if value is None:
        return _same("None")
    if isinstance(value, bool) or isinstance(wanted, bool) or value is _MISSING:
        return None
    return _relative(value, wanted)


def is_telling(choice: Text) -> bool:
    """Return whether a choice says more than "another value"."""
    return choice.en != WORDS["choice_other"].en


def _entry(run: Run, aspect: str, path: tuple[str, ...]) -> object:
    value: object = run.values.get(aspect, _MISSING)
    for key in path:
        value = value.get(key, _MISSING) if isinstance(value, dict) else _MISSING
    return value


def _relative(value: object, wanted: object) -> Text | None:
    """Return a number or tensor as a multiple of the right one, or None if `value` is neither.

    If it is no multiple, the text says so: another shape, NaN, or another value.
    """
    if any(isinstance(each, torch.Tensor) and each.is_complex() for each in (value, wanted)):
        return None
    try:
        mine = torch.as_tensor(value, dtype=torch.float64)
        right = torch.as_tensor(wanted, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        return None
    if mine.shape != right.shape:
        return WORDS["choice_shape"].format(shape=tuple(mine.shape))
    if mine.isnan().any():
        return WORDS["choice_nan"]
    if torch.allclose(mine, right, rtol=1e-5, atol=0):
        return WORDS["choice_right"]
    if not mine.any():
        return _same("0")
    ratios = (mine / right)[right != 0]
    fits = ratios.numel() and bool(ratios.isfinite().all()) and not mine[right == 0].any()
    if fits and torch.allclose(ratios, ratios.mean(), rtol=_EXACT):
        mean = float(ratios.mean())
        factor = Fraction(mean).limit_denominator(_LARGEST_TERM)
        if abs(factor - mean) < _EXACT * abs(factor) and abs(factor.numerator) <= _LARGEST_TERM:
            return WORDS["choice_multiple"].format(factor=str(factor).replace("-", "−"))
    return WORDS["choice_other"]


def _same(text: str) -> Text:
    return Text.same(text)
