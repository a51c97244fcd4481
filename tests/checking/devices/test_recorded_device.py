"""The pretended device, compared with what an H100 did: see record.py."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.checking.devices.pretended_device import pretended_device
from support.gpu_programs import MIXTURES, outcome

pytestmark = pytest.mark.long(15)

HERE = Path(__file__).parent
RECORDED = json.loads((HERE / "recorded.json").read_text(encoding="utf-8"))
TOO_STRICT = {  # some of their mixtures are refused that a GPU takes
    "_unsafe_masked_index",
    "nn.functional.bilinear",
    "nn.functional.binary_cross_entropy_with_logits",
    "nn.functional.ctc_loss",
    "nn.functional.soft_margin_loss",
}
TOO_LENIENT = {  # a single number on the CPU is taken that a GPU refuses
    "equal",
    "index_fill",
    "inner",
    "logical_and",
    "logical_or",
    "logical_xor",
    "masked_fill",
    "nn.functional.cosine_similarity",
}
NOWHERE = {"linalg.matrix_rank"}  # torch computes the result from its own numbers


@pytest.mark.parametrize("name", MIXTURES)
def test_a_program_ends_as_on_a_gpu(name: str) -> None:
    recorded = RECORDED["programs"][name]
    with pretended_device("cuda"):
        found = outcome(MIXTURES[name])
    assert (found is None) == (recorded is None), found
    if found and not recorded[1].startswith(WORDED_ELSEWHERE):
        assert found == recorded


# cuBLAS, cuDNN and some kernels word it in other ways: the pretended device has one text for all of them.
WORDED_ELSEWHERE = (
    "Expected all tensors to be on the same device, but got",
    "Input type",
    "Input and",
    "expected self and mask",
)


@pytest.mark.parametrize(
    ("stride", "least"),
    [
        pytest.param(16, 200, id="some"),
        pytest.param(
            1,
            4000,
            id="all",
            marks=pytest.mark.nightly(
                twin="tests/checking/devices/test_recorded_device.py::test_an_operation_takes_and_refuses_what_a_gpu_does"
            ),
        ),
    ],
)
def test_an_operation_takes_and_refuses_what_a_gpu_does(stride: int, least: int) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, HERE / "operations.py", str(stride)]
    ran = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
    became = dict(map(json.loads, ran.stdout.splitlines()))
    both = became.keys() & RECORDED["operations"].keys()  # another torch has some other samples
    assert len(both) >= least
    odd: dict[str, set[str]] = {}
    for mixture in both:
        pretended, real = became[mixture], RECORDED["operations"][mixture]
        if pretended != real:
            kind = "strict" if pretended == "refused" else "lenient" if real == "refused" else "elsewhere"
            odd.setdefault(kind, set()).add(re.split(r"\.\w*\[", mixture)[0])
    assert odd.get("strict", set()) <= TOO_STRICT
    assert odd.get("lenient", set()) <= TOO_LENIENT
    assert odd.get("elsewhere", set()) <= NOWHERE
