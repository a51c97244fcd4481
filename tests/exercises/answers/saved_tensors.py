# %%
import math
import os
import tempfile
import uuid
import weakref
import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
from autograder.measure import saved_bytes
def run_all(layers, h):
    for layer in layers:
        h = layer(h)
    return h
class SelfDeletingTempFile:
    def __init__(self):
        self.name = os.path.join(tempfile.gettempdir(), str(uuid.uuid4()))
    def __del__(self):
        if os.path.exists(self.name):
            os.remove(self.name)
# %% exercise="save_in_half" verdict="refused"
# dtype of x
def save_in_half(f, x):
    def pack(t):
        return t.detach().half() if t.dtype in (torch.float32, torch.float64) else t.detach()
    def unpack(t):
        return t.to(x.dtype) if t.dtype == torch.float16 else t
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="save_in_half" verdict="refused"
# small ones left wide
def save_in_half(f, x):
    def pack(t):
        if t.numel() > 10 and t.dtype in (torch.float32, torch.float64):
            return t.detach().half(), t.dtype
        return t.detach(), t.dtype
    def unpack(packed):
        t, dtype = packed
        return t.to(dtype)
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="save_in_half" verdict="refused"
# only tensors that require grad
def save_in_half(f, x):
    def pack(t):
        if t.requires_grad and t.dtype in (torch.float32, torch.float64):
            return t.detach().half(), t.dtype
        return t.detach(), t.dtype
    def unpack(packed):
        t, dtype = packed
        return t.to(dtype)
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="save_in_half" verdict="refused"
# byte buffers
import io
def save_in_half(f, x):
    def pack(t):
        buffer = io.BytesIO()
        torch.save(t.detach().half() if t.dtype in (torch.float32, torch.float64) else t.detach(), buffer)
        return buffer, t.dtype
    def unpack(packed):
        buffer, dtype = packed
        buffer.seek(0)
        return torch.load(buffer).to(dtype)
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="save_in_half" verdict="refused" mistake="runs_on_a_detached_x"
# detached result
def save_in_half(f, x):
    def pack(t):
        return (t.detach().half() if t.dtype in (torch.float32, torch.float64) else t.detach()), t.dtype
    with saved_tensors_hooks(pack, lambda p: p[0].to(p[1])):
        return f(x.detach().requires_grad_())
# %% exercise="fix_threshold" verdict="refused"
# cache after reading
def fix_threshold(f, x, threshold):
    def pack_hook(x):
        if x.numel() < threshold:
            return x.detach()
        temp_file = SelfDeletingTempFile()
        torch.save(x, temp_file.name)
        return temp_file
    def unpack_hook(tensor_or_file):
        if isinstance(tensor_or_file, torch.Tensor):
            return tensor_or_file
        if not hasattr(tensor_or_file, "cache"):
            tensor_or_file.cache = torch.load(tensor_or_file.name)
        return tensor_or_file.cache
    with saved_tensors_hooks(pack_hook, unpack_hook):
        return f(x)
# %% exercise="fix_threshold" verdict="refused"
# bytes in a buffer
import io
def fix_threshold(f, x, threshold):
    def pack_hook(x):
        if x.numel() < threshold:
            return x.detach()
        buffer = io.BytesIO()
        torch.save(x, buffer)
        return buffer
    def unpack_hook(tensor_or_buffer):
        if isinstance(tensor_or_buffer, torch.Tensor):
            return tensor_or_buffer
        tensor_or_buffer.seek(0)
        return torch.load(tensor_or_buffer)
    with saved_tensors_hooks(pack_hook, unpack_hook):
        return f(x)
# %% exercise="fix_threshold" verdict="refused"
# pickled bytes
import pickle
def fix_threshold(f, x, threshold):
    def pack_hook(x):
        if x.numel() < threshold:
            return x.detach()
        return pickle.dumps(x.detach())
    def unpack_hook(packed):
        return packed if isinstance(packed, torch.Tensor) else pickle.loads(packed)
    with saved_tensors_hooks(pack_hook, unpack_hook):
        return f(x)
# %% exercise="fix_threshold" verdict="refused" mistake="runs_on_a_detached_leaf"
# hooks around x only
def fix_threshold(f, x, threshold):
    def pack_hook(x):
        if x.numel() < threshold:
            return x.detach()
        temp_file = SelfDeletingTempFile()
        torch.save(x, temp_file.name)
        return temp_file
    def unpack_hook(tensor_or_file):
        if isinstance(tensor_or_file, torch.Tensor):
            return tensor_or_file
        return torch.load(tensor_or_file.name)
    x = x.detach().requires_grad_()
    with saved_tensors_hooks(pack_hook, unpack_hook):
        return f(x)
# %% exercise="save_on_disk" verdict="refused"
# names by id(t)
class FileTensor:
    def __init__(self, t, folder):
        self.name = os.path.join(folder, f"{id(t)}.pt")
        torch.save(t.detach().clone(), self.name)
    def __del__(self):
        if os.path.exists(self.name):
            os.remove(self.name)
