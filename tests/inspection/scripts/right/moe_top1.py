# right: top-1 routing with small batches; experts that no token chose have grad None in that step
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(11)
torch.set_num_threads(1)
D, E = 24, 8


class SwitchFFN(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(D, E, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(D, 32), nn.ReLU(), nn.Linear(32, D)) for _ in range(E))

    def forward(self, x):
        probs = self.router(x).softmax(-1)
        gate, choice = probs.max(-1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            rows = (choice == e).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            out = out.index_add(0, rows, gate[rows, None] * expert(x[rows]))
        load = F.one_hot(choice, E).float().mean(0)         # a count, no gradient of its own
        balance = E * (load * probs.mean(0)).sum()
        return x + out, balance, load


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(10, D)
        self.norm, self.moe = nn.LayerNorm(D), SwitchFFN()
        self.out = nn.Linear(D, 1)

    def forward(self, x):
        h, balance, load = self.moe(self.norm(self.inp(x)))
        return self.out(h).squeeze(1), balance, load


centers = 2 * torch.randn(6, 10)
slopes = torch.randn(6, 10)


def batch(n):                               # piecewise linear: each cluster has its own rule
    c = torch.randint(0, 6, (n,))
    dx = 0.5 * torch.randn(n, 10)
    return centers[c] + dx, (dx * slopes[c]).sum(1)


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
seen = torch.zeros(E)
for step in range(300):
    net.train()
    x, y = batch(12)
    pred, balance, load = net(x)
    loss = F.mse_loss(pred, y) + 0.01 * balance
    opt.zero_grad()
    loss.backward()
    opt.step()
    seen += load.detach() * 12
    if step % 75 == 74:
        net.eval()
        with torch.no_grad():
            vx, vy = batch(400)
            val = F.mse_loss(net(vx)[0], vy).item()
        print(f"step {step + 1} val mse {val:.3f} tokens per expert {seen.int().tolist()}")
