"""Cards: expected values, measured numbers, and the case to try."""

from __future__ import annotations

import ast
import linecache
import re

import pytest
import torch

import autograder
from autograder import exercises
from autograder.cards.card import Card
from autograder.cards.shown_verdict import ShownVerdict
from autograder.checking import judge as judging
from autograder.checking.containment.caught import Caught
from autograder.checking.exercise import PUBLIC_SEED
from autograder.checking.expected import Expected, expect
from autograder.checking.observe import observe
from autograder.checking.run import Run
from autograder.checking.values import AtMost
from autograder.checking.verdict import MEMORY, AspectResult, AspectState, Finding, Verdict, VerdictState
from autograder.explained.table import EXPLANATIONS, explain
from autograder.language import Note
from autograder.messages.learners import message
from autograder.messages.measured import NAMES, measured_name
from autograder.session import SESSION
from support.check import check
from support.exercises import mistakes_in, program, public_key

ONE_COLON = ("gradient_hooks", "transforms")  # lessons whose cards have no line with a colon after a colon
COURSE = [(lesson, name) for lesson in exercises.lessons() for name in exercises.load(lesson)]


def judge(*given) -> ShownVerdict:
    return ShownVerdict.of(judging.judge(*given))


def forward_difference(f, x, h):
    return (f(x + h) - f(x)) / h


def central_difference(f, x, h):
    return (f(x + h) - f(x - h)) / (2 * h)