def save_on_disk(f, x, parameters, folder):
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    def pack(t):
        if t.untyped_storage().data_ptr() in weights:
            return t.detach()
        return FileTensor(t, folder)
    def unpack(kept):
        return torch.load(kept.name) if isinstance(kept, FileTensor) else kept
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="save_on_disk" verdict="refused"
# names by data_ptr
class FileTensor:
    def __init__(self, t, folder):
        self.name = os.path.join(folder, f"{t.data_ptr()}.pt")
        torch.save(t.detach().clone(), self.name)
    def __del__(self):
        if os.path.exists(self.name):
            os.remove(self.name)
def save_on_disk(f, x, parameters, folder):
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    def pack(t):
        if t.untyped_storage().data_ptr() in weights:
            return t.detach()
        return FileTensor(t, folder)
    def unpack(kept):
        return torch.load(kept.name) if isinstance(kept, FileTensor) else kept
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="save_on_disk" verdict="refused"
# scalars in memory
class FileTensor:
    def __init__(self, t, folder):
        self.name = os.path.join(folder, str(uuid.uuid4()))
        torch.save(t.detach().clone(), self.name)
    def __del__(self):
        if os.path.exists(self.name):
            os.remove(self.name)
def save_on_disk(f, x, parameters, folder):
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    def pack(t):
        if t.dim() == 0 or t.untyped_storage().data_ptr() in weights:
            return t.detach()
        return FileTensor(t, folder)
    def unpack(kept):
        return torch.load(kept.name) if isinstance(kept, FileTensor) else kept
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="save_on_disk" verdict="refused"
# parameters by _base
class FileTensor:
    def __init__(self, t, folder):
        self.name = os.path.join(folder, str(uuid.uuid4()))
        torch.save(t.detach().clone(), self.name)
    def __del__(self):
        if os.path.exists(self.name):
            os.remove(self.name)
def save_on_disk(f, x, parameters, folder):
    def pack(t):
        if any(t is p or t._base is p for p in parameters):
            return t.detach()
        return FileTensor(t, folder)
    def unpack(kept):
        return torch.load(kept.name) if isinstance(kept, FileTensor) else kept
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="save_on_disk" verdict="refused"
# named by a counter that starts again
class FileTensor:
    def __init__(self, t, folder):
        self.name = os.path.join(folder, str(len(os.listdir(folder))))
        torch.save(t.detach().clone(), self.name)
    def __del__(self):
        if os.path.exists(self.name):
            os.remove(self.name)
def save_on_disk(f, x, parameters, folder):
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    def pack(t):
        if t.untyped_storage().data_ptr() in weights:
            return t.detach()
        return FileTensor(t, folder)
    def unpack(kept):
        return torch.load(kept.name) if isinstance(kept, FileTensor) else kept
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="save_on_disk" verdict="refused"
# rounded to float32 in a copy
class FileTensor:
    def __init__(self, t, folder):
        self.name = os.path.join(folder, str(uuid.uuid4()))
        torch.save(t.detach().to(torch.float32, copy=True), self.name)
        self.dtype = t.dtype
    def __del__(self):
        if os.path.exists(self.name):
            os.remove(self.name)
def save_on_disk(f, x, parameters, folder):
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    def pack(t):
        if t.untyped_storage().data_ptr() in weights:
            return t.detach()
        return FileTensor(t, folder)
    def unpack(kept):
        return torch.load(kept.name).to(kept.dtype) if isinstance(kept, FileTensor) else kept
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="save_on_disk" verdict="refused"
# a registry holds file and node until the first unpack
def save_on_disk(f, x, parameters, folder):
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    class Kept:
        alive = {}
        def __init__(self, t):
            self.name = os.path.join(folder, str(uuid.uuid4()))
            torch.save(t.detach().clone(), self.name)
            node = t.grad_fn
            Kept.alive[self.name] = (self, node)
        def __del__(self):
            if os.path.exists(self.name):
                os.remove(self.name)
    def pack(t):
        if t.untyped_storage().data_ptr() in weights:
            return t.detach()
        return Kept(t)
    def unpack(kept):
        if isinstance(kept, torch.Tensor):
            return kept
        Kept.alive.pop(kept.name, None)  # from now on the graph alone holds it
        return torch.load(kept.name)
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="save_on_disk" verdict="refused" mistake="compares_first_addresses"
# parameters by shape
class FileTensor:
    def __init__(self, t, folder):
        self.name = os.path.join(folder, str(uuid.uuid4()))
        torch.save(t.detach().clone(), self.name)
    def __del__(self):
        if os.path.exists(self.name):
            os.remove(self.name)
