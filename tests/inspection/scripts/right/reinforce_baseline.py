# right: the policy loss is no error measure (any sign, no trend), the baseline is detached in it and learns from its own loss with its own optimizer
import torch
from torch import nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(20)
torch.set_num_threads(1)
STEPS, GAMMA, ENVS = 20, 0.95, 24


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.out = nn.Linear(32, 3)
        nn.init.zeros_(self.out.weight)     # starts out uniform
        nn.init.zeros_(self.out.bias)

    def forward(self, s):
        return Categorical(logits=self.out(self.body(s)))


def dynamics(s, a):                         # point mass on a line, pushed left / not / right; keep it near 0
    x, v = s.unbind(-1)
    v = 0.95 * v + 0.25 * (a.float() - 1)
    x = x + 0.3 * v + 0.02 * torch.randn_like(x)
    return torch.stack([x, v], -1), -x.abs() - 0.05 * (a != 1).float()


policy = Policy()
value = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
opt_pi = torch.optim.Adam(policy.parameters(), lr=5e-3)
opt_v = torch.optim.Adam(value.parameters(), lr=1e-2)

for it in range(80):
    s = torch.stack([4 * torch.rand(ENVS) - 2, torch.zeros(ENVS)], -1)
    states, logps, ents, rewards = [], [], [], []
    for _ in range(STEPS):
        dist = policy(s)
        a = dist.sample()
        states.append(s)
        logps.append(dist.log_prob(a))
        ents.append(dist.entropy())
        s, r = dynamics(s, a)
        rewards.append(r)
    ret, returns = torch.zeros(ENVS), []
    for r in reversed(rewards):
        ret = r + GAMMA * ret
        returns.insert(0, ret)
    returns = torch.stack(returns)
    baseline = value(torch.stack(states)).squeeze(-1)
    adv = returns - baseline.detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-6)
    loss_pi = -(torch.stack(logps) * adv).mean() - 0.01 * torch.stack(ents).mean()
    opt_pi.zero_grad()
    loss_pi.backward()
    opt_pi.step()

    loss_v = F.mse_loss(baseline, returns)
    opt_v.zero_grad()
    loss_v.backward()
    opt_v.step()
    if it % 16 == 15:
        print(f"it {it + 1} reward/step {torch.stack(rewards).mean().item():.3f} pi {loss_pi.item():+.3f} v {loss_v.item():.3f}")
