# %% cure="none_for_a_gradient"
def clear(gradient):
    gradient.zero_()

w = torch.rand(2, requires_grad=True)
w.sum().backward()
clear(w.grad)

# %% cure="no_backward_yet"
w = torch.rand(2, requires_grad=True)
w.sum().backward()
w.grad[0]

# %% cure="none_grad_called"
w = torch.rand(2, requires_grad=True)
w.sum().backward()
w.grad

# %% cure="weight_replaced_by_the_update"
w = torch.rand(2, requires_grad=True)
w.sum().backward()
with torch.no_grad():
    w -= 0.1 * w.grad
w.grad.zero_()

# %% cure="none_grad_of_a_non_leaf"
y = torch.rand(2, requires_grad=True) * 2
y.retain_grad()
y.sum().backward()
y.grad[0]

# %% cure="none_of_an_unused_input"
x, y = torch.rand(2, requires_grad=True), torch.rand(2, requires_grad=True)
_, g = torch.autograd.grad(x.sum(), (x, y), materialize_grads=True)
y - 0.1 * g

# %% cure="function_without_return"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

Double.apply(torch.rand(2, requires_grad=True)).sum()

# %% cure="none_into_backward"
class TwoAndThree(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, a, b):
        return a * 2 + b * 3

TwoAndThree.apply(torch.rand(2, requires_grad=True))[0].sum().backward()
