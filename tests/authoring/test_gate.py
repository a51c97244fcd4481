"""The gate: green for the course with torch alone, red for bad exercises."""

import hashlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import autograder
from autograder.authoring import aspects, unearned
from autograder.authoring import gate as gate_module
from autograder.authoring.aspects import aspect_problems
from autograder.authoring.built_files import accept
from autograder.authoring.gate import verify
from autograder.authoring.trials import PER_PROCESS, TRIALS
from autograder.authoring.unearned import unearned_points
from autograder.authoring.untried import UNTRIED, Condition, untried_conditions
from autograder.cells import BrokenSource
from autograder.checking.exercise import Case, aspect, exercise
from autograder.cli import main
from autograder.exercises import find, key_of, load_path
from autograder.language import Text
from autograder.lessons.collection import COURSE, private
from autograder.lessons.mistakes import mistakes_of
from autograder.lessons.source import Lesson
from support.blocked import BEYOND_TORCH, run_without
from support.exercises import write_exercises

pytestmark = pytest.mark.long(60)


def test_other_packages_are_blocked(tmp_path):
    done = run_without(BEYOND_TORCH, tmp_path, "import nbformat")
    assert "blocked: nbformat" in done.stderr


def depends_on(lesson: Lesson) -> str:
    """Return a hash of all that the gate's result for a lesson depends on."""
    package = Path(autograder.__file__).parent
    folders = (COURSE.path(lesson), *(package / name for name in ("checking", "lessons", "authoring")))
    files = {
        lesson.path,
        *package.glob("*.py"),
        *package.glob("exercises/*.py"),
        *(path for each in folders for path in each.rglob("*.*")),
    }
    texts = [path.read_bytes() for path in sorted(files) if path.suffix in (".py", ".json", ".md")]
    return hashlib.sha256(b"\0".join([torch.__version__.encode(), sys.version.encode(), *texts])).hexdigest()


# Every commit judges answers by the keys on disk. At night keys are compared, gaps in probes are looked for, and all
# answers are tried on a hidden seed. Authors try each answer 20 times when they change a lesson.
ON_A_HIDDEN_SEED = pytest.param(
    1,
    marks=pytest.mark.nightly(twin="tests/authoring/test_gate.py::test_the_gate_is_green_with_torch_alone"),
    id="hidden seed",
)


@pytest.mark.parametrize("trials", [pytest.param(0, id="keys on disk"), ON_A_HIDDEN_SEED])
def test_the_gate_is_green_with_torch_alone(trials, tmp_path, pytestconfig):
    """Lessons of which nothing has changed since they passed on this machine are not tried again."""
    stamps = {lesson.name: depends_on(lesson) for lesson in COURSE.read()}
    changed = [name for name, stamp in stamps.items() if pytestconfig.cache.get(f"gate/{trials}/{name}", "") != stamp]
    if not changed:
        return
    arguments = ["verify", "--json", f"--trials={trials}", *changed]
    code = f"import sys; from autograder.cli import main; sys.exit(main({arguments}))"
    done = run_without(BEYOND_TORCH, tmp_path, code)
    assert (done.returncode, done.stderr) == (0, "")
    reports = json.loads(done.stdout)
    assert {report["lesson"] for report in reports} == {*changed}
    for report in reports:
        assert report["solution"] == "passed"
        assert report["stub"] == "not attempted"
        assert report["key"] == ("current" if trials else ""), f"autograder build {report['lesson']}"
        assert set(report["alternatives"].values()) <= {"passed"}
        assert all(name == recognised for name, recognised in report["mistakes"].items())
        assert len(report["mistakes"]) >= 3
        assert report["languages"] == ["en", "ru"]
    for name in changed:
        pytestconfig.cache.set(f"gate/{trials}/{name}", stamps[name])


CORE = [
    "checking.exercise",
    "checking.values",
    "checking.comparison",
    "checking.containment.surroundings",
    "checking.observe",
    "checking.judge",
    "checking.verdict",
    "language",
    "measure",
    "learner.checks.check",
    "learner.commands",
    "history",
    "learner.notebooks.working_copy",
    "pictures.draw",
    "pictures.plots.jacobian",
]
# Each in a fork, as if it were imported first. torch is imported once.
IMPORTS = """
import importlib, os, torch
for module in {modules}:
    if not os.fork():
        importlib.import_module("autograder." + module)
        os._exit(0)
    assert os.wait()[1] == 0, module
"""


def test_the_core_imports_with_torch_alone(tmp_path):
    done = run_without(BEYOND_TORCH, tmp_path, IMPORTS.format(modules=CORE))
    assert (done.returncode, done.stderr) == (0, "")


