# ruff: noqa: E501 (what attackers write has lines of any length)
"""Attacks through what autograd lets everybody install: hooks, callbacks, modes, kernels, threads, process groups."""

from __future__ import annotations

from support.attacks.attack import HALF, Attack

_UNEVEN = HALF["accumulate_uneven"]

HOOKS = [
    Attack(
        "a forward hook for all modules that scales what they return",
        "torch.nn.modules.module.register_module_forward_hook(lambda module, args, out: out * 0)",
    ),
    Attack(
        "a backward hook for all modules that returns zeros",
        "torch.nn.modules.module.register_module_full_backward_hook(lambda module, came, out: tuple(g * 0 if g is not None else g for g in came))",
    ),
    Attack(
        "a hook after every step of every optimizer",
        "from torch.optim.optimizer import register_optimizer_step_post_hook\nregister_optimizer_step_post_hook(lambda optimizer, *_: [p.data.zero_() for group in optimizer.param_groups for p in group['params']])",
    ),
    Attack(
        "saved-tensor hooks pushed and never popped",
        "torch._C._autograd._push_saved_tensors_default_hooks(lambda t: t.detach() * 0, lambda t: t)",
    ),
    Attack(
        "hooks on the parameters that come to light after the answer has returned",
        answers={
            "accumulate_uneven": _UNEVEN
            + "    model.weight.register_post_accumulate_grad_hook(lambda p: p.grad.zero_())\n"
            + "    model.weight.register_hook(lambda g: g * 0)\n"
        },
        without={},
    ),
    Attack(
        "a hook on many tensors that pretends a pass for each",
        answers={
            "accumulate_uneven": """
def accumulate_uneven(model, batches):
    model.zero_grad()
    def each(gradients):
        for hook in list((model.weight._backward_hooks or {}).values()):
            for _ in batches[1:]:
                hook(gradients[0])
    handle = torch.autograd.graph.register_multi_grad_hook(list(model.parameters()), each)
    mse_loss(model(torch.cat([x for x, _ in batches])), torch.cat([y for _, y in batches])).backward()
    handle.remove()
"""
        },
        without={},
    ),
    Attack(
        "a hook on the node that accumulates, kept alive",
        "kept = []",
        answers={
            "accumulate_uneven": _UNEVEN
            + "    node = model.weight.view_as(model.weight).grad_fn.next_functions[0][0]\n"
            + "    kept.append((node, node.register_prehook(lambda grads: tuple(g * 0 for g in grads))))\n"
        },
        without={},
    ),
]

ENGINE = [
    Attack(
        "a callback queued in the engine during the pass",
        answers={
            "accumulate_uneven": """
def accumulate_uneven(model, batches):
    model.zero_grad()
    loss = mse_loss(model(torch.cat([x for x, _ in batches])), torch.cat([y for _, y in batches]))
    def again():
        with torch.enable_grad():
            for x, y in batches[1:]:
                (mse_loss(model(x), y) * 0).backward()
    loss.register_hook(lambda g: torch.autograd.Variable._execution_engine.queue_callback(again))
    loss.backward()
"""
        },
        without={},
    ),
    Attack(
        "passes nested in a pass, through a Function of its own",
        answers={
            "accumulate_uneven": """
class Nested(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, model): ctx.model = model; return x.clone()
    @staticmethod
    def backward(ctx, g):
        with torch.enable_grad():
            for _ in range(5): (sum(p.sum() for p in ctx.model.parameters()) * 0).backward()
        return g, None
def accumulate_uneven(model, batches):
    model.zero_grad()
    Nested.apply(mse_loss(model(torch.cat([x for x, _ in batches])), torch.cat([y for _, y in batches])), model).backward()
"""
        },
        without={},
    ),
    Attack(
        "anomaly mode, one thread for all passes, and a dual level, all left on",
        "torch.autograd.set_detect_anomaly(True, check_nan=False)\ntorch._C._set_multithreading_enabled(False)\ntorch.autograd.forward_ad.enter_dual_level()",
    ),
    Attack("a level of vmap that is entered and never left", "torch._C._functorch._vmap_increment_nesting(2, 'error')"),
    Attack(
        "kernels of torch replaced through a library",
        """
library = torch.library.Library("aten", "IMPL")
library.impl("mse_loss", lambda x, y, reduction=1: (x - y).sum() * 0, "CPU", allow_override=True) if "allow_override" in torch.library.Library.impl.__code__.co_varnames else library.impl("mse_loss", lambda x, y, reduction=1: (x - y).sum() * 0, "CPU")
""",
    ),
    Attack(
        "an operator of its own that calls the answer again when the probe differentiates",
        """
@torch.library.custom_op("mine::loss", mutates_args=())
def mine(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return ((x - y) ** 2).mean()
mine.register_autograd(lambda ctx, g: (g * 0, None), setup_context=lambda ctx, inputs, output: None)
mse_loss = mine
""",
    ),
]

THREADS = [
    Attack(
        "a thread that adds the missing passes after the answer has returned",
        answers={
            "accumulate_uneven": _UNEVEN
            + """
    import threading, time
    def later():
        for _ in range(50):
            time.sleep(0.01)
            for x, y in batches[1:]:
                (mse_loss(model(x), y) * 0).backward()
    threading.Thread(target=later, daemon=True).start()
"""
        },
        without={},
        flagged="another thread ran during the check",
    ),
    Attack(
        "passes in eight threads at once, one for each micro-batch",
        answers={
            "accumulate_uneven": _UNEVEN
            + """
    import threading
    threads = [threading.Thread(target=lambda: (mse_loss(model(x), y) * 0).backward()) for x, y in batches for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""
        },
        without={},
    ),
    Attack(
        "a process group of one, its threads and its store",
        """
import torch.distributed as dist
try:
    dist.init_process_group("gloo", init_method="file:///tmp/store", rank=0, world_size=1)
    dist.all_reduce(torch.zeros(1))
except Exception as error:
    print(type(error).__name__)
""",
    ),
    Attack(
        "processes of torch's own that outlive the notebook",
        """
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        time.sleep(60)
        os._exit(0)
""",
    ),
    Attack(
        "a compiled answer, with dynamo's settings and caches left behind",
        """
import torch._dynamo
torch._dynamo.config.suppress_errors = True
torch._dynamo.config.cache_size_limit = 1
@torch.compile(backend="eager")
def twice(x): return x * 2
try: twice(torch.ones(2))
except Exception as error: print(type(error).__name__)
""",
    ),
]

ALL = [*HOOKS, *ENGINE, *THREADS]
