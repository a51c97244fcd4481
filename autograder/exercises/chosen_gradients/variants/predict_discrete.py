# %%
AT = [0.6, 0.7, 0.8]
FACTOR = [2.0, 4.0]


# %% variant="ceil_and_smaller"
def slope_table():
    return {
        "x.ceil()": slope(lambda x: x.ceil(), AT),
        "x.ceil() - x": slope(lambda x: x.ceil() - x, AT),
        "(x < 0.9).float()": slope(lambda x: (x < 0.9).float(), AT),
        "x * (x < 0.9)": slope(lambda x: x * (x < 0.9), AT),
        "torch.bernoulli(x)": slope(lambda x: torch.bernoulli(x), AT),
        "x + (x.ceil() - x).detach()": slope(lambda x: x + (x.ceil() - x).detach(), AT),
        "x.detach() + x.ceil() - x": slope(lambda x: x.detach() + x.ceil() - x, AT),
    }


# %% variant="the_sign"
def slope_table():
    return {
        "x.sign()": slope(lambda x: x.sign(), AT),
        "x - x.sign()": slope(lambda x: x - x.sign(), AT),
        "x.gt(0.5).float()": slope(lambda x: x.gt(0.5).float(), AT),
        "FACTOR * x * (x > 0.5)": slope(lambda x: FACTOR * x * (x > 0.5), AT),
        "FACTOR * torch.bernoulli(x)": slope(lambda x: FACTOR * torch.bernoulli(x), AT),
        "FACTOR * (x + (x.sign() - x).detach())": slope(lambda x: FACTOR * (x + (x.sign() - x).detach()), AT),
        "FACTOR * (x.detach() + x.sign() - x)": slope(lambda x: FACTOR * (x.detach() + x.sign() - x), AT),
    }


# %% variant="remainders"
def slope_table():
    return {
        "FACTOR * x.trunc()": slope(lambda x: FACTOR * x.trunc(), AT),
        "x % 1": slope(lambda x: x % 1, AT),
        "(x >= 0.5) * FACTOR": slope(lambda x: (x >= 0.5) * FACTOR, AT),
        "torch.where(x >= 0.5, FACTOR * x, x)": slope(lambda x: torch.where(x >= 0.5, FACTOR * x, x), AT),
        "torch.bernoulli(x) + x": slope(lambda x: torch.bernoulli(x) + x, AT),
        "x.trunc() + x - x.detach()": slope(lambda x: x.trunc() + x - x.detach(), AT),
    }


# %% variant="squares"
def slope_table():
    return {
        "x.round() ** 2": slope(lambda x: x.round() ** 2, AT),
        "x.round() * x": slope(lambda x: x.round() * x, AT),
        "(x == 1).float() ** 2": slope(lambda x: (x == 1).float() ** 2, AT),
        "x * (x > 0.5).float() ** 2": slope(lambda x: x * (x > 0.5).float() ** 2, AT),
        "torch.bernoulli(x) ** 2": slope(lambda x: torch.bernoulli(x) ** 2, AT),
        "FACTOR * x + (x.round() - x).detach()": slope(lambda x: FACTOR * x + (x.round() - x).detach(), AT),
        "x.detach() + x.round() - FACTOR * x": slope(lambda x: x.detach() + x.round() - FACTOR * x, AT),
    }


# %% mistake="round_has_no_graph"
{r'("(?:[^" ]+ \* )?x\.(?:round|ceil|sign|trunc)\(\)(?: \*\* 2)?": )slope.*': r'\1"no graph",'}

# %% mistake="round_follows_x"
{r'("x\.(?:round|ceil|sign)\(\)": )slope.*': r"\g<1>1.0,"}

# %% mistake="comparison_has_zero"
{r'("(?:\(x [<>=]+ [\d.]+\)|x\.gt\(0\.5\))[^"]*": )slope.*': r"\g<1>0.0,"}

# %% mistake="mask_stops_everything"
{r'("(?:[^"(]* \* )?x \* \(x [^"]*": )slope.*': r'\1"no graph",'}

# %% mistake="mask_is_differentiated"
{r'("(?:[^"(]* \* )?x \* \(x [^"]*": )slope.*': r"\g<1>0.0,"}

# %% mistake="floor_takes_the_slope"
{r'("(?:x\.ceil\(\) - x|x - x\.sign\(\)|x % 1)": )slope.*': r"\g<1>0.0,"}

# %% mistake="sample_has_no_graph"
{r'("(?:[^" ]+ \* )?torch\.bernoulli\(x\)(?: \*\* 2)?": )slope.*': r'\1"no graph",'}

# %% mistake="sample_raises"
{r'("(?:[^" ]+ \* )?torch\.bernoulli\(x\)(?: \*\* 2)?": )slope.*': r'\1"RuntimeError",'}

# %% mistake="sample_has_the_slope_of_its_mean"
{r'("(?:[^" ]+ \* )?torch\.bernoulli\(x\)": )(slope.*),': r"\1\2 + 1.0,"}

# %% mistake="detach_ends_the_sum"
{r'("[^"]*\.detach\(\)\)?": )slope.*': r'\1"no graph",'}

# %% mistake="value_decides"
{r'("[^"]*\.detach\(\)\)?": )slope.*': r"\g<1>0.0,"}

# %% mistake="detaches_the_wrong_one"
{r'("[^"]*x\.detach\(\) \+ [^"]*": )slope': r"\1-slope"}

# %% mistake="cancels_in_the_gradient"
{r'("[^"]*x\.detach\(\) \+ [^"]*\(\) - x\)?": )slope.*': r"\g<1>0.0,"}

# %% mistake="comparison_raises"
{r'("(?:\(x [<>=]+ [\d.]+\)|x\.gt\(0\.5\))[^"]*": )slope.*': r'\1"RuntimeError",'}

# %% mistake="round_raises"
{r'("(?:[^" ]+ \* )?x\.(?:round|ceil|sign|trunc)\(\)(?: \*\* 2)?": )slope.*': r'\1"RuntimeError",'}
