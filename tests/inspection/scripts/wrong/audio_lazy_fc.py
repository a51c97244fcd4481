# finds: inspect.lacking
# bug: stale
# where: fc.weight, fc.bias
# why: fc is only created inside the first forward, after the optimizer already took its parameters, so it stays at its random init
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)


class AudioNet(nn.Module):
    """1d convs over raw waveform; flatten size depends on the clip length"""

    def __init__(self, n_classes=4):
        super().__init__()
        self.n_classes = n_classes
        self.conv1 = nn.Conv1d(1, 8, kernel_size=9, stride=4)
        self.conv2 = nn.Conv1d(8, 16, kernel_size=5, stride=2)
        self.conv3 = nn.Conv1d(16, 16, kernel_size=3, stride=2)
        self.drop = nn.Dropout(0.1)
        self.fc = None

    def forward(self, wav):
        x = F.relu(self.conv1(wav))
        x = F.relu(self.conv2(x))
        x = F.relu(self.conv3(x))
        x = self.drop(x.flatten(1))
        if self.fc is None:
            # don't want to compute the size by hand
            self.fc = nn.Linear(x.shape[1], self.n_classes)
        return self.fc(x)


def tones(n=32, length=256):
    t = torch.linspace(0, 1, length)
    y = torch.randint(0, 4, (n,))
    freq = (y + 1).float() * 6 + torch.rand(n)
    wav = torch.sin(2 * torch.pi * freq[:, None] * t) + 0.1 * torch.randn(n, length)
    return wav.unsqueeze(1), y


def train(steps=25):
    net = AudioNet()
    optim = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    net.train()
    for i in range(steps):
        wav, y = tones()
        optim.zero_grad()
        out = net(wav)
        loss = F.nll_loss(F.log_softmax(out, dim=1), y)
        loss.backward()
        optim.step()
    return net, loss.item()


if __name__ == "__main__":
    _, final = train()
    print("loss=%.4f" % final)
