"""Difficulty and discrimination of exercises, compared with numpy."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.grading.report.item_statistics import item_statistics


def test_numbers_are_those_of_numpy() -> None:
    points = np.random.default_rng(0).integers(0, 5, size=(3, 40)).astype(float)
    earned = {str(item): {str(student): score for student, score in enumerate(row)} for item, row in enumerate(points)}
    found = item_statistics(earned, dict.fromkeys(earned, 4.0))
    for item, row in enumerate(points):
        others = points.sum(axis=0) - row
        assert found[str(item)].difficulty == pytest.approx(row.mean() / 4)
        assert found[str(item)].discrimination == pytest.approx(np.corrcoef(row, others)[0, 1])


def test_few_or_equal_students_have_no_correlation() -> None:
    few = {"a": {str(n): float(n) for n in range(9)}, "b": {str(n): float(n) for n in range(9)}}
    assert item_statistics(few, {"a": 10, "b": 10})["a"].discrimination is None
    equal = {"a": dict.fromkeys(map(str, range(20)), 1.0), "b": {str(n): float(n) for n in range(20)}}
    assert item_statistics(equal, {"a": 1, "b": 20})["a"].discrimination is None
    assert item_statistics(equal, {"a": 1, "b": 20})["a"].difficulty == 1
    assert item_statistics({"a": {}}, {"a": 1}) == {}
