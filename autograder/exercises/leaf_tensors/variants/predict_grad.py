# %%
AT = [1.0, 4.0]
SHIFT = [6.0, 8.0]
FACTOR = [5.0, 7.0]


# %% variant="the_late_one_is_kept"
def who_gets_grad():
    x = torch.tensor(AT, requires_grad=True)
    k = torch.tensor(SHIFT)
    v = torch.tensor([1.0, 7.0], requires_grad=True)
    lost = torch.tensor(3.0, requires_grad=True) * 0.01
    part = v[0]

    early = x * 3
    late = early + k
    late.retain_grad()
    loss = late**2 + FACTOR * part + lost
    loss.backward()
    early.retain_grad()

    return {
        "x.grad": x.grad.item(),
        "k.grad": k.grad,
        "v.grad": v.grad.tolist(),
        "part.grad": grad_of(part),
        "lost.grad": grad_of(lost),
        "early.grad": grad_of(early),
        "late.grad": late.grad.item(),
        "loss.grad": grad_of(loss),
        "SGD([late], lr=0.1)": attempt(lambda: torch.optim.SGD([late], lr=0.1)),
        "k.backward()": attempt(lambda: k.backward()),
    }


# %% variant="the_root_is_not_the_loss"
def who_gets_grad():
    x = torch.tensor(AT, requires_grad=True)
    k = torch.tensor(SHIFT)
    v = torch.tensor([1.0, 7.0], requires_grad=True)
    part = v[0]

    early = x * 3
    early.retain_grad()
    late = early + FACTOR * part + k
    loss = late**2
    late.backward()

    return {
        "x.grad": x.grad.item(),
        "k.grad": k.grad,
        "v.grad": v.grad.tolist(),
        "part.grad": grad_of(part),
        "early.grad": early.grad.item(),
        "late.grad": grad_of(late),
        "loss.grad": grad_of(loss),
        "SGD([early], lr=0.1)": attempt(lambda: torch.optim.SGD([early], lr=0.1)),
        "SGD([part], lr=0.1)": attempt(lambda: torch.optim.SGD([part], lr=0.1)),
        "k.backward()": attempt(lambda: k.backward()),
    }


# %% variant="k_learns_and_x_does_not"
def who_gets_grad():
    x = torch.tensor(AT)
    k = torch.tensor(SHIFT, requires_grad=True)
    v = torch.tensor([1.0, 7.0], requires_grad=True)
    lost = torch.tensor(3.0, requires_grad=True) * 0.01
    part = v[0]

    early = x * 3
    late = early + k
    loss = late**2 + FACTOR * part + lost
    loss.backward()
    late.retain_grad()

    return {
        "x.grad": x.grad,
        "k.grad": k.grad.item(),
        "v.grad": v.grad.tolist(),
        "part.grad": grad_of(part),
        "lost.grad": grad_of(lost),
        "early.grad": early.grad,
        "late.grad": grad_of(late),
        "loss.grad": grad_of(loss),
        "SGD([x], lr=0.1)": attempt(lambda: torch.optim.SGD([x], lr=0.1)),
        "early.backward()": attempt(lambda: early.backward()),
    }


# %% variant="nothing_is_lost"
def who_gets_grad():
    x = torch.tensor(AT, requires_grad=True)
    k = torch.tensor(SHIFT)
    v = torch.tensor([1.0, 7.0], requires_grad=True)
    found = (torch.tensor(3.0) * 0.01).requires_grad_()
    part = v[1]

    early = x * 3
    late = early + k
    loss = late**2 + FACTOR * part + found
    loss.retain_grad()
    loss.backward()

    return {
        "x.grad": x.grad.item(),
        "k.grad": k.grad,
        "v.grad": v.grad.tolist(),
        "part.grad": grad_of(part),
        "found.grad": found.grad.item(),
        "early.grad": grad_of(early),
        "late.grad": grad_of(late),
        "loss.grad": loss.grad.item(),
        "SGD([found], lr=0.1)": attempt(lambda: torch.optim.SGD([found], lr=0.1)),
        "loss.detach().backward()": attempt(lambda: loss.detach().backward()),
    }


# %% variant="two_ways_to_the_early_one"
def who_gets_grad():
    x = torch.tensor(AT, requires_grad=True)
    k = torch.tensor(SHIFT)
    v = torch.tensor([1.0, 7.0], requires_grad=True)
    lost = torch.tensor(3.0, requires_grad=True) * 0.01
    part = v[0]

    early = x * 3
    early.retain_grad()
    late = early + k
    loss = late**2 + FACTOR * early - part
    loss.backward()
    late.retain_grad()

    return {
        "x.grad": x.grad.item(),
        "k.grad": k.grad,
        "v.grad": v.grad.tolist(),
        "part.grad": grad_of(part),
        "lost.grad": grad_of(lost),
        "early.grad": early.grad.item(),
        "late.grad": grad_of(late),
        "loss.grad": grad_of(loss),
        "SGD([lost], lr=0.1)": attempt(lambda: torch.optim.SGD([lost], lr=0.1)),
        "k.backward()": attempt(lambda: k.backward()),
    }


