# %% cure="gradcheck_mismatch_in_float32"
gradcheck(torch.exp, torch.rand(2, dtype=torch.float64, requires_grad=True))

# %% cure="gradcheck_mismatch"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

gradcheck(Double.apply, torch.rand(2, dtype=torch.float64, requires_grad=True))

# %% cure="gradcheck_of_a_random_function"
x = torch.rand(50, dtype=torch.float64, requires_grad=True)
gradcheck(lambda x: F.dropout(x, 0.5, training=False), x)

# %% cure="gradgradcheck_mismatch"
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * grad * x**2

torch.autograd.gradgradcheck(Cube.apply, torch.rand(2, dtype=torch.float64, requires_grad=True))

# %% cure="gradcheck_in_float32"
gradcheck(torch.exp, torch.rand(2, dtype=torch.float64, requires_grad=True))

# %% cure="gradcheck_without_requires_grad"
gradcheck(torch.sin, torch.rand(2, dtype=torch.float64, requires_grad=True))

# %% cure="gradcheck_of_a_cut_function"
gradcheck(lambda x: x * 2, torch.rand(2, dtype=torch.float64, requires_grad=True))

# %% cure="backward_ignores_grad"
class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sum()

    @staticmethod
    def backward(ctx, grad):
        return grad * torch.ones(2, dtype=torch.float64)

gradcheck(Sum.apply, torch.rand(2, dtype=torch.float64, requires_grad=True))

# %% cure="backward_with_chance"
class Noisy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        return grad * 1

gradcheck(Noisy.apply, torch.rand(2, dtype=torch.float64, requires_grad=True))

# %% cure="gradcheck_of_an_expanded_tensor"
gradcheck(torch.sin, torch.rand(1, dtype=torch.float64).expand(3).contiguous().requires_grad_())

# %% cure="gradcheck_of_a_number"
x = torch.rand(2, dtype=torch.float64, requires_grad=True)
gradcheck(lambda x: x.sum(), x)

# %% cure="gradcheck_of_a_changing_shape"
x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
gradcheck(lambda x: x[:1], x)

# %% cure="gradcheck_of_undefined_gradients"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return None if grad is None else grad * 2

gradcheck(Double.apply, torch.rand(2, dtype=torch.float64, requires_grad=True))
