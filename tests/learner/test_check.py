"""`check` in a namespace, as a notebook calls it: right, wrong, and every kind of bad input, in both languages."""

import contextlib
import linecache
import os
import re
import sys
import threading
import time
import warnings

import pytest
import torch
from torch.nn.functional import mse_loss

import autograder
from autograder.checking.containment import as_in_a_fresh_process, putting_back
from autograder.checking.verdict import Verdict
from autograder.learner import commands as notebook
from autograder.learner.session import SESSION, Session
from autograder.messages.interface import message

NAME = "accumulate_uneven"


@pytest.fixture(params=["en", "ru"])
def language(request):
    notebook.start("03_gradient_accumulation", language=request.param)
    return request.param


def check(answer, name=NAME):
    """`check(name)` in a notebook whose only name is the answer."""
    namespace = {name: answer, "check": autograder.check}
    exec(f"result = check({name!r})", namespace)
    return namespace["result"]


def right(model, batches):
    samples = sum(len(x) for x, _ in batches)
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) * len(x) / samples).backward()


def test_a_right_answer_gets_all_points(language):
    verdict = check(right)
    assert (verdict.state, repr(verdict)) == ("passed", "4")
    assert ("верно" if language == "ru" else "passed") in verdict._repr_html_()


def test_a_mistake_is_named_in_the_learners_language(language, exercises):
    mistake = exercises[NAME].mistakes["divides_by_count"]
    verdict = check(mistake.program)
    assert (verdict.state, repr(verdict), verdict.mistake) == ("not yet", "0", "divides_by_count")
    assert mistake.says.read(language) in verdict.text(language)
    assert 'case = reproduce("accumulate_uneven")' in verdict.text(language)


def test_a_wrong_answer_that_nobody_foresaw_is_not_guessed_at(language):
    def half(model, batches):
        right(model, batches)
        model.weight.grad /= 3.7

    verdict = check(half)
    assert (verdict.state, verdict.mistake) == ("not yet", None)
    assert "It looks as if" not in verdict.text("en")


def raises(model, batches):
    raise KeyError("<script>alert(1)</script>")


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
        (prints_ten_megabytes, "passed", "10485770"),
        (edits_its_inputs, "passed", "`batches`"),
        (leaves_grad_mode_off, "passed", ""),
        (leaves_the_default_dtype, "passed", "torch.float64"),
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


SWITCHES = {
    "grad_mode": lambda: torch.set_grad_enabled(False),
    "default_dtype": lambda: torch.set_default_dtype(torch.float64),
    "default_device": lambda: torch.set_default_device("meta"),
    "anomaly": lambda: torch.set_anomaly_enabled(True),
    "deterministic": lambda: torch.use_deterministic_algorithms(True),
    "autocast": lambda: torch.autocast("cpu").__enter__(),
}
LEFT = {
    **SWITCHES,
    "dual_level": torch.autograd.forward_ad.enter_dual_level,
    "saved_tensors_hooks": lambda: torch.autograd.graph.saved_tensors_hooks(torch.detach, torch.detach).__enter__(),
    "module_hooks": lambda: torch.nn.modules.module.register_module_forward_hook(lambda *_: None),
    "threads": lambda: threading.Thread(target=FINISH.wait).start(),
}
FINISH = threading.Event()


@pytest.fixture
def as_before():
    """Whatever a test switches in this process is switched back."""
    with putting_back([]):
        yield
    FINISH.set()


@pytest.mark.parametrize("name", LEFT)
def test_what_an_answer_leaves_behind_is_told_and_put_back(name, language):
    def leaves_it_behind(model, batches):
        right(model, batches)
        LEFT[name]()

    FINISH.clear()
    verdict = check(leaves_it_behind)
    assert {note.id for note in verdict.notes} == {f"note.left.{name}"}
    assert message(f"note.left.{name}", value="|").read(language).partition("|")[0] in verdict.text(language)
    assert "switch." not in verdict.text(language)
    FINISH.set()
    following = check(right)
    assert (following.state, following.notes) == ("passed", ())


