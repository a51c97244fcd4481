"""Variants of exercises: shown with `again()`, checked with `check(name, variant=3)`."""

import json
import linecache
import re

import pytest

import autograder
from autograder import exercises
from autograder.checking.verdict import VerdictState
from autograder.history import read_history, verdicts
from autograder.learner.reviews.schedule import DAY
from autograder.lessons.source import solutions
from autograder.lessons.variants import draw_table, variants_of
from autograder.messages.learners import message
from autograder.session import SESSION, Session
from support.check import NAME as UNEVEN
from support.check import check, right
from support.kernel import Kernel

pytestmark = pytest.mark.long(15)

TABLE = "predict_accumulation"
NIGHTLY = pytest.mark.nightly(
    twin="tests/learner/reviews/test_again.py::test_a_table_shown_again_is_about_another_program"
)
WITH_VARIANTS = [  # `torch.compile` takes seconds for each program
    pytest.param(each, marks=NIGHTLY if name == "compiled_code" else (), id=each.name)
    for name in exercises.lessons()
    for each in exercises.load(name).values()
    if variants_of(each).programs
]


def shown(name):
    """The cell that `again(name)` shows, outside IPython as text."""
    return re.search(r"~~~~python\n(.*)\n~~~~", repr(autograder.again(name)), re.S)[1]


def answered(cell, name, answer):
    """Return the verdict of a shown cell with another answer, in a namespace of its own."""
    above, call, below = cell.rpartition("from autograder import check")
    source = f"{above}\n{answer}\n{call}{below.replace('check(', 'result = check(')}"
    file, namespace = f"<variant of {name}>", {}
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    exec(compile(source, file, "exec"), namespace)
    return namespace["result"]


@pytest.mark.parametrize("exercise", WITH_VARIANTS)
def test_a_table_shown_again_is_about_another_program(exercise):
    """The shown program returns the table to fill in, and needs nothing of the lesson."""
    first, cell = shown(exercise.name), shown(exercise.name)  # the gate tries all of them
    assert first.replace("variant=1", "") != cell.replace("variant=2", "")
    function = re.findall(r"^def (\w+)", variants_of(exercise).draw(2).program, re.M)[-1]
    verdict = answered(cell, exercise.name, f"{exercise.asks} = {function}()")
    assert verdict.state == VerdictState.PASSED, verdict.text("en")
    assert f'why("{exercise.name}")' not in verdict.text("en")  # what it asks is about the lesson's program
    assert answered(cell, exercise.name, "").state == VerdictState.NOT_ATTEMPTED


def test_the_lessons_own_table_does_not_pass_a_variant():
    for number in range(1, 9):
        verdict = answered(shown(TABLE), TABLE, solutions(exercises.find(TABLE))[0])
        assert verdict.state != VerdictState.PASSED, number


@pytest.mark.parametrize("language", ["en", "ru"], indirect=True)
def test_a_misconception_is_named_in_a_variant_too(language):
    table = draw_table(exercises.find(TABLE), 1)
    verdict = answered(shown(TABLE), TABLE, f"{TABLE} = {dict(table.mistaken['alias_is_a_snapshot'])}")
    assert verdict.mistake == "alias_is_a_snapshot"
    assert exercises.sentence_for(exercises.find(TABLE), verdict.mistake).read(language) in verdict.text(language)
    assert message("note.variant", name=TABLE).read(language) in verdict.text(language)
    numbers = message("hint.varied").read(language)
    assert numbers in str(autograder.hint(TABLE))
    autograder.check(TABLE)
    assert numbers not in str(autograder.hint(TABLE))


def test_a_function_shown_again_is_checked_on_new_cases_that_can_be_seen():
    cell = shown(UNEVEN)
    assert answered(cell, UNEVEN, solutions(exercises.find(UNEVEN))[0]).state == VerdictState.PASSED
    wrong = answered(cell, UNEVEN, f"def {UNEVEN}(model, batches):\n    pass")
    assert wrong.state == VerdictState.NOT_YET
    assert wrong.finding.inputs
    first, public = autograder.reproduce(UNEVEN), exercises.find(UNEVEN).draw_first("public")
    assert not first.model.weight.equal(public.model.weight)


def test_a_variant_earns_nothing_and_the_next_one_is_new_after_a_restart():
    cell = shown(TABLE)
    answered(cell, TABLE, f"{TABLE} = two_backward_passes()")
    assert [*verdicts()] == []
    assert [each.variant for each in read_history().checks] == [1]
    assert "variant=2" in shown(TABLE)
    vars(SESSION).update(vars(Session()))
    assert "variant=2" in shown(TABLE)
    check(right)
    assert [verdict.exercise for verdict in verdicts()] == [UNEVEN]


@pytest.mark.parametrize("is_right", [True, False])
def test_a_variant_of_an_exercise_that_is_due_counts_as_its_review(is_right, own_home):
    """So whoever works in files reviews with `autograder again`."""
    check(right)
    file = own_home / "progress.jsonl"
    line = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**line, "time": line["time"] - 9 * DAY}) + "\n", encoding="utf-8")
    cell = shown(UNEVEN)
    answer = solutions(exercises.find(UNEVEN))[0] if is_right else f"def {UNEVEN}(model, batches):\n    pass"
    notes = [note.id for note in answered(cell, UNEVEN, answer).notes]
    assert ("note.review.up" in notes, "note.review.down" in notes) == (is_right, not is_right)
    assert not any("review" in note.id for note in answered(cell, UNEVEN, answer).notes)  # not due any more


@pytest.mark.parametrize("number", [0, -1, "3", 1.5])
@pytest.mark.parametrize("language", ["en", "ru"], indirect=True)
def test_a_number_that_no_variant_has_is_told(language, number):
    said = str(autograder.check(TABLE, variant=number))
    assert said == message("again.number", number=repr(number), name=TABLE).read(language)
    assert "no_such" in str(autograder.again("no_such"))


def test_graded_notebooks_show_and_check_no_variant(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert "again()" in str(autograder.again(TABLE))
    assert "again()" in str(autograder.check(TABLE, variant=1))


@pytest.mark.usefixtures("quick_kernels")
def test_a_kernel_gets_the_variant_in_a_new_cell(own_home, tmp_path):
    kernel = Kernel(tmp_path / "notes.ipynb", {"AUTOGRADER_HOME": str(own_home)})
    try:
        kernel.run("from autograder import again, review")
        asked = kernel.client.execute(f"again({TABLE!r})")
        while (reply := kernel.client.get_shell_msg(timeout=120))["parent_header"]["msg_id"] != asked:
            pass
        (new,) = [each for each in reply["content"]["payload"] if each["source"] == "set_next_input"]
        assert f'check("{TABLE}", variant=1)' in new["text"]
        answer = new["text"].replace("from autograder", f"{TABLE} = two_backward_passes()\nfrom autograder")
        assert message("note.variant", name=TABLE).read("en").partition(":")[0] in str(kernel.outputs(answer))
    finally:
        kernel.close()
