"""Plots of memory: what graphs save, and peaks."""

from __future__ import annotations

import torch
from torch.utils.checkpoint import checkpoint

from autograder import plot_differences, plot_jacobian, plot_memory, plot_saved
from autograder.measure import live_bytes
from support.pictures import shown
from support.plots import DATA, NET, every_layer, everything, half, plain, written

ACTIVATION = 32 * 8 * 4


def test_saved_bytes_are_what_the_graph_keeps() -> None:
    made = plot_saved(NET, DATA, plain, half, every_layer, everything)
    totals = {}
    for way in (plain, half, every_layer, everything):
        with live_bytes() as live:
            node = way(DATA).grad_fn  # the result itself is gone, unless it is saved
            totals[way.__name__] = live.now
        del node
    assert {name: sum(layers.values()) for name, layers in made.bytes.items()} == totals
    assert made.bytes["plain"] == {f"{i} Sequential": ACTIVATION for i in range(4)}
    assert made.bytes["every_layer"] == {f"{i} Sequential": ACTIVATION for i in range(3)}
    assert made.bytes["everything"] == {}
    for name, total in totals.items():
        assert f"{name}: {total:,} B in all" in str(made)
        assert f"{name}: {total:,} B in all" in written(shown(made)[0])
    assert "  3 Sequential: 0 B" in str(made)


def test_what_is_saved_outside_of_the_layers_and_of_many_layers() -> None:
    net = torch.nn.Sequential(*[torch.nn.Tanh() for _ in range(40)])
    x = torch.ones(10, requires_grad=True)
    made = plot_saved(net, x, lambda x: net(x).exp())
    assert made.bytes["<lambda>"][""] == 40
    assert "… and 18 more: 720 B" in str(made)
    assert "<lambda>: 1,640 B in all" in str(made)


def test_batch_norm_counts_nothing_and_no_hook_is_left() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5))
    buffers = {name: (held, held._version, held.clone()) for name, held in net.named_buffers()}
    state = torch.get_rng_state()
    plot_saved(net, DATA)
    plot_memory(DATA, net)
    assert torch.equal(torch.get_rng_state(), state)
    for name, held in net.named_buffers():
        same, version, value = buffers[name]
        assert held is same
        assert held._version == version
        assert torch.equal(held, value)
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in net.modules())
    assert all(p.grad is None for p in net.parameters())


def test_the_peak_is_that_of_live_bytes() -> None:
    made = plot_memory(DATA, plain, every_layer, everything)
    for course, way in zip(made.courses, (plain, every_layer, everything)):
        NET.zero_grad()
        with live_bytes() as live:
            loss = way(DATA).sum()
            kept = live.now
            loss.backward()
        NET.zero_grad()
        assert (course.name, course.peak) == (way.__name__, live.peak)
        (first, last), *_ = course.backwards
        assert course.settled[first - 2] == kept
        assert last == len(course.samples)
        assert f"{way.__name__}: peak {live.peak:,} B, in the backward pass" in str(made)
        assert f"forward pass, operations 1–{first - 1}: {kept:,} B alive at its end" in str(made)
        assert f"peak {live.peak:,} B" in written(shown(made)[0])


def test_memory_of_a_loop_that_goes_backward_itself() -> None:
    def one_at_a_time(k: int) -> None:
        for _ in range(k):
            (plain(DATA).sum() / k).backward()

    def all_at_once(k: int) -> None:
        sum(plain(DATA).sum() / k for _ in range(k)).backward()  # type: ignore[union-attr]

    small, large = plot_memory(4, one_at_a_time, all_at_once).courses
    assert (len(small.backwards), len(large.backwards)) == (4, 1)
    assert [kind for kind, _, _ in small.phases()] == ["forward", "backward"] * 4
    assert large.peak > 2 * small.peak


def test_gradients_are_put_back_and_equal_a_twins() -> None:
    def made() -> tuple[torch.nn.Module, torch.Tensor | None]:
        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        net(DATA).sum().backward()
        return net, net[0].weight.grad

    net, gradient = made()
    twin, _ = made()
    value = gradient.clone()  # type: ignore[union-attr]
    plot_memory(DATA, net, lambda x: checkpoint(net, x.clone().requires_grad_(), use_reentrant=True))
    plot_saved(net, DATA)
    plot_jacobian(net, DATA[0])
    plot_differences(lambda x: x * net[0].weight.sum().to(x.dtype), 1.0)
    assert net[0].weight.grad is gradient
    assert torch.equal(gradient, value)
    for one in (net, twin):
        one(DATA).sum().backward()
    assert all(torch.equal(a.grad, b.grad) for a, b in zip(net.parameters(), twin.parameters()))