AT_MOST = """
    from autograder.checking.values import AtMost
    return {"value": AtMost(1, len(answer.double(case.x)))}
"""
CALLED_TWICE = """
    answer.double(case.x)
    return {"value": answer.double(case.x)}
"""
SAYS_YES = """
    from autograder.checking.values import AtMost
    y = answer.double(case.x)
    return {"value": AtMost(1, 1, of=torch.equal(y, 2 * case.x))}
"""
WITH_ONES = """
    return {"value": answer.double(case.x), "counted": answer.double(torch.ones(64))}
"""
UNREAD = """
    return {"value": torch.sparse_coo_tensor([[0]], answer.double(case.x)[:1], (10**9,), check_invariants=True)}
"""
HINTS = 'hints=[Text("a", "а"), Text("b", "б"), Text("c", "в")],'
EXERCISES = """
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.language import Text
import torch

@exercise(
    title=Text("Double", "Удвоить"), kind="complete",
    aspects=[aspect("value", 1, en="It is twice `x`.", ru="Это удвоенный `x`.")],
    hints=[Text("a", "а"), Text("b", "б"), Text("c", "в")],
)
def double(answer, case):
    return {"value": answer.double(case.x)}

@double.cases
def _(rng):
    yield Case(x=torch.rand(3, generator=rng, dtype=torch.float64))
"""
MISTAKES = """# %% mistake="squares" theme="own"
# It is squared.
# Это квадрат.
def double(x):
    return x * x
"""
LESSON = """# %% [markdown] tags=["en"]
# # Twice
# %% [markdown] tags=["ru"]
# # Дважды
# %% answer="double"
def double(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION
# %% alternative="double"
def double(x):
    return x + x
# %% alternative="double"
def double(x):
    return x * 2.0
# %% alternative="double"
def double(x):
    return x - -x
# %% check="double"
from autograder import check
check("double")
"""


def gate(
    folder: Path, lesson: str = LESSON, exercises: str = EXERCISES, mistakes: str = MISTAKES, trials: int = PER_PROCESS
) -> list[str]:
    """Return everything the gate complains about in a private lesson with one exercise."""
    (folder / "lessons").mkdir()
    (folder / "lessons" / "20_twice.py").write_text(lesson)
    write_exercises(folder, "twice", {"double": exercises}, {"double": mistakes})
    collection = private(folder)
    accept(collection.read(["twice"])[0])
    (read,) = collection.read(["twice"])
    reports, whole = verify(read, collection.exercises(read), number=trials)
    return [*whole, *(problem for report in reports for problem in report.problems)]


def test_a_good_exercise_passes(tmp_path):
    assert gate(tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("return x - -x", "return 2.001 * x", "the alternative double.3 does not pass"),
        ("    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION", "    return 2 * x", "untouched stub"),
        ('# %% alternative="double"\ndef double(x):\n    return x + x\n', "", "2 alternatives; at least 3"),
        ('# %% check="double"\nfrom autograder import check\ncheck("double")', "", "double has no check cell"),
    ],
)
def test_a_bad_lesson_is_told(tmp_path, old, new, complaint):
    assert old in LESSON
    found = gate(tmp_path, lesson=LESSON.replace(old, new))
    assert any(complaint in each for each in found), found


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("return x * x", "return 2 * x", "the mistake squares is not rejected"),
        ("It is squared.", "It looks as if it is squared.", "squares must not begin as its label does"),
        ("Это квадрат.", "Похоже, это квадрат.", "squares must not begin as its label does"),
        ('Text("c", "в")', 'Text("c", "")', "hint 3 is empty in one language"),
        (', Text("c", "в")', "", "2 hints; a learner gets 3"),
        ('return {"value": answer.double(case.x)}', AT_MOST, "aspect value has a limit: say what is counted"),
        ('return {"value": answer.double(case.x)}', UNREAD, "aspect value has a tensor that cannot be read"),
        ('ru="Это удвоенный `x`."', 'ru="Это удвоенный икс."', "aspect value has different code spans"),
        ("Это квадрат.", "Это бэкпроп.", "«бэкпроп» is not in the glossary"),
        ('ru="Это удвоенный `x`."', 'ru="Он вдвое больше `x`."', "aspect value: «Он» begins a sentence"),
        ('{"value": answer.double(case.x)}', '{"value": answer.double(case.x) + 0}', "gives “our error”"),
        (
            'return {"value": answer.double(case.x)}',
            'return {"value": answer.double(case.x), "away": twice(case.x)}\n\ndef twice(x):\n    return x + x',
            "twice, a helper of its module, passes",
        ),
        ('return {"value": answer.double(case.x)}', CALLED_TWICE, "returns None in call 1 of 2 passes"),
        ('return {"value": answer.double(case.x)}', SAYS_YES, "aspect value tells whether it was right"),
        ('return {"value": answer.double(case.x)}', WITH_ONES, "call 2 of 2 gets a tensor that is the same for every"),
        ('return {"value": answer.double(case.x)}', WITH_ONES, "call 2 of 2 gets a tensor of equal or evenly spaced"),
        ("torch.rand(3,", "torch.rand(9999,", "its key has "),
        ('aspect("value", 1,', 'aspect("value", 0,', "aspect value has no points: name it in `after`"),
        (HINTS, f'{HINTS} why=Why(Text("Why", "Почему?"), Text("So.", "Так.")),', "does not end with a question mark"),
        (HINTS, f'{HINTS} why=Why(Text("Why?", "Почему?"), Text("so " * 36, "Так.")),', "has 36 words; at most 35"),
        (
            HINTS,
            f'{HINTS} why=Why(Text("Why?", "Почему?"), Text("So.", "")),',
            "answer of `why` is empty in one language",
        ),
    ],
)
def test_a_bad_exercise_is_told(tmp_path, old, new, complaint):
    assert old in EXERCISES + MISTAKES
    found = gate(tmp_path, exercises=EXERCISES.replace(old, new), mistakes=MISTAKES.replace(old, new))
    assert any(complaint in each for each in found), found


