# %% variant="made_inside_and_used_outside"
def mode_table():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    net = Sequential(Linear(2, 1), Dropout(0.5)).eval()
    h = w * 3
    table = {}

    with torch.no_grad():
        g = w * 2
        made = torch.zeros(2, requires_grad=True)
        table["h under no_grad"] = h.requires_grad
    table["g"] = g.requires_grad
    table["g * w"] = (g * w).requires_grad
    table["made"] = made.requires_grad
    table["net(g)"] = net(g).requires_grad

    with torch.inference_mode():
        f = w * 2
        table["f.add_(1) in inference_mode"] = attempt(lambda: f.add_(1))
        table["f * w in inference_mode"] = attempt(lambda: f * w)

    table["f.add_(1)"] = attempt(lambda: f.add_(1))
    table["f * g"] = attempt(lambda: f * g)
    table["f * w"] = attempt(lambda: f * w)
    table["f + w"] = attempt(lambda: f + w)
    return table


# %% variant="the_innermost_block"
def mode_table():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * 3
    table = {}

    torch.no_grad()
    table["h * 2 after a line torch.no_grad()"] = (h * 2).requires_grad
    torch.set_grad_enabled(False)
    table["h * 2 after set_grad_enabled(False)"] = (h * 2).requires_grad
    table["h after set_grad_enabled(False)"] = h.requires_grad
    torch.set_grad_enabled(True)

    with torch.enable_grad(), torch.no_grad():
        table["h * 2, no_grad in enable_grad"] = (h * 2).requires_grad
    with torch.no_grad(), torch.enable_grad():
        loss = (h * 2).sum()
        table["loss, enable_grad in no_grad"] = loss.requires_grad
    with torch.no_grad(), torch.inference_mode(), torch.enable_grad():
        f = h * 2
        table["f, enable_grad in inference_mode"] = f.requires_grad
    with torch.no_grad():
        table["loss.backward() under no_grad"] = attempt(loss.backward)
        table["f * w under no_grad"] = attempt(lambda: f * w)

    table["w * f"] = attempt(lambda: w * f)
    table["w - f"] = attempt(lambda: w - f)
    table["w * f.clone()"] = attempt(lambda: w * f.clone())
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
    loss, constant = triple(w).sum(), double(w).sum()
    table = {"double(w)": double(w).requires_grad}

    with torch.enable_grad():
        table["double(w) in enable_grad"] = double(w).requires_grad
    with torch.no_grad():
        table["triple(w) in no_grad"] = triple(w).requires_grad
        table["triple(double(w)) in no_grad"] = triple(double(w)).requires_grad
        table["loss.backward() in no_grad"] = attempt(loss.backward)
    with torch.inference_mode():
        f = triple(w)
        table["triple(w) in inference_mode"] = f.requires_grad
    table["constant.backward()"] = attempt(constant.backward)

    table["f + w"] = attempt(lambda: f + w)
    table["double(f) * w"] = attempt(lambda: double(f) * w)
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
        made = torch.tensor([3.0, 4.0], requires_grad=True)
        table["made under no_grad"] = made.requires_grad
    torch.no_grad()
    table["net(x) after a line torch.no_grad()"] = net(x).requires_grad

    with torch.inference_mode():
        f = net(x)
        g = f.clone()
    table["f"] = f.requires_grad
    table["f.sum() * w"] = attempt(lambda: f.sum() * w)
    table["(f + 1) * w"] = attempt(lambda: (f + 1) * w)
    table["f + w"] = attempt(lambda: f + w)
    table["g * w"] = attempt(lambda: g * w)
    table["g.clone() * w"] = attempt(lambda: g.clone() * w)
    return table


# %% mistake="a_bare_line_switches"
{r'(after a line torch\.no_grad\(\)"\] = ).*': r"\1False"}

# %% mistake="old_results_lose_the_flag"
{r'("h under no_grad"\] = ).*': r"\1False"}

# %% mistake="factories_lose_the_flag"
{r"made\.requires_grad": "False"}

# %% mistake="backward_is_refused"
{r"attempt\(loss\.backward\)": '"RuntimeError"'}

# %% mistake="no_grad_wins"
{r"loss\.requires_grad": "False", r'("triple\(w\) in no_grad"\] = ).*': r"\1False"}

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

# %% mistake="clones_stay_marked"
{r'("(w \* f\.clone\(\)|g\.clone\(\) \* w)"\] = ).*': r'\1"RuntimeError"'}