def below(text: str, aspect: str) -> list[str]:
    """The indented lines below the line of an aspect."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if aspect in line) + 1
    end = next(i for i in range(start, len(lines)) if not lines[i].startswith("      "))
    return [line.strip() for line in lines[start:end]]


@pytest.mark.parametrize(("language", "word"), [("en", "expected"), ("ru", "ожидалось")])
def test_a_public_case_shows_what_was_expected_below_its_aspect(language, word):
    verdict = check(forward_difference, "numerical_slope")
    case = exercises.find("numerical_slope").draw("public")[0]
    says = exercises.find("numerical_slope").aspects[-1].says.read(language)
    *_, last = below(verdict.text(language), says)
    got, expected = re.findall(r"-?[\d.]+", last)
    assert float(got) == pytest.approx(float(forward_difference(case.f, case.x, case.h)), rel=1e-5)
    assert float(expected) == pytest.approx(float(central_difference(case.f, case.x, case.h)), rel=1e-5)
    assert f", {word} {expected}" in last
    assert f"{word} {expected}" in verdict.html(language)


def test_braces_in_an_error_of_the_answer_stay_on_the_card():
    def refuses(f, x, h):
        raise KeyError({})

    assert "{}" in check(refuses, "numerical_slope").html("en")


@pytest.mark.parametrize(
    ("language", "hidden", "word"),
    [
        ("en", "The inputs of this case are hidden", "expected"),
        ("ru", "Входные данные этого примера скрыты", "ожидалось"),
    ],
)
def test_a_hidden_case_is_called_hidden_and_does_not_show_what_was_expected(language, hidden, word):
    exercise = exercises.find("numerical_slope")
    mistakes = {name: program(exercise, name) for name in mistakes_in(exercise).cells}
    known = expect(exercise, central_difference, mistakes, "hidden")
    verdict = judge(exercise, observe(exercise, forward_difference, "hidden"), known)
    assert verdict.state == "not yet"
    (line,) = below(verdict.text(language), exercise.aspects[-1].says.read(language))
    assert line.startswith(hidden)
    assert hidden in verdict.html(language)
    assert word not in verdict.text(language)
    assert not any("expected" in note.parameters for note in verdict.finding.got)
    assert hidden not in check(forward_difference, "numerical_slope").text(language)


@pytest.mark.parametrize(("language", "word"), [("en", "123 MB on large inputs"), ("ru", "123 МБ на больших")])
def test_memory_that_grading_alone_counts_is_told_on_hidden_cases(language, word):
    exercise = exercises.find("train_epoch")
    everything = tuple(
        AspectResult(each.name, each.points, each.points, AspectState.RIGHT) for each in exercise.aspects
    )
    right = Verdict("train_epoch", exercise.lesson, exercise.version, VerdictState.PASSED, everything)
    finding = Finding("live_bytes", "hidden", got=(Note(MEMORY, {"used": 123, "limit": 84}),))
    verdict = judging.with_wrong_aspect(exercise, right, finding)
    html = ShownVerdict.of(verdict).html(language)
    assert word in html
    assert message("card.hidden").read(language) not in html
    assert verdict.points == exercise.points - 2


@pytest.mark.parametrize(
    ("lesson", "name"), [pair for pair in COURSE if exercises.find(*pair[::-1]).asks_for == "dict"]
)
def test_a_table_of_predictions_never_shows_the_true_entry(lesson, name):
    exercise = exercises.find(name, lesson)
    known = public_key(name, lesson)
    (truth,) = known.solution[0].values.values()
    wrong = {entry: "nonsense" for entry in truth}
    verdict = judge(exercise, observe(exercise, wrong, known.seed), known)
    assert verdict.state == "not yet"
    assert "expected" not in str(verdict.finding)


@pytest.mark.parametrize(
    ("entry", "value", "en", "ru"),
    [
        ("x.requires_grad", 1, "write True or False, not `1`", "нужно True или False, а не `1`"),
        ("x.requires_grad", "True", "`True` is given in quotes", "значение `True` дано в кавычках"),
        ("x.requires_grad", torch.ones(2), "cannot be an entry", "значением не может быть `tensor (2,) float32`"),
        ("number", True, "write a number, not `True`", "нужно число, а не `True`"),
        ("number", "RuntimeError", "", ""),
        ("number", None, "", ""),
    ],
)
def test_a_wrong_type_in_a_table_is_said(entry, value, en, ru):
    truth = {"x.requires_grad": True, "number": 2.0}
    table = exercises.find("predict_leaf")
    run = Run({"table": truth})
    verdict = judge(table, [Run({"table": {**truth, entry: value}})], Expected(PUBLIC_SEED, [run], {}))
    notes = [[message(note.id, **note.parameters).read(each) for note in verdict.notes] for each in ("en", "ru")]
    for said, words in zip(notes, (en, ru), strict=True):
        assert (len(said) == 1 and words in said[0] and f"`{entry}`" in said[0]) if words else not said


ERRORS = [
    ("capstones", "cures", "negative_deviation", "ValueError: Expected parameter scale"),
    ("saved_tensors", "notice_edits", "always_raises", "RuntimeError: "),
    ("gradient_hooks", "watch_buckets", "raises_another_error", "ValueError: "),
    (
        "gradient_hooks",
        "arriving_gradients",
        "expects_a_gradient",
        "AttributeError: 'NoneType' object has no attribute",
    ),
    ("jacobian_products", "fix_two_products", "ones_on_the_cpu", "RuntimeError: "),
]


@pytest.mark.parametrize(("lesson", "name", "mistake", "said"), ERRORS)
def test_an_error_in_place_of_a_result_has_its_message_and_line(lesson, name, mistake, said):
    exercise, known = exercises.find(name, lesson), public_key(name, lesson)
    answer = program(exercise, mistake)
    verdict = judge(exercise, observe(exercise, answer, known.seed), known)
    assert verdict.mistake == mistake
    for language, words in (("en", "in your line "), ("ru", "в вашей строке ")):
        text = verdict.text(language)
        assert said in text
        line = int(re.search(words + r"(\d+): ", text)[1])
        source = linecache.getline(mistakes_in(exercise).path.as_posix(), line).strip()
        assert source
        assert f"{words}{line}: {source}" in text


@pytest.mark.parametrize(
    ("name", "mistake", "en", "ru"),
    [
        ("exp_function", "forgets_the_base", "does not derive from", "не унаследован от"),
        ("exp_function", "borrows_the_exponential", "The node of the result", "Узел результата"),
        ("order_changes_bits", "nests_the_list", "a list of three numbers", "список из трёх чисел"),
        ("locked_accumulation", "locks_twice", "holds the lock already", "уже захватил блокировку"),
        ("one_graph", "uses_cond", "a prototype", "пока прототип"),
    ],
)
def test_what_a_probe_refuses_is_said_in_the_learners_language(name, mistake, en, ru):
    exercise, known = exercises.find(name), public_key(name)
    verdict = judge(exercise, observe(exercise, program(exercise, mistake), known.seed), known)
    assert verdict.mistake == mistake
    assert en in verdict.text("en")
    assert ru in verdict.text("ru")
    assert en not in verdict.text("ru")


def test_an_explanation_on_a_card_is_of_the_cause_that_shows_in_the_line(tmp_path):
    """The text of the error alone has a dozen causes."""
    path = tmp_path / "answer.py"
    path.write_text(
        "import torch\ndef slope_at(x):\n    with torch.no_grad():\n        loss = (x * x).sum()\n    loss.backward()\n"
    )
    namespace = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    x = torch.ones(2, requires_grad=True)
    answer = namespace["slope_at"]
    with pytest.raises(RuntimeError) as raised:
        answer(x)
    known = explain(str(raised.value)).says.en
    found = Caught.of(raised.value)
    shown = next(each.says.en for each in EXPLANATIONS if each.name == found.explained)
    assert "no_grad" in shown
    assert shown != known


@pytest.mark.parametrize(("lesson", "name"), COURSE)
def test_every_mistake_has_a_card_that_says_what_is_wrong(lesson, name):
    exercise = exercises.find(name, lesson)
    known = public_key(name, lesson)
    for mistake, runs in known.mistakes.items():
        verdict = judge(exercise, runs, known)
        for language in ("en", "ru"):
            text = verdict.text(language)
            assert not re.search(r"Lineup|list/tuple|dict\(\d|_unfit|<function|object at 0x", text), (mistake, text)
            assert not re.search(r"`(\[\d+\])+`|`[^`\n]*\['[^`\n]*'\]`: ", text), f"a path without words: {text}"
            assert not re.search(r"\{…\}|\[…\]", text), f"no content: {text}"
            says = next(
                (each.says.read(language) for each in exercise.aspects if each.name == verdict.finding.aspect), ""
            )
            for line in below(text, says) if lesson in ONE_COLON and says and says in text else ():
                plain = re.sub(r"`.*?`|\w*Error: .*|[\[{].*", "", line)  # code, torch's own messages, values
                assert plain.count(": ") <= 1, line
        assert verdict.points < verdict.maximum, mistake


def test_every_measurement_is_code_or_has_a_name_in_both_languages():
    for lesson, name in COURSE:
        exercise, known = exercises.find(name, lesson), public_key(name, lesson)
        for aspect in exercise.aspects if exercise.asks_for != "dict" else ():
            for value in (run.values.get(aspect.name) for run in known.solution):
                assert aspect.measured is not None or not isinstance(value, AtMost), (name, aspect.name)
                for key in value if isinstance(value, dict) else ():
                    assert measured_name(key) or is_code(key), (name, aspect.name, key)


def test_every_name_of_a_measurement_is_used():
    runs = [run for lesson, name in COURSE for shown in _shown(public_key(name, lesson)) for run in shown]
    used = {key for run in runs for value in run.values.values() if isinstance(value, dict) for key in value}
    assert NAMES.keys() - used == set()


def _shown(known):
    return [known.solution, *known.mistakes.values()]


def is_code(key: str) -> bool:
    try:
        ast.parse(re.sub(r"^\d+(?=\.)|(?<=\.)\d+(?=\.)", "_", key), mode="eval")
    except SyntaxError:
        return False
    return True


def test_wrong_programs_are_told_once_half_of_them_are_caught():
    exercise = exercises.find("is_right", "gradient_accumulation")
    programs = [each.name for each in exercise.aspects if each.name.startswith("catches_")]
    says = {each.name: each.says.en for each in exercise.aspects}
    for caught in range(len(programs) + 1):
        aspects = tuple(
            AspectResult(each.name, each.points, each.points * right, AspectState.RIGHT if right else AspectState.WRONG)
            for each in exercise.aspects
            for right in [each.name not in programs[caught:]]
        )
        verdict = Verdict("is_right", "gradient_accumulation", 1, VerdictState.NOT_YET, aspects)
        shown = " ".join(sentence for _, sentence, *_ in Card(verdict, exercise, "en").aspects)
        told = [each for each in programs[caught:] if says[each] in shown]
        assert told == ([] if 2 * caught < len(programs) else programs[caught:])
        assert (f"Wrong programs caught: {caught} of {len(programs)}." in shown) == (2 * caught < len(programs))


@pytest.mark.parametrize(("language", "label"), [("en", "Backward passes"), ("ru", "Обратных проходов")])
def test_a_count_has_its_name_and_its_limit_below_its_aspect(language, label):
    exercise = exercises.find("hidden_gradients")
    known = public_key("hidden_gradients", "leaf_tensors")
    runs = [
        type(run)({**run.values, "backward_runs": AtMost(1, 4)}) for run in known.solution
    ]  # the values of the solution, in more passes
    verdict = judge(exercise, runs, known)
    says = next(aspect.says.read(language) for aspect in exercise.aspects if aspect.name == "backward_runs")
    assert below(verdict.text(language), says) == [
        {"en": f"{label}: 4; at most 1 allowed", "ru": f"{label}: 4, допускается не больше 1"}[language]
    ]


@pytest.mark.parametrize("name", ["is_right", "is_right_function"])
def test_reproduce_gives_the_program_that_fooled_the_test(name):
    exercise = exercises.find(name)
    known = public_key(name, exercise.lesson)
    verdicts = [judge(exercise, runs, known) for runs in known.mistakes.values()]
    verdict = next(each for each in verdicts if each.finding.aspect != exercise.aspects[0].name)
    SESSION.last[name] = verdict
    case = autograder.reproduce(name)
    others = exercise.draw("public")[0].others
    assert vars(case) == {"function": others.wrong(verdict.finding.aspect)}


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        ("en", "Came back: tensor (2, 3) float64, where the error RuntimeError should have come"),
        ("ru", "Получено: tensor (2, 3) float64, а должна была возникнуть ошибка RuntimeError"),
    ],
)
def test_an_error_that_did_not_come_is_called_an_error(language, shown):
    exercise = exercises.find("exp_function")
    known = public_key("exp_function", "custom_functions")
    text = judge(exercise, known.mistakes["attribute_of_ctx"], known).text(language)
    assert shown in text


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        ("en", "Second derivative: the error RuntimeError: trying to differentiate twice"),
        ("ru", "Вторая производная: ошибка RuntimeError: trying to differentiate twice"),
    ],
)
def test_an_error_in_place_of_a_result_is_shown_with_its_text(language, shown):
    exercise = exercises.find("silu_function")
    known = public_key("silu_function", "custom_functions")
    text = judge(exercise, known.mistakes["silu_refuses"], known).text(language)
    assert shown in text


def test_an_error_of_a_number_is_shown_as_a_part_of_the_largest_entry():
    exercise = exercises.find("jacobian_rows")
    known = public_key("jacobian_rows", "jacobian_products")
    text = judge(exercise, known.mistakes["through_float32"], known).text("en")
    assert re.search(r"Error, as a part of the largest entry: \d(\.\d)?e-0[78]; at most 1e-12 allowed", text)


@pytest.mark.parametrize(("language", "not_met"), [("en", "not met"), ("ru", "не выполнено")])
def test_a_wrong_aspect_is_not_stated_as_a_fact(language, not_met):
    exercise = exercises.find("fix_traces")
    known = public_key("fix_traces", "capstones")
    verdict = judge(exercise, known.mistakes["maximizes"], known)
    right, wrong = (aspect.says.read(language) for aspect in exercise.aspects)
    for card in (verdict.text(language), verdict.html(language).replace("&nbsp;", " ")):
        assert f"✓ {right}" in card
        assert f"✗ {not_met} · {wrong}" in card


@pytest.mark.parametrize(
    ("lesson", "name", "mistake", "shown"),
    [
        ("gradient_hooks", "accumulate_in_backward", "never_clears", ("`0.weight` after pass 5", "после прохода 5")),
        (
            "gradient_hooks",
            "output_gradients",
            "keeps_one",
            ("`inner.0`, number of calls: 1, not 2", "`inner.0`, число вызовов: 1, а не 2"),
        ),
        ("gradient_hooks", "output_gradients", "clears_the_gradients", ("`inner.0.weight.grad`",) * 2),
        (
            "gradient_hooks",
            "watch_buckets",
            "with_tensor_hooks",
            ("Pass 1, call 1 of `all_reduce`", "Проход 1, вызов 1"),
        ),
        (
            "gradient_accumulation",
            "fix_zero_inside",
            "steps_once",
            ("Number of steps: 1, not 2", "Число шагов: 1, а не 2"),
        ),
        ("gradient_accumulation", "clip_once", "clips_each", ("Weights after step 1", "Веса после шага 1")),
        ("capstones", "train_windows", "forgets_the_state", ("`adapter.weight` after window 2", "после окна 2")),
        ("capstones", "train_windows", "one_window", ("Steps of the optimizer: 1", "Шагов оптимизатора: 1")),
    ],
)
def test_a_card_names_what_it_compared(lesson, name, mistake, shown):
    exercise = exercises.find(name, lesson)
    known = public_key(name, lesson)
    verdict = judge(exercise, known.mistakes[mistake], known)
    for language, words in zip(("en", "ru"), shown, strict=True):
        assert words in verdict.text(language)
