# %%
PLUS = [1, 2, 3]
TIMES = [2, 4, 5]


# %% variant="other_functions"
def in_place_table():
    codes = (
        "y = h ** 2; y.add_(PLUS)",
        "y = h.sqrt(); h.mul_(TIMES)",
        "y = h.exp(); y.mul_(TIMES)",
        "y = h * k; y.mul_(3)",
        "y = h * k; k[0] = 7",
        "y = h * TIMES; y[1].mul_(10)",
        "y = k * 2; y[0] = h[1]",
    )
    return {code: gradient(code) for code in codes}


# %% variant="edits_before_and_after"
def in_place_table():
    codes = (
        "h.add_(PLUS); y = h ** 2",
        "y = h * TIMES; h.zero_()",
        "k.add_(PLUS); y = h * k",
        "y = h + k; k.add_(PLUS)",
        "h[1].mul_(10); y = h * 1",
        "y = h ** 2; h[0].mul_(TIMES)",
        "h[0] = 7; y = h * k",
    )
    return {code: gradient(code) for code in codes}


# %% variant="a_second_name"
def in_place_table():
    codes = (
        "g = h.detach(); y = h * g; g.add_(PLUS)",
        "g = h.detach(); y = h * k; g.add_(PLUS)",
        "g = h.clone(); y = h ** 2; g.add_(PLUS)",
        "g = h.view(2, 1); y = h ** 2; g.add_(PLUS)",
        "g = h.view(2, 1); g.mul_(10); y = h * TIMES",
        "g = h.sqrt(); y = g * k; g.add_(1)",
        "g = h * 1; y = g * k; g.add_(PLUS)",
    )
    return {code: gradient(code) for code in codes}


# %% variant="edits_through_detach"
def in_place_table():
    codes = (
        "y = x ** 2; x.detach().add_(PLUS)",
        "x.detach().add_(PLUS); y = x ** 2",
        "y = h ** 2; h.detach().mul_(TIMES)",
        "y = h * h.detach(); h.add_(PLUS)",
        "y = h.clone(); y.mul_(3)",
        "y = h * k; h[0] = 7",
        "y = h; h[0] = 7",
    )
    return {code: gradient(code) for code in codes}


# %% mistake="squares_need_nothing"
{r'"((g = h\.view\(2, 1\); )?y = h \*\* 2); [hg](\[0\]|\.detach\(\))?\.\w+_\(\w+\)"': r'"\1"'}

# %% mistake="takes_the_new_numbers"
{
    r'"y = h \*\* 2; h\[0\]\.mul_\(TIMES\)"': '"y = 0; h.detach()[0].mul_(TIMES); y = h ** 2"',
    r'"y = h \*\* 2; h\.detach\(\)\.mul_\(TIMES\)"': '"y = 0; h.detach().mul_(TIMES); y = h ** 2"',
    r'"g = h\.view\(2, 1\); y = h \*\* 2; g': '"g = h.view(2, 1).detach(); g.add_(PLUS); y = h ** 2; g = 0 * k; g',
}

# %% mistake="edits_are_not_recorded"
{r"; y\.mul_\(3\)": ""}

# %% mistake="roots_need_their_input"
{r'"(y = h\.sqrt\(\); h\.mul_)': r'"x.add_(1); \1'}

# %% mistake="products_save_both"
{r'"(y = h \* k; h\[0\] = 7)"': r'"x.add_(1); \1"'}

# %% mistake="constants_are_harmless"
{r"; k\[0\] = 7": ""}

# %% mistake="takes_the_new_constant"
{r"y = h \* k; k\[0\] = 7": "k[0] = 7; y = h * k"}

# %% mistake="views_may_not_be_edited"
{r'"(h\[1\]\.mul_|g = h\.view\(2, 1\); g\.mul_)': r'"x.add_(1); \1'}

# %% mistake="the_base_does_not_notice"
{r"h\[1\]\.mul_\(10\); ": ""}

# %% mistake="writing_keeps_the_gradient"
{r'"y = h; h\[0\] = 7"': '"y = h"'}

# %% mistake="writing_gives_the_number"
{r'"y = h; h\[0\] = 7"': '"y = h; h[0].mul_(7)"', r'"h\[0\] = 7; y = h \* k"': '"k[0] = 7; y = h * k"'}
