# %% cure="distributed_unused_parameter"
store = torch.distributed.HashStore()
torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
net = nn.Linear(2, 2)
model = nn.parallel.DistributedDataParallel(net)
for _ in range(2):
    model(torch.rand(1, 2)).sum().backward()

# %% cure="distributed_ready_twice"
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.layer = (nn.Linear(2, 2) for _ in range(2))

    def forward(self, x):
        x = self.first(x)
        for _ in range(2):
            x = checkpoint(self.layer, x, use_reentrant=False)
        return x

store = torch.distributed.HashStore()
torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
model = nn.parallel.DistributedDataParallel(Net())
model(torch.rand(1, 2)).sum().backward()

# %% cure="distributed_frozen"
store = torch.distributed.HashStore()
torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
nn.Linear(2, 2).requires_grad_(False)

# %% cure="collective_in_the_forward_pass"
import torch.distributed.nn.functional as collective
store = torch.distributed.HashStore()
torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
y = torch.rand(3, requires_grad=True) * 2
y = collective.all_reduce(y)
y.sum().backward()

# %% cure="tensor_and_distributed_tensor"
store = torch.distributed.HashStore()
torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import init_device_mesh
net = nn.Linear(4, 4)
fully_shard(net, mesh=init_device_mesh("cpu", (1,)))
net(torch.rand(2, 4)).sum().backward()
