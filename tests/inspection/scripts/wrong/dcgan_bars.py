# finds: inspect.kept
# bug: kept
# where: netD.zero_grad()
# why: the generator step clears the discriminator again instead of the generator, so the generator's gradients pile up over all steps
import torch
import torch.nn as nn

torch.manual_seed(999)
nz, ngf, ndf = 8, 8, 8


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf), nn.ReLU(True),
            nn.ConvTranspose2d(ngf, 1, 4, 2, 1), nn.Tanh(),
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Flatten(), nn.Linear(ndf * 2 * 16, 1),
        )

    def forward(self, x):
        return self.main(x).squeeze(1)


def real_batch(n=16):
    img = -torch.ones(n, 1, 16, 16)
    cols = torch.randint(0, 14, (n,))
    for i, c in enumerate(cols):
        img[i, :, :, c:c + 2] = 1.0
    return img


netG, netD = Generator(), Discriminator()
bce = nn.BCEWithLogitsLoss()
optG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
optD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
for step in range(15):
    # (1) discriminator
    optD.zero_grad()
    real = real_batch()
    fake = netG(torch.randn(real.size(0), nz, 1, 1))
    lossD = bce(netD(real), torch.ones(16)) + bce(netD(fake.detach()), torch.zeros(16))
    lossD.backward()
    optD.step()
    # (2) generator
    netD.zero_grad()
    lossG = bce(netD(fake), torch.ones(16))
    lossG.backward()
    optG.step()
print(f"Loss_D {lossD.item():.4f} Loss_G {lossG.item():.4f}")
