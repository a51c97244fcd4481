"""Time and size of a picture beside torchviz, on the same graphs of 10 to 1000 nodes; ours also of 15,000.

Three things are timed, each the median of several runs: reading the graph and writing DOT; the same up to an SVG; and
for `draw` all that a notebook stores (SVG, PNG and text). torchviz is asked for saved tensors, too, as `draw` shows
them. Where there is no `dot` program, which torchviz needs, its DOT is laid out by the helper process that draws
ours, which spares it the start of a process. Without torchviz (`pip install torchviz`) ours stand alone.

    python benchmarks/draw.py [--repeat 5]
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import shutil
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch

from autograder.pictures.draw import picture
from autograder.pictures.render import graphviz_process as render

Graph = tuple[torch.Tensor, dict[str, Any]]


def layers(nodes: int) -> Graph:
    """A network of equal layers, five nodes each."""
    model = torch.nn.Sequential(*(m for _ in range(nodes // 5) for m in (torch.nn.Linear(4, 4), torch.nn.Tanh())))
    loss = model(torch.ones(2, 4)).sum()
    return loss, {"model": model, "loss": loss}


def thicket(nodes: int) -> Graph:
    """Every other node takes the last one and some earlier one: nothing repeats, and no part has a name."""
    x = torch.ones(3, requires_grad=True)
    values = [x.sin()]
    for step in range(nodes // 2 - 2):
        values.append(values[-1].tanh() * values[step * step % len(values)])
    loss = values[-1].sum()
    return loss, {"x": x, "loss": loss}


def random_graph(nodes: int) -> Graph:
    """Each operation takes the last value and one of fifty before: patterns repeat by chance, hundreds of them."""
    rng = random.Random(0)
    x = torch.ones(3, requires_grad=True)
    values = [x]
    for _ in range(nodes * 2 // 3):
        one, other = values[-1], rng.choice(values[-50:])
        values.append(rng.choice([one * other, one + other, one.tanh() * other, one.sin() + other]))
    loss = values[-1].sum()
    return loss, {"x": x, "loss": loss}


def leaves(nodes: int) -> Graph:
    """One operation with almost as many leaves."""
    loss = torch.stack([torch.ones(2, requires_grad=True) for _ in range(nodes - 2)]).sum()
    return loss, {"loss": loss}


def chain(nodes: int) -> Graph:
    """Each operation takes the result of the last one alone."""
    rng = random.Random(1)
    x = value = torch.ones(3, requires_grad=True)
    for _ in range(nodes - 2):
        value = rng.choice([torch.sin, torch.cos, torch.tanh, torch.sigmoid])(value)
    return value.sum(), {"x": x}


def fan(nodes: int) -> Graph:
    """Nearly all operations take one leaf, and one operation takes all results."""
    x = torch.ones(3, requires_grad=True)
    return torch.stack([x.sin() if number % 2 else x.cos() for number in range(nodes - 3)]).sum(), {"x": x}


def median(work: Callable[[], object], repeat: int) -> float:
    """Milliseconds, after one run that is not counted."""
    work()
    taken = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        taken.append(1000 * (time.perf_counter() - start))
    return statistics.median(taken)


def torchviz_source(loss: torch.Tensor, names: dict[str, Any]) -> Any:
    import torchviz

    sys.setrecursionlimit(100_000)  # torchviz calls itself for each node on a path
    parameters = {name: value for name, value in names.items() if isinstance(value, torch.Tensor)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # distutils
        return torchviz.make_dot(loss, parameters, show_attrs=True, show_saved=True)


def torchviz_svg(loss: torch.Tensor, names: dict[str, Any]) -> bytes:
    dot = torchviz_source(loss, names)
    if shutil.which("dot"):
        return dot.pipe(format="svg")
    # A label that begins with an empty line, as torchviz gives to a leaf without a name, crashes Graphviz.
    return render.svg(dot.source.replace('label="\n', 'label="')).encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    peer = importlib.util.find_spec("torchviz") is not None
    if not peer:
        print("torchviz is not installed here: our figures alone")
    elif not shutil.which("dot"):
        print("no dot program: torchviz's DOT is laid out as ours is")
    print(f"{'graph':<16}{'':>10}{'DOT, ms':>10}{'SVG, ms':>10}{'all, ms':>10}{'SVG, kB':>10}{'PNG, kB':>10}")
    for make in (layers, thicket, random_graph, chain, fan, leaves):
        for nodes in (10, 100, 500, 1000, 15_000):
            loss, names = make(nodes)
            size = picture((loss,), names).graph.size
            bundle = picture((loss,), names)._repr_mimebundle_()[0]
            ours = [
                median(lambda: picture((loss,), names).dot, repeat),  # noqa: B023
                median(lambda: render.svg(picture((loss,), names).dot), repeat),  # noqa: B023
                median(lambda: picture((loss,), names)._repr_mimebundle_(), repeat),  # noqa: B023
            ]
            row = [*ours, len(bundle["text/html"]) / 1000, len(bundle["image/png"]) / 1000]
            print(f"{make.__name__} {size:<8}{'draw':>10}" + "".join(f"{value:10.1f}" for value in row))
            if peer and (nodes > 1000 or (make in (thicket, random_graph) and nodes > 100)):
                print(f"{'':<16}{'torchviz':>10}  not laid out: too long")
            elif peer:
                theirs = [
                    median(lambda: torchviz_source(loss, names).source, repeat),  # noqa: B023
                    median(lambda: torchviz_svg(loss, names), repeat),  # noqa: B023
                ]
                kilobytes = len(torchviz_svg(loss, names)) / 1000
                print(f"{'':<16}{'torchviz':>10}{theirs[0]:10.1f}{theirs[1]:10.1f}{'–':>10}{kilobytes:10.1f}{'–':>10}")
                print(f"{'':<16}{'times':>10}{theirs[0] / ours[0]:10.1f}{theirs[1] / ours[1]:10.1f}")


if __name__ == "__main__":
    main()
