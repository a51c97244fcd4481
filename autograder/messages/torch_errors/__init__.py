"""Explanations of torch's autograd errors and warnings, a table by subject."""

from .entry import PREAMBLE, Explanation
from .scene import Scene
from .table import EXPLANATIONS, explain

__all__ = ["EXPLANATIONS", "PREAMBLE", "Explanation", "Scene", "explain"]
