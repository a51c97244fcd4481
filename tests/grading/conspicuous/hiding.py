"""A grammar of answers that take a tensor out of torch as a whole: each way out, behind each way to reach it."""

from __future__ import annotations

from collections.abc import Iterator

# Each defines `out(t)`, which keeps the entries of a tensor where no count of torch's memory sees them.
WAYS_OUT = (
    "def out(t):\n    return t.detach().numpy().copy()",
    "def out(t):\n    return t.tolist()",
    "import numpy as np\ndef out(t):\n    return np.array(t)",
    "def out(t):\n    import numpy\n    return numpy.asarray(t)",
    "from numpy import array as out",
    "def out(t):\n    return list(t.untyped_storage())",
    "import io\ndef out(t):\n    torch.save(t, buffer := io.BytesIO())\n    return buffer",
    "def out(t):\n    torch.save(t, 'kept.pt')\n    return 'kept.pt'",
    "def out(t):\n    return torch.frombuffer(bytearray(t.nbytes), dtype=t.dtype).copy_(t.flatten())",
    "def out(t):\n    return torch.from_file('kept', True, t.numel(), dtype=t.dtype).copy_(t.flatten())",
    "import pickle\ndef out(t):\n    return pickle.dumps(t)",
    "from torch.utils.dlpack import to_dlpack as out",
    "from torch.multiprocessing.reductions import reduce_tensor as out",
    "import mmap\nkept = mmap.mmap(-1, 1 << 20)\ndef out(t):\n    kept.write(t)",
)
# Cells in which `answer` reaches `out`.
WAYS_TO_REACH = (
    "def answer(x):\n    return out(x)",
    "answer = lambda x: out(x)",
    "def helper(x):\n    return out(x)\ndef answer(x, use=helper):\n    return use(x)",
    "TABLE = {}\nTABLE['f'] = out\ndef answer(x):\n    return TABLE['f'](x)",
    "TABLE = []\nTABLE.append(out)\ndef answer(x):\n    return TABLE[0](x)",
    "class Kept:\n    def pack(self, x):\n        return out(x)\nk = Kept()\ndef answer(x):\n    return k.pack(x)",
    "class Kept:\n    pass\nsetattr(Kept, 'pack', out)\ndef answer(x):\n    return Kept.pack(x)",
    "class Kept:\n    pass\ndef install():\n    Kept.pack = out\ninstall()\ndef answer(x):\n    return Kept.pack(x)",
    "def answer(x):\n    return x\ndef first(f):\n    return lambda x: f(out(x))\nanswer = first(answer)",
    "def answer(x):\n    return run(x)\nif True:\n    def run(x):\n        return out(x)",
    "def choose():\n    global chosen\n    chosen = out\nchoose()\ndef answer(x):\n    return chosen(x)",
    "from torch.autograd.graph import saved_tensors_hooks\ndef answer(x):\n"
    "    with saved_tensors_hooks(out, lambda kept: kept):\n        return x * x",
)


def programs() -> Iterator[list[str]]:
    """Yield the cells of each program. The cells of the way out come first, last, or in the same cell."""
    for number, way in enumerate(WAYS_OUT):
        for turn, reach in enumerate(WAYS_TO_REACH):
            yield ([way, reach], [reach, way], [f"{way}\n{reach}"])[(number + turn) % 3]
