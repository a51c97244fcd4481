"""`check` as a notebook calls it: names, words, progress, hints, failing cases."""

import linecache
import os
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from IPython.core.formatters import DisplayFormatter
from torch.nn.functional import mse_loss

import autograder
from autograder.cards.shown_verdict import ShownVerdict
from autograder.checking.verdict import Verdict
from autograder.exercises import find
from autograder.history import record, verdicts
from autograder.learner import cells_run
from autograder.learner import commands as notebook
from autograder.lessons.source import solutions
from autograder.messages.learners import message
from autograder.session import SESSION, Session
from support.check import NAME, check, raises, right
from support.exercises import program


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
    """It need not do anything else: whoever moved a line to no effect is told so."""
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


def test_an_unknown_exercise_offers_the_nearest(language):
    reply = check(right, "accumulate_unevn")
    assert repr(reply) == "0"
    assert "`accumulate_uneven`" in str(reply)
    assert "`accumulate_uneven`" in str(autograder.hint("accumulate_unevn"))
    assert "gradient_accumulation" in str(autograder.start("gradient_acumulation"))


def test_a_function_in_place_of_its_name_is_checked(language):
    def accumulate_equal(model, batches):
        raise NotImplementedError

    autograder.start("gradient_accumulation", language=language)
    assert autograder.check(accumulate_equal).exercise == "accumulate_equal"
    assert "`dict`" in str(autograder.check({"x.grad": 1.0}))


def test_a_torch_newer_than_the_newest_tried_is_told_once(monkeypatch):
    assert "was tried with torch up to" not in str(autograder.start("gradient_accumulation", language="en"))
    monkeypatch.setattr(torch, "__version__", "3.0.1+cpu")
    assert "This is torch 3.0.1+cpu" in str(autograder.start("gradient_accumulation", language="en"))


def test_without_start_a_card_speaks_both_languages():
    page = check(right)._repr_html_()
    assert 'lang="en"' in page
    assert 'lang="ru"' in page


def test_one_record_reads_in_either_language(exercises):
    verdict = check(program(exercises[NAME], "sums_the_means"))
    again = ShownVerdict.of(Verdict.from_json(verdict.to_json()))
    assert again == verdict
    for language in ("en", "ru"):
        assert again.text(language) == verdict.text(language)


def test_a_record_of_an_exercise_that_moved_counts_where_it_is_today():
    for name in ("one_graph", "node_order"):
        record(replace(check(None), exercise=name, lesson="engine"))
    assert [verdict.lesson for verdict in verdicts()][-2:] == ["compiled_code", "engine"]


def test_a_table_may_hold_rows_that_an_older_notebook_asks_for():
    found = {}
    exec(solutions(find("predict_engine"))[0], found)
    table = {**found["predict_engine"], "order of a, b, c": "cba"}
    assert check(table, "predict_engine").state == "passed"
    assert check({**table, "w.grad": 1}, "predict_engine").state != "passed"


def test_a_missing_key_is_our_error_not_the_learners(language, monkeypatch, tmp_path):
    monkeypatch.setattr("autograder.exercises.key_path", lambda exercise: tmp_path / "none.json")
    verdict = check(right)
    assert (verdict.state, repr(verdict)) == ("our error", "0")
    assert NAME in verdict.text(language)


def test_hints_come_one_after_the_other_and_solutions_after_passing(language):
    hints = [str(autograder.hint(NAME)) for _ in range(4)]
    assert len(set(hints)) == 3
    assert hints[2] == hints[3]
    assert [hints[2].count(message("hint.title", number=n, total=3).read(language)) for n in (1, 2, 3)] == [1, 1, 1]
    assert "give_up=True" in hints[2]
    assert "give_up=True" in str(autograder.solution(NAME))
    assert "/ samples" in str(autograder.solution(NAME, give_up=True))
    check(right)
    assert str(autograder.solution(NAME)).count("def accumulate_uneven") == 4


def test_without_a_name_the_exercise_checked_last_is_meant(language):
    asked = (autograder.hint, autograder.solution, autograder.check)
    assert {str(ask()) for ask in asked} == {str(autograder.hint())}
    assert "``" not in str(autograder.hint())
    check(right)
    assert str(autograder.hint()) == str(autograder.hint(NAME, 1))
    assert str(autograder.solution()) == str(autograder.solution(NAME))
    assert str(vars(autograder.reproduce())["batches"]) == str(vars(autograder.reproduce(NAME))["batches"])


def test_after_a_passed_check_the_card_asks_why_and_the_command_answers(language, exercises):
    asked, because = (each.read(language) for each in (exercises[NAME].why.question, exercises[NAME].why.because))
    assert f'`check("{NAME}")`' in str(autograder.why(NAME))
    assert asked not in check(raises).text(language)
    assert because not in str(autograder.why())
    verdict = check(right)
    assert asked in verdict.text(language)
    assert f"<code>why(&quot;{NAME}&quot;)</code>" in verdict.html(language)
    assert str(autograder.why()) == f"{asked}\n\n{because}"
    SESSION.last.clear()  # as in a new kernel: the history knows
    assert because in str(autograder.why(NAME))


