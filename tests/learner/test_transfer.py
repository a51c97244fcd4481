"""`autograder progress`: a history moved to another machine, and the page on what was done."""

import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder import cli, exercises
from autograder.checking.verdict import Verdict, VerdictState
from autograder.history import read_history
from autograder.messages.cards import message
from autograder.messages.study_record import WORDS
from support.check import NAME as UNEVEN
from support.public_reports.history_after_a_merge import change

DAY = 86_400
BEGIN = 1_700_000_000
KNOWN = exercises.find(UNEVEN)


def verdict_of(name, passed=True, mistake=None):
    exercise = exercises.find(name)
    state = VerdictState.PASSED if passed else VerdictState.NOT_YET
    return Verdict(name, exercise.lesson, exercise.version, state, (), mistake=mistake)


def line(time, name=UNEVEN, **how):
    return json.dumps({"time": time, "verdict": verdict_of(name, **how).to_json()})


def command(*arguments):
    return cli.main(["progress", *map(str, arguments)])


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Become a machine of this name, which has a history of its own."""

    def become(name, *lines):
        home = tmp_path / name
        home.mkdir(exist_ok=True)
        monkeypatch.setenv("AUTOGRADER_HOME", str(home))
        if lines:
            (home / "progress.jsonl").write_text("".join(f"{each}\n" for each in lines), encoding="utf-8")
        return home / "progress.jsonl"

    return become


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.booleans()), min_size=2, max_size=12))
def test_histories_of_two_machines_are_joined_in_the_order_of_time(tmp_path_factory, made):
    """Whatever is imported how often and in which direction: each check is there once, in order, and none is lost."""
    folder = tmp_path_factory.mktemp("machines")
    with pytest.MonkeyPatch.context() as patch:
        checks = [(machine, BEGIN + place * 10 + step, passed) for place, (machine, step, passed) in enumerate(made)]
        for name in "ab":
            (folder / name).mkdir()
            lines = [line(at, passed=passed) for machine, at, passed in checks if machine == name]
            (folder / name / "progress.jsonl").write_text("".join(f"{each}\n" for each in lines), encoding="utf-8")
        for number, (source, target) in enumerate([*("ab", "ba", "ab")]):
            patch.setenv("AUTOGRADER_HOME", str(folder / source))
            if not (folder / source / "progress.jsonl").read_text():
                continue
            assert command("--export", folder / f"{number}.jsonl") == 0
            patch.setenv("AUTOGRADER_HOME", str(folder / target))
            assert command("--import", folder / f"{number}.jsonl") == 0
        wanted = [(at, VerdictState.PASSED if passed else VerdictState.NOT_YET) for _, at, passed in checks]
        assert [(each.time, each.verdict.state) for each in read_history().checks] == wanted


def test_a_history_that_git_has_merged_by_half_counts_each_check_once(machine, capsys):
    history = "".join(f"{each}\n" for each in (line(BEGIN, passed=False), line(BEGIN + DAY)))
    file = machine("merged")
    file.write_text(change(history), encoding="utf-8")
    assert [each.time for each in read_history().checks] == [BEGIN, BEGIN + DAY]
    assert command("--language", "en") == 0
    said = capsys.readouterr().out
    assert f"Damaged lines in {file}: 3 (numbers 1, 4, 7). They stay there and are not counted." in said
    file.write_text("<<<<<<< HEAD\n", encoding="utf-8")
    assert command("--language", "en") == 0
    assert "Damaged lines" in capsys.readouterr().out
    file.write_text(change(history), encoding="utf-8")
    assert command("--export", file.with_name("out.jsonl"), "--language", "en") == 0
    assert "holds your history, 2 checks." in capsys.readouterr().out

    file.write_text(history + json.dumps({**json.loads(line(BEGIN)), "imported": True}) + "\n", encoding="utf-8")
    assert len(read_history().checks) == 3, "another verdict of the same second"
    file.write_text(history + history.replace("}\n", ', "imported": true}\n'), encoding="utf-8")
    assert len(read_history().checks) == 2, "brought by both ways"


def test_half_a_character_is_imported(machine, tmp_path, capsys):
    """A lone surrogate in an answer's error, as Python escapes it; no file holds it in another form."""
    machine("here", line(BEGIN))
    given = json.loads(line(BEGIN + DAY))
    given["verdict"]["mistake"] = "\ud800"
    (other := tmp_path / "other.jsonl").write_text(json.dumps(given) + "\n", encoding="utf-8")
    assert command("--import", other) == 0
    assert command("--import", other, "--language", "en") == 0
    assert "Checks added: 0. Here already: 1." in capsys.readouterr().out
    assert [each.verdict.mistake for each in read_history().checks] == [None, "\ud800"]


