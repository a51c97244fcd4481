# %%
ROWS = [16, 32, 48]
COLUMNS = [128, 256]


# %% variant="chains"
def bytes_kept():
    W = torch.rand(COLUMNS, COLUMNS, requires_grad=True)
    x = torch.rand(ROWS, COLUMNS, requires_grad=True).clone()  # float32
    operations = {
        "x.relu().sin()": lambda: x.relu().sin(),
        "x.exp().exp()": lambda: x.exp().exp(),
        "x * 2": lambda: x * 2,
        "(x * x).sum()": lambda: (x * x).sum(),
        "x.sin()[:2].sin()": lambda: x.sin()[:2].sin(),
        "(x @ W).exp()": lambda: (x @ W).exp(),
        "x @ W @ W": lambda: x @ W @ W,
    }
    kept = {}
    for name, operation in operations.items():
        with saved_bytes() as saved:
            y = operation()
        kept[name] = saved.now
        del y
    return kept


# %% variant="factors"
def bytes_kept():
    x = torch.rand(ROWS, COLUMNS, requires_grad=True).clone()  # float32
    z = torch.rand(ROWS, COLUMNS, requires_grad=True).clone()
    data = torch.rand(ROWS, COLUMNS)  # requires no gradient
    operations = {
        "x * z": lambda: x * z,
        "x * data": lambda: x * data,
        "data * data": lambda: data * data,
        "x * x": lambda: x * x,
        "x * x.detach()": lambda: x * x.detach(),
        "x * 2": lambda: x * 2,
        "data * x.sigmoid()": lambda: data * x.sigmoid(),
    }
    kept = {}
    for name, operation in operations.items():
        with saved_bytes() as saved:
            y = operation()
        kept[name] = saved.now
        del y
    return kept


# %% variant="matrices"
def bytes_kept():
    W = torch.rand(COLUMNS, COLUMNS, requires_grad=True)
    frozen = torch.rand(COLUMNS, COLUMNS)  # requires no gradient
    x = torch.rand(ROWS, COLUMNS, requires_grad=True).clone()  # float32
    data = torch.rand(ROWS, COLUMNS)  # requires no gradient
    operations = {
        "data @ W": lambda: data @ W,
        "x @ frozen": lambda: x @ frozen,
        "x @ frozen @ frozen": lambda: x @ frozen @ frozen,
        "x @ W": lambda: x @ W,
        "x[:2] @ W": lambda: x[:2] @ W,
        "x @ x.T": lambda: x @ x.T,
        "(x @ frozen).relu()": lambda: (x @ frozen).relu(),
    }
    kept = {}
    for name, operation in operations.items():
        with saved_bytes() as saved:
            y = operation()
        kept[name] = saved.now
        del y
    return kept


# %% variant="slices"
def bytes_kept():
    x = torch.rand(ROWS, COLUMNS, requires_grad=True).clone()  # float32
    operations = {
        "x[:2].sin()": lambda: x[:2].sin(),
        "x[:2].clone().sin()": lambda: x[:2].clone().sin(),
        "x.exp()[:2].sin()": lambda: x.exp()[:2].sin(),
        "x[:2] * x[2:4]": lambda: x[:2] * x[2:4],
        "x.T.sin()": lambda: x.T.sin(),
        "x * 2": lambda: x * 2,
        "torch.where(x[:2] > 0.5, x[:2], 0.0)": lambda: torch.where(x[:2] > 0.5, x[:2], 0.0),
    }
    kept = {}
    for name, operation in operations.items():
        with saved_bytes() as saved:
            y = operation()
        kept[name] = saved.now
        del y
    return kept