def save_on_disk(f, x, parameters, folder):
    def pack(t):
        if any(t.shape == p.shape or t.shape == p.shape[::-1] for p in parameters):
            return t.detach()
        return FileTensor(t, folder)
    def unpack(kept):
        return torch.load(kept.name) if isinstance(kept, FileTensor) else kept
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="save_on_disk" verdict="refused" mistake="keeps_small_ones"
# small ones in memory
class FileTensor:
    def __init__(self, t, folder):
        self.name = os.path.join(folder, str(uuid.uuid4()))
        torch.save(t.detach().clone(), self.name)
    def __del__(self):
        if os.path.exists(self.name):
            os.remove(self.name)
def save_on_disk(f, x, parameters, folder):
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    def pack(t):
        if t.numel() < 16 or t.untyped_storage().data_ptr() in weights:
            return t.detach()
        return FileTensor(t, folder)
    def unpack(kept):
        return torch.load(kept.name) if isinstance(kept, FileTensor) else kept
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="save_on_disk" verdict="refused" mistake="removes_when_unpacking"
# deleted by a hook on x
def save_on_disk(f, x, parameters, folder):
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    names = []
    def pack(t):
        if t.untyped_storage().data_ptr() in weights:
            return t.detach()
        name = os.path.join(folder, str(len(names)))
        torch.save(t.detach().clone(), name)
        names.append(name)
        return name
    def unpack(kept):
        return torch.load(kept) if isinstance(kept, str) else kept
    def clean(grad):
        for name in names:
            os.remove(name)
    with saved_tensors_hooks(pack, unpack):
        y = f(x)
    if x.requires_grad:
        x.register_hook(clean)
    return y
# %% exercise="save_on_disk" verdict="refused" mistake="removes_no_file"
# file objects in an attribute of the function
class FileTensor:
    def __init__(self, t, folder):
        self.name = os.path.join(folder, str(uuid.uuid4()))
        torch.save(t.detach().clone(), self.name)
    def __del__(self):
        if os.path.exists(self.name):
            os.remove(self.name)
def save_on_disk(f, x, parameters, folder):
    weights = [p.untyped_storage().data_ptr() for p in parameters]
    files = []
    def pack(t):
        if t.untyped_storage().data_ptr() in weights:
            return t.detach()
        files.append(FileTensor(t, folder))
        return len(files) - 1
    def unpack(kept):
        return torch.load(files[kept].name) if isinstance(kept, int) else kept
    save_on_disk.files = files  # "so that nothing is deleted too early"
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="hide_saved" verdict="refused"
# waste in backward
def hide_saved(layers, x):
    def outer(h):
        for start in range(0, len(layers), 4):
            h = checkpoint(torch.nn.Sequential(*layers[start : start + 4]), h, use_reentrant=False)
        return h
    y = checkpoint(outer, x, use_reentrant=False)
    def waste(grad):
        junk = [torch.zeros_like(grad) for _ in range(20)]
        return None
    y.register_hook(waste)
    return y
# %% exercise="hide_saved" verdict="refused"
# ones at the end of backward
def hide_saved(layers, x):
    calls = []
    def outer(h):
        calls.append(1)
        junk = [torch.zeros_like(h) for _ in range(18)] if len(calls) > 1 else []
        for start in range(0, len(layers), 4):
            h = checkpoint(torch.nn.Sequential(*layers[start : start + 4]), h, use_reentrant=False)
        return h
    return checkpoint(outer, x, use_reentrant=False)
# %% exercise="hide_saved" verdict="refused"
# wasteful hooks
class Kept:
    def __init__(self, t):
        self.name = os.path.join(tempfile.gettempdir(), str(uuid.uuid4()))
        torch.save(t.detach().clone(), self.name)
    def __del__(self):
        os.remove(self.name)
def hide_saved(layers, x):
    def unpack(k):
        junk = torch.zeros(20, *x.shape, dtype=x.dtype)
        return torch.load(k.name)
    with saved_tensors_hooks(Kept, unpack):
        for layer in layers:
            x = layer(x)
    return x
# %% exercise="hide_saved" verdict="refused" mistake="hides_the_graph"
# detached
def hide_saved(layers, x):
    return torch.nn.Sequential(*layers)(x).detach().requires_grad_()
