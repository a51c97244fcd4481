# %%
import torch
from torch.nn import Linear
# %% exercise="freeze" verdict="refused" mistake="reads_numbers_from_names"
def freeze(model, k):
    for name, p in model.named_parameters():
        if int(name.split(".")[0]) < k:
            p.requires_grad = False
            p.grad = None
    return [p for p in model.parameters() if p.requires_grad]
# %% exercise="smooth" verdict="refused" mistake="weighs_by_a_matrix"
def smooth(x, a):
    T = len(x)
    steps = torch.arange(T)
    power = (steps[:, None] - steps[None, :]).clamp(min=0).to(x.dtype)
    weights = torch.tril(a**power) * torch.cat([torch.ones(1, dtype=x.dtype), (1 - a).expand(T - 1)])
    return weights @ x
# %% exercise="freeze" verdict="refused" mistake="knows_linear_only"
def freeze(model, k):
    for layer in model[:k]:
        for module in layer.modules():
            if isinstance(module, Linear):
                module.requires_grad_(False)
                module.zero_grad()
    return [p for p in model.parameters() if p.requires_grad]
# %% exercise="smooth" verdict="refused" mistake="divides_by_powers"
def smooth(x, a):
    t = torch.arange(len(x), dtype=x.dtype)[:, None]
    powers = a**t
    scaled = x * torch.where(t == 0, torch.ones_like(powers), (1 - a).expand_as(powers)) / powers
    return powers * scaled.cumsum(0)
# %% exercise="gan_step" verdict="refused" mistake="trains_D"
def gan_step(G, D, opt_G, opt_D, real, ideas):
    D.train()
    G.train()
    score_real = D(real)
    score_fake = D(G(ideas))
    d_loss = -score_real.log().mean() - (1 - score_fake).log().mean()
    g_loss = (1 - score_fake).log().mean()
    opt_D.zero_grad()
    opt_G.zero_grad()
    d_loss.backward(retain_graph=True, inputs=list(D.parameters()))
    g_loss.backward(inputs=list(G.parameters()))
    opt_D.step()
    opt_G.step()
# %% exercise="gan_step" verdict="refused" mistake="thaws_D"
def gan_step(G, D, opt_G, opt_D, real, ideas):
    fake = G(ideas)
    D.requires_grad_(False)
    opt_G.zero_grad()
    (1 - D(fake)).log().mean().backward()
    D.requires_grad_(True)
    opt_D.zero_grad()
    (-D(real).log().mean() - (1 - D(fake.detach())).log().mean()).backward()
    opt_D.step()
    opt_G.step()
# %% exercise="freeze" verdict="refused" mistake="stops_one_level_down"
def freeze(model, k):
    for layer in model[:k]:
        for module in [layer, *layer.children()]:
            for p in module.parameters(recurse=False):
                p.requires_grad = False
                p.grad = None
    return [p for p in model.parameters() if p.requires_grad]
# %% exercise="head_gradients" verdict="refused" mistake="names_weight_and_bias"
def head_gradients(body, head, x, y):
    with torch.no_grad():
        features = body(x)
    loss = ((head(features) - y) ** 2).mean()
    for p, g in zip((head.weight, head.bias), torch.autograd.grad(loss, (head.weight, head.bias))):
        p.grad = g if p.grad is None else p.grad + g
# %% exercise="shared_edit" verdict="passed"
def shared_edit(x):
    h = x * 2
    other = h[0]
    with torch.no_grad():
        other.add_(0)
    return h, other
# %% exercise="predict_in_place" verdict="refused" mistake="products_save_what_learns"
predict_in_place = {
    "y = h ** 2; h.add_(1)": "RuntimeError",
    "y = h ** 2; y.mul_(3)": [6.0, 24.0],
    "y = h.sqrt(); h.add_(1)": [0.5, 0.25],
    "y = h.sqrt(); y.add_(1)": "RuntimeError",
    "y = h * 3; h.add_(1)": [3.0, 3.0],
    "y = h * k; h.add_(1)": "RuntimeError",
    "y = h * k; k.add_(1)": [3.0, 5.0],
    "y = h.relu_()": [1.0, 1.0],
    "y = h.relu_().relu_()": "RuntimeError",
    "y = h; h[0].mul_(10)": [10.0, 1.0],
    "y = h; h.unbind()[0].mul_(10)": "RuntimeError",
    "x.add_(1); y = x * 2": "RuntimeError",
    "x[0].mul_(10); y = x * 2": "RuntimeError",
    "y = h * 3; y[0] = 7": [0.0, 3.0],
}
# %% exercise="gan_step" verdict="refused" mistake="detaches_the_fakes"
def gan_step(G, D, opt_G, opt_D, real, ideas):
    fake = G(ideas).detach()
    score_real = D(real)
    score_fake = D(fake)
    d_loss = -score_real.log().mean() - (1 - score_fake).log().mean()
    g_loss = (1 - score_fake).log().mean()
    opt_D.zero_grad()
    opt_G.zero_grad()
    d_loss.backward(retain_graph=True, inputs=list(D.parameters()))
    g_loss.backward()
    opt_D.step()
    opt_G.step()
