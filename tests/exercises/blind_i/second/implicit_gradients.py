# %%
import torch
from torch.func import grad, hessian
# %% exercise="predict_solvers" verdict="refused"
# W6 a sum with a constant without graph has no graph
predict_solvers = {
    "z": 6,
    "all in no_grad": "no graph",
    "1 more step": 6,
    "2 more steps": 9,
    "100 more steps": 12,
    "1 step from 0": 0,
    "z + w": "no graph",
}
# %% exercise="predict_solvers" verdict="refused"
# W7 any recorded step brings the whole derivative
predict_solvers = {
    "z": 6,
    "all in no_grad": "no graph",
    "1 more step": 12,
    "2 more steps": 12,
    "100 more steps": 12,
    "1 step from 0": 0,
    "z + w": 1,
}
# %% exercise="predict_solvers" verdict="refused"
# W8 one step gives 6, wherever it begins
predict_solvers = {
    "z": 6,
    "all in no_grad": "no graph",
    "1 more step": 6,
    "2 more steps": 9,
    "100 more steps": 12,
    "1 step from 0": 6,
    "z + w": 1,
}
# %% exercise="predict_solvers" verdict="refused"
# W9 z + w: one step's 6 and the 1
predict_solvers = {
    "z": 6,
    "all in no_grad": "no graph",
    "1 more step": 6,
    "2 more steps": 9,
    "100 more steps": 12,
    "1 step from 0": 0,
    "z + w": 7,
}
# %% exercise="predict_solvers" verdict="refused"
# W10 100 more steps: the mean of what steps give, still 6 in the limit of 2 is 9
predict_solvers = {
    "z": 6,
    "all in no_grad": "no graph",
    "1 more step": 6,
    "2 more steps": 9,
    "100 more steps": 9,
    "1 step from 0": 0,
    "z + w": 1,
}
# %% exercise="predict_solvers" verdict="refused"
# W11 no_grad does not hinder: the derivative of the solution
predict_solvers = {
    "z": 6,
    "all in no_grad": 12,
    "1 more step": 6,
    "2 more steps": 9,
    "100 more steps": 12,
    "1 step from 0": 0,
    "z + w": 13,
}
# %% exercise="fix_argmin" verdict="passed"
# R3 torch.autograd only
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam).detach().requires_grad_()
    leaf = lam.detach().requires_grad_()
    slope = torch.autograd.grad(inner(w, leaf), w, create_graph=True)[0]
    rows = [torch.autograd.grad(s, w, retain_graph=True)[0] for s in slope]
    g, direct = torch.autograd.grad(outer(w, leaf), (w, leaf), allow_unused=True)
    v = torch.linalg.solve(torch.stack(rows), g)
    through = torch.autograd.grad(slope, leaf, -v)[0]
    return through if direct is None else through + direct
# %% exercise="fix_argmin" verdict="passed"
# R4 the mixed derivatives as a tensor
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    mixed = torch.func.jacrev(grad(inner), argnums=1)(w, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), grad(outer)(w, lam))
    return grad(outer, argnums=1)(w, lam) - torch.tensordot(v, mixed, dims=1)
# %% exercise="fix_argmin" verdict="refused"
# W7 the Hessian of the outer loss
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = torch.linalg.solve(hessian(outer)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return direct - pull(v)[0]
# %% exercise="fix_argmin" verdict="refused"
# W8 the slope that is pulled back is taken at start
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(start, lam), lam)
    return direct - pull(v)[0]
# %% exercise="fix_argmin" verdict="refused"
# W9 lam is marked in place, and stays marked
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    h = hessian(inner)(w, lam)
    g = grad(outer)(w, lam)
    v = torch.linalg.solve(h, g)
    lam.requires_grad_()
    slope = torch.func.grad(inner)(w, lam)
    total = outer(w, lam) - slope @ v
    return torch.autograd.grad(total, lam)[0]
