# finds: inspect.cut.no_grad
# bug: cut
# where: with torch.no_grad():  # backbone is frozen, save memory
# why: the LoRA matrices live inside the encoder that is run under no_grad, so only the head gets gradients
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r=4, alpha=8):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad = False
        self.lora_A = nn.Parameter(torch.empty(r, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scaling = alpha / r

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.lora_A), self.lora_B) * self.scaling


class Block(nn.Module):
    def __init__(self, d=32, h=4):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        B, T, D = x.shape
        y = self.n1(x)
        q, k, v = (f(y).view(B, T, self.h, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        a = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(B, T, D)
        x = x + self.o(a)
        return x + self.mlp(self.n2(x))


class Classifier(nn.Module):
    def __init__(self, vocab=50, d=32, n_cls=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Embedding(vocab, d), Block(d), Block(d))
        self.head = nn.Linear(d, n_cls)

    def forward(self, ids):
        with torch.no_grad():  # backbone is frozen, save memory
            hidden = self.encoder(ids)
        return self.head(hidden.mean(1))


torch.manual_seed(0)
model = Classifier()
model.encoder.requires_grad_(False)
for m in list(model.encoder)[1:]:
    m.q, m.v = LoRALinear(m.q), LoRALinear(m.v)

trainable = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=1e-3)
for step in range(15):
    ids = torch.randint(0, 50, (16, 12))
    labels = (ids < 17).sum(1).clamp(3, 5) - 3
    loss = F.cross_entropy(model(ids), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss:", loss.item())
