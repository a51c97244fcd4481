# %% cure="number_of_gradients"
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        return x * k

    @staticmethod
    def backward(ctx, grad):
        return grad * 2, None

Scale.apply(torch.rand(2, requires_grad=True), 2).sum().backward()

# %% cure="gradient_of_another_shape"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

Double.apply(torch.rand(2, requires_grad=True)).sum().backward()

# %% cure="gradient_that_is_a_number"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2.0

Double.apply(torch.rand(2, requires_grad=True)).sum().backward()

# %% cure="complex_gradient_of_a_real_input"
class TimesI(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1j

    @staticmethod
    def backward(ctx, grad):
        return (grad * -1j).real

TimesI.apply(torch.rand(2, requires_grad=True)).abs().sum().backward()

# %% cure="arguments_of_backward"
class TwoAndThree(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, grad_a, grad_b):
        return grad_a * 2 + grad_b * 3

TwoAndThree.apply(torch.rand(2, requires_grad=True))[0].sum().backward()

# %% cure="no_backward"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

Double.apply(torch.rand(2, requires_grad=True)).sum().backward()

# %% cure="backward_and_vjp"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

Double.apply(torch.rand(2, requires_grad=True)).sum().backward()

# %% cure="twice_through_once_differentiable"
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad * ctx.saved_tensors[0]

x = torch.rand(2, requires_grad=True)
(g,) = torch.autograd.grad(Square.apply(x).sum(), x, torch.ones((), requires_grad=True), create_graph=True)
g.sum().backward()

# %% cure="view_of_a_gradient"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return (grad * 2).reshape(-1).view(3, 4)

Double.apply(torch.rand(3, 4, requires_grad=True)).t().contiguous().sin().sum().backward()
