# right: the target network gets no gradient and jumps every 50 updates; gradients of actions not taken are zero; the loss need not fall
import copy
import random
from collections import deque
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(19)
random.seed(19)
torch.set_num_threads(1)
N, GAMMA = 5, 0.95


class Grid:
    """Walk from a corner to the opposite one, around a pit in the middle."""

    def reset(self):
        self.p, self.t = [0, 0], 0
        return self.obs()

    def obs(self):
        o = torch.zeros(2 * N)
        o[self.p[0]] = o[N + self.p[1]] = 1
        return o

    def step(self, a):
        dx, dy = ((1, 0), (-1, 0), (0, 1), (0, -1))[a]
        self.p = [min(max(self.p[0] + dx, 0), N - 1), min(max(self.p[1] + dy, 0), N - 1)]
        self.t += 1
        if self.p == [N - 1, N - 1]:
            return self.obs(), 1.0, True
        if self.p == [2, 2]:
            return self.obs(), -1.0, True
        return self.obs(), -0.01, False


q = nn.Sequential(nn.Linear(2 * N, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
target = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=2e-3)
memory, env, updates, returns = deque(maxlen=4000), Grid(), 0, deque(maxlen=20)

for episode in range(120):
    s, done, total, eps = env.reset(), False, 0.0, max(0.05, 1 - episode / 60)
    while not done and env.t < 40:
        if random.random() < eps:
            a = random.randrange(4)
        else:
            with torch.no_grad():
                a = q(s).argmax().item()
        s2, r, done = env.step(a)
        memory.append((s, a, r, s2, float(done)))
        s, total = s2, total + r
        if len(memory) < 200 or len(memory) % 2:
            continue
        bs, ba, br, bs2, bd = zip(*random.sample(memory, 32))
        with torch.no_grad():               # double DQN target
            nxt = torch.stack(bs2)
            best = target(nxt).gather(1, q(nxt).argmax(1, keepdim=True)).squeeze(1)
            goal = torch.tensor(br) + GAMMA * (1 - torch.tensor(bd)) * best
        value = q(torch.stack(bs)).gather(1, torch.tensor(ba).unsqueeze(1)).squeeze(1)
        opt.zero_grad()
        F.smooth_l1_loss(value, goal).backward()
        opt.step()
        updates += 1
        if updates % 50 == 0:
            target.load_state_dict(q.state_dict())
    returns.append(total)
    if episode % 30 == 29:
        print(f"episode {episode + 1} updates {updates} mean return {sum(returns) / len(returns):.2f}")
