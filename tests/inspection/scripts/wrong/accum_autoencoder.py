# finds: inspect.kept
# bug: kept
# where: optimizer.zero_grad()
# why: gradients are cleared once per epoch and not after every accumulated update, so each update also contains all earlier ones of the epoch
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ACCUM = 4
EPOCHS = 2


class ConvAE(nn.Module):
    def __init__(self, latent=12):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ELU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ELU(),
            nn.Flatten(), nn.Linear(16 * 4 * 4, latent),
        )
        self.decoder = nn.Sequential(
            nn.Linear(latent, 16 * 4 * 4), nn.ELU(), nn.Unflatten(1, (16, 4, 4)),
            nn.ConvTranspose2d(16, 8, 2, stride=2), nn.ELU(),
            nn.ConvTranspose2d(8, 1, 2, stride=2),
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))


def gratings(n=128):
    g = torch.linspace(-3, 3, 16)
    a, b = torch.randn(2, n, 1, 1)
    return torch.sin(a * g[None, :, None] + b * g[None, None, :]).unsqueeze(1)


def train_one_epoch(model, loader, optimizer, criterion):
    model.train()
    optimizer.zero_grad()
    running = 0.0
    for i, (x,) in enumerate(loader):
        recon = model(x)
        loss = criterion(recon, x) / ACCUM
        loss.backward()
        running += loss.item() * ACCUM
        if (i + 1) % ACCUM == 0:
            optimizer.step()
    return running / len(loader)


def main():
    torch.manual_seed(42)
    model = ConvAE()
    loader = DataLoader(TensorDataset(gratings()), batch_size=8, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    criterion = nn.MSELoss()
    for epoch in range(EPOCHS):
        avg = train_one_epoch(model, loader, optimizer, criterion)
    print("recon loss", avg)


main()
