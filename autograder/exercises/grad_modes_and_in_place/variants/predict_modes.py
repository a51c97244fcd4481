# %% variant="made_inside_and_used_outside"
def mode_table():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    net = Sequential(Linear(2, 1), Dropout(0.5)).eval()
    h = w * 3
    table = {}

    with torch.no_grad():
        g = w * 2
        table["h under no_grad"] = h.requires_grad
    table["net(g)"] = net(g).requires_grad

    with torch.inference_mode():
        f = w * 2
        table["f.add_(1) in inference_mode"] = attempt(lambda: f.add_(1))
        table["f * w in inference_mode"] = attempt(lambda: f * w)

    table["f.add_(1)"] = attempt(lambda: f.add_(1))
    table["f * w"] = attempt(lambda: f * w)
    table["f + w"] = attempt(lambda: f + w)
    return table


# %% variant="the_innermost_block"
def mode_table():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * 3
    table = {}

    torch.set_grad_enabled(False)
    table["h * 2 after set_grad_enabled(False)"] = (h * 2).requires_grad
    table["h after set_grad_enabled(False)"] = h.requires_grad
    torch.set_grad_enabled(True)

    with torch.enable_grad(), torch.no_grad():
        table["h * 2, no_grad in enable_grad"] = (h * 2).requires_grad
    with torch.no_grad(), torch.enable_grad():
        loss = (h * 2).sum()
    with torch.no_grad(), torch.inference_mode(), torch.enable_grad():
        f = h * 2
        table["f, enable_grad in inference_mode"] = f.requires_grad
    with torch.no_grad():
        table["loss.backward() under no_grad"] = attempt(loss.backward)

    table["w * f"] = attempt(lambda: w * f)
    table["w - f"] = attempt(lambda: w - f)
    return table


# %% variant="decorators"
def mode_table():
    @torch.no_grad()
    def double(t):
        return t * 2

    @torch.enable_grad()
    def triple(t):
        return t * 3

    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss, table = triple(w).sum(), {}

    with torch.enable_grad():
        table["double(w) in enable_grad"] = double(w).requires_grad
    with torch.no_grad():
        table["triple(w) in no_grad"] = triple(w).requires_grad
        table["loss.backward() in no_grad"] = attempt(loss.backward)
    with torch.inference_mode():
        f = triple(w)
        table["triple(w) in inference_mode"] = f.requires_grad

    table["f + w"] = attempt(lambda: f + w)
    table["triple(w) * f"] = attempt(lambda: triple(w) * f)
    table["f.mul_(2)"] = attempt(lambda: f.mul_(2))
    return table


# %% variant="training_and_evaluation"
def mode_table():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    x, net = torch.ones(2), Sequential(Linear(2, 1), Dropout(0.5))
    loss = net(x * w).sum()
    table = {}

    net.eval()
    table["net(x) after net.eval()"] = net(x).requires_grad
    with torch.no_grad():
        net.train()
        table["net(x) after net.train() under no_grad"] = net(x).requires_grad
        table["loss.backward() under no_grad"] = attempt(loss.backward)

    with torch.inference_mode():
        f = net(x)
    table["f"] = f.requires_grad
    table["f.sum() * w"] = attempt(lambda: f.sum() * w)
    table["(f + 1) * w"] = attempt(lambda: (f + 1) * w)
    table["f + w"] = attempt(lambda: f + w)
    return table


# %% mistake="old_results_lose_the_flag"
{r'("h under no_grad"\] = ).*': r"\1False"}

# %% mistake="backward_is_refused"
{r"attempt\(loss\.backward\)": '"RuntimeError"'}

# %% mistake="enable_grad_wins"
{r'(inference_mode"\] = )f\.requires_grad': r"\1True"}

# %% mistake="eval_switches_off"
{r'("net\((x\) after net\.eval\(\)|g\))"\] = ).*': r"\1False"}

# %% mistake="inference_is_always_refused"
{r'("f \+ w"\] = ).*': r'\1"RuntimeError"'}

# %% mistake="inference_is_a_constant"
{r'("(f \* w|w \* f|triple\(w\) \* f)"\] = ).*': r'\1"accepted"'}

# %% mistake="inference_can_be_edited"
{r'("f\.(add_\(1\)|mul_\(2\))"\] = ).*': r'\1"accepted"'}

# %% mistake="a_flag_for_an_attempt"
{r'("f \+ w"\] = ).*': r"\1True"}
