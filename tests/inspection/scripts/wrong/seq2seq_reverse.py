# finds: inspect.uneven
# bug: uneven
# where: loss = criterion(logits.transpose(1, 2), tgt_out) / accum_steps
# why: the criterion averages over the non-pad tokens of each micro-batch, and these averages are weighted equally although the token counts differ a lot
import torch
import torch.nn as nn

torch.manual_seed(0)
PAD, BOS, EOS, VOCAB = 0, 1, 2, 20
accum_steps = 4


class Encoder(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d, padding_idx=PAD)
        self.rnn = nn.GRU(d, d, batch_first=True)

    def forward(self, src, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.emb(src), lengths, batch_first=True, enforce_sorted=False)
        return self.rnn(packed)[1]


class Decoder(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d, padding_idx=PAD)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, VOCAB)

    def forward(self, tgt_in, h):
        o, _ = self.rnn(self.emb(tgt_in), h)
        return self.out(o)


def collate(bs, lo, hi):
    lens = torch.randint(lo, hi + 1, (bs,)).tolist()
    seqs = [torch.randint(3, VOCAB, (n,)) for n in lens]
    pad = lambda s: nn.utils.rnn.pad_sequence(s, batch_first=True, padding_value=PAD)
    src = pad(seqs)
    tgt = pad([torch.cat([torch.tensor([BOS]), s.flip(0), torch.tensor([EOS])]) for s in seqs])
    return src, torch.tensor(lens), tgt[:, :-1], tgt[:, 1:]


def bucketed_batches(n):
    # bucket by length: short ones, then long ones
    for i in range(n):
        yield collate(8, *[(2, 3), (3, 6), (6, 12), (12, 24)][i % 4])


enc, dec = Encoder(), Decoder()
params = list(enc.parameters()) + list(dec.parameters())
optimizer = torch.optim.Adam(params, lr=3e-3)
criterion = nn.CrossEntropyLoss(ignore_index=PAD)
optimizer.zero_grad()
for i, (src, lens, tgt_in, tgt_out) in enumerate(bucketed_batches(40)):
    logits = dec(tgt_in, enc(src, lens))
    loss = criterion(logits.transpose(1, 2), tgt_out) / accum_steps
    loss.backward()
    if (i + 1) % accum_steps == 0:
        nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
        optimizer.zero_grad()
print("loss", loss.item() * accum_steps)
