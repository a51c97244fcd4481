# finds: inspect.not_finite
# bug: size
# where: dist = (a - b).pow(2).sum(dim=1).sqrt()
# why: a pair made of the same image twice has distance 0 where sqrt has an infinite slope, so the loss is finite but all encoder gradients become NaN
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(10)


class SignaturePairs(Dataset):
    def __init__(self, n_people=10, per_person=40, n_pairs=192):
        self.people = torch.randn(n_people, 1, 12, 12)
        self.images = self.people[:, None] + 0.5 * torch.randn(n_people, per_person, 1, 12, 12)
        g = torch.Generator().manual_seed(0)
        self.pairs = []
        for k in range(n_pairs):
            p, q = torch.randint(0, n_people, (2,), generator=g).tolist()
            i, j = torch.randint(0, per_person, (2,), generator=g).tolist()
            self.pairs.append((p, i, p, j) if k % 2 else (p, i, q, j))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, k):
        p, i, q, j = self.pairs[k]
        return self.images[p, i], self.images[q, j], float(p == q)


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU())
        self.fc = nn.Sequential(nn.Linear(16 * 9, 32), nn.ReLU(), nn.Linear(32, 8))

    def embed(self, x):
        return self.fc(self.cnn(x).flatten(1))

    def forward(self, x1, x2):
        return self.embed(x1), self.embed(x2)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, a, b, same):
        dist = (a - b).pow(2).sum(dim=1).sqrt()
        return (same * dist.pow(2) + (1 - same) * F.relu(self.margin - dist).pow(2)).mean()


net, criterion = Siamese(), ContrastiveLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(2):
    for x1, x2, same in DataLoader(SignaturePairs(), batch_size=16, shuffle=True):
        optimizer.zero_grad()
        a, b = net(x1, x2)
        loss = criterion(a, b, same.float())
        loss.backward()
        optimizer.step()
print("contrastive loss", loss.item())
