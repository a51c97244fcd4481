# %%
import torch
from torch.func import grad, hessian
def iterate(step, z, times):
    for _ in range(times):
        z = step(z)
    return z
def solve_no_grad(step, start, parameters, iterations):
    with torch.no_grad():
        z = start
        for _ in range(iterations):
            z = step(z, *parameters)
    return z
# %% exercise="predict_solvers" verdict="refused" mistake="one_step_is_enough"
# one recorded step is taken for the whole gradient
predict_solvers = {
    "z": 6.0,
    "all in no_grad": "no graph",
    "1 more step": 12.0,
    "2 more steps": 12.0,
    "100 more steps": 12.0,
    "1 step from 0": 12.0,
    "z + w": 1.0,
}
# %% exercise="predict_solvers" verdict="refused" mistake="no_graph_spreads"
# what was computed in no_grad spoils everything computed from it
predict_solvers = {
    "z": 6.0,
    "all in no_grad": "no graph",
    "1 more step": "no graph",
    "2 more steps": "no graph",
    "100 more steps": "no graph",
    "1 step from 0": "no graph",
    "z + w": "no graph",
}
# %% exercise="predict_solvers" verdict="refused" mistake="steps_add_up"
# each step adds its 6, none is multiplied by the slope
predict_solvers = {
    "z": 6.0,
    "all in no_grad": "no graph",
    "1 more step": 6.0,
    "2 more steps": 12.0,
    "100 more steps": 600.0,
    "1 step from 0": 0.0,
    "z + w": 1.0,
}
# %% exercise="predict_solvers" verdict="refused" mistake="adds_nothing"
# the second step multiplies by the slope and adds nothing
predict_solvers = {
    "z": 6.0,
    "all in no_grad": "no graph",
    "1 more step": 6.0,
    "2 more steps": 3.0,
    "100 more steps": 0.0,
    "1 step from 0": 0.0,
    "z + w": 1.0,
}
# %% exercise="predict_solvers" verdict="refused" mistake="rests_at_the_constant"
# everything follows from z = 3
predict_solvers = {
    "z": 3.0,
    "all in no_grad": "no graph",
    "1 more step": 3.0,
    "2 more steps": 4.5,
    "100 more steps": 6.0,
    "1 step from 0": 0.0,
    "z + w": 1.0,
}
# %% exercise="predict_solvers" verdict="refused" mistake="one_step_is_enough"
# no_grad is thought to change nothing but memory
predict_solvers = {
    "z": 6.0,
    "all in no_grad": 12.0,
    "1 more step": 12.0,
    "2 more steps": 12.0,
    "100 more steps": 12.0,
    "1 step from 0": 0.0,
    "z + w": 13.0,
}
# %% exercise="fixed_point" verdict="passed"
# a hook on the recorded step
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = iterate(lambda z: step(z, *parameters), start, iterations)
    at = z.clone().requires_grad_()
    z = step(z, *parameters)
    once = step(at, *parameters)
    def solve(g):
        u = g
        for _ in range(iterations):
            u = g + torch.autograd.grad(once, at, u, retain_graph=True)[0]
        return u
    z.register_hook(solve)
    return z
# %% exercise="fixed_point" verdict="passed"
# both loops stop as soon as nothing changes; the step is built again in the hook
def fixed_point(step, start, parameters, iterations):
    def settle(function, z):
        for _ in range(iterations):
            new = function(z)
            if torch.allclose(new, z, rtol=0, atol=1e-13):
                return new
            z = new
        return z
    with torch.no_grad():
        solution = settle(lambda z: step(z, *parameters), start)
    def hook(g):
        with torch.enable_grad():
            z = solution.detach().requires_grad_()
            f = step(z, *parameters)
        return settle(lambda u: g + torch.autograd.grad(f, z, u, retain_graph=True)[0], g)
    result = step(solution, *parameters)
    result.register_hook(hook)
    return result
# %% exercise="fixed_point" verdict="refused" mistake="one_step"
# only one step of the gradient
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = start
        for _ in range(iterations):
            z = step(z, *parameters)
    return step(z, *parameters)