@pytest.mark.parametrize("name", SWITCHES)
def test_what_a_notebook_has_switched_does_not_change_the_verdict(name, language, as_before):
    SWITCHES[name]()
    verdict = check(right)
    assert (verdict.state, [note.id for note in verdict.notes]) == ("passed", [f"note.unusual.{name}"])
    with as_in_a_fresh_process() as left:
        pass
    assert [note.id for note in left] == [f"note.unusual.{name}"]  # the notebook's own setting is back


def test_an_endless_loop_is_ended(language, exercises, monkeypatch):
    def endless(model, batches):
        while True:
            with contextlib.suppress(Exception):
                time.sleep(0.01)

    monkeypatch.setattr(exercises[NAME], "seconds", 0.3)
    verdict = check(endless)
    assert verdict.state == "not yet"
    assert "0.3" in verdict.text(language)


def test_a_learners_error_shows_the_learners_line(language):
    namespace = {"check": autograder.check}
    source = f"def {NAME}(model, batches):\n    total = 0\n    return batches[0].undefined\nresult = check({NAME!r})"
    import linecache

    linecache.cache["cell"] = (len(source), None, source.splitlines(keepends=True), "cell")
    exec(compile(source, "cell", "exec"), namespace)
    text = namespace["result"].text(language)
    assert "AttributeError: 'tuple' object has no attribute 'undefined'" in text
    assert "return batches[0].undefined" in text
    assert re.search(r"(line|строке) 3:", text)


def test_a_missing_name_and_a_stub_are_not_attempted(language, ran):
    namespace = {"check": autograder.check}
    exec(f"result = check({NAME!r})", namespace)
    assert namespace["result"].state == "not attempted"
    assert check(ran.stubs[NAME]).state == "not attempted"
    assert check(ran.given["fix_zero_inside"], "fix_zero_inside").state == "not attempted"
    gaps = check(ran.given["predict_accumulation"], "predict_accumulation")
    assert gaps.state == "not attempted"
    assert "w.grad before" in gaps.text(language)


def test_given_code_that_was_edited_is_an_attempt(language, lesson_source):
    """Even if it still does what it did: whoever moved a line to no effect is told so, not that nothing was done."""
    (given,) = lesson_source.of("given", "fix_zero_inside")
    edited = given.source.replace("set_to_none=True", "set_to_none=False")
    assert edited != given.source
    for source, state in (
        (given.source, "not attempted"),
        (f"# mine\n{given.source}  # same", "not attempted"),
        (edited, "not yet"),
    ):
        namespace = {"check": autograder.check, "mse_loss": mse_loss}
        name = f"<cell {hash(source)}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)  # as IPython does
        exec(compile(source, name, "exec"), namespace)
        exec("result = check('fix_zero_inside')", namespace)
        assert namespace["result"].state == state


def test_only_edits_that_the_solution_does_not_make_are_told(language):
    def step(w, b, x, y, lr):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(x @ w + b, y)
        loss.backward()
        with torch.no_grad():
            for parameter in (w, b):
                parameter -= lr * parameter.grad
                parameter.grad = None
        return loss.item()

    def steps_on_the_data_too(w, b, x, y, lr):
        loss = step(w, b, x, y, lr)
        y.zero_()
        return loss

    notebook.start("first_gradient", language=language)
    assert (check(step, "descend").state, check(step, "descend").notes) == ("passed", ())
    (note,) = check(steps_on_the_data_too, "descend").notes
    assert (note.id, note.parameters) == ("note.inputs", {"name": "y"})