# %% exercise="fix_argmin" verdict="refused"
# W10 only the diagonal of the Hessian, a division as for one number
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = g / hessian(inner)(w, lam).diagonal()
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return direct - pull(v)[0]
# %% exercise="fix_argmin" verdict="refused"
# W11 the minus is lost when the line is written again
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return direct + pull(v)[0]
# %% exercise="fix_argmin" verdict="refused"
# W12 the Hessian of inner + outer
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)

    def both(w, lam):
        return inner(w, lam) + outer(w, lam)

    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = torch.linalg.solve(hessian(both)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return direct - pull(v)[0]
# %% exercise="fix_argmin" verdict="refused"
# W13 the slope of the outer loss is taken at start
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(start, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return direct - pull(v)[0]
# %% exercise="fix_argmin" verdict="refused"
# W14 only the direct part: the minimum is detached
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    return grad(outer, argnums=1)(w, lam)
# %% exercise="fixed_point" verdict="passed"
# R3 60 turns both ways, as the contract says
def fixed_point(step, start, parameters, iterations):
    z = start
    with torch.no_grad():
        for _ in range(60):
            z = step(z, *parameters)
    point, frozen = z, [p.detach() for p in parameters]

    def solve(g):
        with torch.enable_grad():
            leaf = point.detach().requires_grad_()
            once = step(leaf, *frozen)
        u = g
        for _ in range(60):
            u = g + torch.autograd.grad(once, leaf, u, retain_graph=True)[0]
        return u

    result = step(z, *parameters)
    result.register_hook(solve)
    return result
# %% exercise="fixed_point" verdict="passed"
# R4 stops when u settles
def fixed_point(step, start, parameters, iterations):
    z = start
    with torch.no_grad():
        for _ in range(iterations):
            z = step(z, *parameters)
    point, frozen = z, [p.detach() for p in parameters]

    def solve(g):
        with torch.enable_grad():
            leaf = point.detach().requires_grad_()
            once = step(leaf, *frozen)
        u = g
        for _ in range(iterations):
            new = g + torch.autograd.grad(once, leaf, u, retain_graph=True)[0]
            done = torch.allclose(new, u, rtol=1e-10, atol=1e-12)
            u = new
            if done:
                break
        return u

    result = step(z, *parameters)
    result.register_hook(solve)
    return result
# %% exercise="fixed_point" verdict="passed"
# R5 torch.func.vjp in backward
class Pulled(torch.autograd.Function):
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
        _, pull = torch.func.vjp(ctx.step, z, *parameters)
        u = g
        for _ in range(ctx.iterations):
            u = g + pull(u)[0]
        return None, None, None, *pull(u)[1:]


def fixed_point(step, start, parameters, iterations):
    return Pulled.apply(step, start, iterations, *parameters)
# %% exercise="fixed_point" verdict="refused"
# W7 division by 1 - slope, number by number
def fixed_point(step, start, parameters, iterations):
    z = start
    with torch.no_grad():
        for _ in range(iterations):
            z = step(z, *parameters)
    point, frozen = z, [p.detach() for p in parameters]

    def solve(g):
        with torch.enable_grad():
            leaf = point.detach().requires_grad_()
            once = step(leaf, *frozen)
        (slope,) = torch.autograd.grad(once.sum(), leaf)
        return g / (1 - slope)

    result = step(z, *parameters)
    result.register_hook(solve)
    return result
# %% exercise="fixed_point" verdict="refused"
# W8 the sign of a geometric series with minus
def fixed_point(step, start, parameters, iterations):
    z = start
    with torch.no_grad():
        for _ in range(iterations):
            z = step(z, *parameters)
    point, frozen = z, [p.detach() for p in parameters]

    def solve(g):
        with torch.enable_grad():
            leaf = point.detach().requires_grad_()
            once = step(leaf, *frozen)
        u = g
        for _ in range(iterations):
            u = g - torch.autograd.grad(once, leaf, u, retain_graph=True)[0]
        return u

    result = step(z, *parameters)
    result.register_hook(solve)
    return result
# %% exercise="fixed_point" verdict="refused"
# W9 fills .grad itself and returns no gradients
class Fills(torch.autograd.Function):
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
        with torch.enable_grad():
            leaf = z.detach().requires_grad_()
            once = ctx.step(leaf, *parameters)
        u = g
        for _ in range(ctx.iterations):
            u = g + torch.autograd.grad(once, leaf, u, retain_graph=True)[0]
        once.backward(u)
        return None, None, None, *(None for _ in parameters)


def fixed_point(step, start, parameters, iterations):
    return Fills.apply(step, start, iterations, *parameters)
# %% exercise="fixed_point" verdict="refused"
# W10 the Jacobian as a matrix
def fixed_point(step, start, parameters, iterations):
    z = start
    with torch.no_grad():
        for _ in range(iterations):
            z = step(z, *parameters)
    point, frozen = z, [p.detach() for p in parameters]

    def solve(g):
        jacobian = torch.func.jacrev(lambda z: step(z, *frozen))(point).reshape(g.numel(), g.numel())
        eye = torch.eye(g.numel(), dtype=g.dtype)
        return torch.linalg.solve(eye - jacobian.T, g.flatten()).reshape(g.shape)

    result = step(z, *parameters)
    result.register_hook(solve)
    return result
# %% exercise="fixed_point" verdict="refused"
# W11 the last 20 steps recorded
def fixed_point(step, start, parameters, iterations):
    z = start
    with torch.no_grad():
        for _ in range(iterations - 20):
            z = step(z, *parameters)
    for _ in range(20):
        z = step(z, *parameters)
    return z
# %% exercise="fixed_point" verdict="refused"
# W12 the graph of the step is freed in the first turn
def fixed_point(step, start, parameters, iterations):
    z = start
    with torch.no_grad():
        for _ in range(iterations):
            z = step(z, *parameters)
    point, frozen = z, [p.detach() for p in parameters]

    def solve(g):
        with torch.enable_grad():
            leaf = point.detach().requires_grad_()
            once = step(leaf, *frozen)
        u = g
        for _ in range(iterations):
            u = g + torch.autograd.grad(once, leaf, u)[0]
        return u

    result = step(z, *parameters)
    result.register_hook(solve)
    return result
# %% exercise="fixed_point" verdict="refused"
# W13 the right side is pulled back through the recorded step before u has settled: u = J^T u at the end, too
class OneMore(torch.autograd.Function):
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
        with torch.enable_grad():
            leaf = z.detach().requires_grad_()
            copies = [p.detach().requires_grad_(p.requires_grad) for p in parameters]
            once = ctx.step(leaf, *copies)
        u = g
        for _ in range(ctx.iterations):
            u = g + torch.autograd.grad(once, leaf, u, retain_graph=True)[0]
        wanted = [c for c in copies if c.requires_grad]
        return None, None, None, *torch.autograd.grad(once, wanted, u)


def fixed_point(step, start, parameters, iterations):
    return OneMore.apply(step, start, iterations, *parameters)
# %% exercise="mislead" verdict="passed"
# R2 on any diagonal
def mislead(n):
    a = 0.5 * torch.eye(n, dtype=torch.float64)
    a[-1, 0] = -20.0
    g = torch.zeros(n, dtype=torch.float64)
    g[0] = g[-1] = 1.0
    return a, g
# %% exercise="mislead" verdict="refused"
# W7 strictly upper triangular: obtuse for n = 2 alone
def mislead(n):
    a = -5 * torch.ones(n, n, dtype=torch.float64).triu(1)
    return a, torch.ones(n, dtype=torch.float64)
# %% exercise="mislead" verdict="refused"
# W8 random numbers, scaled to the radius
def mislead(n):
    torch.manual_seed(0)
    a = torch.randn(n, n, dtype=torch.float64)
    a *= 0.9 / torch.linalg.eigvals(a).abs().max()
    return a, torch.randn(n, dtype=torch.float64)
# %% exercise="mislead" verdict="refused"
# W9 g is a column
def mislead(n):
    a = torch.zeros(n, n, dtype=torch.float64)
    a[0, 1] = 10.0
    g = torch.zeros(n, 1, dtype=torch.float64)
    g[0], g[1] = 1.0, -1.0
    return a, g
# %% exercise="mislead" verdict="refused"
# W10 the right numbers with the wrong sign: the angle is acute
def mislead(n):
    a = torch.zeros(n, n, dtype=torch.float64)
    a[0, 1] = 10.0
    return a, torch.ones(n, dtype=torch.float64)
# %% exercise="mislead" verdict="refused"
# W11 obtuse by a hair: a little more than 90 degrees
def mislead(n):
    a = torch.zeros(n, n, dtype=torch.float64)
    a[0, 1] = 2.05
    g = torch.zeros(n, dtype=torch.float64)
    g[0], g[1] = 1.0, -1.0
    return a, g
