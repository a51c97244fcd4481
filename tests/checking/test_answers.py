"""Answers: right, wrong in foreseen and other ways, and bad input."""

import linecache
import os
import re
import sys
import warnings

import pytest
import torch

import autograder
from autograder.checking.verdict import Verdict
from autograder.exercises import sentence_for
from autograder.learner import commands as notebook
from support.check import NAME, check, raises, right
from support.exercises import program


def test_a_right_answer_gets_all_points(language):
    verdict = check(right)
    assert (verdict.state, repr(verdict)) == ("passed", "4")
    assert ("верно" if language == "ru" else "passed") in verdict._repr_html_()


def test_a_mistake_is_named_in_the_learners_language(language, exercises):
    verdict = check(program(exercises[NAME], "divides_by_count"))
    assert (verdict.state, repr(verdict), verdict.mistake) == ("not yet", "0", "divides_by_count")
    label = {"en": "Looks like", "ru": "Похоже на ошибку"}[language]
    assert f"{label}: {sentence_for(exercises[NAME], verdict.mistake).read(language)}" in verdict.text(language)
    assert 'case = reproduce("accumulate_uneven")' in verdict.text(language)


def test_a_wrong_answer_that_nobody_foresaw_is_not_guessed_at(language):
    def half(model, batches):
        right(model, batches)
        model.weight.grad /= 3.7

    verdict = check(half)
    assert (verdict.state, verdict.mistake) == ("not yet", None)
    assert "Looks like" not in verdict.text("en")


def warns(model, batches):
    warnings.warn("mind the <gap>", UserWarning, stacklevel=1)
    right(model, batches)


def writes_to_stderr_from_c(model, batches):
    os.write(2, b"[W NNPACK.cpp:51] Could not initialize NNPACK!\n")
    right(model, batches)


def prints_ten_megabytes(model, batches):
    for _ in range(10):
        print("x" * 1024 * 1024)
    right(model, batches)


def edits_its_inputs(model, batches):
    right(model, batches)
    batches[0][0].mul_(2)


def leaves_grad_mode_off(model, batches):
    right(model, batches)
    torch.set_grad_enabled(False)


def leaves_the_default_dtype(model, batches):
    right(model, batches)
    torch.set_default_dtype(torch.float64)


def gives_nan(model, batches):
    right(model, batches)
    model.weight.grad *= float("nan")


def gives_another_shape(model, batches):
    right(model, batches)
    model.weight = torch.nn.Parameter(torch.ones(2, 2))
    model.weight.grad = torch.ones(2, 2)


def gives_another_dtype(model, batches):
    right(model, batches)
    gradient = model.weight.grad.float()
    model.weight = torch.nn.Parameter(model.weight.float())
    model.weight.grad = gradient


def gives_another_device(model, batches):
    model.weight = torch.nn.Parameter(model.weight.to("meta"))
    model.weight.grad = torch.ones_like(model.weight)


def exits(model, batches):
    sys.exit(0)


def asks_meta_for_numbers(model, batches):
    torch.ones(2, device="meta").tolist()


def takes_too_much(model, batches, optimizer):
    pass


def returns_an_endless_generator(model, batches):
    while True:
        yield model


@pytest.mark.parametrize(
    ("answer", "state", "says"),
    [
        (raises, "not yet", "KeyError"),
        (warns, "passed", "mind the <gap>"),
        (writes_to_stderr_from_c, "passed", "NNPACK"),
        (prints_ten_megabytes, "passed", "xxx …"),
        (edits_its_inputs, "not yet", "`batches`"),
        (leaves_grad_mode_off, "not yet", ""),
        (leaves_the_default_dtype, "not yet", "torch.float64"),
        (gives_nan, "not yet", "nan"),
        (gives_another_shape, "not yet", "(2, 2)"),
        (gives_another_dtype, "not yet", "torch.float32"),
        (gives_another_device, "not yet", "meta"),
        (exits, "not yet", "SystemExit"),
        (asks_meta_for_numbers, "not yet", "NotImplementedError: Cannot copy out of meta tensor"),
        (takes_too_much, "not yet", "optimizer"),
        (returns_an_endless_generator, "not yet", ".grad"),
        ("a word", "not yet", "a word"),
        (None, "not yet", "None"),
    ],
)
def test_bad_input_gets_a_card(answer, state, says, language, capfd):
    verdict = check(answer)
    assert isinstance(verdict, Verdict)
    assert verdict.state == state
    assert says in verdict.text(language)
    page = verdict._repr_html_()
    assert "<script" not in page
    assert "Traceback" not in page
    assert capfd.readouterr() == ("", "")  # any stderr in a graded cell is zero points
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() == torch.float32


def test_a_learners_error_shows_the_learners_line(language):
    namespace = {"check": autograder.check}
    source = f"def {NAME}(model, batches):\n    total = 0\n    return batches[0].undefined\nresult = check({NAME!r})"

    linecache.cache["cell"] = (len(source), None, source.splitlines(keepends=True), "cell")
    exec(compile(source, "cell", "exec"), namespace)
    text = namespace["result"].text(language)
    assert "AttributeError: 'tuple' object has no attribute 'undefined'" in text
    assert "return batches[0].undefined" in text
    assert re.search(r"(line|строке) 3:", text)


def test_a_table_with_entries_missing_or_too_many_is_not_guessed_at(language):
    notebook.start("first_gradient", language=language)
    right = {"x.grad": 4.5, "y.grad": 4.5, "z.grad": 0.25, "out.grad": 1}
    for table, state, says in [
        ({"x.grad": 4.5}, "not attempted", "`y.grad`, `z.grad`, `out.grad`"),
        ({**right, "grad": 1, "out.grad": ...}, "not attempted", "`out.grad`"),
        ({"x.grad": 4.5, "x": 1}, "not attempted", {"en": "`x` is no entry", "ru": "Строки `x`"}[language]),
        ({**right, "w.grad": 1}, "not yet", "`w.grad`"),
        ({name: torch.tensor(value) for name, value in right.items()}, "passed", ""),
    ]:
        verdict = check(table, "predict_chain")
        assert (verdict.state, verdict.mistake) == (state, None)
        assert says in verdict.text(language)


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


class ExpThatRaises(Exp):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.undefined


def test_a_class_is_an_answer_too(language):
    notebook.start("custom_functions", language=language)

    def checked(answer):
        namespace = {"Exp": answer, "check": autograder.check}
        exec("result = check('exp_function')", namespace)
        return namespace["result"]

    assert checked(Exp).state == "passed"
    function = checked(lambda x: x.exp())
    assert function.state == "not yet"
    assert {"en": "a class", "ru": "класс"}[language] in function.text(language)
    raised = checked(ExpThatRaises)
    assert "return grad_output.undefined" in raised.text(language)
    assert "`Exp(" not in raised.text(language)
