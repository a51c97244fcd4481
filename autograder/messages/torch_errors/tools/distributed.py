"""Explanations about `DistributedDataParallel`."""

from __future__ import annotations

from ..entry import entry

LESSON = "08_gradient_hooks"
GROUP = """
        store = torch.distributed.HashStore()
        torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
        """

ENTRIES = (
    entry(
        "distributed_unused_parameter",
        LESSON,
        r"Expected to have finished reduction in the prior iteration",
        f"""{GROUP}net = nn.Linear(2, 2)
        net.unused = nn.Linear(2, 2)
        model = nn.parallel.DistributedDataParallel(net)
        for _ in range(2):
            model(torch.rand(1, 2)).sum().backward()
        """,
        "In the pass before this one some parameter got no gradient, so its bucket was never sent and gradients were not averaged. Find the parameter, or pass `find_unused_parameters=True`.",
        "В прошлом проходе какой-то параметр не получил градиента, поэтому его корзина не отправлена и градиенты не усреднены. Найдите этот параметр или укажите `find_unused_parameters=True`.",
        exercise="unused_parameters",
    ),
    entry(
        "distributed_ready_twice",
        LESSON,
        r"Expected to mark a variable ready only once",
        f"""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.layer, self.unused = (nn.Linear(2, 2) for _ in range(3))

            def forward(self, x):
                x = self.first(x)
                for _ in range(2):
                    x = checkpoint(self.layer, x, use_reentrant=True)
                return x

        {GROUP.strip()}
        model = nn.parallel.DistributedDataParallel(Net())
        model(torch.rand(1, 2)).sum().backward()
        """,
        "The hook of one parameter ran twice in one pass, often because of checkpoints: write `use_reentrant=False`.",
        "Хук одного параметра сработал за один проход дважды, часто из-за контрольных точек: напишите `use_reentrant=False`.",
        exercise="watch_buckets",
    ),
    entry(
        "distributed_frozen",
        LESSON,
        r"DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient",
        f"""{GROUP}nn.parallel.DistributedDataParallel(nn.Linear(2, 2).requires_grad_(False))
        """,
        "This module is frozen: it has no gradient to average. Use it without `DistributedDataParallel`.",
        "Этот модуль заморожен, и усреднять в нём нечего. Используйте его без `DistributedDataParallel`.",
        exercise="unused_parameters",
    ),
)
