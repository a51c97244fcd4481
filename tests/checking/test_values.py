"""Observations: plain values, comparison, and an exact and safe encoding."""

import math

import pytest
import torch

from autograder.checking.comparison import compare
from autograder.checking.values import AtMost, Other, canonical, decode, describe, encode


class Lying(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return True  # every question is answered with yes


class LyingFloat(float):
    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        -2.5,
        math.inf,
        math.nan,
        "text <b>",
        [1, [2.0, None]],
        {"a": 1, "b": [True]},
        AtMost(12, 10),
        AtMost(1e-12, 2.5e-16),
        Other("generator"),
        torch.tensor([[1.0, math.nan], [-math.inf, 1e-300]], dtype=torch.float64),
        torch.tensor([0.1, 1 / 3]),
        torch.tensor(7),
        torch.tensor([True, False]),
        torch.tensor([1 + 2j, -3j]),
        torch.empty(0, 3),
        torch.tensor([1.5, 2.5], dtype=torch.bfloat16),
    ],
)
def test_encoding_is_exact_and_plain(value):
    import json

    data = json.loads(json.dumps(encode(canonical(value)), allow_nan=False))
    assert compare(canonical(value), decode(data), what="", rtol=0.0) is None
    assert compare(decode(data), canonical(value), what="", rtol=0.0) is None


@pytest.mark.filterwarnings("ignore:Sparse CSR:UserWarning")
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_the_numbers_of_a_sparse_tensor_are_compared(layout):
    table = torch.tensor([[0.0, 1.0], [2.0, 0.0]])
    sparse = table.to_sparse(layout=layout)
    assert compare(canonical(table), canonical(sparse)) is None
    assert compare(canonical(table), canonical(sparse * 2)).id == "differs.entry"


def test_rows_of_the_same_index_are_added():
    rows, places = torch.tensor([[1.0], [2.0]]), [[1, 1]]
    twice = torch.sparse_coo_tensor(places, rows, (3, 1), requires_grad=True, check_invariants=True)
    assert compare(torch.tensor([[0.0], [3.0], [0.0]]), canonical(twice)) is None


def test_a_sparse_tensor_is_not_made_dense_at_any_price():
    huge = torch.sparse_coo_tensor([[0], [0]], torch.ones(1), (10**9, 10**9), check_invariants=True)
    assert canonical(huge) == Other("tensor without data")


@pytest.mark.parametrize("data", [{"tensor": [1], "shape": [1], "dtype": "load"}, {"x": 1}, {"float": "1"}, object()])
def test_decoding_refuses_what_was_never_encoded(data):
    with pytest.raises(ValueError, match=r"torch dtype|not an encoded observation"):
        decode(data)


def test_what_is_no_observation_is_named_and_never_run():
    def endless():
        while True:
            yield 1

    found = canonical({"a": endless(), "b": torch.nn.Linear(1, 1), "c": torch.ones(2, device="meta"), "d": ...})
    assert found == {"a": Other("generator"), "b": Other("Linear"), "c": Other("tensor on meta"), "d": Other("...")}


def test_an_integer_that_no_float_holds_is_named():
    """Python refuses to write one of more than 4300 digits."""
    huge = Other("|int| ≥ 2**1023")
    assert canonical([10**5000, -(10**400), 2**1000]) == [huge, huge, 2**1000]
    assert canonical({10**5000: 1}) == {huge.kind: 1}


def test_subclasses_cannot_lie():
    lie = torch.ones(2).as_subclass(Lying)
    assert compare(canonical(torch.zeros(2)), canonical(lie), what="x") is not None
    assert compare(0.0, canonical(LyingFloat(1.0)), what="x") is not None


@pytest.mark.parametrize(
    ("expected", "got", "id"),
    [
        (torch.ones(2, 3), torch.ones(3, 2), "differs.shape"),
        (torch.ones(2), torch.ones(2).double(), "differs.dtype"),
        (torch.ones(2), torch.tensor([1.0, math.nan]), "differs.entry"),
        (torch.ones(2), None, "differs.kind"),
        (1.0, torch.tensor(1.0), "differs.value"),
        (True, 1, "differs.value"),
        ([1, 2], [1, 2, 3], "differs.length"),
        ({"a": 1}, {"b": 1}, "differs.keys"),
        (AtMost(10, 8), AtMost(99, 11), "differs.budget"),
        (AtMost(1e-12, 1e-16), AtMost(1, 1e-9), "differs.budget"),
        (AtMost(10, 8, of=torch.ones(2)), AtMost(10, 0, of=None), "differs.counted_run"),
        (AtMost(10, 8, of=torch.ones(2)), AtMost(10, 0, of=torch.zeros(2)), "differs.counted_run"),
        (AtMost(10, 8, of=torch.ones(2)), AtMost(10, 11, of=None), "differs.budget"),
        (torch.ones(2), "RuntimeError: a text\nof two lines", "differs.raised"),
        (torch.ones(2), "an error", "differs.kind"),
        ("RuntimeError", torch.ones(2), "differs.value"),
    ],
)
def test_differences_are_named(expected, got, id):
    difference = compare(canonical(expected), canonical(got), what="it")
    assert difference is not None
    assert difference.id == id


def test_a_difference_never_tells_the_expected_numbers():
    expected = torch.tensor([1.25, 7.777], dtype=torch.float64)
    difference = compare(expected, torch.tensor([1.25, 3.0], dtype=torch.float64), what="gradient")
    assert difference is not None
    assert difference.parameters == {"what": "`gradient`: ", "count": 1, "total": 2, "index": [1], "got": "3"}


def test_tolerance_scales_with_the_largest_entry():
    expected = torch.tensor([1e6, 0.0], dtype=torch.float64)
    assert compare(expected, expected + 0.5, what="x") is None
    assert compare(expected, expected + 2.0, what="x") is not None
    assert compare(2, 2.0, what="x") is None


def test_the_expected_limit_counts_not_the_reported_one():
    assert compare(AtMost(10, 5), AtMost(1000, 11), what="x") is not None
    assert compare(AtMost(10, 5), AtMost(0, 10), what="x") is None


def test_descriptions_are_short():
    assert describe(torch.tensor(2.0)) == "tensor(2)"
    assert describe(torch.ones(2, 3)) == "tensor (2, 3) float32"
    assert len(describe("x" * 1000)) < 70


def test_two_numbers_are_shown_with_the_digits_that_tell_them_apart() -> None:
    expected = torch.tensor([0.5, 0.72196411], dtype=torch.float64)
    got = torch.tensor([0.5, 0.72196419], dtype=torch.float64)
    difference = compare(expected, got, reveal=True, rtol=1e-9)
    assert difference is not None
    assert (difference.parameters["got"], difference.parameters["expected"]) == ("0.7219642", "0.7219641")
    alone = compare(1.0, 1.00000001, reveal=True, rtol=1e-9)
    assert alone is not None
    assert (alone.parameters["got"], alone.parameters["expected"]) == ("1.00000001", "1")
