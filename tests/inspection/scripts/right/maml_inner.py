# right: the inner steps use autograd.grad with create_graph and build new tensors (no optimizer); the outer backward runs through them to the initial weights
import math
import torch
from torch import nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(22)
torch.set_num_threads(1)
INNER_LR, INNER_STEPS, TASKS, SHOTS = 0.05, 2, 6, 10

model = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
meta_opt = torch.optim.Adam(model.parameters(), lr=3e-3)


class SineTask:
    def __init__(self):
        self.amp = 0.5 + 2 * torch.rand(()).item()
        self.phase = math.pi * torch.rand(()).item()

    def draw(self, n):
        x = 6 * torch.rand(n, 1) - 3
        return x, self.amp * torch.sin(x + self.phase)


def adapt(params, x, y, steps, second_order=True):
    for _ in range(steps):
        loss = F.mse_loss(functional_call(model, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=second_order)
        params = {k: p - INNER_LR * g for (k, p), g in zip(params.items(), grads)}
    return params


def test_error(n=20):
    total = 0.0
    for _ in range(n):
        task = SineTask()
        fast = adapt(dict(model.named_parameters()), *task.draw(SHOTS), steps=5, second_order=False)
        with torch.no_grad():
            x, y = task.draw(100)
            total += F.mse_loss(functional_call(model, fast, (x,)), y).item()
    return total / n


print(f"before: post-adaptation error {test_error():.3f}")
for it in range(150):
    meta_loss = 0.0
    for _ in range(TASKS):
        task = SineTask()
        fast = adapt(dict(model.named_parameters()), *task.draw(SHOTS), steps=INNER_STEPS)
        x, y = task.draw(SHOTS)
        meta_loss = meta_loss + F.mse_loss(functional_call(model, fast, (x,)), y)
    meta_loss = meta_loss / TASKS
    meta_opt.zero_grad()
    meta_loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    meta_opt.step()
    if it % 30 == 29:
        print(f"it {it + 1} query loss {meta_loss.item():.3f} post-adaptation error {test_error():.3f}")