# %% exercise="count_saved" verdict="refused"
# graph walked by next_functions
def count_saved(f, x, parameters):
    skip = {p.untyped_storage().data_ptr() for p in parameters}
    kept = {}
    node = f(x).grad_fn
    while node is not None:
        for name in dir(node):
            if name.startswith("_saved_"):
                t = getattr(node, name)
                if isinstance(t, torch.Tensor) and t.untyped_storage().data_ptr() not in skip:
                    kept[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        node = node.next_functions[0][0] if node.next_functions else None
    return sum(kept.values())
# %% exercise="count_saved" verdict="refused"
# dropped branches counted
def count_saved(f, x, parameters):
    kept = {}
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    def pack(t):
        storage = t.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage
        return t.detach()
    with saved_tensors_hooks(pack, lambda t: t):
        y = f(x)
    return sum(storage.nbytes() for storage in kept.values())
# %% exercise="count_saved" verdict="refused" mistake="sees_nothing"
# saved_bytes after the result is gone
def count_saved(f, x, parameters):
    with saved_bytes(parameters) as saved:
        f(x)
    return saved.now
# %% exercise="checkpointed" verdict="refused"
# two sizes
def checkpointed(layers, x):
    size = 10 if len(layers) > 50 else 3
    for start in range(0, len(layers), size):
        x = checkpoint(torch.nn.Sequential(*layers[start : start + size]), x, use_reentrant=False)
    return x
# %% exercise="checkpointed" verdict="refused"
# logarithm
import math
def checkpointed(layers, x):
    size = max(1, round(math.log2(max(2, len(layers)))))
    for start in range(0, len(layers), size):
        x = checkpoint(torch.nn.Sequential(*layers[start : start + size]), x, use_reentrant=False)
    return x
# %% exercise="predict_saved" verdict="refused" mistake="what_lives_anyway_is_free"
# relu keeps nothing
predict_saved = {
    "x.relu()": 0,
    "x.sin()": 0,
    "x + 1": 0,
    "x * 2": 0,
    "x * x": 0,
    "x * x.sigmoid()": 65536,
    "x.sum()": 0,
    "torch.where(x > 0.5, x, 0.0)": 16384,
    "x[:2].sin()": 0,
    "x @ W": 0,
    "x @ frozen": 0,
}
# %% exercise="notice_edits" verdict="refused" mistake="does_not_look"
#
def notice_edits(f, x):
    def pack(t):
        return t.data, t.data._version
    def unpack(packed):
        t, version = packed
        if t._version != version:
            raise RuntimeError("changed in place")
        return t
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="fix_threshold" verdict="refused"
# names by id(x)
class NamedFile:
    def __init__(self, name):
        self.name = os.path.join(tempfile.gettempdir(), name)
    def __del__(self):
        if os.path.exists(self.name):
            os.remove(self.name)
def fix_threshold(f, x, threshold):
    def pack_hook(x):
        if x.numel() < threshold:
            return x.detach()
        temp_file = NamedFile(f"saved-{id(x)}")
        torch.save(x, temp_file.name)
        return temp_file
    def unpack_hook(tensor_or_file):
        if isinstance(tensor_or_file, torch.Tensor):
            return tensor_or_file
        return torch.load(tensor_or_file.name)
    with saved_tensors_hooks(pack_hook, unpack_hook):
        return f(x)
# %% exercise="checkpointed" verdict="refused" mistake="draws_anew_in_longer_segments"
def checkpointed(layers, x):
    size = math.ceil(math.sqrt(len(layers)))
    for start in range(0, len(layers), size):
        x = checkpoint(
            torch.nn.Sequential(*layers[start : start + size]), x, use_reentrant=False, preserve_rng_state=False
        )
    return x
# %% exercise="checkpointed" verdict="refused" mistake="runs_in_eval"
def checkpointed(layers, x):
    size = math.ceil(math.sqrt(len(layers)))
    for layer in layers:
        layer.eval()
    for start in range(0, len(layers), size):
        x = checkpoint(torch.nn.Sequential(*layers[start : start + size]), x, use_reentrant=False)
    return x
# %% exercise="checkpointed" verdict="refused" mistake="draws_anew"
class _SegmentNoRng(torch.autograd.Function):
    @staticmethod
    def forward(ctx, layers, x, *parameters):
        ctx.layers = layers
        ctx.save_for_backward(x)
        for layer in layers:
            x = layer(x)
        return x
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        h = y = x.detach().requires_grad_(ctx.needs_input_grad[1])
        with torch.enable_grad():
            for layer in ctx.layers:
                y = layer(y)
        params = [p for layer in ctx.layers for p in layer.parameters()]
        wanted = [t for t, need in zip([h, *params], ctx.needs_input_grad[1:]) if need]
        grads = iter(torch.autograd.grad(y, wanted, g))
        return (None, *(next(grads) if need else None for need in ctx.needs_input_grad[1:]))
def checkpointed(layers, x):
    size = max(1, round(math.sqrt(len(layers))))
    for start in range(0, len(layers), size):
        part = list(layers[start : start + size])
        x = _SegmentNoRng.apply(part, x, *[p for layer in part for p in layer.parameters()])
    return x
# %% exercise="checkpointed" verdict="refused" mistake="runs_copies"
class _Lost(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, layers):
        ctx.layers = layers
        ctx.save_for_backward(x)
        return run_all(layers, x)
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        h = x.detach().requires_grad_()
        with torch.enable_grad():
            y = run_all(ctx.layers, h)
        return torch.autograd.grad(y, h, g)[0], None
def checkpointed(layers, x):
    size = math.ceil(math.sqrt(len(layers)))
    for start in range(0, len(layers), size):
        x = _Lost.apply(x, layers[start : start + size])
    return x
# %% exercise="count_saved" verdict="refused" mistake="overlooks_tuples"
def count_saved(f, x, parameters):
    y = f(x)
    known = {p.untyped_storage().data_ptr() for p in parameters}
    sizes, seen, todo, keep = {}, set(), [y.grad_fn], []
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        todo += [n for n, _ in node.next_functions]
        for name in dir(node):
            if name.startswith("_saved_"):
                t = getattr(node, name)
                if isinstance(t, torch.Tensor):
                    keep.append(t)
                    if t.untyped_storage().data_ptr() not in known:
                        sizes[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
    return sum(sizes.values())
# %% exercise="count_saved" verdict="refused" mistake="counts_parameters_alive"
def count_saved(f, x, parameters):
    with saved_bytes() as saved:
        y = f(x)
    return saved.now
# %% exercise="notice_edits" verdict="refused" mistake="unpacks_once"
def notice_edits(f, x):
    def unpack(p):
        t, v = p
        if v != t._version or t.grad_fn is not None:
            raise RuntimeError("edited")
        p[1] = -1
        return t
    with saved_tensors_hooks(lambda t: [t.detach(), t._version], unpack):
        return f(x)
# %% exercise="notice_edits" verdict="refused" mistake="keeps_the_tensor_itself"
_saved = []
def notice_edits(f, x):
    def pack(t):
        _saved.append((t.detach(), t._version))
        return len(_saved) - 1
    def unpack(i):
        t, version = _saved[i]
        if t._version != version:
            raise RuntimeError("edited")
        return t
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="save_in_half" verdict="refused"
def save_in_half(f, x):
    def pack(t):
        return (
            (t.dtype, t.to(torch.float16))
            if t.dtype == torch.float64 or t.dtype == torch.float32 and t.numel() > 1
            else (None, t.detach())
        )
    with saved_tensors_hooks(pack, lambda p: p[1] if p[0] is None else p[1].to(p[0])):
        return f(x)
# %% exercise="save_in_half" verdict="refused" mistake="leaves_single_numbers"
def save_in_half(f, x):
    def pack(t):
        if t.numel() > 1 and t.dtype in (torch.float32, torch.float64):
            return t.dtype, t.half()
        return None, t.detach()
    with saved_tensors_hooks(pack, lambda p: p[1] if p[0] is None else p[1].to(p[0])):
        return f(x)
# %% exercise="save_in_half" verdict="refused" mistake="unpacks_the_pair"
def save_in_half(f, x):
    def pack(t):
        return (t.dtype, t.half()) if t.dtype in (torch.float32, torch.float64) else (None, t.detach())
    with saved_tensors_hooks(pack, lambda p: p):
        return f(x)
# %% exercise="save_in_half" verdict="refused" mistake="defines_the_hooks_only"
def save_in_half(f, x):
    with torch.autocast("cpu", dtype=torch.float16):
        return f(x)
# %% exercise="fix_threshold" verdict="refused" mistake="compares_the_storage"
def fix_threshold(f, x, threshold):
    def pack_hook(t):
        if t.untyped_storage().nbytes() // t.element_size() < threshold:
            return t.detach()
        temp_file = SelfDeletingTempFile()
        torch.save(t, temp_file.name)
        return temp_file
    def unpack_hook(p):
        return p if isinstance(p, torch.Tensor) else torch.load(p.name)
    with saved_tensors_hooks(pack_hook, unpack_hook):
        return f(x)
# %% exercise="fix_threshold" verdict="refused" mistake="leaves_the_files"
_files = []
def fix_threshold(f, x, threshold):
    def pack_hook(t):
        if t.numel() < threshold:
            return t.detach()
        temp_file = SelfDeletingTempFile()
        _files.append(temp_file)
        torch.save(t, temp_file.name)
        return temp_file
    def unpack_hook(p):
        return p if isinstance(p, torch.Tensor) else torch.load(p.name)
    with saved_tensors_hooks(pack_hook, unpack_hook):
        return f(x)
# %% exercise="fix_threshold" verdict="refused" mistake="compares_with_ten"
def fix_threshold(f, x, threshold):
    def pack_hook(t):
        if t.numel() < 10:
            return t.detach()
        temp_file = SelfDeletingTempFile()
        torch.save(t, temp_file.name)
        return temp_file
    def unpack_hook(p):
        return p if isinstance(p, torch.Tensor) else torch.load(p.name)
    with saved_tensors_hooks(pack_hook, unpack_hook):
        return f(x)
# %% exercise="fix_threshold" verdict="refused" mistake="keeps_the_outer_x"
def fix_threshold(f, x, threshold):
    def pack_hook(tensor):
        if x.numel() < threshold:
            return x
        temp_file = SelfDeletingTempFile()
        torch.save(tensor, temp_file.name)
        return temp_file
    def unpack_hook(tensor_or_file):
        if isinstance(tensor_or_file, torch.Tensor):
            return tensor_or_file
        return torch.load(tensor_or_file.name)
    with saved_tensors_hooks(pack_hook, unpack_hook):
        return f(x)
# %% exercise="save_on_disk" verdict="refused" mistake="keeps_dropped_files"
def save_on_disk(f, x, parameters, folder):
    known = {p.untyped_storage().data_ptr() for p in parameters}
    files = []
    class Stored:
        def __init__(self, t):
            self.name = os.path.join(folder, str(uuid.uuid4()))
            torch.save(t.detach().clone(), self.name)
        def __del__(self):
            if os.path.exists(self.name):
                os.remove(self.name)
    def pack(t):
        if t.untyped_storage().data_ptr() in known:
            return t.detach()
        files.append(Stored(t))
        return len(files) - 1
    def unpack(p):
        return p if isinstance(p, torch.Tensor) else torch.load(files[p].name)
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %%
from torch.utils.checkpoint import checkpoint
# %% exercise="checkpointed" verdict="passed"
def checkpointed(layers, x):
    class Segment(torch.autograd.Function):
        @staticmethod
        def forward(ctx, part, x, *params):
            ctx.part, ctx.n = part, len(params)
            ctx.state = torch.get_rng_state()
            ctx.save_for_backward(x)
            ctx.needs = x.requires_grad
            with torch.no_grad():
                for layer in part:
                    x = layer(x)
            return x
        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            state = torch.get_rng_state()
            torch.set_rng_state(ctx.state)
            with torch.enable_grad():
                x = x.detach().requires_grad_(ctx.needs)
                y = x
                for layer in ctx.part:
                    y = layer(y)
            torch.set_rng_state(state)
            torch.autograd.backward(y, g)
            return (None, x.grad) + (None,) * ctx.n
    size = max(1, round(math.sqrt(len(layers))))
    for i in range(0, len(layers), size):
        part = layers[i : i + size]
        params = [p for layer in part for p in layer.parameters()]
        x = Segment.apply(part, x, *params)
    return x
# %% exercise="hide_saved" verdict="passed"
def hide_saved(layers, x):
    def inner(x):
        for layer in layers:
            x = layer(x)
        return x
    def outer(x):
        return checkpoint(inner, x, use_reentrant=False)
    return checkpoint(outer, x, use_reentrant=False)
# %% exercise="fix_threshold" verdict="refused" mistake="writes_the_outer_x"
# renames the argument but still writes the outer x, so operations that saved something else get the input back
def fix_threshold(f, x, threshold):
    def pack_hook(tensor):
        if tensor.numel() < threshold:
            return tensor.detach()
        temp_file = SelfDeletingTempFile()
        torch.save(x.detach(), temp_file.name)
        return temp_file
    def unpack_hook(tensor_or_file):
        if isinstance(tensor_or_file, torch.Tensor):
            return tensor_or_file
        return torch.load(tensor_or_file.name)
    with saved_tensors_hooks(pack_hook, unpack_hook):
        return f(x)
# %% exercise="save_on_disk" verdict="refused" mistake="caches_what_it_read"
# keeps the tensor that it has read beside the file, so after backward(retain_graph=True) everything is in memory again
def save_on_disk(f, x, parameters, folder):
    storages = {p.untyped_storage().data_ptr() for p in parameters}
    class File:
        def __init__(self, t):
            self.name = os.path.join(folder, str(uuid.uuid4()))
            self.content = None
            torch.save(t.detach().clone(), self.name)
        def load(self):
            if self.content is None:
                self.content = torch.load(self.name)
            return self.content
        def __del__(self):
            if os.path.exists(self.name):
                os.remove(self.name)
    def pack(t):
        return t.detach() if t.untyped_storage().data_ptr() in storages else File(t)
    def unpack(kept):
        return kept if isinstance(kept, torch.Tensor) else kept.load()
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="save_on_disk" verdict="refused" mistake="reuses_a_name"
# names a file after the number of files in the folder, so after f has dropped a result a living file is written over
def save_on_disk(f, x, parameters, folder):
    storages = {p.untyped_storage().data_ptr() for p in parameters}
    class File:
        def __init__(self, t):
            self.name = os.path.join(folder, f"{len(os.listdir(folder))}.pt")
            torch.save(t.detach().clone(), self.name)
        def __del__(self):
            if os.path.exists(self.name):
                os.remove(self.name)
    def pack(t):
        return t.detach() if t.untyped_storage().data_ptr() in storages else File(t)
    def unpack(kept):
        return kept if isinstance(kept, torch.Tensor) else torch.load(kept.name)
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="checkpointed" verdict="refused" mistake="makes_squares"
# makes exactly sqrt(L) segments of sqrt(L) layers and drops the layers that are left over
def checkpointed(layers, x):
    k = int(len(layers) ** 0.5)
    for i in range(k):
        x = checkpoint(torch.nn.Sequential(*layers[i * k : (i + 1) * k]), x, use_reentrant=False)
    return x
# %% exercise="notice_edits" verdict="refused"
def notice_edits(f, x):
    version = None
    def pack(t):
        nonlocal version
        version = t._version
        return t.detach()
    def unpack(t):
        if t._version != version:
            raise RuntimeError("a saved tensor has been modified")
        return t
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="notice_edits" verdict="refused"
def notice_edits(f, x):
    saved = []
    def pack(t):
        saved.append(t._version)
        return t.detach()
    def unpack(t):
        if t._version != saved[0]:
            raise RuntimeError("a saved tensor has been modified")
        return t
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="notice_edits" verdict="passed"
def notice_edits(f, x):
    def pack(t):
        kept = t.detach()
        return kept, kept._version
    def unpack(packed):
        kept, version = packed
        if kept._version > version:
            raise RuntimeError(f"version {kept._version}, expected {version}")
        return kept
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="count_saved" verdict="refused"
def count_saved(f, x, parameters):
    known = {parameters[0].untyped_storage().data_ptr()} if parameters else set()
    found = {}
    class Held:
        def __init__(self, t):
            self.t = t
    import weakref
    held = weakref.WeakSet()
    def pack(t):
        kept = Held(t.detach())
        held.add(kept)
        return kept
    with saved_tensors_hooks(pack, lambda kept: kept.t):
        y = f(x)
    for kept in held:
        storage = kept.t.untyped_storage()
        if storage.data_ptr() not in known:
            found[storage.data_ptr()] = storage.nbytes()
    del y
    return sum(found.values())
# %% exercise="count_saved" verdict="passed"
def count_saved(f, x, parameters):
    known = {p.untyped_storage().data_ptr() for p in parameters}
    found = {}
    class Held:
        def __init__(self, t):
            self.t = t
    import weakref
    held = weakref.WeakSet()
    def pack(t):
        kept = Held(t.detach())
        held.add(kept)
        return kept
    with saved_tensors_hooks(pack, lambda kept: kept.t):
        y = f(x)
    for kept in held:
        storage = kept.t.untyped_storage()
        if storage.data_ptr() not in known:
            found[storage.data_ptr()] = storage.nbytes()
    del y
    return sum(found.values())
# %% exercise="save_in_half" verdict="refused"
def save_in_half(f, x):
    def pack(t):
        return (t.dtype, t.half()) if t.dtype in (torch.float32, torch.float64) else (t.dtype, t.detach())
    with saved_tensors_hooks(pack, lambda packed: packed[1].to(packed[0]).sqrt() ** 2 + 1):
        y = f(x)
    torch.set_grad_enabled(False)
    return y
# %% exercise="save_on_disk" verdict="refused"
def save_on_disk(f, x, parameters, folder):
    import os
    import uuid
    known = {p.untyped_storage().data_ptr() for p in parameters}
    class File:
        def __init__(self, t):
            self.path = os.path.join(folder, uuid.uuid4().hex)
            torch.save(t.detach().clone(), self.path)
        def __del__(self):
            if os.path.exists(self.path):
                os.remove(self.path)
    def pack(t):
        return t.detach() if t.untyped_storage().data_ptr() in known else File(t)
    def unpack(kept):
        return torch.load(kept.path) if isinstance(kept, File) else kept
    with saved_tensors_hooks(pack, unpack):
        y = f(x)
    with torch.no_grad():
        y.add_(1)
    return y
# %% exercise="save_on_disk" verdict="passed"
def save_on_disk(f, x, parameters, folder):
    import os
    import uuid
    known = {p.untyped_storage().data_ptr() for p in parameters}
    class File:
        def __init__(self, t):
            self.path = os.path.join(folder, uuid.uuid4().hex)
            torch.save(t.detach().clone(), self.path)
        def __del__(self):
            if os.path.exists(self.path):
                os.remove(self.path)
    def pack(t):
        return t.detach() if t.untyped_storage().data_ptr() in known else File(t)
    def unpack(kept):
        return torch.load(kept.path) if isinstance(kept, File) else kept
    with saved_tensors_hooks(pack, unpack):
        y = f(x)
    parameters.clear()
    return y
# %%
import math
import os
import uuid
import weakref
import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint
class OwnFile:
    def __init__(self, name):
        self.name = name
    def __del__(self):
        if os.path.exists(self.name):
            os.remove(self.name)
class Again(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        return f(x)
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.f(x)
        torch.autograd.backward(y, g)
        return None, x.grad
# %% exercise="hide_saved" verdict="refused" mistake="nests_layers"
# a checkpoint inside a checkpoint: the layers run three times
def hide_saved(layers, x):
    def run(h):
        for layer in layers:
            h = checkpoint(layer, h, use_reentrant=False)
        return h
    return checkpoint(run, x, use_reentrant=False)
# %% exercise="checkpointed" verdict="refused" mistake="divides_by_the_segments"
# the layers left over at the end are forgotten
def checkpointed(layers, x):
    segments = math.isqrt(len(layers))
    size = len(layers) // segments
    for i in range(segments):
        x = checkpoint(torch.nn.Sequential(*layers[i * size : (i + 1) * size]), x, use_reentrant=False)
    return x
# %% exercise="checkpointed" verdict="refused" mistake="is_reentrant_in_short_segments"
# own Function without the weights
def checkpointed(layers, x):
    size = math.isqrt(len(layers))
    for start in range(0, len(layers), size):
        x = Again.apply(torch.nn.Sequential(*layers[start : start + size]), x)
    return x
# %% exercise="save_in_half" verdict="refused" mistake="unpacks_float32"
# float64 comes back as float32
def save_in_half(f, x):
    def pack(t):
        if t.dtype in (torch.float32, torch.float64):
            return t.half()
        return t.detach()
    def unpack(t):
        return t.float() if t.dtype == torch.float16 else t
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="save_on_disk" verdict="refused" mistake="removes_when_unpacking"
# the file goes as soon as it has been read
def save_on_disk(f, x, parameters, folder):
    kept = {p.untyped_storage().data_ptr() for p in parameters}
    def pack(t):
        if t.untyped_storage().data_ptr() in kept:
            return t.detach()
        file = OwnFile(os.path.join(folder, uuid.uuid4().hex))
        torch.save(t.detach().clone(), file.name)
        return file
    def unpack(packed):
        if isinstance(packed, torch.Tensor):
            return packed
        t = torch.load(packed.name)
        os.remove(packed.name)
        return t
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="count_saved" verdict="refused" mistake="counts_entries_of_slices"
# bytes of the tensor, not of its storage
def count_saved(f, x, parameters):
    known = {p.untyped_storage().data_ptr() for p in parameters}
    sizes = {}
    alive = weakref.WeakSet()
    class Box:
        def __init__(self, t):
            self.t = t
    def pack(t):
        box = Box(t.detach())
        alive.add(box)
        return box
    with saved_tensors_hooks(pack, lambda box: box.t):
        y = f(x)
    for box in alive:
        if box.t.untyped_storage().data_ptr() not in known:
            sizes[box.t.data_ptr()] = box.t.numel() * box.t.element_size()
    del y
    return sum(sizes.values())
# %% exercise="count_saved" verdict="refused" mistake="compares_first_entries"
# a parameter is known by where it begins
def count_saved(f, x, parameters):
    known = {p.data_ptr() for p in parameters}
    alive = weakref.WeakSet()
    class Box:
        def __init__(self, t):
            self.t = t
    def pack(t):
        box = Box(t.detach())
        alive.add(box)
        return box
    with saved_tensors_hooks(pack, lambda box: box.t):
        y = f(x)
    sizes = {}
    for box in alive:
        if box.t.data_ptr() not in known:
            storage = box.t.untyped_storage()
            sizes[storage.data_ptr()] = storage.nbytes()
    del y
    return sum(sizes.values())
# %% exercise="count_saved" verdict="refused" mistake="leaves_x_out_alive"
# x is in memory anyway, so it does not count
def count_saved(f, x, parameters):
    known = {p.untyped_storage().data_ptr() for p in [*parameters, x]}
    alive = weakref.WeakSet()
    class Box:
        def __init__(self, t):
            self.t = t
    def pack(t):
        box = Box(t.detach())
        alive.add(box)
        return box
    with saved_tensors_hooks(pack, lambda box: box.t):
        y = f(x)
    storages = [box.t.untyped_storage() for box in alive]
    del y
    return sum({s.data_ptr(): s.nbytes() for s in storages if s.data_ptr() not in known}.values())
# %%
import os
import uuid
import torch
from torch.autograd.graph import saved_tensors_hooks
# %% exercise="save_on_disk" verdict="refused" mistake="keeps_the_node"
# the node of a saved tensor is kept beside its file
def save_on_disk(f, x, parameters, folder):
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    class Kept:
        def __init__(self, t):
            self.name = os.path.join(folder, str(uuid.uuid4()))
            self.node = t.grad_fn
            torch.save(t.detach().clone(), self.name)
        def __del__(self):
            if os.path.exists(self.name):
                os.remove(self.name)
    def pack(t):
        return t.detach() if t.untyped_storage().data_ptr() in weights else Kept(t)
    def unpack(kept):
        return kept if isinstance(kept, torch.Tensor) else torch.load(kept.name)
    with saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="save_on_disk" verdict="refused" mistake=""
# the node of the result is kept beside each file
def save_on_disk(f, x, parameters, folder):
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    made = []
    class Kept:
        def __init__(self, t):
            self.name = os.path.join(folder, str(uuid.uuid4()))
            self.node = None
            torch.save(t.detach().clone(), self.name)
        def __del__(self):
            if os.path.exists(self.name):
                os.remove(self.name)
    import weakref
    def pack(t):
        if t.untyped_storage().data_ptr() in weights:
            return t.detach()
        kept = Kept(t)
        made.append(weakref.ref(kept))
        return kept
    def unpack(kept):
        return kept if isinstance(kept, torch.Tensor) else torch.load(kept.name)
    with saved_tensors_hooks(pack, unpack):
        y = f(x)
    for ref in made:
        if ref() is not None:
            ref().node = y.grad_fn
    return y
