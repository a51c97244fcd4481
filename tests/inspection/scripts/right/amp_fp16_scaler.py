# right: the loss is scaled by 2**20 and more, first steps overflow to inf and are skipped, gradients are unscaled before the clip; conv biases before BatchNorm get ~0 gradient
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(15)
torch.set_num_threads(1)


def conv_bn(cin, cout):                     # bias left at its default: BN subtracts it again
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU())


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(conv_bn(3, 8), nn.MaxPool2d(2), conv_bn(8, 16), nn.MaxPool2d(2))
        self.fc = nn.Linear(16 * 9, 5)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


protos = torch.randn(5, 3, 12, 12)


def batch(n):
    y = torch.randint(0, 5, (n,))
    return protos[y] + 1.2 * torch.randn(n, 3, 12, 12), y


model = ConvNet()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
sched = torch.optim.lr_scheduler.LinearLR(opt, 0.2, 1.0, total_iters=10)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 24, growth_interval=25)
skipped = 0
for step in range(60):
    model.train()
    x, y = batch(32)
    opt.zero_grad(set_to_none=True)
    with torch.autocast("cpu", dtype=torch.float16):
        logits = model(x)
        loss = F.cross_entropy(logits.float(), y)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    norm = nn.utils.clip_grad_norm_(model.parameters(), 2.0)
    before = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    if scaler.get_scale() < before:
        skipped += 1                        # overflow: no step was taken, so the schedule waits too
    else:
        sched.step()
    if step % 12 == 11:
        acc = (logits.argmax(1) == y).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.3f} acc {acc:.2f} norm {norm.item():.2f} "
              f"scale 2**{torch.tensor(scaler.get_scale()).log2().item():.0f} skipped {skipped}")