# %% exercise="evaluate" verdict="refused" mistake="remembers_one_mode"
def evaluate(model, batches):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    with torch.no_grad():
        result = torch.cat([model(batch) for batch in batches])
    for m, t in reversed(modes):
        m.train(t)
    return result
# %% exercise="head_gradients" verdict="refused" mistake="evaluates_the_body"
# eval with exact restore
def head_gradients(body, head, x, y):
    was = [(m, m.training) for m in body.modules()]
    body.eval()
    with torch.no_grad():
        f = body(x)
    for m, t in was:
        m.training = t
    ((head(f) - y) ** 2).mean().backward()
# %% exercise="freeze" verdict="refused" mistake="one_too_many"
# children dedups repeated layer (borderline)
def freeze(model, k):
    for layer in list(model.children())[:k]:
        for p in layer.parameters():
            p.requires_grad_(False)
            p.grad = None
    return [p for p in model.parameters() if p.requires_grad]
# %% exercise="smooth" verdict="refused" mistake="detaches_the_new_rows"
# detach x part
def smooth(x, a):
    rows = [x[0]]
    for t in range(1, len(x)):
        rows.append(a * rows[-1] + (1 - a) * x[t].detach())
    return torch.stack(rows)
# %% exercise="shared_edit" verdict="refused"
# rounds one of the two alone
def shared_edit(x):
    h = x * 2
    v = h[0]
    v.floor_()
    return h, v
# %% exercise="shared_edit" verdict="passed"
# constant, and so smooth
def shared_edit(x):
    h = x * 2
    v = h[0]
    h.mul_(0)
    return h, v
# %% exercise="freeze" verdict="passed"
# layers by their position
def freeze(model, k):
    for i in range(k):
        for p in model[i].parameters():
            p.requires_grad_(False)
            p.grad = None
    return [p for p in model.parameters() if p.requires_grad]
# %% exercise="freeze" verdict="refused" mistake="repeats_a_layer"
# collects the rest layer by layer, so the parameters of a layer that stands in two places are in the list twice
def freeze(model, k):
    for layer in model[:k]:
        for parameter in layer.parameters():
            parameter.requires_grad_(False)
            parameter.grad = None
    return [p for layer in model[k:] for p in layer.parameters() if p.requires_grad]
# %% exercise="predict_in_place" verdict="refused" mistake="inputs_may_not_be_edited"
# believes that any edit of an input after it was used breaks the backward pass, whatever was saved.
predict_in_place = {
    "y = h ** 2; h.add_(1)": "RuntimeError",
    "y = h ** 2; y.mul_(3)": [6.0, 24.0],
    "y = h.sqrt(); h.add_(1)": "RuntimeError",
    "y = h.sqrt(); y.add_(1)": "RuntimeError",
    "y = h * 3; h.add_(1)": "RuntimeError",
    "y = h * k; h.add_(1)": "RuntimeError",
    "y = h * k; k.add_(1)": "RuntimeError",
    "y = h.relu_()": [1.0, 1.0],
    "y = h.relu_().relu_()": "RuntimeError",
    "y = h; h[0].mul_(10)": [10.0, 1.0],
    "y = h; h.unbind()[0].mul_(10)": "RuntimeError",
    "x.add_(1); y = x * 2": "RuntimeError",
    "x[0].mul_(10); y = x * 2": "RuntimeError",
    "y = h * 3; y[0] = 7": [0.0, 3.0],
}
# %% exercise="evaluate" verdict="refused" mistake="overwrites_the_list"
def evaluate(model, batches):
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    with torch.no_grad():
        for i, x in enumerate(batches):
            batches[i] = model(x)
    for module, training in modes:
        module.training = training
    return torch.cat(batches)
# %% exercise="evaluate" verdict="refused" mistake="drops_a_dimension"
def evaluate(model, batches):
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    with torch.no_grad():
        predictions = torch.cat([model(x) for x in batches]).squeeze()
    for module, training in modes:
        module.training = training
    return predictions
# %% exercise="evaluate" verdict="refused"
def evaluate(model, batches):
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    with torch.no_grad():
        predictions = torch.cat([model(x).squeeze() for x in batches])
    for module, training in modes:
        module.training = training
    return predictions
# %% exercise="evaluate" verdict="refused"
def evaluate(model, batches):
    modes = [(module, module.training) for module in model.modules()]
    gradients = [p.grad.clone() if p.grad is not None else torch.zeros_like(p) for p in model.parameters()]
    model.eval()
    with torch.no_grad():
        predictions = torch.cat([model(x) for x in batches])
    for p, g in zip(model.parameters(), gradients):
        p.grad = g
    for module, training in modes:
        module.training = training
    return predictions