# %% exercise="fixed_point" verdict="refused" mistake="with_the_matrix"
# the whole Jacobian matrix, transposed correctly
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = iterate(lambda z: step(z, *parameters), start, iterations)
    jacobian = torch.autograd.functional.jacobian(lambda z: step(z, *parameters), z)
    jacobian = jacobian.reshape(z.numel(), z.numel())
    z = step(z, *parameters)
    def solve(g):
        eye = torch.eye(g.numel(), dtype=g.dtype)
        return torch.linalg.solve(eye - jacobian.T, g.reshape(-1)).reshape(g.shape)
    z.register_hook(solve)
    return z
# %% exercise="fixed_point" verdict="refused" mistake="transpose_forgotten"
# products J @ u in place of J.T @ u
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = iterate(lambda z: step(z, *parameters), start, iterations)
    at = z.clone().requires_grad_()
    once = step(at, *parameters)
    dual = torch.zeros_like(once, requires_grad=True)
    (pulled,) = torch.autograd.grad(once, at, dual, create_graph=True)
    z = step(z, *parameters)
    def solve(g):
        u = g
        for _ in range(iterations):
            u = g + torch.autograd.grad(pulled, dual, u, retain_graph=True)[0]
        return u
    z.register_hook(solve)
    return z
# %% exercise="fixed_point" verdict="refused" mistake="hook_mentions_the_result"
# the hook holds the result, which is never freed
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = iterate(lambda z: step(z, *parameters), start, iterations)
    z = step(z, *parameters)
    def solve(g):
        with torch.enable_grad():
            at = z.detach().requires_grad_()
            once = step(at, *parameters)
        return iterate(lambda u: g + torch.autograd.grad(once, at, u, retain_graph=True)[0], g, iterations)
    z.register_hook(solve)
    return z
# %% exercise="fixed_point" verdict="refused" mistake="powers_without_a_sum"
# the gradient g is added only once, so the products die away
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = iterate(lambda z: step(z, *parameters), start, iterations)
    at = z.clone().requires_grad_()
    once = step(at, *parameters)
    z = step(z, *parameters)
    z.register_hook(lambda g: iterate(lambda u: torch.autograd.grad(once, at, u, retain_graph=True)[0], g, iterations))
    return z
# %% exercise="fixed_point" verdict="refused" mistake="slope_in_place_of_the_jacobian"
# the formula of one number, elementwise
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = iterate(lambda z: step(z, *parameters), start, iterations)
    at = z.clone().requires_grad_()
    (slope,) = torch.autograd.grad(step(at, *parameters).sum(), at)
    z = step(z, *parameters)
    z.register_hook(lambda g: g / (1 - slope))
    return z
# %% exercise="fixed_point" verdict="refused" mistake="counts_a_tied_parameter_twice"
# the saved parameters themselves are differentiated: the one that occurs twice counts twice
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, step, start, iterations, *parameters):
        z = iterate(lambda z: step(z, *parameters), start, iterations)
        ctx.step, ctx.iterations = step, iterations
        ctx.save_for_backward(z, *parameters)
        return z
    @staticmethod
    def backward(ctx, g):
        z, *parameters = ctx.saved_tensors
        with torch.enable_grad():
            z = z.detach().requires_grad_()
            out = ctx.step(z, *parameters)
        u = iterate(lambda u: g + torch.autograd.grad(out, z, u, retain_graph=True)[0], g, ctx.iterations)
        grads = [torch.autograd.grad(out, p, u, retain_graph=True)[0] if p.requires_grad else None for p in parameters]
        return None, None, None, *grads
def fixed_point(step, start, parameters, iterations):
    return Twice.apply(step, start, iterations, *parameters)
# %% exercise="fixed_point" verdict="refused"
# frozen parameters are differentiated, too
class Frozen(torch.autograd.Function):
    @staticmethod
    def forward(ctx, step, start, iterations, *parameters):
        z = iterate(lambda z: step(z, *parameters), start, iterations)
        ctx.step, ctx.iterations = step, iterations
        ctx.save_for_backward(z, *parameters)
        return z
    @staticmethod
    def backward(ctx, g):
        z, *parameters = ctx.saved_tensors
        with torch.enable_grad():
            z = z.detach().requires_grad_()
            parameters = [p.detach().requires_grad_(p.requires_grad) for p in parameters]
            out = ctx.step(z, *parameters)
        u = iterate(lambda u: g + torch.autograd.grad(out, z, u, retain_graph=True)[0], g, ctx.iterations)
        return None, None, None, *torch.autograd.grad(out, parameters, u)
