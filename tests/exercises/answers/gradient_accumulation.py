# %%
import torch
from torch.nn.functional import mse_loss

# %% exercise="train_epoch" verdict="refused"
def train_epoch(model, optimizer, batches, accumulation_steps):
    total, count = 0.0, 0
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        n = sum(len(x) for x, _ in window)
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y)
            loss.backward()
            total += loss.item() * len(x)
        optimizer.step()
        count += n
    return total / count

# %% exercise="is_right" verdict="refused"
def is_right(accumulate):
    return True
