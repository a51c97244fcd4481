"""Building: committed files, twins, staleness, and sources as jupytext reads them."""

import json
import re
import shutil
from pathlib import Path

import jupytext
import nbformat
import pytest

from autograder.authoring import lint
from autograder.authoring.built_files import accept, stale
from autograder.checking.exercise import PUBLIC_SEED
from autograder.cli import main
from autograder.language import LANGUAGES
from autograder.lessons.collection import COURSE, Collection
from autograder.lessons.keys import build_key
from autograder.lessons.source import read
from autograder.messages.learners import MESSAGES
from support.solved import built_notebook

SOURCES = sorted(COURSE.lessons.glob("*.py"))


@pytest.mark.parametrize("lesson", COURSE.read(), ids=lambda lesson: lesson.name)
def test_committed_notebooks_are_what_the_sources_give(lesson):
    """The gate's test compares the keys."""
    assert stale(COURSE.students_notebooks(lesson)) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_jupytext_reads_a_source_as_we_do(path):
    theirs = jupytext.read(path, fmt="py:percent").cells
    ours = read(path).cells
    written = [(c.kind, "" if "include" in c.metadata else c.source) for c in ours]
    assert [(c.cell_type, c.source.strip("\n")) for c in theirs] == written
    for a, b in zip(theirs, ours, strict=True):
        assert {k: v for k, v in a.metadata.items() if k != "lines_to_next_cell"} == b.metadata


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_students_notebook_holds_no_solution_and_one_language(path, language):
    text = (COURSE.notebooks / language / f"{path.stem}.ipynb").read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    assert "SOLUTION" not in text
    assert "Rubric" not in text
    assert "alternative" not in str([cell.metadata for cell in notebook.cells])
    assert {tag for cell in notebook.cells for tag in cell.metadata.get("tags", [])} == {language}
    assert all(not cell.get("outputs") for cell in notebook.cells)
    prose = " ".join(c.source for c in notebook.cells if c.cell_type == "markdown" and "nbgrader" not in c.metadata)
    prose = prose.partition("## Glossary")[0]  # which is in both languages
    assert bool(re.search("[а-я]", prose)) == (language == "ru")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_both_languages_have_the_same_code_ids_and_grades(path):
    english, russian = (
        nbformat.read(COURSE.notebooks / language / f"{path.stem}.ipynb", as_version=4) for language in LANGUAGES
    )

    def graded(notebook):
        return [(c.id, c.source, c.metadata.get("nbgrader")) for c in notebook.cells if "tags" not in c.metadata]

    assert graded(english) == graded(russian)


def copy_of(path: Path, folder: Path) -> Collection:
    """Copies a lesson and its exercises without the key."""
    (folder / "lessons").mkdir()
    shutil.copy(path, folder / "lessons" / "20_copied.py")
    package = COURSE.modules / read(path).name
    shutil.copytree(package, folder / "exercises" / "copied", ignore=shutil.ignore_patterns("key", "__pycache__"))
    return Collection(folder / "lessons", folder / "exercises", folder)


def complaints(text: str, tmp_path: Path) -> list[str]:
    path = tmp_path / "20_some.py"
    path.write_text(text, encoding="utf-8")
    return [complaint for _, complaint in lint.problems(read(path))]


def pair(english: str, russian: str) -> str:
    from autograder.lessons.source import source_digest

    def comment(text: str) -> str:
        return "\n".join(f"# {line}" for line in text.splitlines())

    header = f'# %% [markdown] tags=["ru"] of="{source_digest(english)}"'
    return f'# %% [markdown] tags=["en"]\n{comment(english)}\n{header}\n{comment(russian)}\n'


