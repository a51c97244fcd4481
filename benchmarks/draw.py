"""Time and size of a picture beside torchviz and torchview, on graphs of 10 to 1000 nodes; ours also of 15,000.

Three things are timed, each the median of several runs: reading the graph and writing DOT; the same up to an SVG; and
for `draw` all that a notebook stores (SVG, PNG and text). torchviz is asked for saved tensors, too, as `draw` shows
them. Where there is no `dot` program, which torchviz needs, its DOT is laid out by the helper process that draws
ours, which spares it the start of a process. torchview draws the forward pass of a module, which it runs anew: its
functions and modules, down to the last. It knows no gradients, no saved tensors, and of the leaves only the inputs. It
cannot draw `leaves`, where nothing is passed in. Peers that are not installed (`pip install torchviz torchview`) are
left out.

    python benchmarks/draw.py [--repeat 5]
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import random
import shutil
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import graphviz
import torch

from autograder.pictures.draw import picture
from autograder.pictures.render import graphviz_process as render


class Graph(NamedTuple):
    """A graph behind `loss`, names for its tensors, and, where one input gives it, the module that computes it."""

    loss: torch.Tensor
    names: dict[str, Any]
    module: torch.nn.Module | None = None
    x: torch.Tensor | None = None


class Computed(torch.nn.Module):
    """A module whose forward pass is a function."""

    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.forward = function


def graph_of(function: Callable[[torch.Tensor], torch.Tensor]) -> Graph:
    """Return the graph behind the result of `function` for one leaf `x`."""
    x = torch.ones(3, requires_grad=True)
    loss = function(x)
    return Graph(loss, {"x": x, "loss": loss}, Computed(function), x)


def layers(nodes: int) -> Graph:
    """A network of equal layers, five nodes each."""
    model = torch.nn.Sequential(*(m for _ in range(nodes // 5) for m in (torch.nn.Linear(4, 4), torch.nn.Tanh())))
    x = torch.ones(2, 4)
    loss = model(x).sum()
    return Graph(loss, {"model": model, "loss": loss}, model, x)


def thicket(nodes: int) -> Graph:
    """Every other node takes the last one and some earlier one: nothing repeats, and no part has a name."""

    def function(x: torch.Tensor) -> torch.Tensor:
        values = [x.sin()]
        for step in range(nodes // 2 - 2):
            values.append(values[-1].tanh() * values[step * step % len(values)])
        return values[-1].sum()

    return graph_of(function)


def random_graph(nodes: int) -> Graph:
    """Each operation takes the last value and one of fifty before: patterns repeat by chance, hundreds of them."""

    def function(x: torch.Tensor) -> torch.Tensor:
        rng = random.Random(0)
        values = [x]
        for _ in range(nodes * 2 // 3):
            one, other = values[-1], rng.choice(values[-50:])
            values.append(rng.choice([one * other, one + other, one.tanh() * other, one.sin() + other]))
        return values[-1].sum()

    return graph_of(function)


def leaves(nodes: int) -> Graph:
    """One operation with almost as many leaves."""
    loss = torch.stack([torch.ones(2, requires_grad=True) for _ in range(nodes - 2)]).sum()
    return Graph(loss, {"loss": loss})


def chain(nodes: int) -> Graph:
    """Each operation takes the result of the last one alone."""

    def function(x: torch.Tensor) -> torch.Tensor:
        rng = random.Random(1)
        for _ in range(nodes - 2):
            x = rng.choice([torch.sin, torch.cos, torch.tanh, torch.sigmoid])(x)
        return x.sum()

    return graph_of(function)


def fan(nodes: int) -> Graph:
    """Nearly all operations take one leaf, and one operation takes all results."""
    return graph_of(lambda x: torch.stack([x.sin() if number % 2 else x.cos() for number in range(nodes - 3)]).sum())


def median(work: Callable[[], object], repeat: int) -> float:
    """Milliseconds, after one run that is not counted."""
    work()
    taken = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        taken.append(1000 * (time.perf_counter() - start))
    return statistics.median(taken)


def torchviz_source(graph: Graph) -> str:
    import torchviz

    sys.setrecursionlimit(100_000)  # torchviz calls itself for each node on a path
    parameters = {name: value for name, value in graph.names.items() if isinstance(value, torch.Tensor)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # distutils
        return torchviz.make_dot(graph.loss, parameters, show_attrs=True, show_saved=True).source


def torchview_source(graph: Graph) -> str:
    import torchview

    assert graph.module is not None
    whole = {"depth": 1_000_000, "expand_nested": True, "hide_module_functions": False}
    return torchview.draw_graph(graph.module, graph.x, device="cpu", mode="train", **whole).visual_graph.source


def svg(source: str) -> bytes:
    if shutil.which("dot"):
        return graphviz.Source(source).pipe(format="svg")
    # A label that begins with an empty line, as torchviz gives to a leaf without a name, crashes Graphviz.
    return render.svg(source.replace('label="\n', 'label="')).encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    sources = {"torchviz": torchviz_source, "torchview": torchview_source}
    sources = {name: source for name, source in sources.items() if importlib.util.find_spec(name)}
    print("peers:", ", ".join(sources) or "none is installed here")
    if not shutil.which("dot"):
        print("no dot program: the peers' DOT is laid out as ours is")
    print(f"{'graph':<16}{'':>10}{'DOT, ms':>10}{'SVG, ms':>10}{'all, ms':>10}{'SVG, kB':>10}{'PNG, kB':>10}")
    for make in (layers, thicket, random_graph, chain, fan, leaves):
        for nodes in (10, 100, 500, 1000, 15_000):
            graph = make(nodes)
            ours = functools.partial(picture, (graph.loss,), graph.names)
            bundle = ours()._repr_mimebundle_()[0]
            times = [
                median(lambda: ours().dot, repeat),  # noqa: B023
                median(lambda: render.svg(ours().dot), repeat),  # noqa: B023
                median(lambda: ours()._repr_mimebundle_(), repeat),  # noqa: B023
            ]
            row = [*times, len(bundle["text/html"]) / 1000, len(bundle["image/png"]) / 1000]
            size = ours().graph.size
            print(f"{make.__name__} {size:<8}{'draw':>10}" + "".join(f"{value:10.1f}" for value in row), flush=True)
            for name, source in sources.items():
                if nodes > 1000 or (make in (thicket, random_graph) and nodes > 100):
                    print(f"{'':<16}{name:>10}  not laid out: too long")
                elif name == "torchview" and not graph.module:
                    print(f"{'':<16}{name:>10}  cannot draw it")
                else:
                    theirs = [
                        median(lambda: source(graph), repeat),  # noqa: B023
                        median(lambda: svg(source(graph)), repeat),  # noqa: B023
                    ]
                    kilobytes = len(svg(source(graph))) / 1000
                    print(f"{'':<16}{name:>10}{theirs[0]:10.1f}{theirs[1]:10.1f}{'–':>10}{kilobytes:10.1f}{'–':>10}")
                    print(f"{'':<16}{'times':>10}{theirs[0] / times[0]:10.1f}{theirs[1] / times[1]:10.1f}", flush=True)


if __name__ == "__main__":
    main()
