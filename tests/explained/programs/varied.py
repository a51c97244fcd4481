# %% program="frozen data argmax target" entry="frozen_model"
model = nn.Linear(2, 3).requires_grad_(False)
x = torch.rand(4, 2)
y = torch.rand(4, 3).argmax(1)
loss = F.cross_entropy(model(x), y)
loss.backward()
# %% program="tensor data only" entry="no_graph"
x = torch.tensor([[1.0, 2.0]])
w = torch.rand(2)
loss = (x @ w).sum()
loss.backward()
# %% program="tensor of python data var" entry="no_graph"
data = [1.0, 2.0]
x = torch.tensor(data)
w = torch.rand(2)
loss = ((x * w).sum() - 1) ** 2
loss.backward()
# %% program="item in total" entry="graph_cut"
w = torch.rand(2, requires_grad=True)
total = 0
for x in torch.rand(3, 2):
    total += (w * x).sum().item()
torch.tensor(total).backward()
# %% program="item in total float" entry="backward_of_a_number"
w = torch.rand(2, requires_grad=True)
total = 0
for x in torch.rand(3, 2):
    total += (w * x).sum().item()
total.backward()
# %% program="eval fn decorated" entry="loss_under_no_grad"
model = nn.Linear(2, 1)
@torch.no_grad()
def predict(x):
    return model(x)
loss = predict(torch.rand(3, 2)).sum()
loss.backward()
# %% program="eval fn with" entry="loss_under_no_grad"
model = nn.Linear(2, 1)
def predict(x):
    with torch.no_grad():
        return model(x)
loss = predict(torch.rand(3, 2)).sum()
loss.backward()
# %% program="accuracy" entry="no_derivative_in_the_loss"
model = nn.Linear(2, 3)
out = model(torch.rand(4, 2))
pred = out.argmax(dim=1)
acc = (pred == torch.tensor([0, 1, 2, 0])).float().mean()
loss = 1 - acc
loss.backward()
# %% program="round trip numpy" entry="graph_cut"
w = torch.rand(2, requires_grad=True)
y = torch.from_numpy(np.exp(w.detach().numpy()))
y.sum().backward()
# %% program="data" entry="graph_cut"
w = torch.rand(2, requires_grad=True)
loss = (w.data ** 2).sum()
loss.backward()
# %% program="threshold comparision with cond" entry="no_derivative_in_the_loss"
w = torch.rand(2, requires_grad=True)
loss = (w > 0.5).float().sum()
loss.backward()
# %% program="class training step" entry="frozen_model"
class Trainer:
    def __init__(self):
        self.model = nn.Linear(2, 1)
        self.model.requires_grad_(False)
    def step(self, x):
        out = self.model(x)
        loss = out.sum()
        loss.backward()
Trainer().step(torch.rand(2))
# %% program="grad penalty" entry="gradient_without_create_graph"
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
x = torch.rand(3, 2, requires_grad=True)
out = net(x)
g = torch.autograd.grad(out.sum(), x)[0]
penalty = ((g.norm(dim=1) - 1) ** 2).mean()
penalty.backward()
# %% program="grad attr twice" entry="gradient_without_create_graph"
x = torch.rand(2, requires_grad=True)
y = (x ** 3).sum()
y.backward()
x.grad.sum().backward()
# %% program="hessian of linear" entry="gradient_of_a_straight_line"
x = torch.rand(2, requires_grad=True)
y = (2 * x).sum()
g, = torch.autograd.grad(y, x, create_graph=True)
g[0].backward()
# %% program="func loss in def" entry="no_graph"
def loss_fn(w):
    return (w * 2).sum()
w = torch.rand(2)
loss_fn(w).backward()
# %% program="flag on model misspelt" entry="misspelt_flag"
m = nn.Linear(2, 1).requires_grad_(False)
m.require_grad = True
m(torch.rand(2)).sum().backward()
# %% program="method missing return" entry="function_without_return"
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 1)
    def forward(self, x):
        self.l(x)
net = Net()
out = net(torch.rand(2))
out.sum().backward()
# %% program="fn missing return" entry="function_without_return"
def loss_fn(x):
    l = x.sum()
