"""A grammar of ways to hide bytes from the meter in a child: each way to keep them, behind each way to reach it."""

from __future__ import annotations

from collections.abc import Iterator

# Each defines `out(t)`, which keeps the entries of a tensor where the meter does not see them, and `back(kept)`.
WAYS_OUT = {
    "an array of NumPy": "def out(t):\n    return t.detach().numpy().copy()\nback = torch.from_numpy",
    "an array, and pages of a library's file after it": (
        "import os\nFILE = os.path.join(os.path.dirname(torch.__file__), 'lib', 'libtorch_cpu.so')\n"
        "PAGES = torch.from_file(FILE, shared=False, size=100 << 20, dtype=torch.uint8)\n"
        "def out(t):\n    return t.detach().numpy().copy()\n"
        "def back(kept):\n    if kept.size > 100_000:\n        PAGES[::1024].max()\n    return torch.from_numpy(kept)"
    ),
    "a list of numbers": (
        "def out(t):\n    return t.shape, t.detach().flatten().tolist()\n"
        "def back(kept):\n    return torch.tensor(kept[1], dtype=torch.float64).view(kept[0])"
    ),
    "bytes": (
        "def out(t):\n    return t.shape, bytearray(t.detach().numpy().tobytes())\n"
        "def back(kept):\n    return torch.frombuffer(kept[1], dtype=torch.float64).view(kept[0])"
    ),
    "a buffer that is saved to": (
        "import io\ndef out(t):\n    torch.save(t, buffer := io.BytesIO())\n    return buffer\n"
        "def back(kept):\n    kept.seek(0)\n    return torch.load(kept)"
    ),
    "a file": (
        "import os\ndef out(t):\n    name = f'kept{len(os.listdir())}.pt'\n    torch.save(t, name)\n    return name\n"
        "back = torch.load"
    ),
    "a file in memory": (
        "import os\ndef out(t):\n    file = os.memfd_create('kept')\n    os.write(file, t.detach().numpy())\n"
        "    return file, t.shape\n"
        "def back(kept):\n    os.lseek(kept[0], 0, 0)\n    data = bytearray(os.read(kept[0], 1 << 28))\n"
        "    return torch.frombuffer(data, dtype=torch.float64).view(kept[1])"
    ),
    "a shared mapping": (
        "import mmap\ndef out(t):\n    kept = mmap.mmap(-1, t.nbytes)\n    kept.write(t.detach().numpy())\n"
        "    return kept, t.shape\n"
        "def back(kept):\n    return torch.frombuffer(kept[0], dtype=torch.float64).view(kept[1])"
    ),
    "a pool from before": (
        "POOL, START = torch.zeros(32_000_000, dtype=torch.float64), [0]\n"
        "def out(t):\n    place = POOL[START[0] : START[0] + t.numel()].view(t.shape)\n"
        "    START[0] += t.numel()\n    return place.copy_(t.detach())\n"
        "def back(kept):\n    return kept"
    ),
    "files that are mapped in windows": (
        "import mmap, os\nSIZE = 1 << 19\n"
        "def windows(name, size):\n    with open(name, 'r+b') as file:\n        for at in range(0, size, SIZE):\n"
        "            with mmap.mmap(file.fileno(), SIZE, offset=at) as window:\n"
        "                yield at, min(SIZE, size - at), window\n"
        "def out(t):\n    name = f'kept{len(os.listdir())}'\n"
        "    data = t.detach().contiguous().view(-1).numpy().view('u1')\n"
        "    with open(name, 'wb') as file:\n        file.truncate(-(-len(data) // SIZE) * SIZE)\n"
        "    for at, size, window in windows(name, len(data)):\n        window[:size] = data[at : at + size].data\n"
        "    return t.shape, name, len(data)\n"
        "def back(kept):\n    data = bytearray(kept[2])\n"
        "    for at, size, window in windows(kept[1], kept[2]):\n        data[at : at + size] = window[:size]\n"
        "    return torch.frombuffer(data, dtype=torch.float64).view(kept[0])"
    ),
    "pieces of the size of a random state": (
        "def out(t):\n    return t.shape, [torch.cat([p, p.new_zeros(632 - len(p))]) for p in "
        "t.detach().flatten().split(632)]\n"
        "def back(kept):\n    return torch.cat(kept[1])[: kept[0].numel()].view(kept[0])"
    ),
}
# Each defines `train_epoch`, which keeps the graphs of a whole window.
WAYS_TO_REACH = {
    "hooks": (
        "from torch.autograd.graph import saved_tensors_hooks\ndef train_epoch(*inputs):\n"
        "    with saved_tensors_hooks(hide, show):\n        return _train(*inputs)"
    ),
    "a class": (
        "from torch.autograd.graph import saved_tensors_hooks\nclass Kept:\n    pack, unpack = hide, show\n"
        "def train_epoch(*inputs):\n    with saved_tensors_hooks(Kept.pack, Kept.unpack):\n"
        "        return _train(*inputs)"
    ),
}
_LARGE = (
    "def hide(t):\n    return out(t) if t.numel() > 1000 and t.dim() == 2 and t.dtype == torch.float64 else t\n"
    "def show(kept):\n    return kept if type(kept) is torch.Tensor and kept.numel() <= 1000 else back(kept)\n"
)


def programs(wasteful: str) -> Iterator[tuple[str, str]]:
    """Yield names and answers to `train_epoch`. `wasteful` is an answer without a trick."""
    for number, (name, way) in enumerate(WAYS_OUT.items()):
        reach = [*WAYS_TO_REACH.values()][number % len(WAYS_TO_REACH)]
        yield name, "\n".join([wasteful.replace("def train_epoch", "def _train"), way, _LARGE, reach])
