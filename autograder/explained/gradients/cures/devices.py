# %% cure="layer_on_another_device"
device = "cuda" if torch.cuda.is_available() else "cpu"
nn.LSTM(2, 2).to(device)(torch.ones(1, 1, 2, device=device))

# %% cure="indices_on_another_device"
device = "cuda" if torch.cuda.is_available() else "cpu"
x, i = torch.rand(3, device=device), torch.tensor([0, 2])
x[i.to(x.device)]

# %% cure="assigned_gradient_on_another_device"
w = torch.rand(2, requires_grad=True)
w.grad = torch.ones(2, device=w.device)

# %% cure="gradient_on_another_device"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

Double.apply(torch.rand(2, requires_grad=True)).sum().backward()

# %% cure="mixture_of_devices"
x = torch.ones(2)
x + torch.ones(2, device=x.device)

# %% cure="numpy_of_a_gpu_tensor"
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.rand(2, device=device).detach().cpu().numpy()

# %% cure="no_gpu_here"
device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Linear(2, 1).to(device)
model(torch.rand(3, 2, device=device)).sum().backward()

# %% cure="assert_on_the_gpu"
device = "cuda" if torch.cuda.is_available() else "cpu"
scores, target = torch.rand(2, 3, device=device), torch.tensor([0, 2], device=device)
assert target.min() >= 0 and target.max() < scores.shape[1]
F.cross_entropy(scores, target)

# %% cure="out_of_gpu_memory"
device = "cuda" if torch.cuda.is_available() else "cpu"
model, total = nn.Linear(2, 1).to(device), 0.0
batch = torch.rand(64, 2, device=device)
for part in batch.split(16):  # gradients are accumulated
    loss = model(part).sum() / len(batch)
    loss.backward()
    total += loss.item()

# %% cure="recurrent_layer_in_eval_mode"
device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.LSTM(2, 2).to(device).eval()
model.train()
model(torch.rand(3, 1, 2, device=device))[0].sum().backward()

# %% cure="second_derivative_of_a_recurrent_layer"
device = "cuda" if torch.cuda.is_available() else "cpu"
model, x = nn.LSTM(2, 2).to(device), torch.rand(3, 1, 2, device=device, requires_grad=True)
with torch.backends.cudnn.flags(enabled=False):
    y = model(x)[0].sum()
(g,) = torch.autograd.grad(y, x, create_graph=True)
g.sum().backward()
