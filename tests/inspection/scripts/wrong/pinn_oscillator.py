# finds: inspect.kept
# bug: kept
# where: opt.zero_grad
# why: the parentheses are missing so zero_grad is looked up but never called, and gradients add up forever
import torch
import torch.nn as nn

torch.manual_seed(123)


class FCN(nn.Module):
    def __init__(self, width=32, depth=3):
        super().__init__()
        layers = [nn.Linear(1, width), nn.Tanh()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.Tanh()]
        self.body = nn.Sequential(*layers)
        self.last = nn.Linear(width, 1)

    def forward(self, t):
        return self.last(self.body(t))


def derivative(u, t):
    return torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]


def physics_residual(net, t, mu=0.4, k=4.0):
    u = net(t)
    du = derivative(u, t)
    d2u = derivative(du, t)
    return d2u + mu * du + k * u


net = FCN()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
t_boundary = torch.zeros(1, 1, requires_grad=True)
t_physics = torch.linspace(0, 2, 40).view(-1, 1).requires_grad_(True)


def closure():
    opt.zero_grad
    # u(0)=1, u'(0)=0
    u0 = net(t_boundary)
    du0 = derivative(u0, t_boundary)
    loss_bc = (u0 - 1).pow(2).mean() + 0.1 * du0.pow(2).mean()
    loss_ode = physics_residual(net, t_physics).pow(2).mean()
    loss = loss_bc + 1e-2 * loss_ode
    loss.backward()
    return loss


for i in range(40):
    loss = opt.step(closure)
print("loss", loss.item())