SECOND_ASPECT = """aspects=[aspect("value", 1, en="It is twice `x`.", ru="Это удвоенный `x`."),
             aspect("kept", 1, en="`x` is kept.", ru="Тензор `x` не меняется.")],"""
KEPT = """
    x = case.x.clone()
    return {"value": answer.double(x), "kept": bool((x == case.x).all())}
"""
FILLS = """# %% mistake="fills" theme="own"
# `x` itself is changed.
# Меняется сам `x`.
def double(x):
    return x.mul_(2).clone()
"""


@pytest.mark.parametrize(
    ("probe", "mistakes", "complaint"),
    [
        (KEPT, MISTAKES + FILLS, ""),
        (KEPT, MISTAKES, "no mistake gets aspect kept wrong while"),
        (KEPT.replace("==", ">"), MISTAKES + FILLS, "aspect kept is False for the solution"),
        (KEPT.replace("bool((x == case.x).all())", '{"changed": bool((x > case.x).any())}'), MISTAKES + FILLS, ""),
    ],
    ids=["good", "unbroken", "false", "named observation"],
)
def test_an_aspect_whose_points_everybody_would_get_is_told(tmp_path, monkeypatch, probe, mistakes, complaint):
    monkeypatch.chdir(tmp_path)  # the exercise is found here first, before those of the same name in other tests
    exercises = EXERCISES.replace('    return {"value": answer.double(case.x)}\n', probe)
    exercises = re.sub(r"aspects=.*", lambda _: SECOND_ASPECT, exercises)
    found = gate(tmp_path, exercises=exercises, mistakes=mistakes)
    assert len(found) == bool(complaint), found
    assert all(complaint in each for each in found)


@pytest.mark.parametrize(
    ("listed", "complaint"),
    [
        ({}, "no mistake gets aspect plain wrong"),
        ({"transforms.distance_forward": ("plain", "x_moves")}, "strike it from `UNBROKEN`"),
    ],
)
def test_aspects_that_no_mistake_of_the_course_gets_wrong_are_known(monkeypatch, listed, complaint):
    monkeypatch.setattr(aspects, "UNBROKEN", listed)
    exercise = find("distance_forward", "transforms")
    (problem,) = aspect_problems(exercise, key_of(exercise).expected)
    assert complaint in problem


def test_the_aspects_that_are_known_are_there():
    for place, known in aspects.UNBROKEN.items():
        lesson, _, name = place.partition(".")
        assert {*known} <= {each.name for each in find(name, lesson).aspects}


def test_a_core_exercise_of_the_course_asks_why(monkeypatch):
    (lesson,) = COURSE.read(["first_gradient"])
    exercises = COURSE.exercises(lesson)
    monkeypatch.setattr(exercises["numerical_slope"], "why", None)
    (report,), _ = verify(lesson, exercises, "numerical_slope", number=1)
    assert report.problems == ["a core exercise asks why: why=Why(Text(...), Text(...)), a question and its answer"]


