# %% variant="with_a_rule"
def transform_table():
    class Ruled(Cube):
        generate_vmap_rule = True

    x = torch.tensor([1.0, 2.0])
    return {
        "grad of OldCube": attempt(lambda: grad(lambda x: OldCube.apply(x).sum())(x)),
        "vmap of Cube": attempt(lambda: vmap(Cube.apply)(x)),
        "vmap, a rule made by torch": attempt(lambda: vmap(Ruled.apply)(x)),
        "vmap of grad of Cube": attempt(lambda: vmap(grad(Cube.apply))(x)),
        "vmap of grad, a rule made by torch": attempt(lambda: vmap(grad(Ruled.apply))(x)),
        "jvp, a rule made by torch": attempt(lambda: jvp(Ruled.apply, (x,), (x,))),
        "jacfwd, a rule made by torch": attempt(lambda: jacfwd(Ruled.apply)(x)),
    }


# %% variant="with_a_jvp"
def transform_table():
    class Forward(Cube):
        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def jvp(ctx, tangent):
            (x,) = ctx.saved_tensors
            return tangent * 3 * x**2

    x = torch.tensor([1.0, 2.0])
    return {
        "jvp without the method": attempt(lambda: jvp(Cube.apply, (x,), (x,))),
        "jvp with the method": attempt(lambda: jvp(Forward.apply, (x,), (x,))),
        "grad with the method": attempt(lambda: grad(lambda x: Forward.apply(x).sum())(x)),
        "vmap with the method": attempt(lambda: vmap(Forward.apply)(x)),
        "jacrev with the method": attempt(lambda: jacrev(Forward.apply)(x)),
        "jacfwd with the method": attempt(lambda: jacfwd(Forward.apply)(x)),
    }


# %% variant="old_functional"
def transform_table():
    x = torch.tensor([1.0, 2.0])
    leaf = x.clone().requires_grad_()
    jacobian = torch.autograd.functional.jacobian
    return {
        "backward() of OldCube": attempt(lambda: OldCube.apply(leaf).sum().backward()),
        "autograd.functional.jacobian of OldCube": attempt(lambda: jacobian(OldCube.apply, x)),
        "jacrev of OldCube": attempt(lambda: jacrev(OldCube.apply)(x)),
        "grad of OldCube": attempt(lambda: grad(lambda x: OldCube.apply(x).sum())(x)),
        "jacrev of Cube": attempt(lambda: jacrev(Cube.apply)(x)),
        "jacrev of jacrev of Cube": attempt(lambda: jacrev(jacrev(Cube.apply))(x)),
        "jacfwd of Cube": attempt(lambda: jacfwd(Cube.apply)(x)),
    }


# %% variant="rows"
def transform_table():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])

    def total(x):
        return Cube.apply(x).sum()

    return {
        "backward() of total": attempt(lambda: total(x.clone().requires_grad_()).backward()),
        "grad of total": attempt(lambda: grad(total)(x)),
        "vmap over rows": attempt(lambda: vmap(total)(x)),
        "vmap of grad over rows": attempt(lambda: vmap(grad(total))(x)),
        "vmap over columns": attempt(lambda: vmap(total, in_dims=1)(x)),
        "jacrev of total": attempt(lambda: jacrev(total)(x)),
        "hessian of total": attempt(lambda: hessian(total)(x)),
    }


# %% mistake="any_form_will_do"
{r'("(grad|jacrev) of OldCube": )attempt\(.*\),': r'\1"accepted",'}

# %% mistake="grad_needs_a_rule"
{r'("(grad of total|grad with the method)": )attempt\(.*\),': r'\1"refused",'}

# %% mistake="batches_for_free"
{r'("vmap( of Cube| with the method| over rows| over columns)": )attempt\(.*\),': r'\1"accepted",'}

# %% mistake="only_backward_is_batched"
{r'("vmap of grad( of Cube| over rows)": )attempt\(.*\),': r'\1"accepted",'}

# %% mistake="jacrev_batches_forward"
{r'("jacrev (with the method|of total|of Cube|of jacrev of Cube)": )attempt\(.*\),': r'\1"refused",'}

# %% mistake="jacfwd_like_jacrev"
{r'("(jacfwd with the method|jacfwd of Cube)": )attempt\(.*\),': r'\1"accepted",'}

# %% mistake="jvp_from_backward"
{r'("jvp(, a rule made by torch| without the method)": )attempt\(.*\),': r'\1"accepted",'}
