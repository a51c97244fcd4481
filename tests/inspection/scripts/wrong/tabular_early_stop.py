# finds: inspect.eval
# bug: eval
# where: model.eval()
# why: validate() switches to eval mode and nobody switches back, so from the second epoch on dropout is off and batch norm uses frozen running statistics
import copy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(21)


class TabularNet(nn.Module):
    def __init__(self, n_num=6, cards=(5, 8), emb=4):
        super().__init__()
        self.embs = nn.ModuleList([nn.Embedding(c, emb) for c in cards])
        self.mlp = nn.Sequential(
            nn.Linear(n_num + emb * len(cards), 32, bias=False), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3),
            nn.Linear(32, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3),
            nn.Linear(16, 1),
        )

    def forward(self, num, cat):
        e = [emb(cat[:, i]) for i, emb in enumerate(self.embs)]
        return self.mlp(torch.cat([num, *e], dim=1)).squeeze(1)


n = 240
num = torch.randn(n, 6)
cat = torch.stack([torch.randint(0, 5, (n,)), torch.randint(0, 8, (n,))], 1)
target = ((num[:, 0] + cat[:, 0] - 2 + 0.5 * torch.randn(n)) > 0).float()
train_set, val_set = random_split(TensorDataset(num, cat, target), [200, 40])
train_dl = DataLoader(train_set, batch_size=40, shuffle=True)
val_dl = DataLoader(val_set, batch_size=40)
loss_fn = nn.BCEWithLogitsLoss()


@torch.no_grad()
def validate(model):
    model.eval()
    losses = [loss_fn(model(a, b), y).item() for a, b, y in val_dl]
    return sum(losses) / len(losses)


def fit(model, epochs=5, patience=3):
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    best, best_state, bad = float("inf"), None, 0
    model.train()
    for epoch in range(epochs):
        for a, b, y in train_dl:
            optimizer.zero_grad()
            loss = loss_fn(model(a, b), y)
            loss.backward()
            optimizer.step()
        val = validate(model)
        if val < best:
            best, best_state, bad = val, copy.deepcopy(model.state_dict()), 0
        else:
            bad += 1
            if bad >= patience:
                break
    model.load_state_dict(best_state)
    return best


print("best val loss", fit(TabularNet()))