@pytest.mark.parametrize(("listed", "complaint"), [((), "no case has a zero"), (("descend",), "strike descend from")])
def test_a_condition_that_no_case_has_is_told(monkeypatch, listed, complaint):
    (lesson,) = COURSE.read(["first_gradient"])
    name = listed[0] if listed else "numerical_slope"
    monkeypatch.setitem(UNTRIED, Condition.ZERO, " ".join(listed))
    (report,), _ = verify(lesson, COURSE.exercises(lesson), name, number=1)
    (problem,) = report.problems
    assert complaint in problem


def test_conditions_of_modules_and_calls_are_noticed():
    """The probe that calls once meets no condition, the one that changes model and order meets each."""
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout())

    def complaints(probe: Callable[[Any], object]) -> list[str]:
        @exercise(title=Text.same("t"), kind="complete", hints=[], aspects=[aspect("x", 1, en="x", ru="x")])
        def probed(answer: Any, case: Case) -> dict[str, object]:
            return {"x": probe(answer.probed)}

        probed.cases(lambda rng: iter([Case()]))
        return [each.split(":")[0] for each in untried_conditions(probed, lambda model, x: model(x))]

    def once(answer: Any) -> None:
        answer(model, torch.ones(2)).sum().backward()

    def in_between(answer: Any) -> None:
        first, _ = answer(model, torch.ones(2)), answer(model, torch.zeros(2))
        first.sum().backward()
        model[0].bias.requires_grad_(False)
        answer(model.eval(), torch.ones(2))

    assert complaints(once) == [f"no case has {condition}" for condition in Condition]
    assert complaints(in_between) == []


def test_plain_programs_and_given_code_that_earn_more_than_their_share_are_told(monkeypatch):
    """The programs are those of the course, which earn a fifth: of a smaller share each is too much."""
    exercise = find("keep_products", "memory_budget")
    key = key_of(exercise).expected
    assert list(unearned_points(exercise, key)) == []
    monkeypatch.setattr(unearned, "SHARE", 0.1)
    told = [re.sub(" earns .*", "", each) for each in unearned_points(exercise, key)]
    assert "the given code" in told
    assert any(each.startswith("the plain program ") for each in told), told


HEADED = '# %% [markdown] tags=["{}"]\n# ### `double`{}\n'
COUNTS = EXERCISES.replace('kind="complete",', 'kind="complete", core=True,')
KEEP = '# %% [markdown] tags=["en"]\n# ## What to keep\n# %% [markdown] tags=["ru"]\n# ## Что стоит запомнить\n'
MORE = '# %% [markdown] tags=["en"]\n# ## More\n# %% [markdown] tags=["ru"]\n# ## Ещё\n'


def test_a_heading_that_says_more_than_the_name_is_told(tmp_path):
    headings = HEADED.format("en", ": twice") + HEADED.format("ru", "")
    found = gate(tmp_path, lesson=LESSON.replace("# %% answer", headings + "# %% answer", 1))
    assert found == ["line 5: write the heading ### `double`, the rest is added: not ### `double`: twice"]


@pytest.mark.parametrize(
    ("exercises", "lesson", "complaint"),
    [
        (COUNTS, LESSON + KEEP, None),
        (EXERCISES, LESSON, None),
        (
            COUNTS,
            LESSON.replace("# %% answer", f"{KEEP}{MORE}# %% answer", 1),
            "double counts and stands below the section",
        ),
        (EXERCISES, LESSON + KEEP, "double is extra and stands above the end of the section"),
        (COUNTS, LESSON.replace("# # Twice", "# # Twice\n#" + " word" * 20_000), "the core is 1 exercises, 10"),
    ],
)
def test_what_counts_stands_in_a_core_of_bearable_length(tmp_path, exercises, lesson, complaint):
    found = gate(tmp_path, exercises=exercises, lesson=lesson)
    assert found == [] if complaint is None else any(each.startswith(complaint) for each in found), found


def test_two_mistakes_that_look_alike_do_not_pass(tmp_path):
    found = gate(tmp_path, mistakes=MISTAKES + MISTAKES.replace("squares", "squares_too"), trials=TRIALS)
    assert found == ["the mistake squares_too is recognised as {'squares': 20}"]


def test_a_verdict_that_depends_on_addresses_is_told(tmp_path):
    by_address = "a, b = [1], [2]; return 2 * x if id(a) < id(b) else 3 * x"
    (found,) = gate(tmp_path, lesson=LESSON.replace("return x - -x", by_address), trials=TRIALS)
    assert re.search(r"the alternative double.3 does not pass in \d+ of 20 trials", found), found


