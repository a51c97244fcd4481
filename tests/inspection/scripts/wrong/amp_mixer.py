# finds: inspect.scaled_step
# bug: scaled
# where: optimizer.step()
# why: plain optimizer.step() is called where scaler.step(optimizer) belongs, so the update uses gradients that are still multiplied by the loss scale
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)


class MixerBlock(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.token_mix = nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens))
        self.chan_mix = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.token_mix(self.n1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.chan_mix(self.n2(x))


class Mixer(nn.Module):
    def __init__(self, patch=4, img=16, dim=24, classes=6):
        super().__init__()
        self.stem = nn.Conv2d(3, dim, patch, stride=patch)
        self.blocks = nn.Sequential(*[MixerBlock((img // patch) ** 2, dim) for _ in range(2)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(x)).mean(1))


def fake_cifar(n=24):
    y = torch.randint(0, 6, (n,))
    x = torch.randn(n, 3, 16, 16)
    x[torch.arange(n), y % 3] += 1.0 + (y >= 3).float().view(-1, 1, 1)
    return x, y


model = Mixer()
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu")
for step in range(20):
    images, targets = fake_cifar()
    optimizer.zero_grad()
    with torch.amp.autocast("cpu", dtype=torch.bfloat16):
        logits = model(images)
        loss = F.cross_entropy(logits, targets, label_smoothing=0.1)
    scaler.scale(loss).backward()
    optimizer.step()
print("loss %.4f" % loss.item())
