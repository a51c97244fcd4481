# %%
import torch
from torch.func import grad, hessian, jacfwd

GOOD_SOLVERS = {
    "z": 6.0,
    "all in no_grad": "no graph",
    "1 more step": 6.0,
    "2 more steps": 9.0,
    "100 more steps": 12.0,
    "1 step from 0": 0.0,
    "z + w": 1.0,
}
# %% exercise="predict_solvers" verdict="passed"
# a careful reader
predict_solvers = dict(GOOD_SOLVERS)
# %% exercise="predict_solvers" verdict="passed"
# whole numbers
predict_solvers = {**GOOD_SOLVERS, "z": 6, "1 more step": 6, "2 more steps": 9, "100 more steps": 12, "1 step from 0": 0, "z + w": 1}
# %% exercise="predict_solvers" verdict="refused"
# whatever is recorded differentiates the solution: 12, and 13 with w
predict_solvers = {**GOOD_SOLVERS, "1 more step": 12, "2 more steps": 12, "z + w": 13}
# %% exercise="predict_solvers" verdict="refused"
# without a graph the derivative is 0
predict_solvers = {**GOOD_SOLVERS, "all in no_grad": 0}
# %% exercise="predict_solvers" verdict="refused"
# every recorded step adds 6
predict_solvers = {**GOOD_SOLVERS, "2 more steps": 12, "100 more steps": 606}
# %% exercise="predict_solvers" verdict="refused"
# the chain only multiplies: 6 * 0.5, then it fades away
predict_solvers = {**GOOD_SOLVERS, "2 more steps": 3, "100 more steps": 0}
# %% exercise="predict_solvers" verdict="refused"
# 0 * z and a constant plus w have no graph
predict_solvers = {**GOOD_SOLVERS, "1 step from 0": "no graph", "z + w": "no graph"}
# %% exercise="predict_solvers" verdict="refused"
# the slope is applied to w twice: 6 + 6 * 0.25
predict_solvers = {**GOOD_SOLVERS, "2 more steps": 7.5}
# %% exercise="fixed_point" verdict="passed"
# a hook on one recorded step, and a second graph from a leaf
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = start
        for _ in range(iterations):
            z = step(z, *parameters)
    leaf = z.detach().clone().requires_grad_()
    once = step(leaf, *[p.detach() for p in parameters])

    def solve(g):
        u = g
        for _ in range(iterations):
            u = g + torch.autograd.grad(once, leaf, u, retain_graph=True)[0]
        return u

    result = step(z, *parameters)
    result.register_hook(solve)
    return result
# %% exercise="fixed_point" verdict="passed"
# a Function whose backward adds the terms of the series until they vanish
def fixed_point(step, start, parameters, iterations):
    return Equilibrium.apply(step, start, iterations, *parameters)


class Equilibrium(torch.autograd.Function):
    @staticmethod
    def forward(ctx, step, start, iterations, *parameters):
        z = start
        for _ in range(iterations):
            z = step(z, *parameters)
        ctx.step, ctx.iterations = step, iterations
        ctx.save_for_backward(z, *parameters)
        return z

    @staticmethod
    def backward(ctx, g):
        z, *parameters = ctx.saved_tensors
        needed = ctx.needs_input_grad[3:]
        with torch.enable_grad():
            leaf = z.detach().requires_grad_()
            own = [p.detach().requires_grad_(need) for p, need in zip(parameters, needed)]
            once = ctx.step(leaf, *own)
        total, term = g.clone(), g
        for _ in range(ctx.iterations):
            (term,) = torch.autograd.grad(once, leaf, term, retain_graph=True)
            total += term
            if term.abs().max() < 1e-14:
                break
        found = iter(torch.autograd.grad(once, [p for p in own if p.requires_grad], total, allow_unused=True))
        return (None, None, None, *(next(found) if need else None for need in needed))
# %% exercise="fixed_point" verdict="refused"
# one recorded step is taken for the whole gradient
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = start
        for _ in range(iterations):
            z = step(z, *parameters)
    return step(z, *parameters)
# %% exercise="fixed_point" verdict="refused"
# the last ten steps are recorded, in the hope that the rest is small
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = start
        for _ in range(iterations - 10):
            z = step(z, *parameters)
    for _ in range(10):
        z = step(z, *parameters)
    return z
# %% exercise="fixed_point" verdict="refused"
# frozen parameters are forgotten: autograd.grad is asked for all of them
def fixed_point(step, start, parameters, iterations):
    class Solve(torch.autograd.Function):
        @staticmethod
        def forward(ctx, start, *parameters):
            z = start
            for _ in range(iterations):
                z = step(z, *parameters)
            ctx.save_for_backward(z, *parameters)
            return z

        @staticmethod
        def backward(ctx, g):
            z, *parameters = ctx.saved_tensors
            with torch.enable_grad():
                leaf = z.detach().requires_grad_()
                once = step(leaf, *parameters)
            u = g
            for _ in range(iterations):
                u = g + torch.autograd.grad(once, leaf, u, retain_graph=True)[0]
            return (None, *torch.autograd.grad(once, parameters, u))

    return Solve.apply(start, *parameters)
# %% exercise="fixed_point" verdict="refused"
# the hook builds its graph from the result itself, which keeps the result alive for good
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = start
        for _ in range(iterations):
            z = step(z, *parameters)
    result = step(z, *parameters)

    def hook(g):
        with torch.enable_grad():
            leaf = result.detach().requires_grad_()
            once = step(leaf, *parameters)
        u = g
        for _ in range(iterations):
            u = g + torch.autograd.grad(once, leaf, u, retain_graph=True)[0]
        return u

    result.register_hook(hook)
    return result
