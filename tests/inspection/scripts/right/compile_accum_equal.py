# right: the optimizer steps on every 4th backward only, each loss is divided by 4 (equal micro-batches); the model is a torch.compile wrapper around the module whose parameters it trains
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

K = 4


class Net(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.GroupNorm(3, 12), nn.SiLU(), nn.MaxPool2d(2),
                                 nn.Conv2d(12, 24, 3, padding=1), nn.GroupNorm(4, 24), nn.SiLU(),
                                 nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, classes))

    def forward(self, x):
        return self.net(x)


def stripes(n):
    y = torch.randint(0, 3, (n,))
    u = torch.arange(12.0)
    phase = torch.rand(n, 1, 1) * 6.283
    grid = torch.stack([u.view(1, 12).expand(12, 12), u.view(12, 1).expand(12, 12), u.view(1, 12) + u.view(12, 1)])
    x = torch.sin(1.2 * grid[y] + phase) + 0.4 * torch.randn(n, 12, 12)
    return x.unsqueeze(1), y


def main():
    torch.manual_seed(14)
    torch.set_num_threads(1)
    loader = DataLoader(TensorDataset(*stripes(384)), batch_size=16, shuffle=True, drop_last=True)
    vx, vy = stripes(96)
    net = Net()
    fast = torch.compile(net, backend="aot_eager")
    opt = torch.optim.AdamW(net.parameters(), lr=5e-3)
    for epoch in range(5):
        fast.train()
        shown = 0.0
        for i, (x, y) in enumerate(loader, 1):          # 24 micro-batches: a multiple of K
            loss = F.cross_entropy(fast(x), y) / K
            loss.backward()
            shown += loss.item()
            if i % K == 0:
                opt.step()
                opt.zero_grad()
        net.eval()
        with torch.no_grad():
            acc = (net(vx).argmax(1) == vy).float().mean().item()
        print(f"epoch {epoch} loss {shown * K / len(loader):.3f} val acc {acc:.2f}")


if __name__ == "__main__":
    main()
