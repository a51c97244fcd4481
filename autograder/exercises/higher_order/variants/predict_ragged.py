# %%
LONG = [4, 5]
FACTOR = [3.0, 5.0]


# %% variant="products_are_nested"
def ragged_table():
    table = {}
    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(LONG, 3, requires_grad=True)
    copied = torch.nested.nested_tensor([2 * a, 2 * b], layout=torch.jagged)
    table["nested_tensor of 2 * a and 2 * b requires grad"] = copied.requires_grad
    (FACTOR * nest(2 * a, 2 * b)).values().sum().backward()
    table["entry of a.grad"] = a.grad[0, 0].item()

    leaf = nest(a, b, a).detach().requires_grad_()
    (leaf * leaf).values().sum().backward()
    table["leaf.grad is nested"] = leaf.grad.is_nested
    table["shape of leaf.grad.values()"] = tuple(leaf.grad.values().shape)

    rows = nest(a, b)
    table["sum(dim=1), forward"] = attempt(lambda: rows.sum(dim=1))
    table["sum(dim=1), backward"] = attempt(lambda: rows.sum(dim=1).sum().backward())
    table["rows + rows, backward"] = attempt(lambda: (rows + rows).values().sum().backward())
    return table


# %% variant="one_part_detached"
def ragged_table():
    table = {}
    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(LONG, 3, requires_grad=True)
    rows = nest(a, b.detach())
    table["as_nested_tensor of a and b.detach() requires grad"] = rows.requires_grad
    (FACTOR * rows).values().sum().backward()
    table["entry of a.grad"] = a.grad[0, 0].item()
    table["b.grad is None"] = b.grad is None

    leaf = nest(b, a).detach().requires_grad_()
    leaf.values().exp().sum().backward()
    table["leaf.grad is nested"] = leaf.grad.is_nested

    rows, again = nest(a, b), nest(a, b)
    padded = torch.nested.to_padded_tensor(rows, 0.0)
    table["shape of the padded tensor"] = tuple(padded.shape)
    table["padded, backward"] = attempt(lambda: padded.sum(dim=1).sum().backward())
    table["again - rows"] = attempt(lambda: again - rows)
    return table


# %% variant="through_a_layer"
def ragged_table():
    table = {}
    rows, again = (nest(torch.ones(2, 3), torch.ones(LONG, 3)) for _ in range(2))
    layer = torch.nn.Linear(3, 5, bias=False)
    output = layer(rows)
    table["rows require grad"] = rows.requires_grad
    table["output requires grad"] = output.requires_grad
    table["shape of output.values()"] = tuple(output.values().shape)
    (FACTOR * output).values().sum().backward()
    table["entry of layer.weight.grad"] = layer.weight.grad[0, 0].item()

    output = layer(rows)
    table["sum(dim=1), backward"] = attempt(lambda: output.sum(dim=1).sum().backward())
    padded = torch.nested.to_padded_tensor(output, 0.0)
    table["padded, backward"] = attempt(lambda: padded.sum().backward())
    table["rows * again"] = attempt(lambda: rows * again)
    return table


# %% variant="a_copy_that_requires_grad"
def ragged_table():
    table = {}
    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(LONG, 3, requires_grad=True)
    copied = torch.nested.nested_tensor([a, b], layout=torch.jagged, requires_grad=True)
    copied.values().sum().backward()
    table["a.grad is None after a pass from the copy"] = a.grad is None

    rows, again = nest(a, b), nest(a, b)
    (found,) = torch.autograd.grad((FACTOR * rows).values().sum(), rows)
    table["gradient of rows is nested"] = found.is_nested
    table["shape of its values()"] = tuple(found.values().shape)
    table["its entry"] = found.values()[0, 0].item()

    parts = nest(a, b).unbind()
    table["sums of the parts of unbind(), backward"] = attempt(lambda: sum(p.sum() for p in parts).backward())
    table["rows + again"] = attempt(lambda: rows + again)
    table["rows.values() + again.values()"] = attempt(lambda: rows.values() + again.values())
    return table


# %% mistake="copy_is_recorded"
{
    r'(table\["nested_tensor of 2 \* a and 2 \* b requires grad"\] = ).*': r"\1True",
    r'(table\["a\.grad is None after a pass from the copy"\] = ).*': r"\1False",
}

# %% mistake="gradient_is_dense"
{r'(table\["(leaf\.grad|gradient of rows) is nested"\] = ).*': r"\1False"}

# %% mistake="gradient_is_padded"
{
    r'(table\["shape of leaf\.grad\.values\(\)"\] = ).*': r"\1(3 * LONG, 3)",
    r'(table\["shape of its values\(\)"\] = ).*': r"\1(2 * LONG, 3)",
}

# %% mistake="values_are_split"
{
    r'(table\["shape of leaf\.grad\.values\(\)"\] = ).*': r"\1(3, LONG, 3)",
    r'(table\["shape of output\.values\(\)"\] = ).*': r"\1(2, LONG, 5)",
    r'(table\["shape of its values\(\)"\] = ).*': r"\1(2, LONG, 3)",
}

# %% mistake="sum_has_a_backward"
{r'(table\["sum\(dim=1\), backward"\] = ).*': r'\1"accepted"'}

# %% mistake="padding_cuts"
{r'(table\["padded, backward"\] = ).*': r'\1"RuntimeError"'}

# %% mistake="equal_lengths_suffice"
{r'(table\["(rows \+ again|again - rows|rows \* again)"\] = ).*': r'\1"accepted"'}

# %% mistake="factor_left_out"
{r"\(FACTOR \* (rows|output)\)": r"(1 * \1)", r"\(FACTOR \* nest\(2 \* a, 2 \* b\)\)": "nest(2 * a, 2 * b)"}

# %% mistake="rows_added"
{
    r'(table\["entry of a\.grad"\] = a\.grad)\[0, 0\]': r"\1[:, 0].sum()",
    r'(table\["its entry"\] = ).*': r"\1FACTOR * (2 + LONG)",
}
