# %%
TWICE = [2, 5, 7]
ONCE = [0, 3]


# %% variant="other_losses"
def kinds_table():
    table = {}

    def parts(loss):
        z = torch.tensor(3 + 4j, requires_grad=True)
        loss(z).backward()
        return (z.grad.real.item(), z.grad.imag.item())

    table["Im z²"] = parts(lambda z: (z**2).imag)
    table["Re z² + |z|²"] = parts(lambda z: (z**2).real + z.abs() ** 2)

    def embedding():
        words = torch.nn.Embedding(10, 3, sparse=True)
        (words(torch.tensor([TWICE, ONCE, 4, TWICE])) ** 2).sum().backward()
        return words.weight

    weight = embedding()
    table["stored rows"] = weight.grad._nnz()
    table["after coalesce()"] = weight.grad.coalesce()._nnz()
    words = torch.nn.Embedding(10, 3, sparse=True)
    ((words.weight**2).sum() + (words(torch.tensor([TWICE, 4])) ** 2).sum()).backward()
    table["is_sparse with a dense term"] = words.weight.grad.is_sparse

    optimizers = {
        "Adam": lambda w: torch.optim.Adam([w]),
        "SGD, momentum and weight_decay": lambda w: torch.optim.SGD([w], lr=0.1, momentum=0.9, weight_decay=0.1),
    }
    for name, make in optimizers.items():
        table[name] = attempt(make(embedding()).step)
    return table


# %% variant="optimizers_on_the_sum"
def kinds_table():
    table = {}

    def parts(loss):
        z = torch.tensor(3 + 4j, requires_grad=True)
        loss(z).backward()
        return (z.grad.real.item(), z.grad.imag.item())

    table["Re z"] = parts(lambda z: z.real)
    table["(Im z)²"] = parts(lambda z: z.imag**2)

    words = torch.nn.Embedding(6, 3, sparse=True)
    (words(torch.tensor([[ONCE, 4], [4, 4]])) ** 2).sum().backward()
    table["stored rows"] = words.weight.grad._nnz()
    table["after coalesce()"] = words.weight.grad.coalesce()._nnz()

    def embedding():
        words = torch.nn.Embedding(6, 3, sparse=True)
        ((words(torch.tensor([1, 1, 4])) ** 2).sum() + (words.weight**2).sum()).backward()
        return words.weight

    table["is_sparse with a dense term"] = embedding().grad.is_sparse

    optimizers = {
        "SGD, weight_decay, with a dense term": lambda w: torch.optim.SGD([w], lr=0.1, weight_decay=0.1),
        "Adam, with a dense term": lambda w: torch.optim.Adam([w]),
    }
    for name, make in optimizers.items():
        table[name] = attempt(make(embedding()).step)
    return table


# %% variant="not_sparse"
def kinds_table():
    table = {}

    def parts(loss):
        z = torch.tensor(3 + 4j, requires_grad=True)
        loss(z).backward()
        return (z.grad.real.item(), z.grad.imag.item())

    table["Re z · Im z"] = parts(lambda z: z.real * z.imag)
    table["Re (2 + 5i) z"] = parts(lambda z: ((2 + 5j) * z).real)

    def embedding(sparse):
        words = torch.nn.Embedding(8, 3, sparse=sparse)
        (words(torch.tensor([1, 1, 4, 4, 1])) ** 2).sum().backward()
        return words.weight

    weight = embedding(sparse=True)
    table["stored rows"] = weight.grad._nnz()
    table["after coalesce()"] = weight.grad.coalesce()._nnz()

    table["Adam"] = attempt(torch.optim.Adam([embedding(sparse=True)]).step)
    table["Adam, sparse=False"] = attempt(torch.optim.Adam([embedding(sparse=False)]).step)
    decay = torch.optim.SGD([embedding(sparse=True)], lr=0.1, weight_decay=0.1)
    table["SGD, weight_decay"] = attempt(decay.step)
    return table


# %% variant="merged_first"
def kinds_table():
    table = {}

    def parts(loss):
        z = torch.tensor(3 + 4j, requires_grad=True)
        loss(z).backward()
        return (z.grad.real.item(), z.grad.imag.item())

    table["Re z² - Im z"] = parts(lambda z: (z**2).real - z.imag)
    table["|z|⁴"] = parts(lambda z: (z.real**2 + z.imag**2) ** 2)

    def embedding():
        words = torch.nn.Embedding(10, 3, sparse=True)
        (words(torch.tensor([4, TWICE, TWICE, TWICE])) ** 2).sum().backward()
        return words.weight

    def merged():
        weight = embedding()
        weight.grad = weight.grad.coalesce()
        return weight

    table["stored rows"] = embedding().grad._nnz()
    table["after coalesce()"] = merged().grad._nnz()
    words = torch.nn.Embedding(10, 3, sparse=True)
    ((words(torch.tensor([TWICE, 4])) ** 2).sum() + (words.weight**2).sum()).backward()
    table["is_sparse with a dense term"] = words.weight.grad.is_sparse

    table["Adam after coalesce()"] = attempt(torch.optim.Adam([merged()]).step)
    decay = torch.optim.SGD([merged()], lr=0.1, weight_decay=0.1)
    table["SGD, weight_decay after coalesce()"] = attempt(decay.step)
    return table


# %% mistake="conjugated"
{r"return \(z\.grad\.real\.item\(\), z": "return (z.grad.real.item(), -z"}

# %% mistake="rows_are_merged"
{r'(table\["stored rows"\] = .*)\.grad\._nnz\(\)': r"\1.grad.coalesce()._nnz()"}

# %% mistake="every_row_is_stored"
{
    r'(table\["(stored rows|after coalesce\(\))"\] = )weight\..*': r"\1len(weight)",
    r'(table\["(stored rows|after coalesce\(\))"\] = )words\..*': r"\1len(words.weight)",
    r'(table\["(stored rows|after coalesce\(\))"\] = )(embedding|merged).*': r"\1len(merged())",
}

# %% mistake="adam_takes_it"
{
    r'(table\["Adam( after coalesce\(\))?"\] = ).*': r'\1"accepted"',
    r'"Adam": lambda w: .*': r'"Adam": lambda w: torch.optim.SGD([w], lr=0.1),',
}

# %% mistake="decay_is_harmless"
{
    r'(table\["SGD, weight_decay.*"\] = ).*': r'\1"accepted"',
    r"momentum=0\.9, weight_decay=0\.1": "momentum=0.9",
}

# %% mistake="stays_sparse"
{r'(table\["is_sparse with a dense term"\] = ).*': r"\1True"}

# %% mistake="table_is_stored"
{
    r'(table\["stored rows"\] = )weight\..*': r"\1len(weight)",
    r'(table\["stored rows"\] = )words\..*': r"\1len(words.weight)",
    r'(table\["stored rows"\] = )embedding.*': r"\1len(merged())",
}

# %% mistake="coalesce_changes_nothing"
{
    r'(table\["after coalesce\(\)"\] = .*)\.coalesce\(\)': r"\1",
    r'(table\["after coalesce\(\)"\] = )merged\(\)': r"\1embedding()",
}
