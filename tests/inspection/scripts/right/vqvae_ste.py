# right: the quantiser is not differentiable; the decoder's gradient is copied straight to the encoder, the codebook learns from its own loss alone, unused codes get zero rows
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(18)
torch.set_num_threads(1)


class Quantizer(nn.Module):
    def __init__(self, codes=32, dim=8, beta=0.25):
        super().__init__()
        self.book = nn.Embedding(codes, dim)
        nn.init.uniform_(self.book.weight, -0.5, 0.5)
        self.beta = beta

    def forward(self, z):                   # z: [B, C, H, W]
        flat = z.permute(0, 2, 3, 1).reshape(-1, z.shape[1])
        with torch.no_grad():
            idx = torch.cdist(flat, self.book.weight).argmin(1)
        q = self.book(idx).view(z.shape[0], z.shape[2], z.shape[3], -1).permute(0, 3, 1, 2)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        return z + (q - z).detach(), loss, idx


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 24, 4, 2, 1), nn.ReLU(), nn.Conv2d(24, 32, 4, 2, 1), nn.ReLU(),
                                 nn.Conv2d(32, 8, 1))
        self.vq = Quantizer()
        self.dec = nn.Sequential(nn.ConvTranspose2d(8, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 1, 4, 2, 1))

    def forward(self, x):
        q, vq_loss, idx = self.vq(self.enc(x))
        return self.dec(q), vq_loss, idx


def blobs(n):
    g = torch.arange(16.0)
    c = 3 + 10 * torch.rand(n, 2, 1, 1)
    s = 1.5 + 1.5 * torch.rand(n, 1, 1)
    return torch.exp(-((g.view(1, 1, 16) - c[:, 0]) ** 2 + (g.view(1, 16, 1) - c[:, 1]) ** 2) / (2 * s ** 2)).unsqueeze(1)


model = VQVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(200):
    x = blobs(32)
    recon, vq_loss, idx = model(x)
    rec_loss = F.mse_loss(recon, x)
    loss = rec_loss / 0.05 + vq_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        print(f"step {step + 1} recon {rec_loss.item():.4f} vq {vq_loss.item():.4f} codes used {idx.unique().numel()}")
