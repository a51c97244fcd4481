# %% cure="attribute_of_ctx_missing"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.k = 2
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.k

Double.apply(torch.rand(2, requires_grad=True)).sum().backward()

# %% cure="saved_tensors_unpacked_as_one"
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * grad * x

Square.apply(torch.rand(2, requires_grad=True)).sum().backward()

# %% cure="saving_a_number"
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        return x * k

Scale.apply(torch.rand(2, requires_grad=True), 2.0)

# %% cure="read_only_saved_tensors"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

Double.apply(torch.rand(2, requires_grad=True))

# %% cure="saved_tensors_read_twice"
class Double(torch.autograd.Function):
    clear_saved_tensors_on_access = True

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        saved = ctx.saved_tensors
        return grad * 2 * len(saved)

Double.apply(torch.rand(2, requires_grad=True)).sum().backward()

# %% cure="ctx_beside_setup_context"
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

Double.apply(torch.rand(2, requires_grad=True))

# %% cure="dirty_but_not_returned"
class AddOne(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)

AddOne.apply(torch.rand(2, requires_grad=True) * 1)

# %% cure="dirty_view_and_two_outputs"
class AddOne(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + 1, x * 3

AddOne.apply((torch.rand(2, requires_grad=True) * 1)[:1])

# %% cure="no_tensor_marked"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        positive = x > 0
        ctx.mark_non_differentiable(positive)
        return x * 2, positive

Double.apply(torch.rand(2, requires_grad=True))

# %% cure="input_returned_and_saved"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

Double.apply(torch.rand(2, requires_grad=True))
