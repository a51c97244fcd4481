"""The sections about GPUs: measured here, recorded elsewhere, or unknown."""

import json
import subprocess
import sys

import pytest
import torch

import autograder
from autograder import exercises, on_gpu, start
from autograder.learner import gpu
from autograder.lessons.execute import run
from autograder.lessons.source import REPOSITORY, SOURCES, read
from support.pretended_cuda import pretended_cuda

RECORD = REPOSITORY / "benchmarks" / "record_cuda.py"

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that torch can use")
without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="shows what is said where there is no GPU")


def peaks():
    raise AssertionError("measured although there is no GPU")


@without_gpu
def test_a_recording_is_shown_with_its_device_and_torch_version(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu, "RECORDINGS", tmp_path)
    start("saved_tensors", language="ru")
    assert "никто не записал" in repr(on_gpu(peaks))
    recording = {
        "device": "Some GPU",
        "torch": "2.13.0+cu130",
        "measured": {"peak bytes, plain": 4194304, "leaf": False},
    }
    (tmp_path / "peaks.json").write_text(json.dumps(recording), encoding="utf-8")
    lines = repr(on_gpu(peaks)).splitlines()
    assert lines[0] == "Здесь нет GPU. Записано на Some GPU с torch 2.13.0+cu130:"
    assert [line.split() for line in lines[2:]] == [["peak", "bytes,", "plain", "4", "194", "304"], ["leaf", "False"]]


@without_gpu
def test_without_a_gpu_nothing_is_recorded():
    ended = subprocess.run([sys.executable, RECORD], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "nothing was recorded" in ended.stderr


@without_gpu
def test_a_pretended_gpu_refuses_mixtures_and_sends_gradients_back():
    with pretended_cuda():
        there, layer = torch.ones(2, device="cuda"), torch.nn.Linear(2, 3).cuda()
        with pytest.raises(RuntimeError, match="found at least two devices, cpu and cuda:0"):
            there + torch.ones(2)
        assert {(there * torch.tensor(2.0)).device, torch.zeros(2, device=there.device).device} == {there.device}
        here = torch.ones(2, requires_grad=True)
        layer(here.cuda()).sum().backward()
        torch.optim.Adam(layer.parameters()).step()
        assert (here.grad.device.type, layer.weight.grad.device) == ("cpu", there.device)
        assert (here.cuda().is_leaf, there.cpu().device.type, there.sum().item()) == (False, "cpu", 2)


@without_gpu
@pytest.mark.nightly(twin="tests/learner/test_gpu.py::test_a_pretended_gpu_refuses_mixtures_and_sends_gradients_back")
def test_what_lessons_ask_of_a_gpu_runs_on_a_pretended_one(monkeypatch):
    found = {}

    def pretend(measure):
        with pretended_cuda():
            found[measure.__name__] = measure()

    monkeypatch.setattr(autograder, "on_gpu", pretend)
    for path in sorted(SOURCES.glob("[0-9][0-9]_*.py")):
        lesson = read(path)
        if any("on_gpu(" in cell.source for cell in lesson.cells):
            run(lesson, exercises.load(lesson.name))
    assert len(found) >= 11
    assert found["leaf_on_gpu"]["is a leaf: .cuda() after the flag"] is False


@needs_gpu
def test_a_gpu_measures_what_every_lesson_asks_of_it(tmp_path):
    script = "import sys, pathlib, record_cuda; record_cuda.RECORDINGS = pathlib.Path(sys.argv[1]); record_cuda.main()"
    subprocess.run([sys.executable, "-c", script, tmp_path], cwd=RECORD.parent, check=True)
    recordings = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.glob("*.json")}
    assert len(recordings) >= 6
    for recording in recordings.values():
        assert recording["device"] == torch.cuda.get_device_name()
        assert all(value >= 0 for value in recording["measured"].values())