def test_a_table_with_entries_missing_or_too_many_is_not_guessed_at(language):
    notebook.start("first_gradient", language=language)
    right = {"x.grad": 4.5, "y.grad": 4.5, "z.grad": 0.25, "out.grad": 1}
    for table, state, says in [
        ({"x.grad": 4.5}, "not attempted", "`y.grad`, `z.grad`, `out.grad`"),
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


def test_an_unknown_exercise_offers_the_nearest(language):
    reply = check(right, "accumulate_unevn")
    assert repr(reply) == "0"
    assert "`accumulate_uneven`" in str(reply)
    assert "`accumulate_uneven`" in str(autograder.hint("accumulate_unevn"))
    assert "gradient_accumulation" in str(autograder.start("gradient_acumulation"))


def test_without_start_a_card_speaks_both_languages():
    page = check(right)._repr_html_()
    assert 'lang="en"' in page
    assert 'lang="ru"' in page


def test_one_record_reads_in_either_language(exercises):
    verdict = check(exercises[NAME].mistakes["sums_the_means"].program)
    again = Verdict.from_json(verdict.to_json())
    assert again == verdict
    for language in ("en", "ru"):
        assert again.text(language) == verdict.text(language)


def test_a_missing_key_is_our_error_not_the_learners(language, monkeypatch, tmp_path):
    monkeypatch.setattr("autograder.exercises.key_path", lambda lesson: tmp_path / "none.json")
    verdict = check(right)
    assert (verdict.state, repr(verdict)) == ("our error", "0")
    assert NAME in verdict.text(language)


def test_hints_come_one_after_the_other_and_solutions_after_passing(language):
    hints = [str(autograder.hint(NAME)) for _ in range(4)]
    assert len(set(hints)) == 3
    assert hints[2] == hints[3]
    assert "give_up=True" in str(autograder.solution(NAME))
    assert "/ samples" in str(autograder.solution(NAME, give_up=True))
    check(right)
    assert str(autograder.solution(NAME)).count("def accumulate_uneven") == 4


@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_card_tells_how_to_draw_what_a_wrong_answer_returned(language):
    notebook.start("02_graph_and_backward", language=language)
    namespace = {"check": autograder.check, "reproduce": autograder.reproduce}
    exec("def safe_sqrt(x):\n    return x.clamp(min=1e-12).sqrt().exp().log()", namespace)
    exec("verdict = check('safe_sqrt')", namespace)
    said = namespace["verdict"].text(language)
    assert message("card.graph").read(language) in said
    assert "draw(" in namespace["verdict"]._repr_html_()
    make_case, code = re.findall(r"(case = reproduce.*|from autograder import draw; draw.*)", said)
    exec(make_case, namespace)
    exec(code.replace("; ", "; picture = "), namespace)
    assert "SqrtBackward0" in repr(namespace["picture"])


def test_reproduce_rebuilds_the_failing_case(language, exercises):
    check(exercises[NAME].mistakes["divides_by_count"].program)
    case = autograder.reproduce(NAME)
    right(case.model, case.batches)
    x, y = (torch.cat(parts) for parts in zip(*case.batches, strict=True))
    (expected,) = torch.autograd.grad(mse_loss(case.model(x), y), case.model.weight)
    assert torch.allclose(case.model.weight.grad, expected)
    assert "batches: 3 × (x, y), len(x) = 4, 4, 1" in repr(case)


def test_progress_survives_and_keeps_the_best(language, own_home, exercises):
    assert "accumulate" not in str(autograder.progress())
    check(right)
    check(exercises[NAME].mistakes["divides_by_count"].program)
    with (own_home / "progress.jsonl").open("a") as file:
        file.write('{"cut of')
    vars(SESSION).update(vars(Session()))
    assert re.search(rf"{NAME}\s+passed\s+4/4\s+2", repr(autograder.progress()))


def test_nothing_is_written_home_while_nbgrader_runs(language, own_home, monkeypatch, capsys):
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    check(raises)
    assert not list(own_home.iterdir())
    assert "KeyError" in capsys.readouterr().err  # the only thing that Validate shows
    check(right)
    assert capsys.readouterr().err == ""


def test_the_first_complete_table_is_remembered(language, ran):
    first = {**ran.solutions["predict_accumulation"], "first": -32.0}
    assert check(first, "predict_accumulation").mistake == "alias_is_a_snapshot"
    again = check(ran.solutions["predict_accumulation"], "predict_accumulation")
    assert again.state == "passed"
    assert re.search(r"\b4\b.*\b5\b", again.text(language).split("·")[-1])


def test_a_file_beside_the_notebook_cannot_stand_in_for_our_exercises(language, tmp_path):
    (tmp_path / "exercises").mkdir()
    (tmp_path / "exercises" / "gradient_accumulation.py").write_text("raise SystemExit('taken over')")
    os.chdir(tmp_path)
    assert check(raises).state == "not yet"


def test_after_one_endless_case_the_others_are_not_tried(language, exercises, monkeypatch):
    tried = []

    def endless(model, batches):
        tried.append(1)
        while True:
            pass

    monkeypatch.setattr(exercises[NAME], "seconds", 0.2)
    assert check(endless).state == "not yet"
    assert tried == [1]
