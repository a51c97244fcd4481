"""Layout of graphs: lanes, folded repetitions, width, shapes, and paper of any colour."""

from __future__ import annotations

import graphlib
import itertools
import re
import xml.etree.ElementTree as ET

import pytest
import torch

from autograder import draw
from autograder.pictures.draw import Picture, picture
from autograder.pictures.graph.fold import LIMIT, fold
from support.graphs import AWKWARD
from support.pictures import drawn, image, shown, squeezed, words_of


def test_what_only_the_second_order_needs_stands_in_its_lane() -> None:
    x = torch.ones(2, requires_grad=True)
    loss = (x**3).sum()
    (grad,) = torch.autograd.grad(loss, x, create_graph=True)
    picture = draw(loss, grad, saved=True)
    lanes = lanes_of(picture)
    ones, leaf = (next(t for t in picture.graph.tensors if t.kind == kind) for kind in ("constant", "leaf"))
    assert list(lanes) == [*picture.graph.outputs]
    for output, boxes in lanes.items():
        assert {f"n{node.id}" for node in picture.graph.nodes if node.lane == output and node.leaf is None} < boxes
        assert f"t{output}" in boxes
        assert f"t{leaf.id}" not in boxes
    assert f"t{ones.id}" in lanes[picture.graph.outputs[1]]


def lanes_of(picture: Picture) -> dict[int, set[str]]:
    """The boxes in each frame."""
    frames = re.findall(r"subgraph cluster(\d+) \{(.*?)\n\t\}", picture.dot, re.DOTALL)
    return {int(output): set(re.findall(r"^\t+(\w+) \[label", inside, re.M)) for output, inside in frames}


def test_outputs_are_treated_alike_whatever_their_order() -> None:
    x = torch.ones(4, requires_grad=True)
    constant = torch.ones(1)
    one = torch.nn.functional.silu(x)
    shared = x.sigmoid()
    two, three = x * shared, shared.exp()
    given = [[constant, one, two, three]]  # too deep to give them names of its own
    for places in itertools.permutations(range(4)):
        picture = draw(*(given[0][place] for place in places), saved=True)
        graph, text = picture.graph, str(picture)
        alone = {graph.tensors[id].name: size for id, size in graph.alone}
        assert alone == {"one": 0, "two": 16, "three": 32}
        assert graph.saved_bytes == 32
        names = {graph.tensors[node.lane].name: node.name for node in graph.nodes if node.lane is not None}
        assert names == {"one": "SiluBackward0", "two": "MulBackward0", "three": "ExpBackward0"}
        order = [id for id in graph.outputs if id in lanes_of(picture)]
        assert list(lanes_of(picture)) == order
        assert len(order) == 3
        assert text.index("--- only behind") < text.index("--- behind several outputs ---") < text.index("SigmoidB")
        for said in ("one 0 B", "two 16 B", "three 32 B"):
            assert said in text.split("Each output by itself: ")[1].splitlines()[0]


def test_an_output_inside_the_graph_of_another_has_no_frame() -> None:
    x = torch.ones(2, requires_grad=True)
    h = x.exp()
    loss = h.sum()
    picture = draw(h, loss)
    assert list(lanes_of(picture)) == [picture.graph.outputs[1]]
    assert not lanes_of(draw(loss))
    assert not lanes_of(draw(loss, loss))
    assert "by itself" not in str(draw(loss, loss, saved=True))


MANY = {
    "alike": lambda x: [(x * i).exp().sum() for i in range(1, 21)],
    "different": lambda x: [f(x * x) for f in (torch.sin, torch.exp, torch.tanh, torch.cos, torch.erf, torch.abs)],
    "into one": lambda x: torch.stack([f(x) for f in (torch.sin, torch.exp, torch.tanh, torch.cos, torch.erf, abs)]),
}


@pytest.mark.parametrize("kind", MANY)
def test_what_stands_side_by_side_fits_on_a_page_and_what_is_left_out_is_counted(kind: str) -> None:
    x = torch.ones(4, requires_grad=True)
    outputs = MANY[kind](x)
    picture = draw(outputs)
    svg, _, text, metadata = shown(picture)
    assert metadata["image/png"]["width"] < 1400
    folded = fold(picture.graph)
    assert sum(node.count for node in folded.nodes) == len(picture.graph.nodes)
    assert folded.saved_bytes == picture.graph.saved_bytes
    if kind != "into one":
        said = f"Outputs given: {len(outputs)}, drawn: {len(folded.outputs)};"
        assert said in text
        assert squeezed(said) in squeezed(words_of(svg))
        assert ", …" in text.splitlines()[0]
    assert {tensor.id for tensor in folded.tensors if tensor.kind == "output"} == set(folded.outputs)