@pytest.mark.parametrize(
    ("english", "russian", "complaint"),
    [
        ("The square $x^2$.", "Квадрат $x^3$.", "differ in formulas"),
        ("Call `f()`.", "Вызовите `g()`.", "differ in code spans"),
        ("## One", "Один", "differ in headings"),
        ("* a\n* b", "* а", "differ in list items"),
        ("[here](a.md)", "[тут](b.md)", "differ in links"),
        (
            "The loss.",
            "Это лосс.",
            "«лосс» is not in the glossary: write «функция потерь / значение функции потерь, потери»",
        ),
        ("Clipping.", "Отсечение (клиппинг).", None),
        ("A step under `no_grad()`.", "Шаг под `no_grad()`.", "English in Russian words: write «внутри»"),
        ("Put it under `@staticmethod`.", "Поставьте под `@staticmethod`.", None),
        ("Training goes uphill.", "Обучение пойдёт в гору.", "write «потери растут»"),
        ("The check counts.", "Проверка считает, что делает код.", "write «проверка учитывает»"),
        ("The check counts bytes.", "Проверка считает байты.", None),
        ("They are from 1 to 2.", "Числа лежат от 1 до 2.", "write «лежит в пределах от»"),
        ("The run in which it is.", "Запуск, на котором это видно.", "write «запуск, в котором»"),
        ("The gain over one.", "Нет выигрыша перед одним.", "write «выигрыш по сравнению с»"),
        ("All with a graph.", "Вычтите всё то, у которого есть граф.", "write «всё, у чего»"),
        ("65,536 bytes.", "65 536 байт.", "between its digits"),
        ("65,536 bytes.", "65\N{NO-BREAK SPACE}536 байт.", None),
        ("At −1.", "В точке -1.", "the minus sign"),
        ("One. Two.", "Одно; другое.", "a semicolon"),
        ("One, two, three (four, five).", "Одно; другое; третье (пять; шесть).", None),
        ("* one, two\n\n`a; b`", "* одно; другое\n\n`a; b`", None),
        ("At `-1` and $-1$, see lesson-1.", "В точках `-1` и $-1$, см. урок-1.", None),
        ("Neither counts.", "Ни тот, ни другой не учтён.", "has no comma"),
        ("Call it and compare.", "Вызовем её и сравним.", "without its noun"),
        ("Call `f()`. Call it again.", "Вызовем `f()`. Вызовем её и сравним.", None),
        ("* **Not allowed.** Two passes.", "* **Нельзя.** Два прохода.", "an infinitive"),
        ("* **Not allowed.** To run two passes.", "* **Нельзя.** Выполнять два прохода.", None),
    ],
)
def test_twins_must_say_the_same(tmp_path, english, russian, complaint):
    found = complaints(pair(english, russian), tmp_path)
    assert any(complaint in each for each in found) if complaint else found == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_line_begins_with_the_comma_behind_a_formula(language):
    (lesson,) = COURSE.read(["first_gradient"])
    cells = json.loads(built_notebook(lesson, language))["cells"]
    prose = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    (derivative,) = [text for text in prose if "$y = x^2$" in text]
    assert "$2x{,}$" in derivative if language == "en" else "$x = 3{.}$" in derivative
    assert not re.search(r"[^$]\$[,.;:!?)]", re.sub(r"`[^`]*`", "", "\n".join(prose)))


def test_a_russian_text_gone_stale_is_found_and_accepted(tmp_path):
    path = tmp_path / "20_some.py"
    path.write_text(pair("One.", "Один.").replace("# One.", "# One more."), encoding="utf-8")
    assert any("has changed" in complaint for _, complaint in lint.problems(read(path)))
    assert accept(read(path)) == 1
    assert list(lint.problems(read(path))) == []


def test_prose_without_a_twin_is_found(tmp_path):
    alone = '# %% [markdown] tags=["en"]\n# One.\n# %%\nx = 1\n# %% [markdown]\n# Two.\n'
    found = complaints(alone, tmp_path)
    assert "without its Russian twin" in found[0]
    assert "prose without a language" in found[1]


def test_the_key_on_disk_is_kept_when_it_agrees_to_the_tolerance(tmp_path):
    collection = copy_of(SOURCES[0], tmp_path)
    (lesson,) = collection.read()
    path, text = next((path, text) for path, text in collection.keys(lesson).items() if path.stem == "descend")
    path.parent.mkdir()
    shifted = re.sub(r"([1-9]\.\d{7})[1-8]\b", r"\g<1>9", text)
    assert shifted != text
    path.write_text(shifted, encoding="utf-8")
    assert path not in stale(collection.keys(lesson))
    path.write_text(shifted.replace('"dtype":"float64"', '"dtype":"float32"', 1), encoding="utf-8")
    assert path in stale(collection.keys(lesson))


@pytest.mark.parametrize(
    ("now_used", "agrees"),
    [
        (lambda limit, used: used + 1 if used > limit else limit, True),
        (lambda limit, used: min(used, limit), False),  # what was exceeded is kept
        (lambda limit, used: max(used, limit + 1), False),
    ],
)
def test_a_budget_in_the_key_on_disk_may_be_used_more_or_less(tmp_path, exercises, ran, now_used, agrees):
    exercise, path = exercises["train_epoch"], tmp_path / "train_epoch.json"
    expected = ran.expect(exercise, PUBLIC_SEED)

    def changed(budget: re.Match[str]) -> str:
        return f'"at_most":{budget[1]},"used":{now_used(int(budget[1]), int(budget[2]))}'

    text = build_key(exercise, expected, path)
    path.write_text(re.sub(r'"at_most":(\d+),"used":(\d+)', changed, text), encoding="utf-8")
    assert path.read_text(encoding="utf-8") != text
    assert (build_key(exercise, expected, path) == path.read_text(encoding="utf-8")) == agrees


def test_unknown_lessons_and_broken_sources_fail_with_a_remedy(capsys):
    assert main(["build", "gradient_acumulation"]) == 1
    assert "Did you mean `gradient_accumulation`" in capsys.readouterr().err


def test_a_lesson_is_named_with_or_without_its_number():
    for name in ("03_gradient_accumulation", "gradient_accumulation"):
        assert [lesson.name for lesson in COURSE.read([name])] == ["gradient_accumulation"]


def test_interface_texts_are_whole_in_both_languages():
    for id, text in MESSAGES.items():
        assert text.placeholders_agree(), id
        assert text.en.count("`") == text.ru.count("`"), id
        assert list(lint.banned_words(text.ru)) == [], id


def test_a_lesson_asks_at_least_four_times_to_change_or_foretell_something():
    """A learner once had 418 cells to watch and three to change."""
    for lesson in COURSE.read():
        asked = [cell for cell in lesson.cells if cell.is_invitation and cell.language == "en"]
        assert len(asked) >= 4, lesson.name
