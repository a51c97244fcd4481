"""What `inspect_step` adds to a training step, for models of three sizes.

Each pair is the same step without and with the watch, one after the other; the ratio of their medians is printed, with
the limit: a watch that costs nothing has the ratio 1.

    python benchmarks/inspect_step.py [--pairs 60]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import statistics
import time

import torch
from torch import nn

from autograder import inspect_step

SIZES = {"a small MLP": (64, 4), "a wide MLP": (256, 8), "a transformer": (128, 4)}  # width and layers
ROWS, LENGTH = 64, 32


def model_and_batch(name: str) -> tuple[nn.Module, torch.Tensor]:
    """Return a model and what it is called on, of shape (ROWS, width) or (ROWS, LENGTH, width)."""
    width, layers = SIZES[name]
    if name == "a transformer":
        block = nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True)
        return nn.TransformerEncoder(block, layers), torch.randn(ROWS, LENGTH, width)
    return nn.Sequential(*(each for _ in range(layers) for each in (nn.Linear(width, width), nn.Tanh()))), torch.randn(
        ROWS, width
    )


def measure(name: str, pairs: int) -> tuple[float, float]:
    """Return the median seconds of a step without and with the watch."""
    model, x = model_and_batch(name)
    optimizer = torch.optim.Adam(model.parameters())
    watch = inspect_step(model, optimizer)

    def step() -> None:
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()

    def seconds(is_watched: bool) -> float:
        start = time.perf_counter()
        with watch if is_watched else contextlib.nullcontext():
            step()
        return time.perf_counter() - start

    with contextlib.redirect_stdout(io.StringIO()):
        seconds(False), seconds(True)
        found = [(seconds(False), seconds(True)) for _ in range(pairs)]
    return statistics.median(plain for plain, _ in found), statistics.median(watched for _, watched in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=60)
    pairs = parser.parse_args().pairs
    torch.set_num_threads(1)
    for name in SIZES:
        plain, watched = measure(name, pairs)
        print(f"{name}: {plain * 1000:.2f} ms a step, {watched / plain:.2f} times with the watch")


if __name__ == "__main__":
    main()