def test_an_answer_that_ends_its_process_is_told(tmp_path):
    with pytest.raises(BrokenSource, match=r"20_twice.py:1: an answer ended its process"):
        gate(tmp_path, lesson=LESSON.replace("return x - -x", "import os; os._exit(1)"))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "return 2 * x\n    ### END",
            "return 2 *\n    ### END",
            r"20_twice.py:5: this cell raises an error: SyntaxError",
        ),
        (
            '# %% answer="double"\ndef double',
            '# %% answer="double"\ndef doubble',
            r":5: the cell does not define `double`",
        ),
        ('answer="double"', 'answer="dubble"', r":5: no exercise is called dubble; its module has double"),
        ('answer="double"', "answer=double", r":5: cannot read `answer=double` in the header"),
        (
            'answer="double"',
            'anwser="double"',
            r":5: a cell has no attribute anwser; it may have about, alt, alternative, answer",
        ),
        ("    ### END SOLUTION\n", "", r":5: every `### BEGIN SOLUTION` needs its `### END SOLUTION`"),
        ("# # Дважды", "Дважды", r":4: a line of a markdown cell starts with `# `"),
    ],
)
def test_a_broken_source_names_file_and_line(tmp_path, old, new, says):
    with pytest.raises(BrokenSource, match=says):
        gate(tmp_path, lesson=LESSON.replace(old, new))


def test_a_broken_module_names_file_and_line(tmp_path):
    with pytest.raises(BrokenSource, match=r"double.py:2: the module cannot be imported: ModuleNotFoundError"):
        gate(tmp_path, exercises=EXERCISES.replace("autograder.checking.exercise ", "autograder.exercize "))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('theme="own"', 'theme="mine"', r'double.py:1: give the mistake one of these themes: theme="accumulation | '),
        (' theme="own"', "", r"double.py:1: give the mistake one of these themes"),
        ("# Это квадрат.\n", "", r"double.py:2: say what the mistake is: a comment in English, and below it"),
        (' theme="own"', ' like="cubes"', r'double.py:1: like="cubes" names a mistake above'),
        ('mistake="squares" theme="own"', 'mistakes="squares"', r"double.py:1: a cell has no attribute mistakes"),
        ("def double", "def dubble", r"double.py:1: the cell does not define `double`"),
        ("return x * x", "return x *", r"double.py:1: this cell raises an error: SyntaxError"),
        ("    return x * x\n", "    return x * x\n" + MISTAKES, r"double.py:6: there are two mistakes called squares"),
        ("# %% mis", "# %%\n1 / 0\n# %% mis", r"double.py:1: this cell raises an error: ZeroDivisionError"),
    ],
)
def test_a_broken_mistake_names_file_and_line(tmp_path, old, new, says):
    assert old in MISTAKES
    with pytest.raises(BrokenSource, match=says):
        gate(tmp_path, mistakes=MISTAKES.replace(old, new))


def test_a_second_form_of_a_mistake_has_its_sentence(tmp_path):
    cubes = '# %% mistake="cubes" like="squares"\ndef double(x):\n    return x**3\n'
    assert gate(tmp_path, mistakes=MISTAKES + cubes) == []
    (exercise,) = load_path(tmp_path / "exercises" / "twice").values()
    assert mistakes_of(exercise).named["cubes"].says == ("It is squared.", "Это квадрат.")


def test_a_long_sentence_goes_on_below(tmp_path):
    long = MISTAKES.replace("# It is squared.", "# It is\n#     squared, as\n#     a whole.")
    assert gate(tmp_path, mistakes=long) == []
    (exercise,) = load_path(tmp_path / "exercises" / "twice").values()
    assert mistakes_of(exercise).named["squares"].says.en == "It is squared, as a whole."


def test_a_private_lesson_cannot_take_the_name_of_one_of_ours(tmp_path):
    (tmp_path / "lessons").mkdir()
    (tmp_path / "lessons" / "20_gradient_accumulation.py").write_text(LESSON)
    with pytest.raises(BrokenSource, match="rename yours and its module"):
        private(tmp_path)


@pytest.mark.parametrize("number", ["-1", "two"])
def test_a_number_of_trials_that_is_none_is_refused(number, capsys):
    with pytest.raises(SystemExit):
        main(["verify", "first_gradient", f"--trials={number}"])
    assert f"'{number}' is not a whole number of at least 0" in capsys.readouterr().err


def test_a_key_that_is_believed_but_not_there_is_told(monkeypatch):
    (lesson,) = COURSE.read(["first_gradient"])
    monkeypatch.setattr(gate_module, "key_in", lambda path, name: Path("none.json"))
    with pytest.raises(BrokenSource, match="has no key yet: run `autograder build first_gradient`"):
        verify(lesson, COURSE.exercises(lesson), "numerical_slope", number=0)
