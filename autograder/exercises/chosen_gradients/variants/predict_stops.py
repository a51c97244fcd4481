# %%
START = [2.0, 3.0, 4.0]
REWARD = [1.0, 5.0]


# %% variant="the_value_is_faster"
def stop_table():
    w = torch.tensor(START, requires_grad=True)
    value, target = 1 * w, REWARD + 0.5 * (4 * w)
    with torch.no_grad():
        unrecorded = REWARD + 0.5 * (4 * w)
    losses = {
        "nothing stopped": (target - value) ** 2,
        "target.detach()": (target.detach() - value) ** 2,
        "target.clone()": (target.clone() - value) ** 2,
        "target under no_grad": (unrecorded - value) ** 2,
        "value.detach()": (target - value.detach()) ** 2,
        "(target - value).detach()": (target - value).detach() ** 2,
    }
    return {name: gradient_of(loss, w) for name, loss in losses.items()}


# %% variant="under_no_grad_later"
def stop_table():
    w = torch.tensor(START, requires_grad=True)
    value, target = 1 * w, REWARD + 2 * w
    with torch.no_grad():
        late = target * 1
    losses = {
        "nothing stopped": (target - value) ** 2,
        "target.clone()": (target.clone() - value) ** 2,
        "target * 1 under no_grad": (late - value) ** 2,
        "target.item()": (target.item() - value) ** 2,
        "value.detach()": (target - value.detach()) ** 2,
        "(target - value).detach()": (target - value).detach() ** 2,
    }
    return {name: gradient_of(loss, w) for name, loss in losses.items()}


# %% variant="through_a_frozen_layer"
def stop_table():
    w, frozen = torch.tensor(START, requires_grad=True), torch.tensor(3.0)
    value, target = 1 * w, REWARD + frozen * w
    losses = {
        "nothing stopped": (target - value) ** 2,
        "target.detach()": (target.detach() - value) ** 2,
        "target.clone()": (target.clone() - value) ** 2,
        "target.clone().detach()": (target.clone().detach() - value) ** 2,
        "value.clone()": (target - value.clone()) ** 2,
        "value.detach()": (target - value.detach()) ** 2,
    }
    return {name: gradient_of(loss, w) for name, loss in losses.items()}


# %% variant="both_ways"
def stop_table():
    w = torch.tensor(START, requires_grad=True)
    value, target = 1 * w, REWARD + 3 * w
    with torch.no_grad():
        unrecorded = REWARD + 3 * w
    losses = {
        "nothing stopped": (target - value) ** 2,
        "target.detach()": (target.detach() - value) ** 2,
        "value.detach()": (target - value.detach()) ** 2,
        "one after the other": (target.detach() - value) ** 2 + (target - value.detach()) ** 2,
        "target.item()": (target.item() - value) ** 2,
        "target under no_grad": (unrecorded - value) ** 2,
    }
    return {name: gradient_of(loss, w) for name, loss in losses.items()}


# %% mistake="clone_stops"
{r'("target\.clone\(\)": .*)\.clone\(\)': r"\1.detach()"}

# %% mistake="detach_stops_everything"
{r'("target\.detach\(\)": ).*': r"\1torch.zeros(()),"}

# %% mistake="detach_changes_nothing"
{r'("target\.detach\(\)": .*)\.detach\(\)': r"\1"}

# %% mistake="item_breaks_the_loss"
{r'("target\.item\(\)": ).*': r"\1torch.zeros(()),"}

# %% mistake="either_side_will_do"
{r'("value\.detach\(\)": \()target - value\.detach\(\)': r"\1target.detach() - value"}

# %% mistake="no_grad_changes_nothing"
{r"with torch\.no_grad\(\):": "with torch.enable_grad():"}

# %% mistake="no_grad_ends_the_loss"
{r'("[^"]* under no_grad": ).*': r"\1torch.zeros(()),"}

# %% mistake="targets_are_constants"
{r'("nothing stopped": \()target': r"\1target.detach()"}

# %% mistake="detached_difference_is_zero"
{r'("\(target - value\)\.detach\(\)": ).*': r"\1(value - value.detach()) ** 2,"}

# %% mistake="slope_of_the_value"
{r'("value\.detach\(\)": ).*': r"\1(value + (target - 2 * value).detach()) ** 2,"}

# %% mistake="value_detached_ends_the_loss"
{r'("value\.detach\(\)": ).*': r"\1torch.zeros(()),"}

# %% mistake="two_is_lost"
{r'("nothing stopped": )': r"\g<1>0.5 * "}
