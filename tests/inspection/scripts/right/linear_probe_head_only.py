# right: backbone gradients are computed and pile up uncleared, but the optimizer has the probe alone, so they are never used (wasteful, not wrong)
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(2)
torch.set_num_threads(1)


class Encoder1d(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.conv1 = nn.Conv1d(1, width, 7, stride=2, padding=3)
        self.conv2 = nn.Conv1d(width, width, 5, stride=2, padding=2)
        self.norm = nn.GroupNorm(4, width)
        self.out = nn.Linear(width * 2, 64)

    def forward(self, x):
        h = F.relu(self.conv1(x))
        h = F.relu(self.norm(self.conv2(h)))
        return self.out(torch.cat([h.mean(-1), h.amax(-1)], -1))


def make_waves(n):
    y = torch.randint(0, 3, (n,))
    t = torch.linspace(0, 1, 128)
    freq = torch.tensor([3.0, 9.0, 20.0])[y].unsqueeze(1)
    phase = torch.rand(n, 1) * 6.283
    x = torch.sin(6.283 * freq * t + phase) + 0.3 * torch.randn(n, 128)
    return x.unsqueeze(1), y


backbone = Encoder1d()
before = {k: v.clone() for k, v in backbone.state_dict().items()}
probe = nn.Linear(64, 3)
optimizer = torch.optim.Adam(probe.parameters(), lr=0.02)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=60)

backbone.eval()
hits = seen = 0
for step in range(60):
    x, y = make_waves(32)
    logits = probe(backbone(x))
    loss = F.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(probe.parameters(), 5.0)
    optimizer.step()
    scheduler.step()
    hits += (logits.argmax(1) == y).sum().item()
    seen += len(y)
    if step % 20 == 19:
        print(f"step {step + 1} loss {loss.item():.3f} acc {hits / seen:.2f}")
        hits = seen = 0

assert all(torch.equal(v, before[k]) for k, v in backbone.state_dict().items())
