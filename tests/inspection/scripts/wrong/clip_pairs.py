# finds: inspect.cut.number
# bug: cut
# where: scale = torch.tensor(min(self.logit_scale.exp().item(), 100.0))
# why: the learnable temperature goes through .item() and comes back as a fresh constant, so logit_scale never gets a gradient
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, n=160):
        g = torch.Generator().manual_seed(7)
        self.z = torch.randn(n, 6, generator=g)
        self.w = torch.randn(6, 3 * 8 * 8, generator=g)
        self.t = torch.randn(6, 10, 30, generator=g)

    def __len__(self):
        return len(self.z)

    def __getitem__(self, i):
        image = (self.z[i] @ self.w).view(3, 8, 8)
        tokens = torch.einsum("d,dlv->lv", self.z[i], self.t).argmax(-1)
        return image, tokens


class TwoTower(nn.Module):
    def __init__(self, embed=16):
        super().__init__()
        self.visual = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 2 * 2, embed),
        )
        self.tok = nn.Embedding(30, 24)
        self.text = nn.GRU(24, 24, batch_first=True)
        self.text_proj = nn.Linear(24, embed)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, image, tokens):
        img = F.normalize(self.visual(image), dim=-1)
        _, h = self.text(self.tok(tokens))
        txt = F.normalize(self.text_proj(h[-1]), dim=-1)
        # clip at 100 as in the paper
        scale = torch.tensor(min(self.logit_scale.exp().item(), 100.0))
        return scale * img @ txt.t()


def clip_loss(logits):
    target = torch.arange(logits.size(0))
    return (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2


def main():
    torch.manual_seed(0)
    model = TwoTower().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    for epoch in range(3):
        for image, tokens in DataLoader(Pairs(), batch_size=32, shuffle=True):
            loss = clip_loss(model(image, tokens))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"contrastive loss {loss.item():.3f}")


main()