# %% variant="masks"
def bytes_kept():
    x = torch.rand(ROWS, COLUMNS, requires_grad=True).clone()  # float32
    operations = {
        "torch.where(x > 0.5, x, 0.0)": lambda: torch.where(x > 0.5, x, 0.0),
        "torch.where(x > 0.5, x.sin(), 0.0)": lambda: torch.where(x > 0.5, x.sin(), 0.0),
        "x * (x > 0.5)": lambda: x * (x > 0.5),
        "x > 0.5": lambda: x > 0.5,
        "x.relu()": lambda: x.relu(),
        "x.relu() + x.sin()": lambda: x.relu() + x.sin(),
        "x * 2": lambda: x * 2,
    }
    kept = {}
    for name, operation in operations.items():
        with saved_bytes() as saved:
            y = operation()
        kept[name] = saved.now
        del y
    return kept


# %% mistake="scaling_saves"
{r"lambda: x \* 2,": "lambda: x * x,"}

# %% mistake="the_number_counts"
{r"lambda: x \* 2,": "lambda: x * torch.tensor(2.0, dtype=torch.float64),"}

# %% mistake="keeps_both_ends"
{
    r"lambda: x\.relu\(\)\.sin\(\),": "lambda: x.sin().sin().exp(),",
    r"lambda: x\.relu\(\),": "lambda: x.sin().exp(),",
}

# %% mistake="counts_saves"
{r"lambda: x \* x,": "lambda: x * x.clone(),", r"lambda: \(x \* x\)\.sum\(\),": "lambda: (x * x.clone()).sum(),"}

# %% mistake="a_slice_is_small"
{
    r"lambda: x\[:2\]\.sin\(\),": "lambda: x[:2].exp(),",
    r"lambda: x\.sin\(\)\[:2\]\.sin\(\),": "lambda: x.sin()[:2].exp(),",
}

# %% mistake="forgets_the_weight"
{r"lambda: x @ W,": "lambda: x.sin(),", r"lambda: \(x @ W\)\.exp\(\),": "lambda: x.sin().exp(),"}

# %% mistake="forgets_the_input"
{r"lambda: x @ W,": "lambda: x @ W.detach(),"}

# %% mistake="freezing_changes_nothing"
{r"lambda: x @ frozen,": "lambda: x @ W,"}

# %% mistake="frozen_is_not_saved"
{r"lambda: x @ frozen,": "lambda: data @ W,"}

# %% mistake="where_keeps_numbers"
{
    r"torch\.where\(x > 0\.5, x, 0\.0\),$": "x.sin(),",
    r"torch\.where\(x\[:2\] > 0\.5, x\[:2\], 0\.0\),$": "x[:2].exp(),",
}

# %% mistake="where_keeps_its_input"
{
    r"torch\.where\(x > 0\.5, x, 0\.0\),$": "torch.where(x > 0.5, x.sin(), 0.0),",
    r"torch\.where\(x\[:2\] > 0\.5, x\[:2\], 0\.0\),$": "torch.where(x[:2] > 0.5, x[:2].exp(), 0.0),",
}

# %% mistake="where_keeps_nothing"
{r"torch\.where\(x > 0\.5, x, 0\.0\),$": "x + 1,", r"torch\.where\(x\[:2\] > 0\.5, x\[:2\], 0\.0\),$": "x + 1,"}

# %% mistake="booleans_are_bits"
{
    r"torch\.where\(x > 0\.5, x, 0\.0\),$": "x.flatten()[: ROWS * COLUMNS // 32].exp(),",
    r"torch\.where\(x\[:2\] > 0\.5, x\[:2\], 0\.0\),$": "x.flatten()[: COLUMNS // 16].exp(),",
}

# %% mistake="counts_entries"
{
    r"lambda: x \* data,": "lambda: torch.where(x > 0.5, x, 0.0),",
    r"lambda: x\.T\.sin\(\),": "lambda: torch.where(x > 0.5, x, 0.0),",
}

# %% mistake="relu_keeps_a_mask"
{r"lambda: x\.relu\(\),": "lambda: torch.where(x > 0.5, x, 0.0),"}

# %% mistake="what_lives_anyway_is_free"
{r"lambda: x @ W,": "lambda: x + 1,"}