def fixed_point(step, start, parameters, iterations):
    return Frozen.apply(step, start, iterations, *parameters)
# %% exercise="fixed_point" verdict="refused" mistake="fills_grad"
# backward() leaves gradients in the parameters
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = iterate(lambda z: step(z, *parameters), start, iterations)
    at = z.clone().requires_grad_()
    once = step(at, *parameters)
    z = step(z, *parameters)
    def solve(g):
        u = g
        for _ in range(iterations):
            at.grad = None
            once.backward(u, retain_graph=True)
            u = g + at.grad
        return u
    z.register_hook(solve)
    return z
# %% exercise="fixed_point" verdict="refused" mistake="a_new_graph_in_each_turn"
# a new step for every product
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = iterate(lambda z: step(z, *parameters), start, iterations)
    at = z.clone()
    z = step(z, *parameters)
    def solve(g):
        u = g
        for _ in range(iterations):
            with torch.enable_grad():
                leaf = at.clone().requires_grad_()
                out = step(leaf, *parameters)
            u = g + torch.autograd.grad(out, leaf, u)[0]
        return u
    z.register_hook(solve)
    return z
# %% exercise="fixed_point" verdict="refused"
# no retain_graph
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = iterate(lambda z: step(z, *parameters), start, iterations)
    at = z.clone().requires_grad_()
    once = step(at, *parameters)
    z = step(z, *parameters)
    z.register_hook(lambda g: iterate(lambda u: g + torch.autograd.grad(once, at, u)[0], g, iterations))
    return z
# %% exercise="fixed_point" verdict="refused"
# the step is built in the hook without enable_grad
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = iterate(lambda z: step(z, *parameters), start, iterations)
    at = z.clone().requires_grad_()
    z = step(z, *parameters)
    def solve(g):
        once = step(at, *parameters)
        return iterate(lambda u: g + torch.autograd.grad(once, at, u, retain_graph=True)[0], g, iterations)
    z.register_hook(solve)
    return z
# %% exercise="fixed_point" verdict="refused" mistake="five_turns"
# a few terms of the series
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = iterate(lambda z: step(z, *parameters), start, iterations)
    at = z.clone().requires_grad_()
    once = step(at, *parameters)
    z = step(z, *parameters)
    z.register_hook(lambda g: iterate(lambda u: g + torch.autograd.grad(once, at, u, retain_graph=True)[0], g, 5))
    return z
# %% exercise="fixed_point" verdict="refused" mistake=""
# the Jacobian matrix is taken at the start, which is changed
def fixed_point(step, start, parameters, iterations):
    at = start.requires_grad_()
    once = step(at, *parameters)
    with torch.no_grad():
        z = iterate(lambda z: step(z, *parameters), start, iterations)
    z = step(z, *parameters)
    z.register_hook(lambda g: iterate(lambda u: g + torch.autograd.grad(once, at, u, retain_graph=True)[0], g, iterations))
    return z
# %% exercise="fixed_point" verdict="refused" mistake=""
# the equation in the hook, but the last ten steps are recorded as well
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = iterate(lambda z: step(z, *parameters), start, iterations - 10)
    at = z.clone().requires_grad_()
    once = step(at, *parameters)
    z = iterate(lambda z: step(z, *parameters), z, 10)
    z.register_hook(lambda g: iterate(lambda u: g + torch.autograd.grad(once, at, u, retain_graph=True)[0], g, iterations))
    return z
# %% exercise="fixed_point" verdict="refused" mistake="moves_the_start"
# the start is overwritten
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        for _ in range(iterations):
            start.copy_(step(start, *parameters))
    at = start.clone().requires_grad_()
    once = step(at, *parameters)
    z = step(start.clone(), *parameters)
    z.register_hook(lambda g: iterate(lambda u: g + torch.autograd.grad(once, at, u, retain_graph=True)[0], g, iterations))
    return z
# %% exercise="fix_argmin" verdict="passed"
# both derivatives of the outer loss at once
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return direct - pull(v)[0]
# %% exercise="fix_argmin" verdict="passed"
# through one Newton step in the minimum
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    h = hessian(inner)(w, lam)
    def value(lam):
        return outer(w - torch.linalg.solve(h, grad(inner)(w, lam)), lam)
    return grad(value)(lam)
