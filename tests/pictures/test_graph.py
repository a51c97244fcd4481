"""The graph as data: true to torch, and unchanged by reading it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder import draw
from autograder.measure import saved_bytes
from autograder.pictures.graph.model import Graph, Tensor
from support import graphs
from support.graphs import AWKWARD, Made
from support.pictures import drawn, gradients, walk

PROGRAMS = st.lists(
    st.tuples(st.sampled_from(sorted(graphs.STEPS)), st.integers(0, 99), st.integers(0, 99)), max_size=12
)


def tensor(graph: Graph, name: str) -> Tensor:
    (found,) = (tensor for tensor in graph.tensors if name in tensor.names)
    return found


def assert_true(made: Made, graph: Graph) -> None:
    """Nodes, edges, leaves and versions are what torch has."""
    nodes, edges = walk(made)
    assert Counter(node.name for node in graph.nodes) == Counter(type(node).__name__ for node in nodes)
    names = [node.name for node in graph.nodes]
    read = [(names[e.source], e.slot, None if e.target is None else names[e.target], e.output) for e in graph.edges]
    assert Counter(read) == Counter(edges)
    assert all(edge.target is None or edge.source < edge.target for edge in graph.edges)
    assert graph.size == len(graph.nodes) == len({node.id for node in graph.nodes})
    variables = {id(node.variable): node.variable for node in nodes if type(node).__name__ == "AccumulateGrad"}
    leaves = [graph.tensors[node.leaf] for node in graph.nodes if node.leaf is not None]
    assert all(leaf.kind == "leaf" and leaf.requires_grad for leaf in leaves)
    for name, value in made.names.items():
        if id(value) in variables:
            leaf = tensor(graph, name)
            assert (leaf.shape, leaf.version) == (tuple(value.shape), value._version)
            assert (leaf.grad is None) == (value.grad is None)


def assert_plain(record: object) -> None:
    """Only numbers, texts and records of these: nothing keeps a tensor alive."""
    if dataclasses.is_dataclass(record):
        for one in dataclasses.fields(record):
            assert_plain(getattr(record, one.name))
    elif isinstance(record, (tuple, list, dict)):
        for item in record.items() if isinstance(record, dict) else record:
            assert_plain(item)
    else:
        assert record is None or type(record) in (int, str, bool)


def assert_undisturbed(make: Callable[[], Made]) -> Graph:
    """Drawing changes nothing: the second picture is equal to the first, the gradients to those of an undrawn twin."""
    made = make()
    graph = drawn(made).graph
    assert drawn(made).graph == graph
    assert_true(made, graph)
    assert_plain(graph)
    assert gradients(made) == gradients(make())
    return graph


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs_are_read_as_they_are(name: str) -> None:
    assert_undisturbed(AWKWARD[name])


@settings(max_examples=200, derandomize=True, database=None)
@given(PROGRAMS)
def test_random_graphs_are_read_as_they_are(program: list[graphs.Instruction]) -> None:
    assert_undisturbed(lambda: graphs.run(program))


@settings(max_examples=100, derandomize=True, database=None)
@given(PROGRAMS)
def test_bytes_are_those_that_hooks_measure(program: list[graphs.Instruction]) -> None:
    # Hooks do not see what a checkpoint packs inside, nor what is on ctx; a detached alias is an input for one only.
    program = [step for step in program if step[0] not in ("checkpoint", "custom", "detach")]
    kept = ("a", "b", "c", "loss")
    made = graphs.run(program)
    graph = drawn(Made(made.outputs, {name: made.names[name] for name in kept})).graph
    with saved_bytes() as measured:
        made = graphs.run(program)
    made = Made(made.outputs, {name: made.names[name] for name in kept})  # what is not behind the loss goes
    inputs = {made.names[name].untyped_storage().data_ptr() for name in "abc"}
    assert graph.saved_bytes == replace(measured, _known=inputs).now


def graph_of(name: str) -> Graph:
    return drawn(AWKWARD[name]()).graph


def test_a_leaf_used_twice_is_one_leaf_with_two_rows() -> None:
    graph = graph_of("square_of_a_leaf")
    p = tensor(graph, "p")
    rows = [(row.name, row.tensor, row.counted) for row in graph.saved]
    assert sorted(rows) == [("other", p.id, "input"), ("self", p.id, "input")]
    assert graph.arriving_at(p) == 2
    assert graph.saved_bytes == 0


def test_intermediates_have_their_names() -> None:
    graph = graph_of("names_of_intermediates")
    assert {t.names[0]: t.kind for t in graph.tensors} == {
        "loss": "output",
        "x": "leaf",
        "w": "leaf",
        "h": "intermediate",
        "activation": "intermediate",
    }
    made = {graph.nodes[t.node].name: t.names[0] for t in graph.tensors if t.node is not None}
    assert made == {"SumBackward0": "loss", "TanhBackward0": "activation", "MulBackward0": "h"}
    assert [(row.name, graph.tensors[row.tensor].name) for row in graph.saved if row.counted == "here"] == [
        ("result", "activation")
    ]


def test_edges_say_which_output_they_belong_to() -> None:
    graph = graph_of("outputs_of_unbind")
    unbind = next(node for node in graph.nodes if node.name == "UnbindBackward0")
    arriving = [(edge.output, graph.tensors[edge.tensor].name) for edge in graph.edges if edge.target == unbind.id]
    assert arriving == [(1, "second"), (0, "first")]
    assert unbind.id in graph.multiple
    assert [tensor(graph, name).view_of for name in ("first", "second")] == [tensor(graph, "m").id] * 2


@pytest.mark.parametrize("name", ["after_backward", "after_backward_of_a_custom_function"])
def test_after_backward_what_was_saved_is_freed(name: str) -> None:
    graph = graph_of(name)
    assert {row.state for row in graph.saved if not row.attribute} == {"freed"}
    assert tensor(graph, "x").grad is not None
    assert [note.id for note in graph.notes] == ["note.freed"]


def test_a_saved_tensor_edited_in_place_says_its_versions() -> None:
    graph = graph_of("edited_in_place_after_saving")
    modified = [(row.name, row.versions, row.bytes) for row in graph.saved if row.state == "modified"]
    assert sorted(modified) == [("result", (0, 1), 12), ("self", (0, 1), 12)]
    assert tensor(graph, "e").version == 1
    assert [note.id for note in graph.notes] == ["note.modified"]


@pytest.mark.parametrize(
    ("name", "modified"),
    [("input_of_a_custom_function_edited", "tensors[0]"), ("output_of_a_custom_function_edited", "tensors[1]")],
)
def test_the_edited_tensor_of_a_custom_function_is_told_from_the_other(name: str, modified: str) -> None:
    states = {row.name: row.state for node in graph_of(name).nodes if node.custom for row in node.saved}
    other = "tensors[1]" if modified == "tensors[0]" else "tensors[0]"
    assert states == {modified: "modified", other: "held", "ctx.square": "held"}


def test_a_weight_that_an_optimizer_changed_is_modified_and_an_input() -> None:
    rows = {(row.state, row.counted) for row in graph_of("weight_stepped_before_backward").saved if row.name == "other"}
    assert rows == {("modified", "input")}


def test_a_checkpoint_is_not_recomputed() -> None:
    made = AWKWARD["checkpointed"]()
    graph = drawn(made).graph
    assert made.names["ran"] == [1]
    assert {(row.state, row.packed_by, row.bytes) for row in graph.saved} == {("packed", "checkpoint_hook", None)}


def test_a_hook_is_not_unpacked_and_what_it_packed_is_counted() -> None:
    made = AWKWARD["packed_by_hooks"]()
    graph = drawn(made).graph
    assert made.names["unpacked"] == []
    assert {(row.state, row.packed_by) for row in graph.saved} == {("packed", "unpack")}
    assert graph.saved_bytes == 36  # the hook cloned each of the three


def test_hooks_have_their_functions_names_and_drawing_leaves_none() -> None:
    made = AWKWARD["hooks_and_retained_gradients"]()
    graph = drawn(made).graph
    h, x = tensor(graph, "h"), tensor(graph, "x")
    assert (h.hooks, h.retains_grad, h.grad) == (("clip",), True, "[1, 1, 1]")
    assert (x.hooks, x.post_hooks, x.grad) == ((), ("landed",), "[3, 3, 3]")
    assert [len(made.names["h"]._backward_hooks), made.names["x"]._backward_hooks] == [1, None]


def test_what_belongs_to_a_gradient_alone_has_its_own_lane() -> None:
    graph = graph_of("gradient_of_a_gradient")
    loss, grad = graph.outputs
    lanes = {lane: [n.name for n in graph.nodes if n.lane == lane] for lane in (None, loss, grad)}
    assert lanes[None] == ["AccumulateGrad"]
    assert sorted(lanes[loss]) == ["PowBackward0", "SumBackward0"]
    assert sorted(lanes[grad]) == ["MulBackward0", "MulBackward1", "PowBackward0"]
    assert tensor(graph_of("grad_with_a_graph_of_its_own"), "x").grad_has_graph


def test_names_come_from_models_and_containers() -> None:
    graph = graph_of("hidden_in_containers")
    names = {name for one in graph.tensors for name in one.names}
    assert names >= {"model.0.weight", "model.0.bias", "model.1.weight", "model.3.weight", "batch.x", "y[0]", "loss"}
    assert tensor(graph, "batch.x").kind == "constant"
    assert {graph.nodes[e.source].name for e in graph.edges if e.tensor == tensor(graph, "batch.x").id} == {
        "AddmmBackward0"
    }


def test_all_names_of_one_tensor_are_its_names() -> None:
    graph = graph_of("many_names_for_one_tensor")
    assert tensor(graph, "a").names == ("a", "b", "c", "d")
    assert tensor(graph, "e").names == ("e", "f")


def test_a_slice_holds_the_bytes_of_its_whole_storage_once() -> None:
    graph = graph_of("slices_that_hold_a_large_storage")
    assert [row.bytes for row in graph.saved] == [4000, 4000, 4000]
    assert graph.saved_bytes == 4000


def test_tensors_on_ctx_are_seen_and_counted() -> None:
    graph = graph_of("input_of_a_custom_function_edited")
    (by_hand,) = (row for row in graph.saved if row.attribute)
    assert (by_hand.name, by_hand.bytes, by_hand.counted) == ("ctx.square", 12, "here")
    assert [node.name for node in graph.nodes if node.custom] == ["CubeBackward"]


def test_an_edited_view_that_torch_refuses_to_speak_of_does_no_harm() -> None:
    made = AWKWARD["view_made_invalid"]()
    assert "first" not in {name for one in drawn(made).graph.tensors for name in one.names}


def test_a_learners_own_tensor_class_and_modes_are_not_called() -> None:
    called = []

    class Noisy(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            called.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(3).as_subclass(Noisy).requires_grad_()
    loss = (x * x).sum()
    called.clear()
    assert tensor(draw(loss).graph, "x").shape == (3,)
    assert called == []
