# right: one weight serves as embedding and decoder, key biases get ~0 gradient (softmax is shift-invariant), far position rows get zeros, zero_grad keeps zero tensors
import math
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(3)
torch.set_num_threads(1)
V, D, H, T, MAXLEN = 40, 48, 4, 24, 64


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.q, self.k, self.v, self.o = (nn.Linear(D, D) for _ in range(4))
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def forward(self, x):
        b, t, _ = x.shape
        h = self.n1(x)
        q, k, v = (f(h).view(b, t, H, D // H).transpose(1, 2) for f in (self.q, self.k, self.v))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(b, t, D))
        return x + self.mlp(self.n2(x))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, D), nn.Embedding(MAXLEN, D)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.norm = nn.LayerNorm(D)
        self.decoder = nn.Linear(D, V, bias=False)
        nn.init.normal_(self.tok.weight, std=0.05)
        nn.init.normal_(self.pos.weight, std=0.05)
        self.decoder.weight = self.tok.weight

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        for blk in self.blocks:
            x = blk(x)
        return self.decoder(self.norm(x))


perm = torch.randperm(V)
def sample(n):                              # a noisy walk: the next token is mostly perm[token]
    seq = [torch.randint(0, V, (n,))]
    for _ in range(T):
        seq.append(torch.where(torch.rand(n) < 0.9, perm[seq[-1]], torch.randint(0, V, (n,))))
    s = torch.stack(seq, 1)
    return s[:, :-1], s[:, 1:]


model = LM()
opt = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01)
vx, vy = sample(32)
for step in range(80):
    x, y = sample(16)
    opt.zero_grad(set_to_none=False)
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    loss.backward()
    gn = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 20 == 19:
        model.eval()
        with torch.no_grad():
            val = F.cross_entropy(model(vx).flatten(0, 1), vy.flatten()).item()
        model.train()
        print(f"{step + 1}: train {loss.item():.3f} grad {gn.item():.2f} val ppl {math.exp(val):.1f}")