# %% exercise="fix_argmin" verdict="passed"
# with torch.autograd alone
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam).detach().requires_grad_()
    lam = lam.detach().clone().requires_grad_()
    g, direct = torch.autograd.grad(outer(w, lam), (w, lam), allow_unused=True, materialize_grads=True)
    (slope,) = torch.autograd.grad(inner(w, lam), w, create_graph=True)
    rows = [torch.autograd.grad(each, w, retain_graph=True)[0] for each in slope]
    v = torch.linalg.solve(torch.stack(rows), g)
    (mixed,) = torch.autograd.grad(slope, lam, v)
    return direct - mixed
# %% exercise="fix_argmin" verdict="passed"
# conjugate gradients in place of the matrix
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    _, pull = torch.func.vjp(grad(inner), w, lam)
    v, r = torch.zeros_like(g), g.clone()
    p = r.clone()
    for _ in range(10 * len(g)):
        if r.norm() < 1e-14:
            break
        hp = pull(p)[0]
        alpha = (r @ r) / (p @ hp)
        v, new = v + alpha * p, r - alpha * hp
        p = new + (new @ new) / (r @ r) * p
        r = new
    return direct - pull(v)[1]
# %% exercise="fix_argmin" verdict="refused" mistake="without_the_direct_term"
# the direct part is missing
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g = grad(outer)(w, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return -pull(v)[0]
# %% exercise="fix_argmin" verdict="refused" mistake="hessian_at_the_start"
# the Hessian matrix is still taken at the start
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = torch.linalg.solve(hessian(inner)(start, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return direct - pull(v)[0]
# %% exercise="fix_argmin" verdict="refused" mistake="minus_forgotten"
# the minus is lost
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return direct + pull(v)[0]
# %% exercise="fix_argmin" verdict="refused" mistake="direct_term_subtracted"
# the minus stands before both parts
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return -(direct + pull(v)[0])
# %% exercise="fix_argmin" verdict="refused" mistake="hessian_of_the_outer_loss"
# the Hessian matrix of the outer loss
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = torch.linalg.solve(hessian(outer)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return direct - pull(v)[0]
# %% exercise="fix_argmin" verdict="refused" mistake="solution_detached"
# only the direct part, as for a smallest value
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    return grad(outer, argnums=1)(w, lam)
# %% exercise="fix_argmin" verdict="refused" mistake="diagonal_alone"
# only the diagonal of the Hessian matrix
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = g / hessian(inner)(w, lam).diagonal()
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return direct - pull(v)[0]
# %% exercise="fix_argmin" verdict="refused" mistake="direct_term_of_the_inner_loss"
# the direct part of the inner loss
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g = grad(outer)(w, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return grad(inner, argnums=1)(w, lam) - pull(v)[0]
# %% exercise="fix_argmin" verdict="refused" mistake="direct_term_at_the_start"
# the direct part is taken at the start
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g = grad(outer)(w, lam)
    direct = grad(outer, argnums=1)(start, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return direct - pull(v)[0]
# %% exercise="fix_argmin" verdict="refused" mistake="mixed_at_the_start"
# the mixed derivative is taken at the start
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(start, lam), lam)
    return direct - pull(v)[0]
# %% exercise="fix_argmin" verdict="refused"
# `lam` is thought to be a number or a vector
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), g)
    mixed = torch.func.jacrev(grad(inner), argnums=1)(w, lam)
    return direct - v @ mixed
# %% exercise="fix_argmin" verdict="refused" mistake="flag_on_lam"
# `lam` is changed
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam).requires_grad_()
    lam.requires_grad_()
    g, direct = torch.autograd.grad(outer(w, lam), (w, lam), allow_unused=True, materialize_grads=True)
    v = torch.linalg.solve(hessian(inner)(w.detach(), lam.detach()), g)
    (slope,) = torch.autograd.grad(inner(w, lam), w, create_graph=True)
    return direct - torch.autograd.grad(slope, lam, v)[0]
# %% exercise="mislead" verdict="passed"
# one large entry above the diagonal
def mislead(n):
    a, g = torch.zeros(n, n, dtype=torch.float64), torch.zeros(n, dtype=torch.float64)
    a[0, 1] = 10
    g[0], g[1] = 1, -1
    return a, g
# %% exercise="mislead" verdict="passed"
# the eigenvector to the smallest eigenvalue of the symmetric part
def mislead(n):
    a = 0.5 * torch.eye(n, dtype=torch.float64) + torch.diag(torch.full((n - 1,), 5.0, dtype=torch.float64), 1)
    m = torch.linalg.inv(torch.eye(n, dtype=torch.float64) - a.T)
    _, vectors = torch.linalg.eigh((m + m.T) / 2)
    return a, vectors[:, 0]
# %% exercise="mislead" verdict="passed"
# a rotation along a flat ellipse
def mislead(n):
    a, g = torch.eye(n).double() * 0.3, torch.zeros(n).double()
    a[:2, :2] = torch.tensor([[0.0, 4.0], [-0.2, 0.0]], dtype=torch.float64)
    g[:2] = torch.tensor([1.0, -1.0])
    return a, g
# %% exercise="mislead" verdict="passed"
# a search among random triangular matrices
def mislead(n):
    generator = torch.Generator().manual_seed(0)
    while True:
        a = torch.randn(n, n, generator=generator, dtype=torch.float64).mul(5).triu(1)
        g = torch.randn(n, generator=generator, dtype=torch.float64)
        u = torch.linalg.solve(torch.eye(n, dtype=torch.float64) - a.T, g)
        if torch.cosine_similarity(g, u, dim=0) < -0.1:
            return a, g
# %% exercise="mislead" verdict="refused" mistake="contracts_every_vector"
# a rotation does not turn far enough
def mislead(n):
    a = torch.eye(n, dtype=torch.float64) * 0.9
    a[:2, :2] = 0.9 * torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    g = torch.zeros(n, dtype=torch.float64)
    g[0] = 1
    return a, g
# %% exercise="mislead" verdict="refused" mistake="single_precision"
# float32
def mislead(n):
    a, g = torch.zeros(n, n), torch.zeros(n)
    a[0, 1] = 10
    g[0], g[1] = 1, -1
    return a, g
# %% exercise="mislead" verdict="refused" mistake="always_two"
# only for n = 2
def mislead(n):
    a = torch.tensor([[0.0, 10.0], [0.0, 0.0]], dtype=torch.float64)
    return a, torch.tensor([1.0, -1.0], dtype=torch.float64)
# %% exercise="mislead" verdict="refused" mistake="right_angle"
# the two vectors are only orthogonal
def mislead(n):
    a, g = torch.zeros(n, n, dtype=torch.float64), torch.zeros(n, dtype=torch.float64)
    a[0, 1] = 2
    g[0], g[1] = 1, -1
    return a, g
# %% exercise="mislead" verdict="refused" mistake="the_other_sign"
# the signs agree, and the angle is acute
def mislead(n):
    a = torch.zeros(n, n, dtype=torch.float64)
    a[0, -1] = 10
    return a, torch.ones(n, dtype=torch.float64)
# %% exercise="mislead" verdict="refused" mistake="does_not_settle"
# an eigenvalue of 0.95
def mislead(n):
    a = 0.95 * torch.eye(n, dtype=torch.float64)
    a[0, 1] = 10
    g = torch.zeros(n, dtype=torch.float64)
    g[0], g[1] = 1, -0.1
    return a, g
# %% exercise="mislead" verdict="refused" mistake="contracts_every_vector"
# a symmetric matrix never misleads
def mislead(n):
    torch.manual_seed(0)
    a = torch.randn(n, n, dtype=torch.float64)
    a = a + a.T
    a = 0.9 * a / torch.linalg.matrix_norm(a, 2)
    return a, torch.randn(n, dtype=torch.float64)
# %% exercise="mislead" verdict="refused" mistake="zero_vector"
# `g` is zero
def mislead(n):
    a = torch.zeros(n, n, dtype=torch.float64)
    a[0, 1] = 10
    return a, torch.zeros(n, dtype=torch.float64)
# %% exercise="fixed_point" verdict="refused" mistake="last_ten_steps"
# the last ten steps are recorded, in the hope that the rest is small
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = iterate(lambda z: step(z, *parameters), start, iterations - 10)
    return iterate(lambda z: step(z, *parameters), z, 10)
# %% exercise="fixed_point" verdict="refused"
# as many recorded steps as the memory allows: on some hidden seeds this once passed
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = iterate(lambda z: step(z, *parameters), start, iterations - 22)
    return iterate(lambda z: step(z, *parameters), z, 22)
# %% exercise="mislead" verdict="refused" mistake="column_vector"
# `g` as a column
def mislead(n):
    a = torch.zeros(n, n, dtype=torch.float64)
    a[0, 1] = -4
    g = torch.zeros(n, 1, dtype=torch.float64)
    g[:2] = 1
    return a, g
# %% exercise="fixed_point" verdict="refused" mistake="calls_too_often_in_forward"
# two calls in each turn of the forward loop
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = start
        for _ in range(iterations):
            if (step(z, *parameters) - z).norm() < 1e-14:
                pass
            z = step(z, *parameters)
    leaf = z.clone().requires_grad_()
    once = step(leaf, *[p.detach() for p in parameters])
    result = step(z, *parameters)
    def solve(g):
        u = g
        for _ in range(iterations):
            u = g + torch.autograd.grad(once, leaf, u, retain_graph=True)[0]
        return u
    result.register_hook(solve)
    return result
# %% exercise="fixed_point" verdict="refused" mistake="keeps_every_turn"
# all iterates are kept in a list
def fixed_point(step, start, parameters, iterations):
    zs = [start]
    with torch.no_grad():
        for _ in range(iterations):
            zs.append(step(zs[-1], *parameters))
    z = zs[-1]
    leaf = z.clone().requires_grad_()
    once = step(leaf, *[p.detach() for p in parameters])
    result = step(z, *parameters)
    def solve(g):
        u = g
        for _ in range(iterations):
            u = g + torch.autograd.grad(once, leaf, u, retain_graph=True)[0]
        return u
    result.register_hook(solve)
    return result
# %% exercise="fix_argmin" verdict="refused" mistake="lam_is_a_vector_on_the_left"
# the mixed derivatives as a matrix: a lam that is itself a matrix comes out transposed
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), g)
    mixed = torch.func.jacrev(grad(inner), argnums=1)(w, lam)
    return direct - mixed.T @ v
