# right: SAM runs two backwards for one step and moves weights in between; residual gates start at 0, so the branches get zero gradient in the very first backward
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(10)
torch.set_num_threads(1)


class ReZero(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.branch = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))
        self.gate = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x + self.gate * self.branch(x)


class SAM:
    def __init__(self, optimizer, rho=0.05):
        self.opt, self.rho = optimizer, rho
        self.params = [p for g in optimizer.param_groups for p in g["params"]]
        self.shift = []

    @torch.no_grad()
    def climb(self):
        live = [p for p in self.params if p.grad is not None]
        norm = torch.stack([p.grad.norm() for p in live]).norm()
        self.shift = [(p, p.grad * (self.rho / (norm + 1e-12))) for p in live]
        for p, e in self.shift:
            p.add_(e)
        self.opt.zero_grad()

    @torch.no_grad()
    def descend(self):
        for p, e in self.shift:
            p.sub_(e)
        self.opt.step()
        self.opt.zero_grad()


model = nn.Sequential(nn.Linear(2, 40), *[ReZero(40) for _ in range(6)], nn.Linear(40, 2))
sam = SAM(torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), rho=0.05)


def spirals(n):
    y = torch.randint(0, 2, (n,))
    r = torch.rand(n).sqrt()
    a = r * 5 + y * 3.1416
    return torch.stack([r * a.cos(), r * a.sin()], 1) * 2 + 0.05 * torch.randn(n, 2), y


for step in range(250):
    x, y = spirals(128)
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    sam.climb()
    F.cross_entropy(model(x), y).backward()
    sam.descend()
    if step % 50 == 49:
        with torch.no_grad():
            vx, vy = spirals(500)
            acc = (model(vx).argmax(1) == vy).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.3f} acc {acc:.2f}")
