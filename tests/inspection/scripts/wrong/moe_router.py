# finds: inspect.cut.index
# bug: cut
# where: choice = self.router(x).argmax(dim=-1)
# why: the expert is picked by a hard argmax and the router score is never multiplied in, so the router has no path to the loss
import torch
import torch.nn as nn

torch.manual_seed(3)


class Expert(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.SiLU(), nn.Linear(hidden, dim))

    def forward(self, x):
        return self.net(x)


class Top1MoE(nn.Module):
    def __init__(self, dim, hidden=32, n_experts=3):
        super().__init__()
        self.router = nn.Linear(dim, n_experts, bias=False)
        self.experts = nn.ModuleList([Expert(dim, hidden) for _ in range(n_experts)])

    def forward(self, x):
        choice = self.router(x).argmax(dim=-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            sel = choice == i
            out[sel] = expert(x[sel])
        return x + out


class Net(nn.Module):
    def __init__(self, d_in=10, dim=24):
        super().__init__()
        self.stem = nn.Linear(d_in, dim)
        self.moe = Top1MoE(dim)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 1)

    def forward(self, x):
        return self.head(self.norm(self.moe(self.stem(x)))).squeeze(-1)


def get_batch(bs=128):
    x = torch.randn(bs, 10)
    region = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    y = torch.stack([x[:, 2] * 2, -x[:, 3], x[:, 4] + 1], 1).gather(1, region[:, None]).squeeze(1)
    return x, y


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
mse = nn.MSELoss()
for it in range(30):
    xb, yb = get_batch()
    opt.zero_grad()
    loss = mse(net(xb), yb)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    opt.step()
print("mse", loss.item())