def test_a_picture_shrinks_only_to_letters_that_can_be_read_and_scrolls_then() -> None:
    x = torch.ones(2, requires_grad=True)
    for outputs, fixed in ([x.exp()], True), ([x.exp(), x.sin() * 2, x.tanh().cos()], False):
        bundle, metadata = draw(outputs)._repr_mimebundle_()
        assert (metadata["image/png"]["width"] < 800) == fixed
        shown_as = image(bundle["text/html"])
        root = ET.fromstring(shown_as.svg)
        least = re.search(r"min-width:(\d+)px", shown_as.style)
        smallest = min(float(text.attrib["font-size"]) for text in root.iter("{http://www.w3.org/2000/svg}text"))
        assert least
        assert int(least[1]) * smallest / float(root.attrib["viewBox"].split()[2]) > 10.9
        assert 'tabindex="0"' in bundle["text/html"]
        assert "overflow-x:auto" in bundle["text/html"]
        assert all(root.attrib[side].endswith("pt") for side in ("width", "height"))  # letters have one size everywhere
        assert root.attrib["viewBox"]


def test_kinds_differ_by_shape_and_not_by_colour_alone() -> None:
    x, c = torch.ones(2, requires_grad=True), torch.ones(2)
    h = x * c
    loss = h.sum()
    source = draw(loss).dot
    looks = {}
    for line in source.splitlines():
        if found := re.match(r"\s*([tn])(\d+) \[label=", line):
            keep = re.findall(r"\b(shape|style|peripheries)=\"?([^\s\]\"]+)", re.sub(r"<.*>", "", line))
            looks[found[1] + found[2]] = tuple(sorted(keep))
    kinds = {tensor.kind: looks[f"t{tensor.id}"] for tensor in draw(loss).graph.tensors}
    assert len(set(kinds.values())) == len(kinds) == 4
    assert looks["n0"] not in kinds.values()


def test_a_graph_with_thousands_of_nodes_keeps_its_bytes_when_folded() -> None:
    for name in ("recurrent", "thousands_of_nodes_in_a_row", "a_thicket"):
        graph = drawn(AWKWARD[name]()).graph
        folded = fold(graph)
        assert len(graph.nodes) > 400
        assert sum(node.leaf is None for node in folded.nodes) <= LIMIT
        assert sum(node.count for node in folded.nodes) == len(graph.nodes)
        assert folded.saved_bytes == graph.saved_bytes
        assert f"{len(graph.nodes):,}" in str(drawn(AWKWARD[name]()))


def test_repetitions_are_counted_and_the_weight_that_they_share_gets_all_its_gradients() -> None:
    folded = fold(drawn(AWKWARD["recurrent"]()).graph)
    (block,) = (node for node in folded.nodes if node.count > 1)
    assert (block.repeats, dict(block.inside)) == (298, {"TanhBackward0": 298, "MvBackward0": 298})
    (w,) = (tensor for tensor in folded.tensors if tensor.name == "w")
    assert folded.arriving_at(w) == 300


def test_gradients_that_go_to_different_nodes_of_a_block_are_not_said_to_add_up() -> None:
    folded = fold(drawn(AWKWARD["a_thicket"]()).graph)
    rest = max(folded.nodes, key=lambda node: node.count)
    assert sum(edge.count for edge in folded.edges if edge.target == rest.id) > 10
    assert folded.adds_up_at(rest) == 0


def test_parts_of_a_model_are_folded_by_their_names() -> None:
    widths = [3 + 2 * i for i in range(31)]
    net = torch.nn.Module()
    net.parts = torch.nn.ModuleList(
        torch.nn.Sequential(torch.nn.Linear(a, b), torch.nn.Tanh(), torch.nn.LayerNorm(b), torch.nn.Linear(b, b))
        for a, b in itertools.pairwise(widths)
    )
    loss = torch.nn.Sequential(*net.parts)(torch.ones(2, 3)).sum()
    labels = [node.label for node in fold(draw(loss).graph).nodes if node.count > 1]
    assert labels == [f"net.parts.{number}" for number in reversed(range(30))]


def dense(count: int) -> tuple[torch.Tensor, dict[str, object]]:
    """Each layer gets all earlier results. What joins the layers is written outside of every module."""
    layers = torch.nn.ModuleList(torch.nn.Linear(4 * (i + 1), 4) for i in range(count))
    outputs = [torch.ones(2, 4)]
    for layer in layers:
        outputs.append(layer(torch.cat(outputs, 1)).relu())
    return torch.cat(outputs, 1).sum(), {"layers": layers}