loss = loss_fn(torch.rand(2, requires_grad=True))
loss.backward()
# %% program="none after zero_grad" entry="no_backward_yet"
w = nn.Parameter(torch.rand(2))
opt = torch.optim.SGD([w], lr=.1)
w.sum().backward()
opt.step()
opt.zero_grad()
print(w.grad.norm())
# %% program="none of a loop of params" entry="no_backward_yet"
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
net[0](torch.rand(2)).sum().backward()
total = 0
for p in net.parameters():
    total += p.grad.norm() ** 2
# %% program="sum of params genexp" entry="no_backward_yet"
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
net[0](torch.rand(2)).sum().backward()
total = sum(p.grad.pow(2).sum() for p in net.parameters())
# %% program="dict get" entry=""
cfg = {}
lr = cfg.get("lr") * 0.1
# %% program="re match" entry=""
import re
m = re.match("a", "b")
m.group(0)
# %% program="re match in a cell with grad" entry=""
import re
w = torch.rand(2, requires_grad=True)
w.sum().backward()
w.grad
m = re.match("a", "b")
m.shape
# %% program="zeros_ result" entry=""
w = torch.rand(2, requires_grad=True)
w.sum().backward()
g = w.grad.zero_
g.norm()
# %% program="opt step result" entry=""
w = torch.rand(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=.1)
w.sum().backward()
loss = opt.step()
loss.item()
# %% program="tuple shape of something else" entry=""
x = torch.rand(2, requires_grad=True)
g = torch.autograd.grad(x.sum(), x)[0]
t = (1, 2)
t.shape
# %% program="max returns tuple" entry=""
x = torch.rand(2, 2)
x.max(dim=1).sum()
# %% program="lstm tuple" entry=""
out = nn.LSTM(2, 2)(torch.rand(1, 1, 2))
out.sum().backward()
# %% program="args of plain fn in a Function cell" entry=""
class D(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return helper(x, 1)
def helper(x):
    return x
D.apply(torch.rand(2, requires_grad=True))
# %% program="forward hook body error" entry=""
layer = nn.Linear(2, 2)
def hook(module, inputs, output):
    return helper(1, 2)
def helper(a): return a
layer.register_forward_hook(hook)
layer(torch.rand(2))
# %% program="forward wrong args of module with hook" entry=""
class Net(nn.Module):
    def forward(self, x):
        return x
net = Net()
net.register_forward_hook(lambda m, i, o: None)
net(1, 2)
# %% program="forward wrong args of module" entry=""
class Net(nn.Module):
    def forward(self, x):
        return x
net = Net()
net(1, 2)
# %% program="criterion backward" entry="backward_of_the_model"
criterion = nn.MSELoss()
loss = criterion(torch.rand(2, requires_grad=True), torch.rand(2))
criterion.backward()
# %% program="hook typo in body" entry=""
x = torch.rand(2, requires_grad=True)
def hook(grad):
    return f(grad, 1)
def f(g): return g
x.register_hook(hook)
x.sum().backward()
# %% program="backward body call wrong args" entry=""
def deriv(a): return a
class D(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 1
    @staticmethod
    def backward(ctx, g): return deriv(g, 2)
D.apply(torch.rand(2, requires_grad=True)).sum().backward()
# %% program="class attr typo" entry=""
class D(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 1
    @staticmethod
    def backward(ctx, g): return g
y = D.apply(torch.rand(2, requires_grad=True))
y.summ()
# %% program="two names from two inputs" entry="two_names_for_one_gradient"
x = torch.rand(2, requires_grad=True)
z = torch.rand(2, requires_grad=True)
a, b, c = torch.autograd.grad((x*z).sum(), (x, z))
# %% program="unpack csv" entry=""
w = torch.rand(2, requires_grad=True)
w.sum().backward()
g = w.grad
(h,) = torch.autograd.grad((w**2).sum(), w)
a, b = 'x,y,z'.split(',')
# %% program="unpack loader" entry=""
w = torch.rand(2, requires_grad=True)
w.sum().backward()
g = w.grad
(h,) = torch.autograd.grad((w**2).sum(), w)
for a, b, c in [(1, 2)]: pass
# %% program="plain none" entry=""
w = torch.rand(2, requires_grad=True)
w.sum().backward()
g = w.grad
(h,) = torch.autograd.grad((w**2).sum(), w)
def load(path): return None
cfg = load('x')
cfg['lr']
# %% program="tuple attr" entry=""
w = torch.rand(2, requires_grad=True)
w.sum().backward()
g = w.grad
(h,) = torch.autograd.grad((w**2).sum(), w)
pair = (w, h)
pair.mean()
# %% program="tuple mult" entry=""
w = torch.rand(2, requires_grad=True)
w.sum().backward()
g = w.grad
(h,) = torch.autograd.grad((w**2).sum(), w)
sizes = (1, 2)
0.5 * sizes
# %% program="float iter" entry=""
w = torch.rand(2, requires_grad=True)
w.sum().backward()
g = w.grad
(h,) = torch.autograd.grad((w**2).sum(), w)
for x in w.grad.mean().item(): pass
# %% program="sum float" entry=""
w = torch.rand(2, requires_grad=True)
w.sum().backward()
g = w.grad
(h,) = torch.autograd.grad((w**2).sum(), w)
sum(w.grad[0].item())
# %% program="bool call" entry=""
w = torch.rand(2, requires_grad=True)
w.sum().backward()
g = w.grad
(h,) = torch.autograd.grad((w**2).sum(), w)
ok = w.requires_grad
ok()
# %% program="tensor call" entry=""
w = torch.rand(2, requires_grad=True)
w.sum().backward()
g = w.grad
(h,) = torch.autograd.grad((w**2).sum(), w)
w(2)
# %% program="tensor call grad" entry="grad_called"
w = torch.rand(2, requires_grad=True)
w.sum().backward()
g = w.grad
(h,) = torch.autograd.grad((w**2).sum(), w)
w.grad(0)
# %% program="function attr" entry=""
w = torch.rand(2, requires_grad=True)
w.sum().backward()
g = w.grad
(h,) = torch.autograd.grad((w**2).sum(), w)
def f(x): return x
f.shape
# %% program="method iter params" entry="parameters_without_parentheses"
w = torch.rand(2, requires_grad=True)
w.sum().backward()
g = w.grad
(h,) = torch.autograd.grad((w**2).sum(), w)
for p in nn.Linear(1,1).parameters: pass
# %% program="kwarg" entry=""
w = torch.rand(2, requires_grad=True)
w.sum().backward()
g = w.grad
(h,) = torch.autograd.grad((w**2).sum(), w)
def f(x): pass
f(1, requires_grad=True)
# %% program="list detach" entry=""
w = torch.rand(2, requires_grad=True)
w.sum().backward()
g = w.grad
(h,) = torch.autograd.grad((w**2).sum(), w)
losses = [w, w]
losses.detach()
# %% program="where mask fine, detach" entry="no_graph"
w = torch.rand(3, requires_grad=True)
loss = torch.where(w > 0.5, w.detach(), 0.0).sum()
loss.backward()
# %% program="if cond" entry="graph_cut"
w = torch.rand(3, requires_grad=True)
if w.sum() > 0:
    loss = w.detach().sum()
loss.backward()
# %% program="data attr of dataset" entry="no_graph"
class D: pass
ds = D(); ds.data = torch.rand(3)
loss = ds.data.sum()
loss.backward()
# %% program="attr error own module" entry=""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 2)
    def forward(self, x):
        return self.fc2(x)
Net()(torch.rand(2))
# %% program="own module grad" entry="grad_of_the_model"
class Net(nn.Module):
    pass
Net().grad
# %% program="zip none" entry="no_backward_yet"
w = torch.rand(2, requires_grad=True)
w.sum().backward()
g = w.grad
(h,) = torch.autograd.grad((w**2).sum(), w)
p = nn.Parameter(torch.rand(2))
step = [q - 0.1 * q.grad for q in (w, p)]
# %% program="grads list" entry="no_backward_yet"
ps = [torch.rand(2, requires_grad=True) for _ in range(2)]
ps[0].sum().backward()
grads = [p.grad for p in ps]
torch.cat(grads)
# %% program="nonleaf cuda style" entry="none_grad_of_a_non_leaf"
w = torch.rand(2, requires_grad=True).double()
w.sum().backward()
w.data -= 0.1 * w.grad
# %% program="retain" entry="none_grad_of_a_non_leaf"
x = torch.rand(2, requires_grad=True)
y = x * 2
y.sum().backward()
print(y.grad + 1)
# %% program="inference" entry="loss_under_inference_mode"
m = nn.Linear(2, 1)
@torch.inference_mode()
def run(x): return m(x)
run(torch.rand(2)).sum().backward()
