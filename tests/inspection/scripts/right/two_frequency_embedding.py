# right: the embedding's optimizer steps every 4th iteration and its gradients are kept (and averaged) meanwhile; only the body's are cleared each iteration
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(21)
torch.set_num_threads(1)
USERS, ITEMS, D, EVERY = 200, 120, 16, 4


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.user, self.item = nn.Embedding(USERS, D), nn.Embedding(ITEMS, D)
        self.body = nn.Sequential(nn.Linear(3 * D, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 1))
        for e in (self.user, self.item):
            nn.init.normal_(e.weight, std=0.3)

    def forward(self, u, i):
        a, b = self.user(u), self.item(i)
        return self.body(torch.cat([a, b, a * b], -1)).squeeze(-1)


taste, trait = torch.randn(USERS, 3), torch.randn(ITEMS, 3)


def clicks(n):
    u, i = torch.randint(0, USERS, (n,)), torch.randint(0, ITEMS, (n,))
    return u, i, torch.bernoulli(torch.sigmoid(3 * (taste[u] * trait[i]).sum(-1)))


model = Ranker()
emb_params = [*model.user.parameters(), *model.item.parameters()]
opt_body = torch.optim.Adam(model.body.parameters(), lr=5e-3)
opt_emb = torch.optim.Adam(emb_params, lr=4e-2)
vu, vi, vy = clicks(2000)

for it in range(1, 401):
    u, i, y = clicks(256)
    loss = F.binary_cross_entropy_with_logits(model(u, i), y)
    loss.backward()
    opt_body.step()
    opt_body.zero_grad()
    if it % EVERY == 0:
        for p in emb_params:
            p.grad.div_(EVERY)
        opt_emb.step()
        opt_emb.zero_grad()
    if it % 80 == 0:
        model.eval()
        with torch.no_grad():
            out = model(vu, vi)
            val = F.binary_cross_entropy_with_logits(out, vy).item()
            acc = ((out > 0) == vy.bool()).float().mean().item()
        model.train()
        print(f"it {it} train {loss.item():.3f} val {val:.3f} acc {acc:.2f}")
