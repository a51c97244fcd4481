# right: micro-batches differ in size and padding; each loss is a SUM over real tokens divided by the token count of the whole group, so no mean of means
import torch
from torch import nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(13)
torch.set_num_threads(1)
VOCAB, TAGS, IGNORE = 60, 5, -100


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 32, padding_idx=0)
        self.conv = nn.Conv1d(32, 64, 3, padding=1)
        self.out = nn.Linear(64, TAGS)

    def forward(self, ids):
        h = F.relu(self.conv(self.emb(ids).transpose(1, 2)))
        return self.out(h.transpose(1, 2))


def sentence():
    n = int(torch.randint(3, 40, ()))
    ids = torch.randint(1, VOCAB, (n,))
    prev = torch.cat([torch.zeros(1, dtype=torch.long), ids[:-1]])
    return ids, (ids // 12 + (prev < 20)) % TAGS     # depends on the word before


def by_budget(sents, budget=128):           # short sentences together: many rows in some, few in others
    out, cur = [], []
    for s in sorted(sents, key=lambda s: len(s[0])):
        if cur and (len(cur) + 1) * len(s[0]) > budget:
            out.append(cur)
            cur = []
        cur.append(s)
    return out + [cur]


model = Tagger()
opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
for update in range(60):
    micro = by_budget([sentence() for _ in range(24)])
    tokens = sum(len(s[0]) for mb in micro for s in mb)
    opt.zero_grad()
    loss_sum = 0.0
    for mb in micro:
        ids = pad_sequence([s[0] for s in mb], batch_first=True, padding_value=0)
        tags = pad_sequence([s[1] for s in mb], batch_first=True, padding_value=IGNORE)
        loss = F.cross_entropy(model(ids).flatten(0, 1), tags.flatten(), ignore_index=IGNORE, reduction="sum")
        (loss / tokens).backward()
        loss_sum += loss.item()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if update % 15 == 14:
        print(f"update {update + 1} micro-batches {[len(m) for m in micro]} loss/token {loss_sum / tokens:.3f}")
