# right: LBFGS calls a closure many times per step (zero_grad and backward happen inside step); the activation is a hand-written autograd.Function
import torch
from torch import nn

torch.manual_seed(16)
torch.set_num_threads(1)


class SnakeFn(torch.autograd.Function):
    """x + sin(a x)^2 / a, with a learnable a per channel."""

    @staticmethod
    def forward(ctx, x, a):
        ctx.save_for_backward(x, a)
        return x + torch.sin(a * x) ** 2 / a

    @staticmethod
    def backward(ctx, grad):
        x, a = ctx.saved_tensors
        s2 = torch.sin(2 * a * x)
        gx = grad * (1 + s2)
        ga = (grad * (x * s2 / a - torch.sin(a * x) ** 2 / a ** 2)).sum(0)
        return gx, ga


class Snake(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = nn.Parameter(torch.linspace(0.5, 3.0, d))

    def forward(self, x):
        return SnakeFn.apply(x, self.a)


x64, a64 = torch.randn(5, 3, dtype=torch.double, requires_grad=True), torch.rand(3, dtype=torch.double) + 0.5
assert torch.autograd.gradcheck(SnakeFn.apply, (x64, a64.requires_grad_()))

model = nn.Sequential(nn.Linear(1, 24), Snake(24), nn.Linear(24, 24), Snake(24), nn.Linear(24, 1))
t = torch.linspace(-3, 3, 160).unsqueeze(1)
signal = torch.sin(3 * t) * torch.exp(-0.2 * t ** 2) + 0.3 * t + 0.02 * torch.randn_like(t)
opt = torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=8, history_size=10, line_search_fn="strong_wolfe")
calls = 0


def closure():
    global calls
    calls += 1
    opt.zero_grad()
    reg = sum(m.weight.pow(2).sum() for m in model if isinstance(m, nn.Linear))
    loss = nn.functional.mse_loss(model(t), signal) + 1e-5 * reg
    loss.backward()
    return loss


for outer in range(15):
    loss = opt.step(closure)
    if outer % 3 == 2:
        with torch.no_grad():
            fit = nn.functional.mse_loss(model(t), signal).item()
        print(f"outer {outer + 1} loss at entry {loss.item():.5f} fit {fit:.5f} closure calls {calls}")
