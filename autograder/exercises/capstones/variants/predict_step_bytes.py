# %%
import torch
from torch.nn.functional import cross_entropy

from autograder.measure import live_bytes

ROWS = [16, 32, 64]
WIDTH = [8, 16]
CLASSES = [128, 256]


# %% variant="frozen_block"
def step_bytes(rows=ROWS, width=WIDTH, classes=CLASSES):
    seen, ids = {}, torch.arange(rows)
    table = torch.ones(rows, width, dtype=torch.float64)
    embedding = torch.nn.Embedding.from_pretrained(table)
    block = torch.nn.Linear(width, width, bias=False, dtype=torch.float64)
    block.requires_grad_(False)
    head = torch.nn.Linear(width, classes, bias=False, dtype=torch.float64)
    with live_bytes() as live:
        h = embedding(ids)
        seen["after the embedding"] = live.now
        h = torch.tanh(block(h))
        seen["after the block"] = live.now
        loss = cross_entropy(head(h), ids)
        seen["after the loss"] = live.now
        loss.backward()
        seen["at the peak"] = live.peak
        seen["after backward"] = live.now
    return seen


# %% variant="frozen_head"
def step_bytes(rows=ROWS, width=WIDTH, classes=CLASSES):
    seen, ids = {}, torch.arange(rows)
    table = torch.ones(rows, width, dtype=torch.float64)
    embedding = torch.nn.Embedding.from_pretrained(table)
    block = torch.nn.Linear(width, width, bias=False, dtype=torch.float64)
    head = torch.nn.Linear(width, classes, bias=False, dtype=torch.float64)
    head.requires_grad_(False)
    with live_bytes() as live:
        h = embedding(ids)
        seen["after the embedding"] = live.now
        h = torch.tanh(block(h))
        seen["after the block"] = live.now
        loss = cross_entropy(head(h), ids)
        seen["after the loss"] = live.now
        loss.backward()
        seen["at the peak"] = live.peak
        seen["after backward"] = live.now
    return seen


# %% variant="two_blocks"
def step_bytes(rows=ROWS, width=WIDTH, classes=CLASSES):
    seen, ids = {}, torch.arange(rows)
    table = torch.ones(rows, width, dtype=torch.float64)
    embedding = torch.nn.Embedding.from_pretrained(table)
    block = torch.nn.Linear(width, width, bias=False, dtype=torch.float64)
    second = torch.nn.Linear(width, width, bias=False, dtype=torch.float64)
    head = torch.nn.Linear(width, classes, bias=False, dtype=torch.float64)
    with live_bytes() as live:
        h = embedding(ids)
        seen["after the embedding"] = live.now
        h = torch.tanh(second(torch.tanh(block(h))))
        seen["after the block"] = live.now
        loss = cross_entropy(head(h), ids)
        seen["after the loss"] = live.now
        loss.backward()
        seen["at the peak"] = live.peak
        seen["after backward"] = live.now
    return seen


# %% variant="sum_of_squares"
def step_bytes(rows=ROWS, width=WIDTH, classes=CLASSES):
    seen, ids = {}, torch.arange(rows)
    table = torch.ones(rows, width, dtype=torch.float64)
    embedding = torch.nn.Embedding.from_pretrained(table)
    block = torch.nn.Linear(width, width, bias=False, dtype=torch.float64)
    head = torch.nn.Linear(width, classes, bias=False, dtype=torch.float64)
    with live_bytes() as live:
        h = embedding(ids)
        seen["after the embedding"] = live.now
        h = torch.tanh(block(h))
        seen["after the block"] = live.now
        loss = head(h).square().sum()
        seen["after the loss"] = live.now
        loss.backward()
        seen["at the peak"] = live.peak
        seen["after backward"] = live.now
    return seen


# %% mistake="counts_the_table"
{r'("after the embedding"\] = )live\.now': r"\1live.now + table.nbytes"}

# %% mistake="embedding_costs_nothing"
{r'("after the embedding"\] = )live\.now': r"\g<1>0"}

# %% mistake="input_forgotten"
{r'(?s)(dtype=torch\.float64\)\n    (?:head|second) = .*"after the block"\] = )live\.now': r"\1live.now - h.nbytes"}

# %% mistake="keeps_both_results"
{r'("after the block"\] = )live\.now': r"\1live.now + h.nbytes"}

# %% mistake="logits_kept"
{r'(?s)(cross_entropy.*"after the loss"\] = )live\.now': r"\1live.now + rows * classes * 8"}

# %% mistake="loss_keeps_nothing"
{r'("after the loss"\] = )live\.now': r'\1seen["after the block"]'}

# %% mistake="peak_of_forward"
{
    r'loss\.backward\(\)(\n +seen\["at the peak"\] = )live\.peak': r"forward = live.peak\n        loss.backward()\1forward"
}

# %% mistake="peak_is_what_is_kept"
{r'("at the peak"\] = )live\.peak': r'\1seen["after the loss"]'}

# %% mistake="all_freed"
{r'("after backward"\] = )live\.now': r"\g<1>0"}

# %% mistake="only_gradients"
{r'("after backward"\] = )live\.now': r"\1live.now - h.nbytes"}

# %% mistake="graph_stays"
{r'("after backward"\] = )live\.now': r'\1live.now - h.nbytes + seen["after the loss"]'}

# %% mistake="four_bytes"
{r"return seen": r"return {name: count // 2 for name, count in seen.items()}"}

# %% mistake="numbers_not_bytes"
{r"return seen": r"return {name: count // 8 for name, count in seen.items()}"}
