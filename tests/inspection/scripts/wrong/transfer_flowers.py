# finds: inspect.stale
# bug: stale
# where: fc.weight, fc.bias
# why: the optimizer is built from the model with its old 10-class head, then the head is replaced, so the new fc is never updated
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class BasicBlock(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.skip = nn.Identity() if cin == cout and stride == 1 else nn.Conv2d(cin, cout, 1, stride)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + self.skip(x))


class ResNetish(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.layer1 = BasicBlock(3, 8)
        self.layer2 = BasicBlock(8, 16, stride=2)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16, num_classes)

    def forward(self, x):
        return self.fc(self.pool(self.layer2(self.layer1(x))).flatten(1))


def load_pretrained():
    src = ResNetish(10)
    net = ResNetish(10)
    net.load_state_dict(src.state_dict())
    return net


def setup(num_classes, lr=0.01):
    net = load_pretrained()
    optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    # adapt head to our dataset
    net.fc = nn.Linear(net.fc.in_features, num_classes)
    return net, optimizer, scheduler


labels = torch.randint(0, 5, (96,))
images = torch.randn(96, 3, 16, 16) + labels.view(-1, 1, 1, 1) * 0.3
loader = DataLoader(TensorDataset(images, labels), batch_size=24, shuffle=True)
net, optimizer, scheduler = setup(num_classes=5)
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    net.train()
    running = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    scheduler.step()
print("epoch loss", running / len(loader))
