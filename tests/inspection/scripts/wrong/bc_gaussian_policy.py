# finds: inspect.zero
# bug: size
# where: log_std_head.weight, log_std_head.bias
# why: log_std starts near 0 and is clamped to at most -1.5, so every element sits on the clamp and the head's gradient is exactly zero
import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(30)
LOG_STD_MIN, LOG_STD_MAX = -5.0, -1.5


class GaussianPolicy(nn.Module):
    def __init__(self, obs_dim=8, act_dim=2, hidden=48):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(obs_dim, hidden), nn.LayerNorm(hidden), nn.Tanh(),
            nn.Linear(hidden, hidden), nn.Tanh(),
        )
        self.mean_head = nn.Linear(hidden, act_dim)
        self.log_std_head = nn.Linear(hidden, act_dim)

    def forward(self, obs):
        h = self.trunk(obs)
        mean = self.mean_head(h)
        log_std = self.log_std_head(h).clamp(LOG_STD_MIN, LOG_STD_MAX)
        return Normal(mean, log_std.exp())


class Expert:
    def __init__(self, obs_dim=8, act_dim=2):
        self.gain = torch.randn(obs_dim, act_dim) / obs_dim ** 0.5

    def demos(self, n):
        obs = torch.randn(n, self.gain.size(0))
        act = torch.tanh(obs @ self.gain) + 0.3 * torch.randn(n, self.gain.size(1))
        return obs, act


def behaviour_cloning(policy, expert, iters=40, batch=64):
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    policy.train()
    for it in range(iters):
        obs, act = expert.demos(batch)
        dist = policy(obs)
        loss = -dist.log_prob(act).sum(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 10.0)
        optimizer.step()
    return loss.item()


print("nll", behaviour_cloning(GaussianPolicy(), Expert()))
