# finds: inspect.cut.data
# bug: cut
# where: alpha = torch.softmax(scores.data / self.temp, dim=1)
# why: .data strips the history from the attention scores, so the whole scoring branch (att_v, att_u, att_w) never learns
import torch
from torch import nn

torch.manual_seed(1)


class GatedMIL(nn.Module):
    """bag-of-patches classifier with gated attention pooling"""

    def __init__(self, d_in=20, d=32, temp=0.5):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(d_in, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU())
        self.att_v = nn.Linear(d, 16)
        self.att_u = nn.Linear(d, 16)
        self.att_w = nn.Linear(16, 1, bias=False)
        self.cls = nn.Linear(d, 2)
        self.temp = temp

    def forward(self, bags, mask):
        h = self.embed(bags)
        scores = self.att_w(torch.tanh(self.att_v(h)) * torch.sigmoid(self.att_u(h)))
        scores = scores.masked_fill(~mask.unsqueeze(-1), -1e9)
        alpha = torch.softmax(scores.data / self.temp, dim=1)
        pooled = (alpha * h).sum(dim=1)
        return self.cls(pooled), alpha.squeeze(-1)


def sample_bags(n, max_len=15, d=20):
    lengths = torch.randint(5, max_len + 1, (n,))
    mask = torch.arange(max_len)[None, :] < lengths[:, None]
    x = torch.randn(n, max_len, d)
    y = torch.randint(0, 2, (n,))
    # positive bags contain one "tumour" patch
    x[y == 1, 0, :5] += 3.0
    return x, mask, y


def main():
    model = GatedMIL()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=20)
    ce = nn.CrossEntropyLoss()
    model.train()
    for it in range(20):
        x, mask, y = sample_bags(32)
        logits, _ = model(x, mask)
        loss = ce(logits, y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        sched.step()
    print("final loss", round(loss.item(), 4))


if __name__ == "__main__":
    main()
