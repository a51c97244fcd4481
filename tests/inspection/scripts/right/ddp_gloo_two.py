# right: two gloo processes train under DDP (gradients averaged by hooks during backward); afterwards the main process trains the same model on the joint batches and gets the same weights
import os
import tempfile
import torch
from torch import nn
import torch.nn.functional as F
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP

WORLD, STEPS, PER_RANK = 2, 20, 24


def build():
    torch.manual_seed(23)
    return nn.Sequential(nn.Linear(10, 32), nn.LayerNorm(32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))


def joint_batch(step):
    g = torch.Generator().manual_seed(1000 + step)
    x = torch.randn(WORLD * PER_RANK, 10, generator=g)
    return x, torch.stack([x[:, :3].sum(1), x[:, 3:6].sum(1), x[:, 6:].prod(1)], 1).argmax(1)


def train(model, pick):
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for step in range(STEPS):
        x, y = (t[pick] for t in joint_batch(step))
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


def worker(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=WORLD)
    ddp = DDP(build())
    losses = train(ddp, slice(rank * PER_RANK, (rank + 1) * PER_RANK))
    mean = torch.tensor(losses[-5:]).mean()
    dist.all_reduce(mean)
    if rank == 0:
        print(f"ddp: last losses {mean.item() / WORLD:.4f}")
        torch.save(ddp.module.state_dict(), os.path.join(folder, "ddp.pt"))
    dist.destroy_process_group()


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(folder,), nprocs=WORLD)
        theirs = torch.load(os.path.join(folder, "ddp.pt"))
    model = build()
    losses = train(model, slice(None))
    gap = max((model.state_dict()[k] - v).abs().max().item() for k, v in theirs.items())
    print(f"single: last losses {sum(losses[-5:]) / 5:.4f}, largest weight difference {gap:.1e}")


if __name__ == "__main__":
    main()
