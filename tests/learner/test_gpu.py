"""The sections about GPUs: measured here, recorded elsewhere, or unknown."""

import json
import subprocess
import sys

import pytest
import torch

from autograder import on_gpu, start
from autograder.learner import gpu
from autograder.lessons.source import REPOSITORY

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


@needs_gpu
def test_a_gpu_measures_what_every_lesson_asks_of_it(tmp_path):
    script = "import sys, pathlib, record_cuda; record_cuda.RECORDINGS = pathlib.Path(sys.argv[1]); record_cuda.main()"
    subprocess.run([sys.executable, "-c", script, tmp_path], cwd=RECORD.parent, check=True)
    recordings = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.glob("*.json")}
    assert len(recordings) >= 6
    for recording in recordings.values():
        assert recording["device"] == torch.cuda.get_device_name()
        assert all(value >= 0 for value in recording["measured"].values())
