# right: encoder parameters say requires_grad=True but never get a gradient; it is a fixed feature extractor under no_grad and only the head is optimised
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(1)
torch.set_num_threads(1)
VOCAB, D, T, CLASSES = 120, 48, 14, 3


class SentenceEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, D, padding_idx=0)
        layer = nn.TransformerEncoderLayer(D, 4, 96, dropout=0.1, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, ids):
        pad = ids.eq(0)
        h = self.enc(self.emb(ids), src_key_padding_mask=pad)
        keep = (~pad).unsqueeze(-1)
        return (h * keep).sum(1) / keep.sum(1)


def sample(n):
    y = torch.randint(0, CLASSES, (n,))
    ids = torch.randint(1, VOCAB, (n, T))
    topical = torch.rand(n, T) < 0.45       # some words come from the class's own band of the vocabulary
    band = 1 + y.unsqueeze(1) * 40 + torch.randint(0, 12, (n, T))
    ids = torch.where(topical, band.clamp(max=VOCAB - 1), ids)
    lengths = torch.randint(6, T + 1, (n, 1))
    ids[torch.arange(T).expand(n, T) >= lengths] = 0
    return ids, y


encoder = SentenceEncoder().eval()
head = nn.Sequential(nn.LayerNorm(D), nn.Linear(D, 64), nn.GELU(), nn.Dropout(0.2), nn.Linear(64, CLASSES))
opt = torch.optim.AdamW(head.parameters(), lr=3e-3)
val_ids, val_y = sample(200)

for epoch in range(4):
    head.train()
    for _ in range(12):
        ids, y = sample(32)
        with torch.no_grad():
            feats = encoder(ids)
        loss = F.cross_entropy(head(feats), y, label_smoothing=0.05)
        opt.zero_grad()
        loss.backward()
        opt.step()
    head.eval()
    with torch.no_grad():
        acc = (head(encoder(val_ids)).argmax(-1) == val_y).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.3f} val acc {acc:.2f}")
