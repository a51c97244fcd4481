# %%
SCALE = [2.0, 4.0]
SHIFT = [2, 4]
START = [3.0, 5.0]


# %% variant="the_first_line_scales"
def chain():
    x = torch.ones(2, 2, requires_grad=True)
    y = SCALE * x
    z = 3 * y**2
    out = z.mean()
    for tensor in (y, z, out):
        tensor.retain_grad()
    out.backward()
    return {
        "x.grad": x.grad[0, 0].item(),
        "y.grad": y.grad[0, 0].item(),
        "z.grad": z.grad[0, 0].item(),
        "out.grad": out.grad.item(),
    }


# %% variant="five_times_the_sum"
def chain():
    x = torch.ones(2, 2, requires_grad=True)
    y = x + SHIFT
    z = 3 * y**2
    out = 5 * z.sum()
    for tensor in (y, z, out):
        tensor.retain_grad()
    out.backward()
    return {
        "x.grad": x.grad[0, 0].item(),
        "y.grad": y.grad[0, 0].item(),
        "z.grad": z.grad[0, 0].item(),
        "out.grad": out.grad.item(),
    }


# %% variant="the_mean_comes_before_the_square"
def chain():
    x = torch.ones(2, 2, requires_grad=True)
    y = x + SHIFT
    z = y.mean()
    out = z**2
    for tensor in (y, z, out):
        tensor.retain_grad()
    out.backward()
    return {
        "x.grad": x.grad[0, 0].item(),
        "y.grad": y.grad[0, 0].item(),
        "z.grad": z.grad.item(),
        "out.grad": out.grad.item(),
    }


# %% variant="the_square_comes_first"
def chain():
    x = torch.full((2, 2), START, requires_grad=True)
    y = x**2
    z = y + SHIFT
    out = z.mean()
    for tensor in (y, z, out):
        tensor.retain_grad()
    out.backward()
    return {
        "x.grad": x.grad[0, 0].item(),
        "y.grad": y.grad[0, 0].item(),
        "z.grad": z.grad[0, 0].item(),
        "out.grad": out.grad.item(),
    }


# %% mistake="forgets_the_mean"
{r'(out = z\.mean[\s\S]*"z\.grad": )z\.grad.*': r"\g<1>1.0,"}

# %% mistake="mean_over_rows"
{r'(out = z\.mean[\s\S]*"z\.grad": )z\.grad.*': r"\g<1>0.5,"}

# %% mistake="derivative_of_one_line"
{
    r'(z = 3 \* y\*\*2[\s\S]*"y\.grad": )y\.grad.*': r"\g<1>6 * y[0, 0].item(),",
    r'(z = y\.mean[\s\S]*"y\.grad": )y\.grad.*': r"\g<1>0.25,",
    r'(z = y \+ SHIFT[\s\S]*"y\.grad": )y\.grad.*': r"\g<1>1.0,",
}

# %% mistake="derivative_of_y_by_x"
{
    r'(y = SCALE \* x[\s\S]*"y\.grad": )y\.grad.*': r"\1SCALE,",
    r'(y = x \+ SHIFT[\s\S]*"y\.grad": )y\.grad.*': r"\g<1>1.0,",
    r'(y = x\*\*2[\s\S]*"y\.grad": )y\.grad.*': r"\g<1>2 * START,",
}

# %% mistake="derivative_of_the_first_line"
{
    r'(y = SCALE \* x[\s\S]*"x\.grad": )x\.grad.*': r"\1SCALE,",
    r'(y = x \+ SHIFT[\s\S]*"x\.grad": )x\.grad.*': r"\g<1>1.0,",
    r'(y = x\*\*2[\s\S]*"x\.grad": )x\.grad.*': r"\g<1>2 * START,",
}

# %% mistake="last_line_at_the_root"
{r'("out\.grad": )out\.grad\.item\(\)': r"\1z.grad.flatten()[0].item()"}

# %% mistake="nothing_at_the_root"
{r'("out\.grad": )out\.grad\.item\(\)': r"\1None"}

# %% mistake="zero_at_the_root"
{r'("out\.grad": )out\.grad\.item\(\)': r"\g<1>0.0"}

# %% mistake="value_at_the_root"
{r'("out\.grad": )out\.grad\.item\(\)': r"\1out.item()"}

# %% mistake="values_of_the_tensors"
{r'("\w+\.grad": \w+)\.grad': r"\1"}

# %% mistake="square_not_differentiated"
{r'(z = 3 \* y\*\*2[\s\S]*"x\.grad": .*),(\n.*),': r"\1 / 2,\2 / 2,"}

# %% mistake="divides_again"
{r'(y = x \+ SHIFT\n    z = y\.mean[\s\S]*"x\.grad": .*),': r"\1 / 4,"}
