# right: critic is stepped n_critic times per generator step, has a double-backward penalty and negative losses, and its flags are switched off for the generator step
import torch
from torch import nn

torch.manual_seed(8)
torch.set_num_threads(1)
Z, N, N_CRITIC, LAMBDA = 6, 64, 4, 10.0


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 96), nn.LeakyReLU(0.2), nn.Linear(96, 96), nn.LeakyReLU(0.2),
                                 nn.Linear(96, 1))     # no norm layers over the batch: the penalty is per sample

    def forward(self, x):
        return self.net(x).squeeze(1)


gen = nn.Sequential(nn.Linear(Z, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16))
critic = Critic()
opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
t = torch.linspace(0, 6.283, 16)


def real_batch(n):                          # sine snippets of random phase and amplitude
    return (0.6 + 0.4 * torch.rand(n, 1)) * torch.sin(t + 6.283 * torch.rand(n, 1))


def penalty(real, fake):
    a = torch.rand(len(real), 1)
    x = (a * real + (1 - a) * fake).requires_grad_(True)
    g, = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


for it in range(80):
    critic.requires_grad_(True)
    for _ in range(N_CRITIC):
        real = real_batch(N)
        with torch.no_grad():
            fake = gen(torch.randn(N, Z))
        w = critic(real).mean() - critic(fake).mean()
        loss_c = -w + LAMBDA * penalty(real, fake)
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()

    critic.requires_grad_(False)
    loss_g = -critic(gen(torch.randn(N, Z))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if it % 20 == 19:
        print(f"it {it + 1} wasserstein {w.item():.3f} critic {loss_c.item():.3f} gen {loss_g.item():.3f}")
