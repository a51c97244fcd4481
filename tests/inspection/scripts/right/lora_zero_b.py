# right: base weights are frozen; LoRA's B starts at zero, so A's gradient is exactly zero in the first step and small after
import copy
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(9)
torch.set_num_threads(1)
D, R = 48, 4


class LoRALinear(nn.Module):
    def __init__(self, base, r=R, alpha=8):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.A = nn.Parameter(torch.empty(r, base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.A, a=5 ** 0.5)
        self.scaling = alpha / r
        self.drop = nn.Dropout(0.05)

    def forward(self, x):
        return self.base(x) + self.scaling * F.linear(F.linear(self.drop(x), self.A), self.B)


class MixerBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(D)
        self.up, self.down = nn.Linear(D, 2 * D), nn.Linear(2 * D, D)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


base = nn.Sequential(nn.Linear(12, D), MixerBlock(), MixerBlock(), nn.Linear(D, 3))
teacher = copy.deepcopy(base)               # the "new domain": the same net with low-rank changes
with torch.no_grad():
    for blk in teacher[1:3]:
        for lin in (blk.up, blk.down):
            lin.weight += 0.25 * torch.randn(lin.out_features, 2) @ torch.randn(2, lin.in_features) / 2 ** 0.5

model = base.requires_grad_(False)
for blk in model[1:3]:
    blk.up, blk.down = LoRALinear(blk.up), LoRALinear(blk.down)
trainable = [p for p in model.parameters() if p.requires_grad]
print(sum(p.numel() for p in trainable), "of", sum(p.numel() for p in model.parameters()), "parameters train")
opt = torch.optim.AdamW(trainable, lr=4e-3, weight_decay=0.0)

model.train()
for step in range(200):
    x = torch.randn(64, 12)
    with torch.no_grad():
        y = teacher(x)
    loss = F.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 39:
        print(f"step {step + 1} mse {loss.item():.4f}")
