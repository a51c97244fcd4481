# finds: inspect.scaled_norm
# bug: scaled
# where: torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
# why: the gradients are still multiplied by the loss scale when they are clipped, because unscale_ was not called first
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)


class TimeSeriesTransformer(nn.Module):
    def __init__(self, n_feat=5, d_model=32, seq=20):
        super().__init__()
        self.inp = nn.Linear(n_feat, d_model)
        self.pos = nn.Parameter(torch.randn(1, seq, d_model) * 0.02)
        layer = nn.TransformerEncoderLayer(d_model, nhead=4, dim_feedforward=64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.out = nn.Linear(d_model, 1)

    def forward(self, x):
        h = self.encoder(self.inp(x) + self.pos)
        return self.out(h[:, -1]).squeeze(-1)


def build_loader(n=128, seq=20):
    x = torch.randn(n, seq, 5).cumsum(1) / 5
    y = x[:, -1, 0] - x[:, -5, 1] + 0.05 * torch.randn(n)
    return DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)


def train(model, loader, epochs=2):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=epochs * len(loader))
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 10)
    criterion = nn.HuberLoss()
    for epoch in range(epochs):
        model.train()
        for x, y in loader:
            optimizer.zero_grad(set_to_none=True)
            with torch.amp.autocast("cpu", dtype=torch.float16):
                pred = model(x)
                loss = criterion(pred.float(), y)
            scaler.scale(loss).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
    return loss.item()


if __name__ == "__main__":
    print("loss", train(TimeSeriesTransformer(), build_loader()))
