# finds: inspect.held_graph
# bug: carried
# where: self.sum += val * n
# why: the meter is given the loss tensor itself, so its running sum links the graphs of all batches together
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class AverageMeter:
    def __init__(self, name):
        self.name = name
        self.sum, self.count = 0.0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


class Faces(Dataset):
    def __init__(self, n=150):
        g = torch.Generator().manual_seed(0)
        self.img = torch.randn(n, 1, 12, 12, generator=g)
        self.age = self.img.mean((1, 2, 3)) * 10 + 1
        self.gender = (self.img[:, 0, :6].mean((1, 2)) > 0).long()

    def __len__(self):
        return len(self.img)

    def __getitem__(self, i):
        return self.img[i], {"age": self.age[i], "gender": self.gender[i]}


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten())
        self.age = nn.Linear(16 * 9, 1)
        self.gender = nn.Linear(16 * 9, 2)

    def forward(self, x):
        h = self.trunk(x)
        return self.age(h).squeeze(1), self.gender(h)


def main():
    torch.manual_seed(0)
    model = MultiTask()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    meter = AverageMeter("loss")
    for epoch in range(2):
        model.train()
        for img, target in DataLoader(Faces(), batch_size=25, shuffle=True):
            age, gender = model(img)
            loss = F.l1_loss(age, target["age"]) + F.cross_entropy(gender, target["gender"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            meter.update(loss, img.size(0))
    print(f"{meter.name}: {meter.avg.item():.4f}")


main()
