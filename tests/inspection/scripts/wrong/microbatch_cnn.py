# finds: inspect.uneven
# bug: uneven
# where: (loss / len(pieces)).backward()
# why: the last piece holds only 4 samples but its mean loss gets the same weight as the pieces of 16, so the sum is not the mean over the batch
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
BATCH, MICRO = 52, 16  # 52 does not fit in memory at once


class SEBlock(nn.Module):
    def __init__(self, ch, r=4):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(ch, ch // r), nn.SiLU(), nn.Linear(ch // r, ch), nn.Sigmoid())

    def forward(self, x):
        return x * self.fc(x.mean((2, 3)))[:, :, None, None]


class Net(nn.Module):
    def __init__(self, n_out=3):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1, bias=False), nn.GroupNorm(3, 12), nn.SiLU(), SEBlock(12),
            nn.Conv2d(12, 16, 3, stride=2, padding=1, bias=False), nn.GroupNorm(4, 16), nn.SiLU(), SEBlock(16),
        )
        self.head = nn.Linear(16, n_out)

    def forward(self, x):
        return self.head(self.features(x).mean((2, 3)))


def shapes(n):
    y = torch.randint(0, 3, (n,))
    x = 0.3 * torch.randn(n, 1, 14, 14)
    x[y == 0, :, 6:8, :] += 1
    x[y == 1, :, :, 6:8] += 1
    x[y == 2, :, 4:10, 4:10] += 1
    return x, y


loader = DataLoader(TensorDataset(*shapes(BATCH * 4)), batch_size=BATCH, shuffle=True)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
criterion = nn.CrossEntropyLoss()
model.train()
for epoch in range(3):
    for xb, yb in loader:
        optimizer.zero_grad()
        pieces = list(zip(xb.split(MICRO), yb.split(MICRO)))
        for xs, ys in pieces:
            loss = criterion(model(xs), ys)
            (loss / len(pieces)).backward()
        optimizer.step()
print("loss", loss.item())
