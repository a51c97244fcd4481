# %% cure="function_called"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

Double.apply(torch.rand(2, requires_grad=True)).sum()

# %% cure="function_with_instance_methods"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

Double.apply(torch.rand(2, requires_grad=True))

# %% cure="arguments_of_forward"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

Double.apply(torch.rand(2, requires_grad=True))

# %% cure="forward_called_directly"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

Double.apply(torch.rand(2, requires_grad=True))

# %% cure="forward_returns_a_number"
class One(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.ones_like(x)

    @staticmethod
    def backward(ctx, grad):
        return torch.zeros_like(grad)

One.apply(torch.rand(2, requires_grad=True)).sum().backward()

# %% cure="no_forward"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

Double.apply(torch.rand(2, requires_grad=True))

# %% cure="no_setup_context"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

torch.func.grad(lambda x: Double.apply(x).sum())(torch.rand(2))

# %% cure="no_vmap_rule"
class Double(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

torch.func.vmap(Double.apply)(torch.rand(3, 2))

# %% cure="number_of_tangents"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 2

with forward_ad.dual_level():
    Double.apply(forward_ad.make_dual(torch.rand(2), torch.ones(2)))

# %% cure="view_of_a_function_changed"
class Flat(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1).clone()

y = Flat.apply(torch.rand(1, 2, requires_grad=True) * 1)
y.mul_(2)

# %% cure="operator_without_derivative"
@torch.library.custom_op("explained::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2

double.register_autograd(lambda ctx, grad: grad * 2)
double(torch.rand(2, requires_grad=True)).sum().backward()

# %% cure="operator_returns_its_input"
@torch.library.custom_op("explained::same", mutates_args=())
def same(x: torch.Tensor) -> torch.Tensor:
    return x.clone()

same(torch.rand(2, requires_grad=True))

# %% cure="operator_that_mutates"
@torch.library.custom_op("explained::add_one", mutates_args=())
def add_one(x: torch.Tensor) -> torch.Tensor:
    return x + 1

add_one.register_autograd(lambda ctx, grad: grad)

# %% cure="arguments_of_setup_context"
class Product(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y = inputs
        ctx.save_for_backward(x, y)

Product.apply(torch.rand(2, requires_grad=True), torch.rand(2))

# %% cure="operator_under_func"
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(x, factor):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None

torch.func.grad(lambda x: Scale.apply(x, 2.0).sum())(torch.rand(3))

# %% cure="two_rules_for_vmap"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

    generate_vmap_rule = True

torch.func.vmap(Double.apply)(torch.rand(3, 2))
