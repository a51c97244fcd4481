"""`check` and `start` on a device that this machine may lack."""

import pytest
import torch

import autograder
from autograder import exercises, start
from autograder.history import standings, verdicts
from autograder.lessons.execute import run
from autograder.lessons.source import SOURCES, read
from autograder.messages.learners import message

without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="shows what is said where there is no GPU")

SIGNATURE = "def smooth(x, a):\n    rows = [x[0]]\n    for row in x[1:]:\n"
RIGHT = f"{SIGNATURE}        rows.append(a * rows[-1] + (1 - a) * row)\n    return torch.stack(rows)"
ON_CUDA_ALONE = RIGHT.replace("x[0]]", "x[0] + torch.zeros_like(x[0], device='cuda')]")
WRONG_THERE = RIGHT.replace("    rows =", "    assert x.device.type == 'cpu'\n    rows =")


def checked(source, device=None, name="smooth"):
    namespace = {"check": autograder.check, "torch": torch}
    exec(source, namespace)
    exec(f"result = check({name!r}, device={device!r})", namespace)
    return namespace["result"]


@pytest.fixture
def lesson(language):
    start("grad_modes_and_in_place", language=language)
    return language


@without_gpu
@pytest.mark.parametrize("device", ["cuda", "mps", "xpu", torch.device("cuda")], ids=str)
def test_a_device_that_is_not_here_is_pretended_and_the_card_says_so(lesson, device):
    verdict = checked(RIGHT, str(device))
    assert verdict.state == "passed"
    said = message("note.device.pretended", device=str(device)).read(lesson)
    assert said in verdict.text(lesson)


@without_gpu
def test_what_happens_there_is_shown_and_not_recorded(lesson):
    verdict = checked(WRONG_THERE, "cuda")
    assert (verdict.state, verdict.points) == ("not yet", 0)
    assert "AssertionError" in verdict.text(lesson)
    best = standings(verdicts())["smooth"].best  # on the CPU, but for the points of the device
    assert (best.state, best.points) == ("not yet", exercises.load("grad_modes_and_in_place")["smooth"].points - 0.5)


def test_the_answer_must_be_right_on_the_cpu_first(lesson):
    verdict = checked(ON_CUDA_ALONE, "cuda")
    assert verdict.state == "not yet"
    assert message("note.device.later", device="cuda").read(lesson) in verdict.text(lesson)


ON_THE_CPU = RIGHT.replace("return torch.stack(rows)", "return torch.stack(rows) + torch.zeros(len(rows), 1)")


@without_gpu
def test_an_answer_that_fails_on_a_device_alone_is_run_there(lesson):
    """The card without a device says how; the one with it has the error."""
    verdict = checked(ON_THE_CPU)
    assert message("note.device.try", name="smooth").read(lesson) in verdict.text(lesson)
    there = checked(ON_THE_CPU, "cuda").text(lesson)
    assert "Expected all tensors to be on the same device" in there
    assert message("note.device.pretended", device="cuda").read(lesson) in there


def test_an_exercise_about_no_device_says_so(lesson):
    verdict = checked("predict_modes = {}", "cuda", "predict_modes")
    assert message("note.device.none").read(lesson) in verdict.text(lesson)


@pytest.mark.parametrize("device", ["gpu0", "meta", "", 0])
def test_a_bad_name_is_told_what_there_is(lesson, device):
    reply = checked(RIGHT, device) if device else start("grad_modes_and_in_place", language=lesson, device="gpu")
    assert '"cuda"' in str(reply)


@without_gpu
def test_a_whole_notebook_is_checked_on_a_device(language):
    greeting = start("grad_modes_and_in_place", language=language, device="cuda")
    assert message("start.device.pretended", device="cuda").read(language) in str(greeting)
    assert message("note.device.pretended", device="cuda").read(language) in checked(RIGHT).text(language)
    start("grad_modes_and_in_place", language=language)
    assert "cuda" not in checked(RIGHT).text(language)


@pytest.mark.parametrize("name", ["safe_sqrt", "fix_relu", "evaluate", "td_lambda"])
def test_solutions_run_on_a_device(language, name):
    path = next(p for p in SOURCES.glob("[0-9][0-9]_*.py") if name in exercises.load(p.stem[3:]))
    lesson = read(path)
    exercise = exercises.load(lesson.name)[name]
    answer = run(lesson, exercises.load(lesson.name), facts=False).solutions[name]
    start(lesson.name, language=language)
    namespace = {"check": autograder.check, exercise.asks: answer}
    exec(f"result = check({name!r}, device='cuda')", namespace)
    assert namespace["result"].state == "passed"
