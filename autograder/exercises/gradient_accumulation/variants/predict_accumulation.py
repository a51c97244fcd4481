# %%
START = [1.0, 0.5]
NEAR = [2.0, 1.0]
FAR = [4.0, 5.0]


# %% variant="the_small_one_first"
def two_backward_passes():
    seen = {}
    w = torch.tensor(START, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    seen["w.grad before"] = w.grad

    ((2 * NEAR - w * NEAR) ** 2).backward()
    first = w.grad
    copy = w.grad.clone()

    ((2 * FAR - w * FAR) ** 2).backward()
    seen["first"] = first.item()
    seen["copy"] = copy.item()
    seen["w.grad after the second backward"] = w.grad.item()

    optimizer.zero_grad()
    seen["w.grad after zero_grad"] = w.grad
    return seen


# %% variant="cleared_between"
def two_backward_passes():
    seen = {}
    w = torch.tensor(START, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    seen["w.grad before"] = w.grad

    ((2 * FAR - w * FAR) ** 2).backward()
    first = w.grad
    copy = w.grad.clone()

    optimizer.zero_grad()
    seen["w.grad after zero_grad"] = w.grad
    ((2 * NEAR - w * NEAR) ** 2).backward()
    seen["first"] = first.item()
    seen["copy"] = copy.item()
    seen["w.grad after the second backward"] = w.grad.item()
    return seen


# %% variant="snapshots_at_the_end"
def two_backward_passes():
    seen = {}
    w = torch.tensor(START, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    seen["w.grad before"] = w.grad

    ((2 * FAR - w * FAR) ** 2).backward()
    first = w.grad

    ((2 * NEAR - w * NEAR) ** 2).backward()
    copy = w.grad.clone()
    seen["w.grad after the second backward"] = w.grad.item()

    w.grad.zero_()
    seen["first"] = first.item()
    seen["copy"] = copy.item()

    optimizer.zero_grad()
    seen["w.grad after zero_grad"] = w.grad
    return seen


# %% variant="zeros_between"
def two_backward_passes():
    seen = {}
    w = torch.tensor(START, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)

    ((2 * FAR - w * FAR) ** 2).backward()
    first = w.grad
    copy = w.grad.clone()
    optimizer.zero_grad(set_to_none=False)
    seen["w.grad after zero_grad(set_to_none=False)"] = w.grad.item()

    ((2 * NEAR - w * NEAR) ** 2).backward()
    seen["first"] = first.item()
    seen["copy"] = copy.item()
    seen["w.grad after the second backward"] = w.grad.item()

    optimizer.zero_grad()
    seen["w.grad after zero_grad"] = w.grad
    return seen


# %% mistake="backward_overwrites"
{
    r"^    (\(\(2 .*)\.backward\(\)": r"    before = 0 if w.grad is None else w.grad.clone(); \1.backward()",
    r'(backward"\] = )w\.grad\.item\(\)': r"\1(w.grad - before).item()",
}

# %% mistake="alias_is_a_snapshot"
{r"first = w\.grad$": "first = w.grad.clone()"}

# %% mistake="clone_is_an_alias"
{r"w\.grad\.clone\(\)": "w.grad"}

# %% mistake="zero_grad_leaves_zeros"
{r'(zero_grad"\] = )w\.grad$': r"\g<1>0.0"}

# %% mistake="starts_at_zero"
{r'(before"\] = )w\.grad$': r"\g<1>0.0"}

# %% mistake="takes_the_mean"
{r'(backward"\] = w\.grad\.item\(\))': r"\1 / 2"}

# %% mistake="wrong_sign"
{r'(copy"\] = )copy': r"\1-copy"}
