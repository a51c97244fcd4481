"""Trouble in pictures: what backward will refuse, what no gradient reaches, and a part that is opened."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

from autograder import draw
from autograder.messages.drawing import word
from autograder.session import SESSION
from support.browser import browser_page


@pytest.fixture(params=["en", "ru"])
def language(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(SESSION, "language", request.param)
    return str(request.param)


class Net(nn.Module):
    def __init__(self, cut: bool = False) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8))
        self.extra, self.head, self.cut = nn.Linear(8, 8), nn.Linear(8, 2), cut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.body(x)
        if self.cut:
            h = h.detach()
        return self.head(self.extra(h).relu())


X = torch.randn(5, 4)


def test_a_part_that_was_cut_off_is_drawn_and_named(language: str) -> None:
    net = Net(cut=True)
    loss = net(X).sum()
    for picture in (draw(loss), draw(loss, net)):
        unreached = word("note.unreached", language, parts="net.body", count=4)
        assert str(picture).splitlines()[1].strip() == f"✗ {unreached}"
        end = word("note.end", language, place="(5, 8) (net.extra, AddmmBackward0)")
        assert end in str(picture)
        (constant,) = re.findall(r"(t\d+) -> unreached", picture.dot)
        assert re.search(rf"{constant} \[label=.*\(5, 8\)", picture.dot)
        assert word("unreached.part", language, name="net.body", count=4) in picture.dot


def test_a_right_step_is_not_accused_and_what_was_not_asked_for_is_not_told() -> None:
    both = nn.ModuleDict({"maker": nn.Linear(4, 4), "judge": Net()})
    fake = both["maker"](X)
    loss = both["judge"](fake.detach()).sum()
    assert "✗" not in str(draw(loss, both["judge"]))
    assert "both.maker" in str(draw(loss, both))
    net, other = Net(), Net()
    loss = net(X).sum()
    assert "✗" not in str(draw(loss))
    assert "✗" not in str(draw(loss, net))
    assert "No gradient from here reaches other" in str(draw(loss, other))
    for each in net.body.parameters():
        each.requires_grad_(False)
    assert "✗" not in str(draw(net(X).sum(), net))


def test_a_model_without_a_name_and_a_loss_without_a_graph_are_told() -> None:
    nets = [Net()]
    with torch.no_grad():
        loss = nets[0](X).sum()
    assert "No gradient from here reaches Net" in str(draw(loss, nets[0]))


def test_the_node_that_backward_will_refuse_is_named_and_has_a_colour(language: str) -> None:
    net = Net()
    hidden = net.body(X)
    result = net.head(hidden)
    hidden += 1
    loss = result.sum()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    picture = draw(loss)
    refused = word("note.modified", language, nodes="AddmmBackward0 (net.head)")
    assert str(picture).splitlines()[1].strip() == f"✗ {refused}"
    red = [line for line in picture.dot.splitlines() if "<b>" in line and 'fillcolor="#fde3e3"' in line]
    assert len(red) == 1
    assert "AddmmBackward0" in red[0]


class Deep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True) for _ in range(6))
        self.head = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.head(x).mean()


def test_a_large_model_is_one_screen_and_a_part_opens_on_request(language: str) -> None:
    net = Deep()
    picture = draw(net(torch.randn(2, 5, 16)), net)
    assert len(str(picture).splitlines()) <= 50
    labels = {node.label for node in picture._folded.nodes}
    assert "net.layers.3" in labels
    opened = picture.open("net.layers.3")
    labels = {node.label for node in opened._folded.nodes}
    assert "net.layers.3" not in labels
    assert "net.layers.2" in labels
    assert "net.layers.3.norm1.weight" in str(opened)
    assert "net.layers.3.norm1.weight" not in str(picture)
    with pytest.raises(ValueError, match=re.escape("net.layer.3")):
        picture.open("net.layer.3")


def test_in_a_browser_letters_can_be_read_and_a_click_opens_the_picture() -> None:
    net = Deep()
    bundle = draw(net(torch.randn(2, 5, 16))).open("net.layers.3")._repr_mimebundle_()
    html = bundle[0]["text/html"] if isinstance(bundle, tuple) else bundle["text/html"]
    with browser_page() as page:
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            page.set_content(f'<body style="margin:8px">{html}</body>')
            image = page.locator("img")
            shown = image.evaluate("image => image.getBoundingClientRect().width / image.naturalWidth")
            assert shown * 9 * 4 / 3 > 10.9  # the smallest letters are of 9 points
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            for key in ("", "Enter"):
                page.locator("div[tabindex]").focus()
                page.keyboard.press(key) if key else image.click(position={"x": 9, "y": 9})
                box = page.locator("dialog").bounding_box()
                assert box
                assert (box["width"], box["height"]) == (width, 800)
                page.keyboard.press("Escape")
                page.wait_for_function("!document.querySelector('dialog')")
