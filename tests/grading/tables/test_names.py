"""Names of people, compared."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.grading.tables import names

WORDS = st.lists(st.text("абвёйО'ʼzÉß-", min_size=1, max_size=6), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Пётр Ёлкин", "ЕЛКИН Петр"),
        ("Jean-Luc O’Neil", "O'Neil, Jean Luc"),
        ("Ana María", unicodedata.normalize("NFD", "María  Ana")),
        ("Иванов-Петров Ян", "Ян Иванов Петров"),
        ("Smith John 🎓", "john smith"),
    ],
)
def test_the_same_person(one: str, other: str) -> None:
    assert names.key(one) == names.key(other)


@pytest.mark.parametrize(("one", "other"), [("Иванов Пётр", "Иванова Пётр"), ("Müller", "Muller"), ("Ян Ли", "Янли")])
def test_other_people(one: str, other: str) -> None:
    assert names.key(one) != names.key(other)


def test_canvas_form_of_a_name() -> None:
    assert "ивановпетр" in names.joined("Пётр Иванов")
    assert "oneiljeanluc" in names.joined("Jean-Luc O’Neil")


@given(WORDS)
def test_order_case_and_form_make_no_difference(words: list[str]) -> None:
    name = " ".join(words)
    assert names.key(" ".join(reversed(words)).upper()) == names.key(name.upper())
    assert names.key(unicodedata.normalize("NFD", name)) == names.key(name)


@given(WORDS)
def test_yo_apostrophes_and_composition_make_no_difference(words: list[str]) -> None:
    name = " ".join(words)
    other = name.replace("ё", "е").replace("'", "’").replace("ʼ", "`")
    assert names.parts(unicodedata.normalize("NFKD", other)) == names.parts(name)
    assert names.joined(other) == names.joined(name)
