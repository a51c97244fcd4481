# right: the target network never gets gradients and is no optimizer's, it moves by a momentum update under no_grad; it stays in train mode (batch statistics), as in BYOL
import copy
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(17)
torch.set_num_threads(1)


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(40, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Linear(96, 48))
        self.projector = mlp(48, 96, 24)

    def forward(self, x):
        return self.projector(self.encoder(x))


mix = torch.randn(5, 40)


def views(n):                               # two noisy, partly masked looks at the same example
    z = torch.randn(n, 5)
    x = z @ mix
    aug = lambda: (x + 0.5 * torch.randn_like(x)) * (torch.rand_like(x) > 0.2)
    return aug(), aug(), z


online, predictor = Branch(), mlp(24, 64, 24)
target = copy.deepcopy(online).requires_grad_(False)
opt = torch.optim.AdamW(list(online.parameters()) + list(predictor.parameters()), lr=2e-3, weight_decay=1e-3)
TOTAL = 150


def distance(p, t):
    return 2 - 2 * F.cosine_similarity(p, t, dim=-1).mean()


for step in range(TOTAL):
    a, b, _ = views(96)
    with torch.no_grad():
        ta, tb = target(a), target(b)
    loss = distance(predictor(online(a)), tb) + distance(predictor(online(b)), ta)
    opt.zero_grad()
    loss.backward()
    opt.step()
    m = 1 - 0.03 * (1 - step / TOTAL)
    with torch.no_grad():
        for pt, po in zip(target.parameters(), online.parameters()):
            pt.lerp_(po, 1 - m)
    if step % 30 == 29:
        online.eval()
        with torch.no_grad():
            x, _, z = views(400)
            h = online.encoder(x)
            h = torch.cat([h, torch.ones(len(h), 1)], 1)
            r = z - h @ torch.linalg.lstsq(h, z).solution
            spread = F.normalize(h[:, :-1] - h[:, :-1].mean(0), dim=1).std(0).mean().item()
        online.train()
        print(f"step {step + 1} loss {loss.item():.3f} latent R2 {1 - (r.var() / z.var()).item():.2f} spread {spread:.3f}")
