# %%
PAIR = [[2.0, 1.0], [1.0, -1.0], [-1.0, 3.0]]
OTHER = [[10.0, 1.0], [100.0, 1.0]]
TRIPLE = [[5.0, 0.0, 1.0], [0.0, 3.0, 4.0]]
NUMBER = [3.0, 5.0]


# %% variant="other_weights"
def which_v():
    x = torch.tensor([1.0, 2.0, 3.0])
    return {
        "y, v = PAIR": left_in_grad(y, x, torch.tensor(PAIR)),
        "y, v = [0, 1]": left_in_grad(y, x, torch.tensor([0.0, 1.0])),
        "A x, v = OTHER": left_in_grad(lambda x: A @ x, torch.ones(2), torch.tensor(OTHER)),
        "A x, no v": left_in_grad(lambda x: A @ x, torch.ones(2)),
        "shape (), no v": left_in_grad(lambda x: one(x)[0], x),
        "shape (1,), v = ones(1)": left_in_grad(one, x, torch.ones(1)),
        "float32 y, float64 v = ones(2)": left_in_grad(y, x, torch.ones(2).double()),
    }


# %% variant="more_outputs_than_inputs"
def which_v():
    def z(x):  # (2,) -> (3,)
        return W.T @ x

    def single(x):  # (2,) -> (1, 1)
        return one(x).reshape(1, 1)

    x = torch.tensor([1.0, 2.0])
    return {
        "z, v = ones(2)": left_in_grad(z, x, torch.ones(2)),
        "z, v = ones(3)": left_in_grad(z, x, torch.ones(3)),
        "z, v = TRIPLE": left_in_grad(z, x, torch.tensor(TRIPLE)),
        "z, no v": left_in_grad(z, x),
        "A.T x, v = OTHER": left_in_grad(lambda x: A.T @ x, x, torch.tensor(OTHER)),
        "shape (1, 1), no v": left_in_grad(single, x),
        "shape (1, 1), v = tensor(1.)": left_in_grad(single, x, torch.tensor(1.0)),
    }


# %% variant="the_output_is_a_matrix"
def which_v():
    def rows(x):  # (3,) -> (2, 3)
        return torch.stack([x, 2 * x])

    x = torch.tensor([1.0, 2.0, 3.0])
    return {
        "rows, v = ones(2, 3)": left_in_grad(rows, x, torch.ones(2, 3)),
        "rows, v = ones(3)": left_in_grad(rows, x, torch.ones(3)),
        "rows, v = W": left_in_grad(rows, x, W),
        "rows, no v": left_in_grad(rows, x),
        "rows[1], v = TRIPLE": left_in_grad(lambda x: rows(x)[1], x, torch.tensor(TRIPLE)),
        "shape (1,), v = tensor([NUMBER])": left_in_grad(one, x, torch.tensor([NUMBER])),
        "shape (1,), v = tensor(NUMBER)": left_in_grad(one, x, torch.tensor(NUMBER)),
    }


# %% variant="squares_first"
def which_v():
    x = torch.tensor([1.0, 2.0, 3.0])
    return {
        "y(x * x), v = ones(2)": left_in_grad(lambda x: y(x * x), x, torch.ones(2)),
        "y(x * x), v = ones(3)": left_in_grad(lambda x: y(x * x), x, torch.ones(3)),
        "y(x * x), v = PAIR": left_in_grad(lambda x: y(x * x), x, torch.tensor(PAIR)),
        "x * x, v = TRIPLE": left_in_grad(lambda x: x * x, x, torch.tensor(TRIPLE)),
        "one(x)[0], v = ones(1)": left_in_grad(lambda x: one(x)[0], x, torch.ones(1)),
        "one(x)[0], v = tensor(NUMBER)": left_in_grad(lambda x: one(x)[0], x, torch.tensor(NUMBER)),
        "one(x * x), no v": left_in_grad(lambda x: one(x * x), x),
    }


# %% mistake="v_like_the_input"
{r'("(y, v = (PAIR|\[0, 1\])|z, v = TRIPLE|rows, v = W|y\(x \* x\), v = (ones\(2\)|PAIR))": ).*': r'\1"RuntimeError",'}

# %% mistake="ones_like_x"
{
    r'("y\(x \* x\), v = ones\(2\)": ).*': r'\1"RuntimeError",',
    r'("y\(x \* x\), v = ones\(3\)": .*, )torch\.ones\(3\)': r"\1torch.ones(2)",
}

# %% mistake="ones_of_any_length"
{r'("y\(x \* x\), v = ones\(3\)": .*, )torch\.ones\(3\)': r"\1torch.ones(2)"}

# %% mistake="from_the_right"
{r"A @ x, torch\.ones\(2\), torch": "A.T @ x, torch.ones(2), torch"}

# %% mistake="ones_by_default"
{
    r'("A x, no v": .*torch\.ones\(2\))': r"\1, torch.ones(2)",
    r'("z, no v": left_in_grad\(z, x)': r"\1, torch.ones(3)",
    r'("rows, no v": left_in_grad\(rows, x)': r"\1, torch.ones(2, 3)",
    r'("x \* x, no v": left_in_grad\(lambda x: x \* x, x)': r"\1, torch.ones(3)",
}

# %% mistake="none_for_an_error"
{r'("(A x|z|rows|x \* x), no v": ).*': r"\1None,"}

# %% mistake="a_column"
{r'("y, v = \[0, 1\]": ).*': r"\1W[:, 1].tolist(),"}

# %% mistake="sums_of_rows"
{r'("float32 y, float64 v = ones\(2\)": ).*': r"\1W.sum(dim=1).tolist(),"}

# %% mistake="values_of_y"
{
    r'("float32 y, float64 v = ones\(2\)": ).*': r"\1y(x).tolist(),",
    r'("y\(x \* x\), v = ones\(2\)": ).*': r"\1y(x * x).tolist(),",
    r'("z, v = ones\(3\)": ).*': r"\1z(x).tolist(),",
}

# %% mistake="shape_one_needs_v"
{r'("(shape \(1, 1\)|one\(x \* x\)), no v": ).*': r'\1"RuntimeError",'}

# %% mistake="one_fits_all"
{r'("shape \(1, 1\), v = tensor\(1\.\)": .*), torch.*,$': r"\1),"}

# %% mistake="gradient_of_a_plain_sum"
{
    r"lambda x: one\(x\)\[0\], x\)": "lambda x: x.sum(), x)",
    r"left_in_grad\(one, x, torch\.tensor\(\[NUMBER\]\)\)": "left_in_grad(torch.sum, x, torch.tensor(NUMBER))",
    r"lambda x: one\(x \* x\)": "lambda x: (x * x).sum()",
    r"left_in_grad\(single, x\)": "left_in_grad(torch.sum, x)",
}

# %% mistake="shape_of_the_output"
{r'("shape \(1,\), v = (ones\(1\)|tensor\(\[NUMBER\]\))": .*\)),$': r"\1[:1],"}

# %% mistake="only_for_numbers"
{r'("(y, v = (PAIR|\[0, 1\])|A(\.T)? x, v.*|z, v = (ones\(3\)|TRIPLE)|rows.*, v = (?!ones\(3\)).*|y\(x \* x\), v = (ones\(2\)|PAIR)|x \* x, v = .*)": ).*': r'\1"RuntimeError",'}
