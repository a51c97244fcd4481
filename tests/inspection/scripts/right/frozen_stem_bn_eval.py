# right: stem has requires_grad off and no grads, BatchNorms stay in eval during training on purpose (fine-tuning on tiny batches with pretrained statistics)
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)


def block(cin, cout, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU())


class SmallNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.stem = nn.Sequential(block(3, 12), block(12, 16, 2))
        self.body = nn.Sequential(block(16, 24, 2), block(24, 32))
        self.fc = nn.Linear(32, classes)
        self.freeze_bn = False

    def train(self, mode=True):
        super().train(mode)
        if mode and self.freeze_bn:
            for m in self.modules():
                if isinstance(m, nn.BatchNorm2d):
                    m.eval()
        return self

    def forward(self, x):
        return self.fc(self.body(self.stem(x)).mean((2, 3)))


model = SmallNet(10)
with torch.no_grad():                       # stands in for loading a checkpoint: gives the BNs usable statistics
    for _ in range(30):
        model(torch.randn(32, 3, 16, 16) * 0.8 + 0.3)

model.fc = nn.Linear(32, 4)                 # new task
model.freeze_bn = True
model.stem.requires_grad_(False)
opt = torch.optim.SGD([{"params": model.body.parameters(), "lr": 0.05},
                       {"params": model.fc.parameters(), "lr": 0.1}], momentum=0.9, weight_decay=1e-4)

protos = torch.randn(4, 3, 16, 16)
running = None
for it in range(60):
    model.train()
    y = torch.randint(0, 4, (6,))
    x = 0.6 * protos[y] + torch.randn(6, 3, 16, 16) * 0.7 + 0.3
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    opt.zero_grad()
    running = loss.item() if running is None else 0.9 * running + 0.1 * loss.item()
    if it % 15 == 14:
        print(f"it {it + 1} loss {running:.3f}")
