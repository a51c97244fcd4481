"""Data sets of the package: what they hold, their sources, where they reach."""

from __future__ import annotations

import torch

from autograder import digits
from autograder.data.handwritten_digits import FILE

PUBLISHED = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]  # pictures of each digit, as UCI counts its test set
LARGEST = 100_000  # bytes


def test_the_digits_are_those_of_uci() -> None:
    pictures, labels = digits()
    assert (pictures.shape, pictures.dtype) == ((1797, 64), torch.float64)
    assert (labels.shape, labels.dtype) == ((1797,), torch.int64)
    assert labels.bincount().tolist() == PUBLISHED
    assert torch.equal((16 * pictures).unique(), torch.arange(17.0, dtype=torch.float64))
    assert FILE.stat().st_size < LARGEST


def test_every_file_has_its_source_and_licence() -> None:
    said = (FILE.parent / "README.md").read_text(encoding="utf-8")
    files = [file.name for file in FILE.parent.iterdir() if file.suffix == ".gz"]
    assert files
    for name in files:
        (line,) = [line for line in said.splitlines() if f"`{name}`" in line]
        assert "https://doi.org/" in line
        assert "CC BY 4.0" in line
