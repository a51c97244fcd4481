# %%
B = [3.0, 6.0, 9.0]
TARGET = [4.0, 9.0, 16.0]


# %% variant="swings"
def solver_table():
    w = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)

    def step(z):
        return B - w * z

    with torch.no_grad():
        z = iterate(step, torch.zeros_like(w), 100)
    return {
        "z": z.item(),
        "all in no_grad": derivative(z, w),
        "1 more step": derivative(step(z), w),
        "2 more steps": derivative(iterate(step, z, 2), w),
        "100 more steps": derivative(iterate(step, z, 100), w),
        "1 step from 0": derivative(step(0 * z), w),
        "z + w": derivative(z + w, w),
    }


# %% variant="square_root"
def solver_table():
    w = torch.tensor(TARGET, dtype=torch.float64, requires_grad=True)

    def step(z):
        return (z + w / z) / 2

    with torch.no_grad():
        z = iterate(step, torch.ones_like(w), 100)
    return {
        "z": z.item(),
        "all in no_grad": derivative(z, w),
        "1 more step": derivative(iterate(step, z, 1), w),
        "2 more steps": derivative(iterate(step, z, 2), w),
        "50 more steps": derivative(iterate(step, z, 50), w),
        "1 step from 1": derivative(step(torch.ones_like(w)), w),
        "z + w": derivative(z + w, w),
    }


# %% variant="the_constant"
def solver_table():
    w = torch.tensor(B, dtype=torch.float64, requires_grad=True)

    def step(z):
        return z / 2 + w

    with torch.no_grad():
        z = iterate(step, torch.zeros_like(w), 100)
    return {
        "z": z.item(),
        "all in no_grad": derivative(z, w),
        "1 more step": derivative(step(z), w),
        "2 more steps": derivative(iterate(step, z, 2), w),
        "100 more steps": derivative(iterate(step, z, 100), w),
        "1 step from 0": derivative(step(z - z), w),
        "z + w": derivative(z + w, w),
    }


# %% variant="in_both_places"
def solver_table():
    w = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)

    def step(z):
        return w * z + w * B

    with torch.no_grad():
        z = iterate(step, torch.zeros_like(w), 100)
    return {
        "z": z.item(),
        "all in no_grad": derivative(z, w),
        "1 more step": derivative(step(z), w),
        "2 more steps": derivative(iterate(step, z, 2), w),
        "100 more steps": derivative(iterate(step, z, 100), w),
        "1 step from 0": derivative(step(0 * z), w),
        "z + w": derivative(z + w, w),
    }


# %% variant="two_in_one"
def solver_table():
    w = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)

    def step(z):
        return w * (w * z + B) + B

    with torch.no_grad():
        z = iterate(step, torch.zeros_like(w), 100)
    return {
        "z": z.item(),
        "all in no_grad": derivative(z, w),
        "1 more step": derivative(step(z), w),
        "2 more steps": derivative(iterate(step, z, 2), w),
        "100 more steps": derivative(iterate(step, z, 100), w),
        "1 step from 0": derivative(step(0 * z), w),
        "z + w": derivative(z + w, w),
    }


# %% mistake="one_step_is_enough"
{r'("1 more step": derivative)\(step\(z\), w\)': r"\1(iterate(step, z, 100), w)"}

# %% mistake="no_grad_gives_zero"
{r'("all in no_grad": )derivative\(z, w\)': r"\g<1>0.0"}

# %% mistake="steps_add_up"
{r'("2 more steps": )derivative\(.*\)': r"\g<1>2 * derivative(step(z), w)"}

# %% mistake="only_the_last_step"
{r'("100 more steps": )derivative\(.*\)': r"\1derivative(step(z), w)"}

# %% mistake="grows_without_end"
{r'("\d\d+ more steps": )derivative\(iterate\(step, z, (\d+)\), w\)': r"\1\2 * derivative(step(z), w)"}

# %% mistake="from_anywhere"
{r"step\(0 \* z\)": "step(z)", r"step\(torch\.ones_like\(w\)\)": "step(z)"}

# %% mistake="solution_still_depends"
{r'("z \+ w": )derivative\(.*\)': r"\g<1>1 + derivative(iterate(step, z, 100), w)"}

# %% mistake="no_graph_spreads"
{r'("z \+ w": )derivative\(.*\)': r'\1"no graph"'}

# %% mistake="adds_nothing"
{r'("2 more steps": )derivative\(.*\)': r"\1derivative(iterate(step, z, 2), w) - derivative(step(z), w)"}
