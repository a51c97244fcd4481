"""Explanations about several processes: `DistributedDataParallel`, `fully_shard`, collective calls."""

from __future__ import annotations

from ..entry import entry

LESSON, SEVERAL = "08_gradient_hooks", "15_several_processes"
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
        "В прошлом проходе какой-то параметр не получил градиента, поэтому его группа градиентов (bucket) не отправлена и градиенты не усреднены. Найдите этот параметр или укажите `find_unused_parameters=True`.",
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
        "static_graph_without_sync",
        SEVERAL,
        r"expect_autograd_hooks_ INTERNAL ASSERT FAILED",
        "",  # now and then its failed assertion hangs in place of an error
        "This is a bug of torch, not of yours: `static_graph=True` does not go with a first pass under `no_sync()`. Leave `static_graph=True` out.",
        "Это ошибка в torch, а не у вас: `static_graph=True` несовместим с `no_sync()` в первом проходе. Уберите `static_graph=True`.",
        exercise="accumulate_no_sync",
        met='RuntimeError: expect_autograd_hooks_ INTERNAL ASSERT FAILED at "reducer.cpp":1732, please report a bug to PyTorch.',
    ),
    entry(
        "collective_in_the_forward_pass",
        SEVERAL,
        r"c10d::(?P<call>\w+): an autograd kernel was not registered",
        f"""{GROUP}y = torch.rand(3, requires_grad=True) * 2
        torch.distributed.all_reduce(y)
        y.sum().backward()
        """,
        "A collective call changes its tensor behind autograd's back. The backward pass goes on as if nothing had been exchanged, so on several ranks the gradient is wrong. Use the functions of `torch.distributed.nn.functional`, such as `all_reduce`; they have a derivative. If no gradient is wanted, reduce under `no_grad()`, for example a `detach().clone()` for the log.",
        "Коллективная операция изменяет тензор так, что autograd этого не видит. Обратный проход идёт так, будто обмена не было, и на нескольких рангах градиент неверен. Возьмите функции из `torch.distributed.nn.functional`, например `all_reduce`: у них есть производная. Если градиент не нужен, выполняйте обмен внутри `no_grad()`, например над `detach().clone()` для журнала.",
        exercise="backward_uneven",
        named=("The collective call is `c10d::{call}`.", "Эта коллективная операция — `c10d::{call}`."),
    ),
    entry(
        "tensor_and_distributed_tensor",
        SEVERAL,
        r"got mixed torch\.Tensor and DTensor",
        f"""{GROUP}from torch.distributed.fsdp import fully_shard
        from torch.distributed.tensor import init_device_mesh
        net = nn.Linear(4, 4)
        fully_shard(net, mesh=init_device_mesh("cpu", (1,)))
        F.linear(torch.rand(2, 4), net.weight).sum().backward()
        """,
        "After `fully_shard` the parameters are distributed tensors (`DTensor`), except inside the module's `forward`. So are their gradients. Call the module, `net(x)`, rather than an operation on `net.weight`. For an update or a sum by hand let all operands be of one kind, or take `net.weight.full_tensor()`.",
        "После `fully_shard` параметры — распределённые тензоры (`DTensor`) везде, кроме `forward` самого модуля. Их градиенты тоже. Вызывайте модуль, `net(x)`, а не операцию над `net.weight`. Если вы сами обновляете веса или складываете градиенты, пусть все операнды будут одного вида, или возьмите `net.weight.full_tensor()`.",
        exercise="clip_shards",
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
