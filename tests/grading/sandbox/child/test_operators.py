"""Operators that `torch.library` replaces while a child decides yes or no."""

import subprocess
import sys

import pytest

WAYS = (
    "[lib := torch.library.Library('aten', 'IMPL'), lib.impl('equal', yes, 'CPU')]",
    "[lib := torch.library.Library('at' + 'en', 'IMPL'), lib.impl('allclose', yes, 'CPU')]",
    "torch.library.register_kernel('aten::isclose', 'cpu', yes)",
    "torch.library.impl('aten::all', 'cpu', yes)",
    "[lib := torch._C._dispatch_library('IMPL', 'aten', 'CPU'), lib.impl('eq.Tensor', 'CPU', yes)]",
)


@pytest.mark.parametrize("way", WAYS)
def test_a_replaced_operator_is_named(way: str) -> None:
    code = (
        "import torch\nfrom autograder.grading.sandbox.child.operators import Operators\n"
        "operators, yes = Operators(), lambda *args, **named: True\nassert operators.changed() == []\n"
        f"torch.library.Library('mine', 'DEF').define('two(Tensor x) -> Tensor')\nassert operators.changed() == []\n"
        f"kept = {way}\nassert len(operators.changed()) == 1, operators.changed()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
