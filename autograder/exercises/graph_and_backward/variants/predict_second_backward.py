# %%
AT = [2.0, 4.0, 5.0]
WEIGHT = [3.0, 7.0]


# %% variant="subtracted_and_three_passes"
def second_backward():
    seen = {}

    x, w = torch.tensor(AT, requires_grad=True), torch.tensor(WEIGHT, requires_grad=True)
    y = x + x + w
    y.backward()
    seen["x + x + w: second"] = outcome(y.backward)
    seen["x + x + w: x.grad"] = x.grad.item()

    x, w = torch.tensor(AT, requires_grad=True), torch.tensor(WEIGHT, requires_grad=True)
    y = x * x - w
    y.backward()
    seen["x * x - w: second"] = outcome(y.backward)
    seen["x * x - w: x.grad"] = x.grad.item()
    seen["x * x - w: w.grad"] = w.grad.item()

    x = torch.tensor(AT, requires_grad=True)
    y = x * x
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    seen["retained: x.grad"] = x.grad.item()
    return seen


# %% variant="two_roots_with_a_common_part"
def second_backward():
    seen = {}

    x, w = torch.tensor(AT, requires_grad=True), torch.tensor(WEIGHT, requires_grad=True)
    h = x + w
    first, second = h + 1, h + 2
    first.backward()
    seen["common x + w: second"] = outcome(second.backward)
    seen["common x + w: x.grad"] = x.grad.item()

    x, w = torch.tensor(AT, requires_grad=True), torch.tensor(WEIGHT, requires_grad=True)
    h = x * x
    first, second = h + 1, h + w
    first.backward()
    seen["common x * x: second"] = outcome(second.backward)
    seen["common x * x: x.grad"] = x.grad.item()
    seen["common x * x: w.grad"] = w.grad.item()

    x = torch.tensor(AT, requires_grad=True)
    h = x * x
    h.backward(retain_graph=True)
    (h + h).backward()
    seen["retained: x.grad"] = x.grad.item()
    return seen


# %% variant="retained_or_computed_anew"
def second_backward():
    seen = {}

    x, w = torch.tensor(AT, requires_grad=True), torch.tensor(WEIGHT, requires_grad=True)
    y = x * x + w
    y.backward(retain_graph=True)
    seen["retained: second"] = outcome(y.backward)
    seen["retained: x.grad"] = x.grad.item()

    x, w = torch.tensor(AT, requires_grad=True), torch.tensor(WEIGHT, requires_grad=True)
    y = x * x + w
    y.backward()
    y = x * x + w
    seen["computed anew: second"] = outcome(y.backward)
    seen["computed anew: x.grad"] = x.grad.item()

    x, w = torch.tensor(AT, requires_grad=True), torch.tensor(WEIGHT, requires_grad=True)
    y = w + x * x
    y.backward()
    seen["w + x * x: second"] = outcome(y.backward)
    seen["w + x * x: w.grad"] = w.grad.item()
    return seen


# %% variant="cleared_between"
def second_backward():
    seen = {}

    x, w = torch.tensor(AT, requires_grad=True), torch.tensor(WEIGHT, requires_grad=True)
    y = x + w
    y.backward()
    x.grad = None
    seen["x + w, cleared between: second"] = outcome(y.backward)
    seen["x + w, cleared between: x.grad"] = x.grad.item()

    x, w = torch.tensor(AT, requires_grad=True), torch.tensor(WEIGHT, requires_grad=True)
    y = x * x * w + w  # two edges lead to w
    y.backward()
    seen["x * x * w + w: second"] = outcome(y.backward)
    seen["x * x * w + w: x.grad"] = x.grad.item()
    seen["x * x * w + w: w.grad"] = w.grad.item()

    x = torch.tensor(AT, requires_grad=True)
    y = x * x
    y.backward(retain_graph=True)
    x.grad = None
    y.backward()
    seen["retained, cleared between: x.grad"] = x.grad.item()
    return seen


# %% mistake="always_raises"
{r'(x \+ [^*\n]*second"\] = outcome\(.*\))': r'\1 or "RuntimeError"'}

# %% mistake="second_pass_adds_nothing"
{r'(x \+ w: x.grad"\] = .*)': r"\1 / 2"}

# %% mistake="each_pass_replaces"
{
    r"^    y\.backward\(retain_graph=True\)\n(?!    x\.grad = None)": "",
    r"^    h\.backward\(retain_graph=True\)\n": "",
    r'((x \+ w|anew): x\.grad"\] = .*)': r"\1 / 2",
}

# %% mistake="never_raises"
{r'(x \* x.*second"\] = outcome\(.*\))': r"\1 and None"}

# %% mistake="an_error_changes_nothing"
{r'(common x \* x: w\.grad"\] = ).*': r"\1None", r'("(w \+ x \* x|x \* x - w): w\.grad"\] = .*)': r"\1 / 2"}

# %% mistake="an_error_doubles_everything"
{r'(x \* x( [-*] w.*)?: x.grad"\] = .*)': r"\1 * 2"}

# %% mistake="retaining_does_not_add"
{r"^    [yh]\.backward\(retain_graph=True\)\n(?!    x\.grad = None)": ""}

# %% mistake="forgets_the_factor_two"
{r"^    ([yh]) = x \* x(?! \+)": r"    \1 = x * x.detach()"}
