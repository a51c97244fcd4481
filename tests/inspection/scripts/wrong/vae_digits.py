# finds: inspect.cleared_before_step
# bug: order
# where: optimizer.zero_grad(set_to_none=False)
# why: the gradients are wiped between backward() and step(), so the optimizer only ever sees zeros and applies nothing but weight decay
import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader

torch.manual_seed(1)


class VAE(nn.Module):
    def __init__(self, d=64, h=48, z=6):
        super().__init__()
        self.fc1 = nn.Linear(d, h)
        self.fc_mu = nn.Linear(h, z)
        self.fc_logvar = nn.Linear(h, z)
        self.fc3 = nn.Linear(z, h)
        self.fc4 = nn.Linear(h, d)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc_mu(h), self.fc_logvar(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return self.fc4(F.relu(self.fc3(z)))

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def elbo(recon, x, mu, logvar, beta):
    bce = F.binary_cross_entropy_with_logits(recon, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (bce + beta * kld) / x.size(0)


protos = (torch.rand(8, 64) > 0.6).float()
images = protos[torch.randint(0, 8, (160,))]
images = torch.where(torch.rand_like(images) < 0.05, 1 - images, images)
loader = DataLoader(images, batch_size=32, shuffle=True)

model = VAE()
optimizer = optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)


def train(epoch):
    model.train()
    beta = min(1.0, (epoch + 1) / 3)
    for x in loader:
        recon, mu, logvar = model(x)
        loss = elbo(recon, x, mu, logvar, beta)
        loss.backward()
        optimizer.zero_grad(set_to_none=False)
        optimizer.step()
    return loss.item()


for epoch in range(4):
    last = train(epoch)
print("loss", last)
