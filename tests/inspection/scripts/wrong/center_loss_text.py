# finds: inspect.old_graph
# bug: carried
# where: self.center = self.momentum * self.center + (1 - self.momentum) * feats.mean(0)
# why: the moving centre is never detached, so every step backpropagates through the batches of all earlier steps and needs retain_graph=True
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)


class BagEncoder(nn.Module):
    def __init__(self, vocab=200, dim=24, n_cls=4):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.classifier = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, n_cls))

    def forward(self, ids):
        feats = self.emb(ids)
        return feats, self.classifier(feats)


class CenterPenalty(nn.Module):
    """keeps document vectors close to an exponential moving mean"""

    def __init__(self, dim, momentum=0.9):
        super().__init__()
        self.momentum = momentum
        self.center = torch.zeros(dim)

    def forward(self, feats):
        self.center = self.momentum * self.center + (1 - self.momentum) * feats.mean(0)
        return (feats - self.center).pow(2).sum(1).mean()


def documents(bs=32, length=18):
    y = torch.randint(0, 4, (bs,))
    topic = torch.randint(0, 50, (bs, length)) + 50 * y[:, None]
    noise = torch.randint(0, 200, (bs, length))
    return torch.where(torch.rand(bs, length) < 0.5, topic, noise), y


def main():
    model, penalty = BagEncoder(), CenterPenalty(24)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    model.train()
    for step in range(20):
        ids, y = documents()
        feats, logits = model(ids)
        loss = F.cross_entropy(logits, y) + 0.01 * penalty(feats)
        optimizer.zero_grad()
        # RuntimeError: Trying to backward through the graph a second time -> fixed with retain_graph
        loss.backward(retain_graph=True)
        optimizer.step()
    print("loss", loss.item())


main()
