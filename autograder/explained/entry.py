"""One explanation of the table: pattern, smallest program, cause and cure."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from ..language import Text
from .scene.frames import Scene

Judge = Callable[[Scene], bool]

# The imports that stand before every program of the table.
PREAMBLE = """
import copy, math
import numpy as np
import torch
from torch import nn
from torch.autograd import forward_ad, functional, gradcheck, graph
from torch.autograd.function import once_differentiable
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
"""


@dataclass(frozen=True)
class Explanation:
    """An explanation of a torch error or warning.

    `pattern` matches its text. `program` is a small program that raises it, below the imports of `PREAMBLE`; it is ""
    where the error needs a GPU. `says` names cause and cure. `lesson` is the lesson on the subject, and `exercise` an
    exercise there.

    A text such as "element 0 of tensors does not require grad" has many causes. An entry with `shows` is about one of
    them: it explains the error only where `shows` finds this cause in the scene. An entry with `fits` is left out
    where `fits` is False: the text is Python's own, and the scene has nothing to do with gradients.

    `met` is the error as people meet it, where no program shows it here: on a GPU, or where torch may hang.

    `named` is a sentence about what the text names: its placeholders are groups of `pattern`. `says` begins with it
    where these groups match.
    """

    name: str
    lesson: str
    pattern: re.Pattern[str]
    program: str
    says: Text
    exercise: str
    shows: Judge | None
    fits: Judge | None
    met: str
    named: Text | None

    def of(self, error: str) -> Explanation:
        """Return the explanation with what this text of an error names."""
        found = self.pattern.search(error) if self.named else None
        if not (self.named and found and all(found.groupdict().values())):
            return self
        first = self.named.format(**found.groupdict())
        return replace(self, says=Text(f"{first.en} {self.says.en}", f"{first.ru} {self.says.ru}"))


def entry(
    name: str,
    lesson: str,
    pattern: str,
    program: str,
    en: str,
    ru: str,
    *,
    exercise: str,
    shows: Judge | None = None,
    fits: Judge | None = None,
    met: str = "",
    named: tuple[str, str] | None = None,
) -> Explanation:
    """Return an entry of the table. The indentation of `program` is removed."""
    says = Text(en, ru)
    code = inspect.cleandoc(program)
    first = Text(*named) if named else None
    return Explanation(name, lesson, re.compile(pattern), code, says, exercise, shows, fits, met, first)
