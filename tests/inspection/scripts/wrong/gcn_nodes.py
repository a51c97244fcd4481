# finds: inspect.step_before_backward
# bug: order
# where: optimizer.step()
# why: step() runs before backward(), right after the gradients were cleared, so nothing is ever updated
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)


class GCNConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.lin = nn.Linear(cin, cout, bias=False)
        self.bias = nn.Parameter(torch.zeros(cout))

    def forward(self, x, adj):
        return adj @ self.lin(x) + self.bias


class GCN(nn.Module):
    def __init__(self, cin, hid, cout):
        super().__init__()
        self.conv1 = GCNConv(cin, hid)
        self.conv2 = GCNConv(hid, cout)

    def forward(self, x, adj):
        x = F.relu(self.conv1(x, adj))
        x = F.dropout(x, 0.5, training=self.training)
        return F.log_softmax(self.conv2(x, adj), dim=1)


def sbm_graph(n=90, k=3, p_in=0.2, p_out=0.02):
    y = torch.arange(n) % k
    prob = torch.where(y[:, None] == y[None, :], p_in, p_out)
    a = torch.triu((torch.rand(n, n) < prob).float(), 1)
    a = a + a.t() + torch.eye(n)
    d = a.sum(1).rsqrt()
    x = F.one_hot(y, k).float() + torch.randn(n, k)
    x = torch.cat([x, torch.randn(n, 5)], 1)
    return x, d[:, None] * a * d[None, :], y


x, adj, y = sbm_graph()
train_mask = torch.rand(len(y)) < 0.5
model = GCN(x.size(1), 16, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)


def train():
    model.train()
    optimizer.zero_grad()
    out = model(x, adj)
    loss = F.nll_loss(out[train_mask], y[train_mask])
    optimizer.step()
    loss.backward()
    return loss


for epoch in range(40):
    loss = train()
    scheduler.step()
print(f"Epoch {epoch} loss {loss.item():.4f}")
