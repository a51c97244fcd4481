"""`inspect_step`: one step of a model, in a block."""

import copy
import io
import re
from contextlib import redirect_stdout

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from autograder import exercises, inspect_step
from autograder.exercises import misconceptions_of
from autograder.inspection.findings import FINDS
from autograder.messages.inspection import SAYS, say
from autograder.session import SESSION
from support.kernel import Kernel

torch.manual_seed(0)
X, Y = torch.randn(16, 1, 8, 8), torch.randint(0, 4, (16,))


class Net(nn.Module):
    def __init__(self, bug=""):
        super().__init__()
        self.body, self.norm = nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8)
        self.drop, self.head, self.bug = nn.Dropout(0.5), nn.Linear(8, 4), bug

    def forward(self, x):
        h = torch.sigmoid(self.norm(self.body(x)))
        if self.bug == "in place":
            kept = h * h
            h += 1
            h = h + kept
        h = h.mean((2, 3))
        if self.bug == "cut":
            h = h.detach()
        return self.head(self.drop(h))


def step(net, optimizer, *, clears=True):
    if clears:
        optimizer.zero_grad()
    cross_entropy(net(X), Y).backward()
    optimizer.step()


@pytest.fixture(params=["en", "ru"])
def language(request, monkeypatch):
    monkeypatch.setattr(SESSION, "language", request.param)
    return request.param


def said(watch, run):
    """What a block prints."""
    with redirect_stdout(io.StringIO()) as output, watch:
        run()
    return output.getvalue()


def test_a_right_step_is_said_to_be_right_once(language):
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    watch = inspect_step(net, optimizer)
    total = len(list(net.parameters()))
    sentence = say("nothing", language, number=1, passes=1, reached=total, total=total, updates=1)
    assert said(watch, lambda: step(net, optimizer)).strip() == sentence
    assert said(watch, lambda: step(net, optimizer)) == ""


def test_the_four_bugs_of_the_trial_are_named_with_their_lines(language):
    net = Net("cut")
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    text = said(inspect_step(net, optimizer), lambda: step(net, optimizer))
    assert "`body.weight`" in text
    assert "`h = h.detach()` (test_inspect_step.py:" in text
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    watch = inspect_step(net, optimizer)
    said(watch, lambda: step(net, optimizer, clears=False))
    text = said(watch, lambda: step(net, optimizer, clears=False))
    assert "`cross_entropy(net(X), Y).backward()`" in text
    assert "zero_grad" in text
    scaler = torch.amp.GradScaler("cpu")

    def clip(unscales):
        optimizer.zero_grad()
        scaler.scale(cross_entropy(net(X), Y)).backward()
        if unscales:
            scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

    assert "`torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)`" in said(
        inspect_step(net, optimizer), lambda: clip(unscales=False)
    )
    assert "✗" not in said(inspect_step(net, optimizer), lambda: clip(unscales=True))
    net = Net("in place")
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    output = io.StringIO()
    with redirect_stdout(output), pytest.raises(RuntimeError), inspect_step(net, optimizer):
        step(net, optimizer)
    assert "`h += 1`" in output.getvalue()


def test_nothing_of_the_step_changes():
    """Gradients, weights and random numbers are those of the same step without a watch, bit by bit."""
    nets = [Net()]
    nets.append(copy.deepcopy(nets[0]))
    drawn = []
    for net, is_watched in zip(nets, (False, True)):
        torch.manual_seed(1)
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(3):
            if is_watched:
                said(inspect_step(net, optimizer), lambda net=net, optimizer=optimizer: step(net, optimizer))
            else:
                step(net, optimizer)
        drawn.append(torch.rand(3))
    for one, other in zip(nets[0].parameters(), nets[1].parameters()):
        assert torch.equal(one, other)
        assert torch.equal(one.grad, other.grad)
        assert not other._backward_hooks
    loss = cross_entropy(nets[1](X), Y)
    with redirect_stdout(io.StringIO()), inspect_step(nets[1]):
        loss = cross_entropy(nets[1](X), Y)
        loss.backward()
    assert not loss._backward_hooks
    assert torch.equal(*drawn)
    assert torch.autograd.backward.__module__ == "torch.autograd"
    assert torch.amp.GradScaler.scale.__qualname__ == "GradScaler.scale"