def mixture_of_experts() -> tuple[torch.Tensor, dict[str, object]]:
    gate = torch.nn.Sequential(torch.nn.Linear(4, 9), torch.nn.Tanh(), torch.nn.Linear(9, 12))
    experts = torch.nn.ModuleList(
        torch.nn.Sequential(torch.nn.Linear(4, 5 + i), torch.nn.ReLU(), torch.nn.Linear(5 + i, 4)) for i in range(12)
    )
    x = torch.ones(2, 4)
    weights = gate(x).softmax(1).unsqueeze(2)
    loss = ((torch.stack([expert(x) for expert in experts], 1) * weights).sum(1) - 1).pow(2).mean()
    return loss, {"gate": gate, "experts": experts}


def weight_decay() -> tuple[torch.Tensor, dict[str, object]]:
    def part(start: int) -> torch.nn.Module:
        sizes = itertools.pairwise(range(start, start + 9))
        return torch.nn.Sequential(*(layer for a, b in sizes for layer in (torch.nn.Linear(a, b), torch.nn.Tanh())))

    coder, decoder = part(2), part(10)
    decay = torch.stack([(p**2).sum() for p in (*coder.parameters(), *decoder.parameters())][:2]).sum()
    return (decoder(coder(torch.ones(3, 2)).exp()) - 1).abs().mean() + decay, {"coder": coder, "decoder": decoder}


def two_calls() -> tuple[torch.Tensor, dict[str, object]]:
    sizes = itertools.pairwise([2, *range(3, 14), 2])
    net = torch.nn.Sequential(*(layer for a, b in sizes for layer in (torch.nn.Linear(a, b), torch.nn.GELU())))
    return net(net(torch.ones(3, 2)).exp()).abs().sum(), {"net": net}


@pytest.mark.parametrize(
    ("made", "own"),
    [
        (dense(60), {"AddmmBackward0", "TBackward0", "AccumulateGrad"}),
        (mixture_of_experts(), {"AddmmBackward0", "TBackward0", "AccumulateGrad", "ReluBackward0", "TanhBackward0"}),
        (weight_decay(), {"AddmmBackward0", "TBackward0", "AccumulateGrad", "TanhBackward0"}),
        (two_calls(), {"AddmmBackward0", "TBackward0", "AccumulateGrad", "GeluBackward0"}),
    ],
    ids=["dense", "experts", "decay", "calls"],
)
def test_the_box_of_a_module_holds_no_operation_of_the_caller(
    made: tuple[torch.Tensor, dict[str, object]], own: set[str]
) -> None:
    loss, names = made
    folded = fold(picture((loss,), names).graph)
    boxes = [node for node in folded.nodes if node.label]
    assert {name for box in boxes for name, _ in box.inside} <= own
    assert sum(node.leaf is None for node in folded.nodes) > 3
    ways: dict[int, set[int | None]] = {}
    for edge in folded.edges:
        ways.setdefault(edge.source, set()).add(edge.target)
    graphlib.TopologicalSorter(ways).prepare()  # raises an error if a way leads back


def test_each_call_of_a_module_has_its_box() -> None:
    loss, names = two_calls()
    names = {"_": names["net"], **names}  # IPython's name for the last result
    assert [node.label for node in fold(picture((loss,), names).graph).nodes if node.label] == ["net", "net"]


def test_the_picture_can_be_read_on_a_light_and_on_a_dark_page() -> None:
    """Text inside a box on its fill, other text on either page: contrast of 4.5 and of 3.5, as of small print."""
    source = drawn(AWKWARD["custom_function_with_two_outputs"]()).dot

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(one: str, other: str) -> float:
        low, high = sorted((luminance(one), luminance(other)))
        return (high + 0.05) / (low + 0.05)

    inks = set(re.findall(r'<font color="(#\w+)"', source)) - {"#ffffff"}
    papers = set(re.findall(r'fillcolor="(#\w+)"', source)) | set(re.findall(r'bgcolor="(#\w+)" style', source))
    papers -= {"#166534"}
    assert len(papers) > 3
    assert min(contrast(ink, paper) for ink in inks for paper in papers) > 4.5
    outside = set(re.findall(r'fontcolor="(#\w+)"', source)) - inks
    assert outside
    assert min(contrast(ink, page) for ink in outside for page in ("#ffffff", "#111111")) > 3.5
    looks = [re.sub("<.*>", "", line) for line in source.splitlines() if "peripheries=2" in line]
    borders = set(re.findall(r'\bcolor="(#\w+)"', " ".join(looks)))
    assert borders
    assert min(contrast(ink, page) for ink in borders for page in ("#ffffff", "#111111")) > 3


def test_a_very_long_name_and_a_long_caption_stay_on_the_page() -> None:
    x = torch.ones(2, requires_grad=True)
    named = {"key " * 200: x.exp()}
    picture = draw(named)
    assert "named['key key key" in str(picture)
    assert shown(picture)[3]["image/png"]["width"] < 1000
    refused = draw(type("Name" * 200, (), {})())
    assert shown(refused)[3]["image/png"]["width"] < 1000
