"""The sections about GPUs: measured here, recorded elsewhere, or unknown."""

import json
import subprocess
import sys
from contextlib import contextmanager
from unittest import mock

import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.overrides import TorchFunctionMode

import autograder
from autograder import exercises, on_gpu, start
from autograder.lessons import gpu_recordings
from autograder.lessons.execute import run
from autograder.lessons.gpu_recordings import check_claims
from autograder.lessons.source import REPOSITORY, SOURCES, read
from autograder.measure import live_bytes
from support.pretended_cuda import CUDA_FUNCTIONS, pretended_cuda

RECORD = REPOSITORY / "benchmarks" / "record_cuda.py"

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that torch can use")
without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="shows what is said where there is no GPU")


def peaks():
    raise AssertionError("measured although there is no GPU")


@without_gpu
def test_a_recording_is_shown_with_its_device_and_torch_version(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_recordings, "RECORDINGS", tmp_path)
    start("saved_tensors", language="ru")
    assert "сказано выше" in repr(on_gpu(peaks))
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
        with pytest.raises(RuntimeError, match="found at least two devices, cuda:0 and cpu"):
            there + torch.ones(2)
        assert {(there * torch.tensor(2.0)).device, torch.zeros(2, device=there.device).device} == {there.device}
        here = torch.ones(2, requires_grad=True)
        layer(here.cuda()).sum().backward()
        torch.optim.Adam(layer.parameters()).step()
        assert (here.grad.device.type, layer.weight.grad.device) == ("cpu", there.device)
        assert (here.cuda().is_leaf, there.cpu().device.type, there.sum().item()) == (False, "cpu", 2)


@without_gpu
def test_statements_are_compared_with_the_recording(tmp_path, monkeypatch):
    def claims(measured):
        return {"it grows": measured["now"] > measured["before"], "it is a leaf": measured["leaf"]}

    monkeypatch.setattr(gpu_recordings, "RECORDINGS", tmp_path)
    check_claims(peaks, claims)
    recording = {"device": "Some GPU", "torch": "2.13.0", "measured": {"before": 1, "now": 2, "leaf": True}}
    (tmp_path / "peaks.json").write_text(json.dumps(recording), encoding="utf-8")
    check_claims(peaks, claims)
    recording["measured"]["leaf"] = False
    (tmp_path / "peaks.json").write_text(json.dumps(recording), encoding="utf-8")
    with pytest.raises(AssertionError, match=r"peaks shows that these are false: \['it is a leaf'\]"):
        check_claims(peaks, claims)


class OnTheCpu(TorchFunctionMode):
    """A mode that puts on the CPU what is meant for a GPU. Copies are freed as they are on a GPU."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.Tensor.cuda:
            return args[0].clone()
        return func(*args, **{**(kwargs or {}), **({"device": "cpu"} if "device" in (kwargs or {}) else {})})


def peak_on_the_cpu(work):
    work()
    with live_bytes() as counted:
        work()
        return counted.peak


@contextmanager
def saved_outside_torch(pin_memory):
    """Keep saved tensors where `live_bytes` does not count them, as `save_on_cpu` does on a machine with a GPU."""
    with saved_tensors_hooks(lambda tensor: tensor.detach().numpy().copy(), lambda a: torch.from_numpy(a).clone()):
        yield


@without_gpu
@pytest.mark.nightly(twin="tests/learner/test_gpu.py::test_statements_are_compared_with_the_recording")
def test_what_lessons_say_of_a_gpu_is_tried_as_far_as_a_cpu_can(monkeypatch):
    """Cells run on a pretended device, and their statements are compared with what the CPU's allocator counts."""
    said = {}

    def pretend(measure):
        with pretended_cuda():
            measure()

    def compare(measure, claims):
        cuda = mock.patch.multiple("torch.cuda", **CUDA_FUNCTIONS)
        with cuda, mock.patch("torch.autograd.graph.save_on_cpu", saved_outside_torch), OnTheCpu():
            said.update({(measure.__name__, statement): holds for statement, holds in claims(measure()).items()})

    monkeypatch.setattr(autograder, "on_gpu", pretend)
    monkeypatch.setattr(autograder, "gpu_peak", peak_on_the_cpu)
    monkeypatch.setattr(gpu_recordings, "check_claims", compare)
    for path in sorted(SOURCES.glob("[0-9][0-9]_*.py")):
        lesson = read(path)
        if any("on_gpu(" in cell.source for cell in lesson.cells):
            run(lesson, exercises.load(lesson.name))
    assert len({measure for measure, _ in said}) >= 11
    threads = {(measure, "a hook runs in another thread") for measure in ("hooks_on_gpu", "engine_on_gpu")}
    assert {statement for statement, holds in said.items() if not holds} == threads  # a CPU has no thread of its own


@needs_gpu
def test_a_gpu_measures_what_every_lesson_asks_of_it(tmp_path):
    script = "import sys, pathlib, record_cuda; record_cuda.RECORDINGS = pathlib.Path(sys.argv[1]); record_cuda.main()"
    subprocess.run([sys.executable, "-c", script, tmp_path], cwd=RECORD.parent, check=True)
    recordings = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.glob("*.json")}
    assert len(recordings) >= 6
    for recording in recordings.values():
        assert recording["device"] == torch.cuda.get_device_name()
        assert all(value >= 0 for value in recording["measured"].values())
