# right: the output matrix is a transposed view of the item embedding taken ONCE before the loop; it shares storage and graph with the leaf, so it follows every in-place update
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(4)
torch.set_num_threads(1)
ITEMS, D, CTX, GROUPS = 150, 32, 5, 10


class BasketModel(nn.Module):
    """Predicts the held-out item of a shopping basket from the others."""

    def __init__(self):
        super().__init__()
        self.items = nn.Embedding(ITEMS, D)
        nn.init.normal_(self.items.weight, std=0.1)
        self.mix = nn.Sequential(nn.Linear(D, 2 * D), nn.ReLU(), nn.Linear(2 * D, D))
        self.bias = nn.Parameter(torch.zeros(ITEMS))

    def encode(self, ctx):
        h = self.items(ctx).mean(1)
        return h + self.mix(h)


def baskets(n):
    g = torch.randint(0, GROUPS, (n, 1))
    items = g + GROUPS * torch.randint(0, ITEMS // GROUPS, (n, CTX + 1))
    stray = torch.rand(n, CTX + 1) < 0.1
    items = torch.where(stray, torch.randint(0, ITEMS, items.shape), items)
    return items[:, :-1], items[:, -1]


model = BasketModel()
decode = model.items.weight.t()             # [D, ITEMS], a view and not a copy
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for it in range(120):
    ctx, target = baskets(64)
    scores = model.encode(ctx) @ decode + model.bias
    loss = F.cross_entropy(scores, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 30 == 29:
        with torch.no_grad():
            c, t = baskets(300)
            same = ((model.encode(c) @ decode + model.bias).argmax(-1) % GROUPS == t % GROUPS).float().mean()
        print(f"iter {it + 1} loss {loss.item():.3f} right group {same.item():.2f}")

assert decode.data_ptr() == model.items.weight.data_ptr()
