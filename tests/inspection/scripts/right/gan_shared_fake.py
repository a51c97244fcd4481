# right: `fake` is made once and used in both steps; the generator step leaves gradients in D that are cleared before D's next backward
import math
import torch
from torch import nn

torch.manual_seed(7)
torch.set_num_threads(1)
Z = 8

G = nn.Sequential(nn.Linear(Z, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()


def real_batch(n):
    a = torch.randint(0, 6, (n,)) * (2 * math.pi / 6)
    return torch.stack([a.cos(), a.sin()], 1) + 0.05 * torch.randn(n, 2)


n = 96
ones, zeros = torch.ones(n, 1), torch.zeros(n, 1)
for it in range(400):
    real = real_batch(n)
    fake = G(torch.randn(n, Z))

    # discriminator: must not reach G
    opt_d.zero_grad()
    loss_d = bce(D(real), 0.9 * ones) + bce(D(fake.detach()), zeros)
    loss_d.backward()
    opt_d.step()

    # generator: the same samples, seen by the updated discriminator
    opt_g.zero_grad()
    loss_g = bce(D(fake), ones)
    loss_g.backward()
    opt_g.step()

    if it % 100 == 99:
        G.eval()
        with torch.no_grad():
            r = G(torch.randn(500, Z)).norm(dim=1)
        G.train()
        print(f"it {it + 1} D {loss_d.item():.3f} G {loss_g.item():.3f} radius {r.mean().item():.2f}+-{r.std().item():.2f}")