def test_without_a_question_nothing_is_asked(language, exercises, monkeypatch):
    monkeypatch.setattr(exercises[NAME], "why", None)
    assert [note.id for note in check(right).notes] == []
    assert str(autograder.why(NAME)) == message("why.absent", exercise=NAME).read(language)


@pytest.mark.parametrize("run", ["autograde", "validate"])
def test_a_notebook_that_nbgrader_runs_is_not_asked_why(run, language, exercises, monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", run)
    assert check(right).notes == ()
    assert str(autograder.why(NAME)) == message("run.checking", name="why").read(language)
    assert exercises[NAME].texts().why is None


def test_each_way_of_a_solution_is_a_block_of_its_own(language):
    shown = autograder.solution(NAME, give_up=True)._repr_markdown_()
    assert (shown.count("~~~~python\n"), shown.count("\n~~~~")) == (4, 2 * 4)


@pytest.mark.parametrize(
    ("lesson", "name"), [("gradient_accumulation", "why_they_agree"), ("capstones", "note_to_a_colleague")]
)
def test_a_question_in_words_has_a_rubric_and_a_model_answer(language, lesson, name, monkeypatch):
    monkeypatch.setattr(SESSION, "lesson", lesson)
    for command in (autograder.solution, autograder.hint):
        assert f'solution("{name}", give_up=True)' in str(command(name))
    shown = autograder.solution(name, give_up=True)._repr_markdown_()
    words = {"en": ("**Rubric.**", "**A model answer.**"), "ru": ("**Критерии.**", "**Пример ответа.**")}
    for each, said in words.items():
        assert all((word in shown) == (each == language) for word in said)


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
    check(program(exercises[NAME], "divides_by_count"))
    case = autograder.reproduce(NAME)
    right(case.model, case.batches)
    x, y = (torch.cat(parts) for parts in zip(*case.batches, strict=True))
    (expected,) = torch.autograd.grad(mse_loss(case.model(x), y), case.model.weight)
    assert torch.allclose(case.model.weight.grad, expected)
    assert "batches: 3 × (x, y), len(x) = 4, 4, 1" in repr(case)


def test_progress_survives_and_keeps_the_best(language, own_home, exercises):
    assert "accumulate" not in str(autograder.progress())
    check(right)
    check(program(exercises[NAME], "divides_by_count"))
    with (own_home / "progress.jsonl").open("a") as file:
        file.write('{"cut of')
    vars(SESSION).update(vars(Session()))
    table = autograder.progress()
    assert table.rows[0][0] == "03 Gradient accumulation"
    assert re.search(rf"{exercises[NAME].title.en} · `{NAME}`\s+passed\s+4/4\s+2", repr(table))
    assert f"{exercises[NAME].title.en} · <code>{NAME}</code>" in table._repr_html_()


@pytest.mark.parametrize(
    ("language", "partly", "begun"),
    [("en", "partly right", "begun, 1 of 5 filled in"), ("ru", "частично верно", "начато, заполнено 1 из 5")],
)
def test_progress_shows_what_is_partly_right_and_what_is_begun(language, partly, begun, exercises, ran):
    SESSION.language = language
    table = dict.fromkeys(ran.solutions["predict_accumulation"], ...)
    check(table, "predict_accumulation")
    assert "predict_accumulation" not in repr(autograder.progress())
    check({**table, "first": 1.0}, "predict_accumulation")
    assert re.search(rf"`predict_accumulation`\s+{begun}\s+0/\d\s+0", repr(autograder.progress()))
    check(program(exercises[NAME], "concatenates"))
    assert re.search(rf"`{NAME}`\s+{partly}\s+3/4", repr(autograder.progress()))
    check(ran.solutions["predict_accumulation"], "predict_accumulation")
    assert begun not in repr(autograder.progress())


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


@pytest.mark.parametrize(("kind", "shows"), [("terminal", "✓ passed"), ("notebook", "4")])
def test_ipython_in_a_terminal_shows_the_card_as_text(kind, shows, monkeypatch):
    """In a notebook the text of a verdict is the number that nbgrader reads."""
    verdict = replace(check(right), language="en")
    shell = SimpleNamespace(display_formatter=DisplayFormatter(), **({"kernel": None} if kind == "notebook" else {}))
    monkeypatch.setattr(cells_run, "shell", lambda: shell)
    cells_run.show_cards_in_terminal()
    text = shell.display_formatter.format(verdict)[0]["text/plain"]
    assert text.startswith(shows)
