# right: activation checkpointing (first blocks non-reentrant, last reentrant): forwards run again inside backward, dropout with the same random state
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(6)
torch.set_num_threads(1)
V, D, T, DEPTH = 32, 40, 16, 4


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.attn = nn.MultiheadAttention(D, 4, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(D, 3 * D), nn.GELU(), nn.Dropout(0.1), nn.Linear(3 * D, D))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.ff(self.norm2(x))


class Sorter(nn.Module):
    """Outputs, at every position, the token that stands there after sorting."""

    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(V, D)
        self.pos = nn.Parameter(torch.randn(T, D) * 0.1)
        self.layers = nn.ModuleList(Layer() for _ in range(DEPTH))
        self.out = nn.Linear(D, V)

    def forward(self, ids):
        x = self.tok(ids) + self.pos
        for i, layer in enumerate(self.layers):
            if not self.training:
                x = layer(x)
            elif i < DEPTH - 1:
                x = checkpoint(layer, x, use_reentrant=False)
            else:
                x = checkpoint(layer, x, use_reentrant=True)   # x requires grad here, as this kind needs
        return self.out(x)


model = Sorter()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(60):
    model.train()
    ids = torch.randint(0, V, (24, T))
    target = ids.sort(1).values
    loss = F.cross_entropy(model(ids).transpose(1, 2), target)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 20 == 19:
        model.eval()
        with torch.no_grad():
            ids = torch.randint(0, V, (64, T))
            off = (model(ids).argmax(-1) - ids.sort(1).values).abs().float().mean().item()
        print(f"step {step + 1} loss {loss.item():.3f} mean token error {off:.2f}")