def test_a_wrong_clock_of_this_machine_reorders_none_of_its_checks(machine):
    file = machine("here", line(BEGIN + 9 * DAY, passed=False), line(BEGIN))
    other = file.with_name("other.jsonl")
    other.write_text(line(BEGIN + 5 * DAY, "accumulate_equal") + "\n", encoding="utf-8")
    assert command("--import", other) == 0
    order = [(each.verdict.exercise, each.verdict.state) for each in read_history().checks]
    assert order == [("accumulate_equal", "passed"), (UNEVEN, "not yet"), (UNEVEN, "passed")]


@pytest.mark.parametrize("language", ["en", "ru"])
def test_what_cannot_be_moved_gets_one_sentence_and_changes_nothing(language, machine, tmp_path, capsys):
    machine("empty")
    assert command("--export", tmp_path / "out", "--language", language) == 1
    assert message("progress.empty").read(language) in capsys.readouterr().err
    file = machine("here", line(BEGIN))
    before = file.read_bytes()
    (tmp_path / "taken").write_text("mine", encoding="utf-8")
    assert command("--export", tmp_path / "taken", "--language", language) == 1
    assert message("export.exists", file=tmp_path / "taken").read(language) in capsys.readouterr().err
    assert (tmp_path / "taken").read_text(encoding="utf-8") == "mine"
    assert command("--import", tmp_path / "taken", "--language", language) == 1
    assert message("import.nothing", file=tmp_path / "taken").read(language) in capsys.readouterr().err
    for where in ("--import", "--page"):
        assert command(where, tmp_path / "missing" / "file", "--language", language) == 1
        assert message("export.refused", file="", error="").read(language)[-20:] in capsys.readouterr().err
    assert file.read_bytes() == before


def test_damaged_and_foreign_lines_are_kept_and_told(machine, tmp_path, capsys):
    foreign = json.dumps({"time": BEGIN, "verdict": {"exercise": "future", "shape": 3}})
    machine("there", line(BEGIN), foreign, line(BEGIN)[:50])
    assert command("--export", tmp_path / "out.jsonl") == 0
    machine("here")
    assert command("--import", tmp_path / "out.jsonl") == 0
    said = capsys.readouterr().out
    assert message("import.added", count=2, known=0).read("en") in said
    assert message("import.broken", count=1).read("en") in said
    assert (len(read_history().checks), read_history().foreign) == (1, 1)


def test_a_history_of_100_000_checks_is_read_once(machine):
    lines = [line("NUMBER", name, passed=passed) for name in (UNEVEN, "descend") for passed in (False, True)]
    machine("long", *(lines[n % 4].replace('"NUMBER"', str(BEGIN + n)) for n in range(100_000)))
    assert len(read_history().checks) == 100_000
    assert command() == 0


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_page_says_what_was_done_and_what_it_is_not(language, machine, tmp_path):
    mistakes = [*exercises.misconceptions_of(KNOWN)]
    equal = next(iter(exercises.misconceptions_of(exercises.find("accumulate_equal"))))
    machine(
        "here",
        line(BEGIN, passed=False, mistake=mistakes[0]),
        line(BEGIN + DAY),
        line(BEGIN + 2 * DAY, "descend"),
        line(BEGIN + 3 * DAY, "accumulate_equal", passed=False, mistake=equal),
        "{broken",
    )
    assert command("--page", tmp_path / "page.html", "--language", language) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    shown = re.sub(r"<[^>]+>|<style>.*</style>", "", page, flags=re.S)
    assert "neither a certificate" in page or "не сертификат" in page
    for day in (0, 2, 3):
        assert f"{time.strftime('%Y-%m-%d', time.localtime(BEGIN + day * DAY))}" in page
    overcome, _, still_open = page.partition(WORDS["open"].read(language))
    assert exercises.sentence_for(KNOWN, mistakes[0]).read(language).split("`")[0] in overcome
    assert exercises.find("accumulate_equal").title.read(language) in still_open
    assert WORDS["broken"].format(count=1).read(language) in shown
    assert f"<b>1 / 3</b>{WORDS['at_once'].read(language)}" in page
    assert "http" not in page


def test_a_variant_is_in_no_figure_of_the_page(machine, tmp_path):
    machine("here", line(BEGIN), json.dumps({**json.loads(line(BEGIN + DAY, "descend")), "variant": 2}))
    assert command("--page", tmp_path / "page.html") == 0
    assert "<b>1</b>Exercises passed" in (tmp_path / "page.html").read_text(encoding="utf-8")
