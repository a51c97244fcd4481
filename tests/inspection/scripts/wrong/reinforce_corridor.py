# finds: inspect.cut.number
# bug: cut
# where: logps = torch.tensor(logp_buf, requires_grad=True)
# why: the log-probabilities are collected as plain numbers and rebuilt into a new leaf tensor, so the actor gets no gradient
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self, obs=4, n_act=2, hid=32):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(obs, hid), nn.Tanh(), nn.Linear(hid, n_act))
        self.critic = nn.Sequential(nn.Linear(obs, hid), nn.Tanh(), nn.Linear(hid, 1))

    def act(self, obs):
        dist = Categorical(logits=self.actor(obs))
        a = dist.sample()
        return a.item(), dist.log_prob(a), self.critic(obs).squeeze(-1)


class Corridor:
    """walk to the right end, -0.1 per move"""

    def reset(self):
        self.pos, self.t = 0, 0
        return self._obs()

    def _obs(self):
        return torch.tensor([self.pos / 5, self.t / 30, 1.0, float(self.pos == 0)])

    def step(self, a):
        self.pos = max(0, self.pos + (1 if a == 1 else -1))
        self.t += 1
        done = self.pos >= 5 or self.t >= 30
        return self._obs(), (1.0 if self.pos >= 5 else -0.1), done


def discounted(rewards, gamma=0.97):
    out, run = [], 0.0
    for r in reversed(rewards):
        run = r + gamma * run
        out.insert(0, run)
    return torch.tensor(out)


env, agent = Corridor(), ActorCritic()
optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3)
for episode in range(25):
    obs, done = env.reset(), False
    logp_buf, values, rewards = [], [], []
    while not done:
        a, logp, v = agent.act(obs)
        obs, r, done = env.step(a)
        logp_buf.append(logp.item())
        values.append(v)
        rewards.append(r)
    returns = discounted(rewards)
    values = torch.stack(values)
    logps = torch.tensor(logp_buf, requires_grad=True)
    adv = returns - values.detach()
    policy_loss = -(logps * adv).mean()
    value_loss = nn.functional.smooth_l1_loss(values, returns)
    loss = policy_loss + 0.5 * value_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("last loss", loss.item())
