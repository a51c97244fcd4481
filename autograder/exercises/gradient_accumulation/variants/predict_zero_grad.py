# %%
MOMENTUM = [0.5, 0.8]


# %% variant="another_momentum"
def none_and_zero():
    none, plain = one_step_more(MOMENTUM), one_step_more(0.0)
    zero = one_step_more(MOMENTUM, set_to_none=False)
    return {
        "w.grad after zero_grad(set_to_none=False)": zero[0],
        "w: zero, momentum": zero[1],
        "w.grad after zero_grad()": none[0],
        "w: None, momentum": none[1],
        "w: None, no momentum": plain[1],
    }


# %% variant="cleared_by_hand"
def none_and_zero():
    def step_after(clear):
        w = torch.nn.Parameter(torch.tensor(1.0))
        optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
        w.backward()
        optimizer.step()
        clear(w, optimizer)
        optimizer.step()
        return round(w.item(), 4)

    return {
        "w: w.grad = None": step_after(lambda w, optimizer: setattr(w, "grad", None)),
        "w: w.grad.zero_()": step_after(lambda w, optimizer: w.grad.zero_()),
        "w: optimizer.zero_grad()": step_after(lambda w, optimizer: optimizer.zero_grad()),
        "w: nothing cleared": step_after(lambda w, optimizer: None),
    }


# %% variant="two_steps_on_no_gradient"
def none_and_zero():
    def two_steps_more(momentum, **how):
        w = torch.nn.Parameter(torch.tensor(1.0))
        optimizer = torch.optim.SGD([w], lr=0.1, momentum=momentum)
        w.backward()
        optimizer.step()
        optimizer.zero_grad(**how)
        optimizer.step()
        optimizer.step()
        return round(w.item(), 4)

    return {
        "w: zero, momentum": two_steps_more(MOMENTUM, set_to_none=False),
        "w: None, momentum": two_steps_more(MOMENTUM),
        "w: zero, no momentum": two_steps_more(0.0, set_to_none=False),
    }


# %% variant="a_second_parameter"
def none_and_zero():
    w, u = torch.nn.Parameter(torch.tensor(1.0)), torch.nn.Parameter(torch.tensor(1.0))
    optimizer = torch.optim.SGD([w, u], lr=0.1, momentum=0.9)
    w.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    gradients = w.grad.item(), u.grad
    u.backward()
    optimizer.step()
    moved = round(w.item(), 4), round(u.item(), 4)
    optimizer.zero_grad()
    optimizer.step()
    return {
        "w.grad after zero_grad(set_to_none=False)": gradients[0],
        "u.grad after zero_grad(set_to_none=False)": gradients[1],
        "w after the second step": moved[0],
        "u after the second step": moved[1],
        "u after the third step": round(u.item(), 4),
    }


# %% mistake="none_counts_as_zero"
{
    r"none, plain = one_step_more\(MOMENTUM\)": "none, plain = (None, one_step_more(MOMENTUM, set_to_none=False)[1])",
    r'setattr\(w, "grad", None\)': "w.grad.zero_()",
    r"two_steps_more\(MOMENTUM\)": "two_steps_more(MOMENTUM, set_to_none=False)",
    r'(third step": ).*': r"\g<1>0.81,",
}

# %% mistake="zero_stops_the_step"
{r'("(w: zero, momentum|w: w\.grad\.zero_\(\)|w after the second step)": ).*': r"\g<1>0.9,"}

# %% mistake="default_leaves_zeros"
{
    r"none\[0\]": "0.0",
    r"optimizer: optimizer\.zero_grad\(\)": "optimizer: optimizer.zero_grad(set_to_none=False)",
}

# %% mistake="moves_without_momentum"
{r"two_steps_more\(0\.0": "two_steps_more(MOMENTUM"}

# %% mistake="swaps_the_flag"
{
    r"(return \{[\s\S]*)zero\[0\]": r"\1None",
    r"none\[0\]": "0.0",
    r"zero\[1\]": "0.9",
    r"none\[1\]": "zero[1]",
}

# %% mistake="uses_the_old_gradient_again"
{r'("(w after the second step|w: w\.grad\.zero_\(\))": ).*': r"\g<1>0.71,"}

# %% mistake="velocity_stays_one"
{r'("(w after the second step|w: w\.grad\.zero_\(\))": ).*': r"\g<1>0.8,"}
