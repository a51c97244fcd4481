# finds: inspect.held_graph
# bug: carried
# where: history["train"].append(loss)
# why: the loss tensors are stored with their graphs for the later plot, so every step's graph stays alive
import math

import torch
import torch.nn as nn

torch.manual_seed(0)


class Forecaster(nn.Module):
    def __init__(self, hidden=24, layers=2):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, layers, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x, state=None):
        out, state = self.lstm(x, state)
        return self.fc(out), state


def wave(n_series=12, length=121):
    t = torch.arange(length).float()
    phase = torch.rand(n_series, 1) * 2 * math.pi
    return (torch.sin(0.2 * t + phase) + 0.05 * torch.randn(n_series, length)).unsqueeze(-1)


def chunks(series, size=20):
    for s in range(0, series.size(1) - 1, size):
        yield series[:, s:s + size], series[:, s + 1:s + size + 1]


model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
criterion = nn.MSELoss()
history = {"train": [], "lr": []}

for epoch in range(4):
    model.train()
    state = None
    for x, y in chunks(wave()):
        if state is not None:
            state = tuple(s.detach() for s in state)
        pred, state = model(x, state)
        loss = criterion(pred, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        history["train"].append(loss)
    history["lr"].append(optimizer.param_groups[0]["lr"])
    plateau.step(loss.item())

mean_loss = sum(history["train"]) / len(history["train"])
print(f"mean train loss {mean_loss.item():.4f}")