# %% mistake="early_holds_the_local"
{
    r'("late\.grad": )late\.grad\.item\(\)': r"\g<1>1.0",
    r'(\n    loss\.backward\(\)[\s\S]*"early\.grad": )early\.grad\.item\(\)': r"\g<1>1.0",
}

# %% mistake="early_holds_its_own"
{r'(\n    loss\.backward\(\)[\s\S]*"early\.grad": )early\.grad\.item\(\)': r"\g<1>3.0"}

# %% mistake="early_holds_that_of_x"
{r"early\.grad\.item\(\)": "x.grad.item()"}

# %% mistake="non_leaves_never_keep"
{r'("(early|late|loss)\.grad": )\w+\.grad\.item\(\)': r"\1None"}

# %% mistake="retaining_works_afterwards"
{
    r"(\n    early\.retain_grad\(\)\n\n[\s\S]*)grad_of\(early\)": r"\1late.grad.item()",
    r"(\n    late\.retain_grad\(\)\n\n[\s\S]*)grad_of\(late\)": r"\g<1>2.0 * late.item()",
}

# %% mistake="views_have_gradients"
{
    r"(part = v\[0\][\s\S]*FACTOR \* part[\s\S]*)grad_of\(part\)": r"\1FACTOR",
    r"(- part[\s\S]*)grad_of\(part\)": r"\1-1.0",
}

# %% mistake="nothing_reaches_the_base"
{r"v\.grad\.tolist\(\)": "None"}

# %% mistake="parts_spread"
{r"(part = v\[0\][\s\S]*)v\.grad\.tolist\(\)": r"\1[v.grad[0].item()] * 2"}

# %% mistake="the_other_entry"
{r"(part = v\[0\][\s\S]*)v\.grad\.tolist\(\)": r"\1v.grad.tolist()[::-1]"}

# %% mistake="none_for_an_entry"
{r"v\.grad\.tolist\(\)": "[each or None for each in v.grad.tolist()]"}

# %% mistake="gradient_of_the_part"
{r"v\.grad\.tolist\(\)": "v.grad.sum().item()"}

# %% mistake="scaling_keeps_the_gradient"
{r"(\+ lost[\s\S]*)grad_of\(lost\)": r"\g<1>1.0"}

# %% mistake="lost_holds_the_leafs"
{r"(\+ lost[\s\S]*)grad_of\(lost\)": r"\g<1>0.01"}

# %% mistake="constants_get_zero"
{r'("[kx]\.grad": )[kx]\.grad,': r"\g<1>0.0,"}

# %% mistake="constants_get_gradients"
{
    r'(\n    loss\.backward\(\)[\s\S]*"k\.grad": )k\.grad,': r"\g<1>2.0 * late.item(),",
    r'("x\.grad": )x\.grad,': r"\g<1>6.0 * late.item(),",
}

# %% mistake="chain_stops_early"
{r'(\n    loss\.backward\(\)[\s\S]*"x\.grad": x\.grad\.item\(\))': r"\1 / 3"}

# %% mistake="loss_keeps_one"
{r"(\n    loss\.backward\(\)[\s\S]*)grad_of\(loss\)": r"\g<1>1.0"}

# %% mistake="optimizers_take_anything"
{r'("SGD\(\[(lost|part)\], lr=0\.1\)": ).*': r'\1"accepted",'}

# %% mistake="optimizers_raise_runtime_errors"
{r'("SGD\(\[(lost|part)\], lr=0\.1\)": ).*': r'\1"RuntimeError",'}

# %% mistake="constants_go_backward"
{r'(backward\(\)": ).*': r'\1"accepted",'}

# %% mistake="backward_raises_value_errors"
{r'(backward\(\)": ).*': r'\1"ValueError",'}

# %% mistake="everybody_keeps_one"
{
    r"(\n    loss\.backward\(\)[\s\S]*)grad_of\(loss\)": r"\g<1>1.0",
    r"(\n    loss\.backward\(\)[\s\S]*)grad_of\(late\)": r"\g<1>2.0 * late.item()",
    r"(\n    late\.backward\(\)[\s\S]*)grad_of\(late\)": r"\g<1>1.0",
    r"(\+ lost[\s\S]*)grad_of\(lost\)": r"\g<1>1.0",
    r"(FACTOR \* part[\s\S]*)grad_of\(part\)": r"\1FACTOR",
    r"(- part[\s\S]*)grad_of\(part\)": r"\1-1.0",
}