# %% exercise="fix_argmin" verdict="refused" mistake="slope_of_both_losses"
# lam of the outer loss is put into the slope that is pulled back
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g = grad(outer)(w, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam) + grad(outer)(w, lam), lam)
    return -pull(v)[0]
# %% exercise="fix_argmin" verdict="refused" mistake="hessian_of_both_losses"
# the Hessian of inner + outer
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    def both(w, lam):
        return inner(w, lam) + outer(w, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = torch.linalg.solve(hessian(both)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return direct - pull(v)[0]
# %% exercise="fixed_point" verdict="passed"
# 60 turns both ways, as the contract says
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
# torch.func.vjp in backward
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
# %% exercise="fixed_point" verdict="refused" mistake="fills_grad_in_their_place"
# fills .grad itself and returns no gradients
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
# %% exercise="fixed_point" verdict="refused" mistake=""
# the frozen parameter's place is left out of what `backward` returns: torch refuses it, and no checker is to blame
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
# %% exercise="mislead" verdict="refused" mistake="right_for_two_alone"
# strictly upper triangular: obtuse for n = 2 alone
def mislead(n):
    a = -5 * torch.ones(n, n, dtype=torch.float64).triu(1)
    return a, torch.ones(n, dtype=torch.float64)
# %% exercise="fixed_point" verdict="refused" mistake="fills_grad_in_their_place"
# the hook fills .grad and gives zeros on
def fixed_point(step, start, parameters, iterations):
    z = iterate(lambda z: step(z, *[p.detach() for p in parameters]), start, iterations)
    result = step(z, *parameters)
    def solve(g):
        with torch.enable_grad():
            at = z.detach().requires_grad_()
            again = step(at, *parameters)
        u = g
        for _ in range(iterations):
            u = g + torch.autograd.grad(again, at, u, retain_graph=True)[0]
        again.backward(u)
        return torch.zeros_like(g)
    result.register_hook(solve)
    return result
# %% exercise="fix_argmin" verdict="refused" mistake="slope_of_both_losses_and_direct_term"
# outer's cross derivative through the solved vector
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g, direct = grad(outer, argnums=(0, 1))(w, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam) + grad(outer)(w, lam), lam)
    return direct - pull(v)[0]
# %% exercise="fixed_point" verdict="refused" mistake="turns_end_early"
# tolerance 1e-3 in the backward loop
def fixed_point(step, start, parameters, iterations):
    z = solve_no_grad(step, start, parameters, iterations)
    result = step(z, *parameters)
    at = z.detach().clone().requires_grad_()
    again = step(at, *[p.detach() for p in parameters])
    def solve(g):
        u = g
        for _ in range(iterations):
            new = g + torch.autograd.grad(again, at, u, retain_graph=True)[0]
            if (new - u).abs().max() < 1e-3:
                return new
            u = new
        return u
    result.register_hook(solve)
    return result
# %% exercise="fixed_point" verdict="refused" mistake="stops_a_little_early"
# tolerance 1e-3 in the forward
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = start
        for _ in range(iterations):
            new = step(z, *parameters)
            if (new - z).abs().max() < 1e-3:
                z = new
                break
            z = new
    result = step(z, *parameters)
    at = z.detach().clone().requires_grad_()
    again = step(at, *[p.detach() for p in parameters])
    def solve(g):
        u = g
        for _ in range(iterations):
            u = g + torch.autograd.grad(again, at, u, retain_graph=True)[0]
        return u
    result.register_hook(solve)
    return result
# %% exercise="fixed_point" verdict="refused" mistake="differentiates_itself"
# hook differentiates its own result
def fixed_point(step, start, parameters, iterations):
    z = solve_no_grad(step, start, parameters, iterations)
    result = step(z, *parameters)
    again = step(result, *parameters)
    def solve(g):
        u = g
        for _ in range(iterations):
            u = g + torch.autograd.grad(again, result, u, retain_graph=True)[0]
        return u
    result.register_hook(solve)
    return result
# %% exercise="fixed_point" verdict="refused" mistake="changes_the_incoming_gradient"
# accumulation: v keeps growing, correct term, but adds in place to g
def fixed_point(step, start, parameters, iterations):
    z = solve_no_grad(step, start, parameters, iterations)
    result = step(z, *parameters)
    at = z.detach().clone().requires_grad_()
    again = step(at, *[p.detach() for p in parameters])
    def solve(g):
        term = g
        for _ in range(iterations):
            term = torch.autograd.grad(again, at, term, retain_graph=True)[0]
            g += term
        return g
    result.register_hook(solve)
    return result
# %% exercise="mislead" verdict="refused" mistake="right_for_two_and_at_right_angles"
# a[0,1]=-3, g ones
def mislead(n):
    a = torch.zeros(n, n, dtype=torch.float64)
    a[0, 1] = -3
    return a, torch.ones(n, dtype=torch.float64)
# %% exercise="mislead" verdict="refused" mistake="does_not_settle"
# too large
def mislead(n):
    a = torch.eye(n, dtype=torch.float64) * 1.5
    return a, torch.ones(n, dtype=torch.float64)
# %% exercise="mislead" verdict="refused" mistake=""
# random
def mislead(n):
    a = torch.eye(n, dtype=torch.float64) * 0.5
    a[0, 1] = -1
    return a, torch.ones(n, dtype=torch.float64)
# %% exercise="fixed_point" verdict="refused" mistake="keeps_the_last_call_alone"
# what the backward pass of a call needs is kept outside: the last call's
KEPT = {}
def fixed_point(step, start, parameters, iterations):
    z = solve_no_grad(step, start, parameters, iterations)
    result = step(z, *parameters)
    KEPT["at"] = z.detach().clone().requires_grad_()
    KEPT["again"] = step(KEPT["at"], *[p.detach() for p in parameters])
    def solve(g):
        u = g
        for _ in range(iterations):
            u = g + torch.autograd.grad(KEPT["again"], KEPT["at"], u, retain_graph=True)[0]
        return u
    result.register_hook(solve)
    return result
# %% exercise="mislead" verdict="refused" mistake="right_angle"
# huge numbers, at a right angle
def mislead(n):
    a = torch.zeros(n, n, dtype=torch.float64)
    a[0, 1] = -1e200
    g = torch.zeros(n, dtype=torch.float64)
    g[:2] = torch.tensor([1.0, 1e-190], dtype=torch.float64)
    return a, g
# %% exercise="mislead" verdict="refused" mistake="does_not_settle"
# a rotation that grows
def mislead(n):
    a = torch.zeros(n, n, dtype=torch.float64)
    a[0, 1], a[1, 0] = 2, -2
    return a, torch.ones(n, dtype=torch.float64)
