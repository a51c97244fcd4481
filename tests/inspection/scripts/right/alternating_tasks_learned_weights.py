# right: each step trains one task, so the other head (and its log-variance) has no gradient; the log-variances live outside the model but in the optimizer
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(5)
torch.set_num_threads(1)


class TwoTask(nn.Module):
    def __init__(self, d_in=20, width=64):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d_in, width), nn.LayerNorm(width), nn.SiLU(),
                                   nn.Linear(width, width), nn.SiLU())
        self.heads = nn.ModuleDict({"price": nn.Linear(width, 1), "kind": nn.Linear(width, 5)})

    def forward(self, x, task):
        return self.heads[task](self.trunk(x))


hidden = torch.randn(20, 6) / 20 ** 0.5
w_price, w_kind = torch.randn(6, 1), torch.randn(6, 5)


def batch(task, n=48):                      # the two data sets are disjoint: an example carries one label only
    x = torch.randn(n, 20)
    z = torch.tanh(x @ hidden)
    if task == "price":
        return x, 10 * (z @ w_price) + torch.randn(n, 1)
    return x, (z @ w_kind + 0.2 * torch.randn(n, 5)).argmax(-1)


model = TwoTask()
log_var = {t: nn.Parameter(torch.zeros(())) for t in ("price", "kind")}
opt = torch.optim.Adam([{"params": model.parameters(), "lr": 3e-3},
                        {"params": list(log_var.values()), "lr": 2e-2}])

ema = {}
for step in range(300):
    task = ("price", "kind")[step % 2]
    x, y = batch(task)
    out = model(x, task)
    s = log_var[task]
    if task == "price":
        raw = F.mse_loss(out, y)
        loss = 0.5 * torch.exp(-s) * raw + 0.5 * s
    else:
        raw = F.cross_entropy(out, y)
        loss = torch.exp(-s) * raw + 0.5 * s
    opt.zero_grad(set_to_none=True)         # None, so that Adam leaves the idle head alone
    loss.backward()
    opt.step()
    ema[task] = 0.9 * ema.get(task, raw.item()) + 0.1 * raw.item()
    if step % 60 == 59:
        print(step + 1, {k: round(v, 3) for k, v in ema.items()},
              {k: round(v.item(), 2) for k, v in log_var.items()})
