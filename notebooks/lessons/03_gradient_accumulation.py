# %% [markdown] tags=["en"] reading=20
# # Gradient accumulation
# %% [markdown] tags=["ru"] of="b6904f50"
# # Накопление градиентов
# %% tags=["en"]
from autograder import start

start("gradient_accumulation", language="en")
# %% tags=["ru"]
from autograder import start

start("gradient_accumulation", language="ru")
# %%
import torch
from torch.nn.functional import mse_loss


# %% answer="accumulate_equal"
def accumulate_equal(model, batches):
    """Leave in `.grad` the gradient of the mean loss over all samples of `batches`, a list of pairs (x, y)."""
    ### BEGIN SOLUTION
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()
    ### END SOLUTION


# %% check="accumulate_equal"
from autograder import check

check("accumulate_equal")
# %% [markdown] written="why_they_agree" points=2 minutes=8
# Rubric
# %% answer="predict_accumulation"
predict_accumulation = {
    "w.grad before": None,
    "first": -40.0,
    "copy": -32.0,
    "w.grad after the second backward": -40.0,
    "w.grad after zero_grad": None,
}
# %% given="predict_accumulation"
predict_accumulation = {
    "w.grad before": ...,
    "first": ...,
    "copy": ...,
    "w.grad after the second backward": ...,
    "w.grad after zero_grad": ...,
}
# %% check="predict_accumulation"
check("predict_accumulation")


# %% answer="fix_zero_inside"
def fix_zero_inside(model, optimizer, batches, accumulation_steps):
    ### BEGIN SOLUTION
    for i, (x, y) in enumerate(batches):
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
    ### END SOLUTION


# %% given="fix_zero_inside"
def fix_zero_inside(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        optimizer.zero_grad(set_to_none=True)
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()


# %% check="fix_zero_inside"
check("fix_zero_inside")


# %% answer="accumulate_uneven"
def accumulate_uneven(model, batches):
    ### BEGIN SOLUTION
    model.zero_grad()
    total = sum(len(x) for x, _ in batches)
    for x, y in batches:
        (mse_loss(model(x), y) * len(x) / total).backward()
    ### END SOLUTION


# %% check="accumulate_uneven"
check("accumulate_uneven")


# %% answer="train_epoch"
def train_epoch(model, optimizer, batches, accumulation_steps):
    ### BEGIN SOLUTION
    total, count = 0.0, 0
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        samples = sum(len(x) for x, _ in window)
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y)
            (loss * len(x) / samples).backward()
            total += loss.item() * len(x)
        optimizer.step()
        count += samples
    return total / count
    ### END SOLUTION


# %% check="train_epoch"
check("train_epoch")
