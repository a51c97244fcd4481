# finds: inspect.cut.detach
# bug: cut
# where: mid = self.mid(F.max_pool2d(e2, 2).detach())
# why: the detach before the bottleneck ends the graph there, so enc2 only feeds the decoder through values and never gets a gradient
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(),
        nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(),
    )


class SmallUNet(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.enc1 = double_conv(1, ch)
        self.enc2 = double_conv(ch, ch * 2)
        self.mid = double_conv(ch * 2, ch * 2)
        self.up = nn.ConvTranspose2d(ch * 2, ch, 4, stride=4)
        self.dec = double_conv(ch * 2, ch)
        self.out = nn.Conv2d(ch, 1, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(F.max_pool2d(e1, 2))
        # bottleneck
        mid = self.mid(F.max_pool2d(e2, 2).detach())
        d = self.dec(torch.cat([self.up(mid), e1], dim=1))
        return self.out(d)


def dice_loss(logits, target, eps=1.0):
    p = torch.sigmoid(logits).flatten(1)
    t = target.flatten(1)
    inter = (p * t).sum(1)
    return (1 - (2 * inter + eps) / (p.sum(1) + t.sum(1) + eps)).mean()


def make_blobs(n=64, size=24):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    cx, cy = torch.randint(6, size - 6, (2, n))
    mask = ((xx - cx[:, None, None]) ** 2 + (yy - cy[:, None, None]) ** 2 < 20).float()
    img = mask + 0.4 * torch.randn_like(mask)
    return img.unsqueeze(1), mask.unsqueeze(1)


loader = DataLoader(TensorDataset(*make_blobs()), batch_size=16, shuffle=True)
net = SmallUNet()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
net.train()
for epoch in range(3):
    for img, mask in loader:
        optimizer.zero_grad()
        logits = net(img)
        loss = F.binary_cross_entropy_with_logits(logits, mask) + dice_loss(logits, mask)
        loss.backward()
        optimizer.step()
print(f"loss {loss.item():.4f}")
