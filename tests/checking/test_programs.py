"""Programs that a learner's test is tried on, as cells."""

import pytest

from autograder.cells import BrokenSource
from autograder.checking.inputs import Programs


def test_cells_are_programs_and_share_the_cells_without_attribute():
    text = """# %%
HALF = 0.5
# %% right="once"
def f(x):
    "A docstring that would give the program away."
    return HALF * x
# %% wrong="catches_twice"
def helper(x):
    return x * HALF
def f(x):
    return helper(helper(x))
"""
    programs = Programs.from_text(text)
    assert [program(8) for program in programs.right] == [4]
    assert {name: program(8) for name, program in programs.wrong.items()} == {"catches_twice": 2}
    assert programs.right[0].__doc__ is None


@pytest.mark.parametrize("end", ["x = 1", "", "# only a comment"])
def test_a_cell_that_does_not_end_with_a_definition_is_told(end):
    with pytest.raises(BrokenSource, match=r"<programs>:1: a program is the last definition of its cell"):
        Programs.from_text(f'# %% right="a"\n{end}\n')