def test_in_compiled_code_lines_are_named_and_nothing_is_compiled_again():
    net = torch.compile(Net("cut"), backend="eager")
    step(net, torch.optim.SGD(net.parameters(), 0.1))
    counted = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    assert counted
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    assert "`h = h.detach()`" in said(inspect_step(net, optimizer), lambda: step(net, optimizer))
    step(net, optimizer)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == counted


def test_a_block_without_a_step_says_so_and_a_block_that_fails_is_left(language):
    assert said(inspect_step(), lambda: None).strip() == say("nothing_seen", language)
    with pytest.raises(ValueError, match="mine"), redirect_stdout(io.StringIO()), inspect_step(Net()):
        raise ValueError("mine")
    assert torch.autograd.backward.__module__ == "torch.autograd"


def test_several_models_are_told_apart():
    one, other = Net(), Net("cut")
    optimizer = torch.optim.SGD([*one.parameters(), *other.parameters()], 0.1)

    def both():
        optimizer.zero_grad()
        (cross_entropy(one(X), Y) + cross_entropy(other(X), Y)).backward()
        optimizer.step()

    text = said(inspect_step([one, other], [optimizer]), both)
    assert "`Net1.body.weight`" in text
    assert "`Net.body.weight`" not in text


def test_a_transform_inside_a_step_does_no_harm():
    net = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    x, y = torch.randn(5, 3), torch.randint(0, 2, (5,))

    def per_sample():
        weights = dict(net.named_parameters())

        def loss(weights, x, y):
            return cross_entropy(torch.func.functional_call(net, weights, x[None]), y[None])

        grads = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(weights, x, y)
        for name, each in net.named_parameters():
            each.grad = grads[name].mean(0)
        optimizer.step()

    assert "✗" not in said(inspect_step(net, optimizer), per_sample)


def test_each_finding_has_its_sentence_and_a_mistake_that_an_exercise_names():
    package = __import__("autograder.inspection.findings", fromlist=["findings"])
    sources = [
        file.read_text(encoding="utf-8")
        for file in sorted(__import__("pathlib").Path(package.__file__).parent.glob("*.py"))
    ]
    named = {id for source in sources for id in re.findall(r'"(inspect\.[\w.]+)"', source)}
    ties = {pair for source in sources for pair in re.findall(r'"(\w+)", "(\w+)"[,)]', source)}
    assert named <= SAYS.keys()
    assert len(FINDS) == len({find.__name__ for find in FINDS})
    assert len(ties) >= len(FINDS)
    for exercise, mistake in ties:
        assert mistake in misconceptions_of(exercises.find(exercise)), (exercise, mistake)


@pytest.mark.usefixtures("quick_kernels")
def test_a_notebook_shows_the_report_with_the_line_of_its_cell(own_home, tmp_path):
    kernel = Kernel(tmp_path / "notes.ipynb", {"AUTOGRADER_HOME": str(own_home)})
    try:
        kernel.run(
            "import torch\nfrom autograder import inspect_step\n"
            "net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))\n"
            "optimizer = torch.optim.SGD(net.parameters(), 0.1)"
        )
        shown = str(
            kernel.outputs(
                "with inspect_step(net, optimizer):\n    h = net[0](torch.ones(4, 2)).detach()\n"
                "    net[1](h).sum().backward()\n    optimizer.step()"
            )
        )
        assert "<code>h = net[0](torch.ones(4, 2)).detach()</code>" in shown
        assert "ipykernel" not in shown
    finally:
        kernel.close()
