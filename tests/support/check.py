"""`check` in a namespace of its own, and one right answer."""

from torch.nn.functional import mse_loss

import autograder

NAME = "accumulate_uneven"


def check(answer, name=NAME):
    """`check(name)` in a notebook whose only name is the answer."""
    namespace = {name: answer, "check": autograder.check}
    exec(f"result = check({name!r})", namespace)
    return namespace["result"]


def right(model, batches):
    samples = sum(len(x) for x, _ in batches)
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) * len(x) / samples).backward()


def raises(model, batches):
    raise KeyError("<script>alert(1)</script>")
