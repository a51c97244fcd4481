# %%
BATCH = [2, 5, 6]
SIZE = [3, 4]


# %% variant="two_outputs"
def batch_shapes():
    def two(x):
        return torch.stack([x.sum(dim=-1), x.tanh().sum(dim=-1)], dim=-1)

    X = torch.ones(BATCH, SIZE, requires_grad=True)
    pairs = functional.jacobian(two, X)
    return {
        "jacobian of the batch": tuple(pairs.shape),
        "entries that are not zero": int((pairs != 0).sum()),
        "vmap(jacrev)": tuple(torch.func.vmap(torch.func.jacrev(two))(X).shape),
        "jacobian of one sample": tuple(functional.jacobian(two, X[0]).shape),
        "grad of the sum": tuple(torch.autograd.grad(two(X).sum(), X)[0].shape),
    }


# %% variant="entry_by_entry"
def batch_shapes():
    X = torch.ones(BATCH, SIZE, requires_grad=True)
    pairs = functional.jacobian(torch.exp, X)
    return {
        "grad of the sum": tuple(torch.autograd.grad(X.exp().sum(), X)[0].shape),
        "jacobian of the batch": tuple(pairs.shape),
        "entries that are not zero": int((pairs != 0).sum()),
        "vmap(jacrev)": tuple(torch.func.vmap(torch.func.jacrev(torch.exp))(X).shape),
        "hessian of one sample": tuple(functional.hessian(lambda x: x.exp().sum(), X[0]).shape),
    }


# %% variant="samples_mix"
def batch_shapes():
    def mixed(X):
        return X.exp().sum(dim=0)

    X = torch.ones(BATCH, SIZE, requires_grad=True)
    pairs = functional.jacobian(mixed, X)
    return {
        "jacobian of the batch": tuple(pairs.shape),
        "entries that are not zero": int((pairs != 0).sum()),
        "grad of the sum": tuple(torch.autograd.grad(mixed(X).sum(), X)[0].shape),
        "hessian of the sum": tuple(functional.hessian(lambda X: mixed(X).sum(), X).shape),
    }


# %% variant="no_output_dimension"
def batch_shapes():
    def number(x):
        return x.tanh().sum(dim=-1)

    X = torch.ones(BATCH, SIZE, requires_grad=True)
    pairs = functional.jacobian(number, X)
    return {
        "hessian of one sample": tuple(functional.hessian(number, X[0]).shape),
        "jacobian of one sample": tuple(functional.jacobian(number, X[0]).shape),
        "jacobian of the batch": tuple(pairs.shape),
        "entries that are not zero": int((pairs != 0).sum()),
        "vmap(jacrev)": tuple(torch.func.vmap(torch.func.jacrev(number))(X).shape),
    }


# %% mistake="jacobian_knows_batches"
{r"(jacobian\((two|torch\.exp|number), X\)\n[\s\S]*)tuple\(pairs\.shape\)": r"\1(BATCH, *pairs.shape[1:-2], SIZE)"}

# %% mistake="vmap_gives_all_pairs"
{r'("vmap\(jacrev\)": ).*': r"\1tuple(pairs.shape),"}

# %% mistake="sum_is_summed"
{r'("grad of the sum": ).*': r"\1(SIZE,),"}

# %% mistake="hessian_like_gradient"
{r'("hessian of one sample": ).*': r"\1(SIZE,),", r'("hessian of the sum": ).*': r"\1(BATCH, SIZE),"}

# %% mistake="gradient_for_jacobian"
{r'(jacobian\((two|torch\.exp|mixed), X\)\n[\s\S]*"jacobian of the batch": ).*': r"\1(BATCH, SIZE),"}

# %% mistake="input_first"
{r"tuple\(pairs\.shape\)": "(*pairs.shape[-2:], *pairs.shape[:-2])"}

# %% mistake="jacobian_flattened"
{r"tuple\(pairs\.shape\)": "(pairs.shape[:-2].numel(), pairs.shape[-2:].numel())"}

# %% mistake="one_number_per_sample"
{r"(jacobian\((two|number), X\)\n[\s\S]*)int\(\(pairs != 0\)\.sum\(\)\)": r"\1BATCH"}

# %% mistake="gradient_is_a_number"
{r'("grad of the sum": ).*': r"\1(),"}

# %% mistake="hessian_of_the_batch"
{r'("hessian of one sample": ).*': r"\1(BATCH, SIZE, SIZE),"}

# %% mistake="hessian_with_output"
{r'("hessian of one sample": ).*': r"\1(1, SIZE, SIZE),"}