# %% exercise="fixed_point" verdict="refused"
# the backward loop calls the step anew for every product
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = start
        for _ in range(iterations):
            z = step(z, *parameters)
    result, at = step(z, *parameters), z

    def hook(g):
        u = g
        for _ in range(iterations):
            _, pull = torch.func.vjp(lambda z: step(z, *[p.detach() for p in parameters]), at)
            u = g + pull(u)[0]
        return u

    result.register_hook(hook)
    return result
# %% exercise="fixed_point" verdict="refused"
# not transposed: products with J by forward mode
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = start
        for _ in range(iterations):
            z = step(z, *parameters)
    result = step(z, *parameters)
    fixed = [p.detach() for p in parameters]
    _, push = torch.func.linearize(lambda z: step(z, *fixed), z)

    def hook(g):
        u = g
        for _ in range(iterations):
            u = g + push(u)
        return u

    result.register_hook(hook)
    return result
# %% exercise="fixed_point" verdict="refused"
# g is not added in the loop, so u fades away
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = start
        for _ in range(iterations):
            z = step(z, *parameters)
    leaf = z.clone().requires_grad_()
    once = step(leaf, *parameters)

    def hook(g):
        u = g
        for _ in range(iterations):
            u = torch.autograd.grad(once, leaf, u, retain_graph=True)[0]
        return u

    result = step(z, *parameters)
    result.register_hook(hook)
    return result
# %% exercise="fix_argmin" verdict="passed"
# both derivatives of outer at once, Hessian at w
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return direct - pull(v)[0]
# %% exercise="fix_argmin" verdict="passed"
# dw/dlam as a whole matrix, then the total derivative
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam).detach()
    mixed = jacfwd(grad(inner), argnums=1)(w, lam).reshape(len(w), -1)
    moved = -torch.linalg.solve(hessian(inner)(w, lam), mixed)
    w, lam = w.clone().requires_grad_(), lam.clone().requires_grad_()
    g, direct = torch.autograd.grad(outer(w, lam), (w, lam), allow_unused=True, materialize_grads=True)
    return direct + (g @ moved).reshape(lam.shape)
# %% exercise="fix_argmin" verdict="refused"
# only the point of the Hessian is mended
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g = grad(outer)(w, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return -pull(v)[0]
# %% exercise="fix_argmin" verdict="refused"
# only the direct term is added
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g = grad(outer)(w, lam)
    v = torch.linalg.solve(hessian(inner)(start, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return grad(outer, argnums=1)(w, lam) - pull(v)[0]
# %% exercise="fix_argmin" verdict="refused"
# the direct term gets the minus, too
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return -(direct + pull(v)[0])
# %% exercise="fix_argmin" verdict="refused"
# the minus is taken for the mistake
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return direct + pull(v)[0]
# %% exercise="fix_argmin" verdict="refused"
# the envelope theorem where it does not hold: only the direct term
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    return grad(outer, argnums=1)(w, lam)
# %% exercise="fix_argmin" verdict="refused"
# Hessian of the outer loss
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = torch.linalg.solve(hessian(outer)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return direct - pull(v)[0]
# %% exercise="mislead" verdict="passed"
# nilpotent: one large entry above the diagonal
def mislead(n):
    a = torch.zeros(n, n, dtype=torch.float64)
    a[0, 1] = -4.0
    g = torch.zeros(n, dtype=torch.float64)
    g[:2] = 1.0
    return a, g
# %% exercise="mislead" verdict="passed"
# a Jordan block below a diagonal of 0.5
def mislead(n):
    a = 0.5 * torch.eye(n, dtype=torch.float64)
    a[1, 0] = 10.0
    g = torch.zeros(n, dtype=torch.float64)
    g[0], g[1] = 1.0, -1.0
    return a, g
# %% exercise="mislead" verdict="refused"
# a negative eigenvalue is thought to turn the direction round
def mislead(n):
    return -0.9 * torch.eye(n, dtype=torch.float64), torch.ones(n, dtype=torch.float64)
# %% exercise="mislead" verdict="refused"
# opposite, but the iterations diverge
def mislead(n):
    return 2.0 * torch.eye(n, dtype=torch.float64), torch.ones(n, dtype=torch.float64)
# %% exercise="mislead" verdict="refused"
# a rotation: the eigenvalues are complex, but no difference ever grows
def mislead(n):
    a = torch.zeros(n, n, dtype=torch.float64)
    a[0, 1], a[1, 0] = -0.9, 0.9
    g = torch.zeros(n, dtype=torch.float64)
    g[0] = 1.0
    return a, g
# %% exercise="mislead" verdict="refused"
# right for n = 2 only
def mislead(n):
    a = torch.tensor([[0.0, -4.0], [0.0, 0.0]], dtype=torch.float64)
    return a, torch.ones(2, dtype=torch.float64)
# %% exercise="mislead" verdict="refused"
# the coupling is too weak: a right angle
def mislead(n):
    a = torch.zeros(n, n, dtype=torch.float64)
    a[0, 1] = -2.0
    g = torch.zeros(n, dtype=torch.float64)
    g[:2] = 1.0
    return a, g
# %% exercise="mislead" verdict="refused"
# float32
def mislead(n):
    a = torch.zeros(n, n)
    a[0, 1] = -4.0
    g = torch.zeros(n)
    g[:2] = 1.0
    return a, g
