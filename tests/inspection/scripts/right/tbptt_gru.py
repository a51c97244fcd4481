# right: the hidden state goes on from window to window but is detached (truncated BPTT); windows are consecutive, the last one of a pass is shorter
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(12)
torch.set_num_threads(1)
WINDOW, STREAMS = 20, 8

phrases = ["the cat sat on the mat. ", "a dog ran after the cat. ", "the sun is over the sea. "]
text = "".join(phrases[i] for i in torch.randint(0, 3, (150,)).tolist())
chars = sorted(set(text))
ids = torch.tensor([chars.index(c) for c in text])
cols = len(ids) // STREAMS
data = ids[: cols * STREAMS].view(STREAMS, cols)       # each row is one long contiguous stream


class CharGRU(nn.Module):
    def __init__(self, vocab, d=64):
        super().__init__()
        self.emb = nn.Embedding(vocab, 24)
        self.rnn = nn.GRU(24, d, num_layers=2, batch_first=True)
        self.out = nn.Linear(d, vocab)

    def forward(self, x, state=None):
        y, state = self.rnn(self.emb(x), state)
        return self.out(y), state


model = CharGRU(len(chars))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(4):
    state, total, count = None, 0.0, 0
    for start in range(0, cols - 1, WINDOW):
        stop = min(start + WINDOW, cols - 1)
        x, y = data[:, start:stop], data[:, start + 1:stop + 1]
        if state is not None:
            state = state.detach()
        logits, state = model(x, state)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        total += loss.item() * y.numel()
        count += y.numel()
    print(f"epoch {epoch} nats/char {total / count:.3f}")