# %% exercise="evaluate" verdict="refused" mistake="overwrites_the_list"
def evaluate(model, batches):
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    predictions = []
    with torch.no_grad():
        while batches:
            predictions.append(model(batches.pop(0)))
    batches.extend(predictions)
    for module, training in modes:
        module.training = training
    return torch.cat(predictions)
# %% exercise="smooth" verdict="refused"
def smooth(x, a):
    x.grad = a.grad = None
    rows = [x[0]]
    for t in range(1, len(x)):
        rows.append(a * rows[-1] + (1 - a) * x[t])
    return torch.stack(rows)
# %% exercise="smooth" verdict="refused"
def smooth(x, a):
    for t in (x, a):
        if t.grad is not None:
            t.grad.zero_()
    rows = [x[0]]
    for t in range(1, len(x)):
        rows.append(a * rows[-1] + (1 - a) * x[t])
    return torch.stack(rows)
# %% exercise="head_gradients" verdict="refused" mistake="trains_all_of_the_head"
def head_gradients(body, head, x, y):
    with torch.no_grad():
        features = body(x)
    head.train()
    ((head(features) - y) ** 2).mean().backward()
# %% exercise="head_gradients" verdict="refused"
def head_gradients(body, head, x, y):
    for p in body.parameters():
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    with torch.no_grad():
        features = body(x)
    ((head(features) - y) ** 2).mean().backward()
# %% exercise="freeze" verdict="refused"
def freeze(model, k):
    for p in model.parameters():
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    for p in model[:k].parameters():
        p.requires_grad_(False)
        p.grad = None
    return [p for p in model.parameters() if p.requires_grad]
# %% exercise="freeze" verdict="refused"
def freeze(model, k):
    for p in model[:k].parameters():
        p.requires_grad_(False)
        p.grad.zero_()
        p.grad = None
    return [p for p in model.parameters() if p.requires_grad]
# %% exercise="freeze" verdict="passed"
def freeze(model, k):
    for layer in model[:k]:
        for p in layer.parameters():
            p.requires_grad = False
            del p.grad
    return [p for p in model.parameters() if p.requires_grad]
# %% exercise="freeze" verdict="passed"
def freeze(model, k):
    learning = []
    for number, layer in enumerate(model):
        if number < k:
            layer.requires_grad_(False)
            layer.zero_grad()
        else:
            learning += [p for p in layer.parameters() if p.requires_grad]
    return list(dict.fromkeys(learning))[: len(learning)]
# %% exercise="gan_step" verdict="refused"
def gan_step(G, D, opt_G, opt_D, real, ideas):
    score_real = D(real)
    score_fake = D(G(ideas))
    d_loss = -score_real.clamp(1e-2, 0.99).log().mean() - (1 - score_fake).clamp(1e-2, 0.99).log().mean()
    g_loss = (1 - score_fake).clamp(1e-2, 0.99).log().mean()
    opt_D.zero_grad()
    d_loss.backward(inputs=list(D.parameters()), retain_graph=True)
    opt_G.zero_grad()
    g_loss.backward(inputs=list(G.parameters()))
    opt_D.step()
    opt_G.step()
# %% exercise="gan_step" verdict="passed"
def gan_step(G, D, opt_G, opt_D, real, ideas):
    bce = torch.nn.functional.binary_cross_entropy
    score_real, score_fake = D(real), D(G(ideas))
    ones, zeros = torch.ones_like(score_real), torch.zeros_like(score_fake)
    d_loss = bce(score_real, ones) + bce(score_fake, zeros)
    g_loss = -bce(score_fake, zeros)
    opt_D.zero_grad()
    opt_G.zero_grad()
    d_loss.backward(inputs=list(D.parameters()), retain_graph=True)
    g_loss.backward(inputs=list(G.parameters()))
    opt_D.step()
    opt_G.step()
# %%
import torch
from torch.nn.functional import mse_loss
# %% exercise="head_gradients" verdict="refused" mistake="evaluates_the_body_and_leaves_it"
# evaluates and leaves
def head_gradients(body, head, x, y):
    body.eval()
    with torch.no_grad():
        features = body(x)
    mse_loss(head(features), y).backward()
# %% exercise="head_gradients" verdict="refused" mistake="evaluates_the_body_and_trains_all_of_it"
# evaluates and trains
def head_gradients(body, head, x, y):
    was = body.training
    body.eval()
    with torch.no_grad():
        features = body(x)
    body.train(was)
    mse_loss(head(features), y).backward()
# %% exercise="freeze" verdict="refused" mistake="returns_a_filter"
# a filter
def freeze(model, k):
    for layer in model[:k]:
        for p in layer.parameters():
            p.requires_grad_(False)
            p.grad = None
    return filter(lambda p: p.requires_grad, model.parameters())
