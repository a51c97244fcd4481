"""Words of the command line, in the order in which people write them."""

from __future__ import annotations

import pytest

from autograder.arguments import read_arguments


@pytest.mark.parametrize(
    "words",
    [
        ["report", ".", "--language", "ru", "01_leaf_tensors"],
        ["report", "--language", "ru", ".", "01_leaf_tensors"],
        ["report", ".", "01_leaf_tensors", "--language", "ru"],
        ["return", ".", "--worksheet", "w.csv", "01_leaf_tensors"],
        ["grade", ".", "--force", "source/01_leaf_tensors/"],
    ],
)
def test_an_option_may_stand_before_the_assignment(words: list[str]) -> None:
    assert read_arguments(words).assignment == "01_leaf_tensors"


def test_an_option_may_stand_between_assignments() -> None:
    assert read_arguments(["release", ".", "01_a", "--exchange", "02_b"]).assignments == ["01_a", "02_b"]


@pytest.mark.parametrize(
    "words",
    [
        ["report", ".", "01_leaf_tensors", "--language", "ru", "more"],
        ["report", ".", "--langage", "ru"],
        ["feedback", ".", "--unknown"],
        ["doctor", "more"],
    ],
)
def test_what_no_command_knows_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read_arguments(words)
    assert "unrecognized arguments: " in capsys.readouterr().err
