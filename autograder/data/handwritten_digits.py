"""The handwritten digits of the UCI repository: 1,797 small pictures.

E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, 1998, https://doi.org/10.24432/C50P49. Licence:
CC BY 4.0. The file is scikit-learn's copy of the test set: 64 pixels and the digit in each line.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

FILE = Path(__file__).with_name("uci_digits.csv.gz")
INK = 16  # of a pixel that is all ink


def digits() -> tuple[Tensor, Tensor]:
    """Return the pictures, float64 from 0 to 1 of shape (1797, 64), and the digits that they show, int64."""
    import numpy

    rows = torch.from_numpy(numpy.loadtxt(FILE, dtype=numpy.int64, delimiter=","))
    return rows[:, :-1].double() / INK, rows[:, -1]
