"""Devices, seeds, data, checkpoints and tools of torch."""

from __future__ import annotations

from .habit import Habit

TOOLS = [
    Habit(
        "the device at the top",
        """device = torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")
print("Using device", device)""",
        seen="phlippe/uvadlc_notebooks/docs/tutorial_notebooks/DL2/Causality_and_CRL/citris-tutorial.ipynb",
    ),
    Habit(
        "Apple's device, too",
        """if torch.cuda.is_available():
    device = torch.device("cuda")
elif torch.backends.mps.is_available():
    device = torch.device("mps")
else:
    device = torch.device("cpu")""",
        seen="rasbt/LLMs-from-scratch/appendix-D/01_main-chapter-code/appendix-D.ipynb",
    ),
    Habit(
        "the accelerator by its new name",
        """device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
print(f"Using {device} device")""",
        seen="https://docs.pytorch.org/tutorials/beginner/basics/buildmodel_tutorial.html",
    ),
    Habit(
        "the number of GPUs",
        """def gpu(i=0): return torch.device(f'cuda:{i}')
def num_gpus(): return torch.cuda.device_count()
def try_gpu(i=0):
    if num_gpus() >= i + 1: return gpu(i)
    return torch.device('cpu')
print(try_gpu())""",
        seen="d2l-ai/d2l-en/chapter_builders-guide/use-gpu.md",
    ),
    Habit(
        "a model and a batch moved",
        """DEVICE = "cpu"
model = torch.nn.Linear(2, 1).to(DEVICE)
x, y = (t.to(DEVICE, non_blocking=True) for t in (torch.ones(1, 2), torch.ones(1, 1)))""",
        seen="rasbt/deeplearning-models/pytorch_ipynb/cnn/cnn-alexnet-cifar10-grouped.ipynb",
    ),
    Habit(
        "batches moved by a function",
        """from collections.abc import Mapping
def to_device(x, device='cpu'):
    if torch.is_tensor(x): return x.to(device)
    if isinstance(x, Mapping): return {key: to_device(each, device) for key, each in x.items()}
    return type(x)(to_device(each, device) for each in x)
to_device([torch.ones(1), {'a': torch.ones(1)}])""",
        seen="fastai/course22p2/nbs/07_convolutions.ipynb",
    ),
    Habit(
        "all seeds",
        """import numpy as np
def set_seed(seed):
    np.random.seed(seed)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed(seed)
        torch.cuda.manual_seed_all(seed)
set_seed(42)""",
        seen="phlippe/uvadlc_notebooks/docs/tutorial_notebooks/tutorial2/Introduction_to_PyTorch.ipynb",
    ),
    Habit(
        "a deterministic GPU",
        """torch.backends.cudnn.deterministic = True
torch.backends.cudnn.benchmark = False""",
        seen="phlippe/uvadlc_notebooks/docs/tutorial_notebooks/DL2/Causality_and_CRL/citris-tutorial.ipynb",
    ),
    Habit(
        "determinism with its variables",
        """import os
def set_deterministic():
    if torch.cuda.is_available():
        torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.deterministic = True
    torch.use_deterministic_algorithms(True)
os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":16:8"
set_deterministic()""",
        seen="rasbt/deeplearning-models/pytorch_ipynb/cnn/cnn-alexnet-cifar10-grouped.ipynb",
    ),
    Habit(
        "the hash seed",
        """import os, random
seed = 123
os.environ['PYTHONHASHSEED'] = str(seed)
random.seed(seed)""",
        seen="udlbook/udlbook/CM20315/CM20315_Convolution_II.ipynb",
    ),
    Habit(
        "a generator for the loader's workers",
        """import random, numpy, torch
from torch.utils.data import DataLoader
def seed_worker(worker_id):
    worker_seed = torch.initial_seed() % 2**32
    numpy.random.seed(worker_seed); random.seed(worker_seed)
g = torch.Generator()
g.manual_seed(0)
list(DataLoader([1, 2], num_workers=0, worker_init_fn=seed_worker, generator=g))""",
        seen="https://docs.pytorch.org/docs/stable/notes/randomness.html",
    ),
    Habit(
        "a data set of one's own",
        """from torch.utils.data import Dataset, DataLoader
class IntegerDataset(Dataset):
    def __init__(self, n): self.n = n
    def __len__(self): return self.n
    def __getitem__(self, i): return torch.tensor(float(i))
for batch in DataLoader(IntegerDataset(4), batch_size=2, shuffle=True, num_workers=0, drop_last=True):
    print(batch)""",
        seen="rasbt/deeplearning-models/pytorch-lightning_ipynb/cnn/cnn-lenet5-quickdraw.ipynb",
    ),
    Habit(
        "a split of the data",
        """from torch.utils.data import TensorDataset, random_split
dataset = TensorDataset(torch.ones(10, 1), torch.ones(10, 1))
n_train = int(len(dataset) * .8)
train_data, val_data = random_split(dataset, [n_train, len(dataset) - n_train])""",
        seen="dvgodoy/PyTorchStepByStep/Chapter02.1.ipynb",
    ),
    Habit(
        "hooks for activations",
        """from functools import partial
class Hook():
    def __init__(self, m, f): self.hook = m.register_forward_hook(partial(f, self))
    def remove(self): self.hook.remove()
    def __del__(self): self.remove()
def append_mean(hook, mod, inp, outp): hook.mean = outp.data.mean()
m = torch.nn.Linear(1, 1); h = Hook(m, append_mean); m(torch.ones(1, 1)); h.mean""",
        seen="fastai/course-v3/nbs/dl2/06_cuda_cnn_hooks_init.ipynb",
    ),
    Habit(
        "hooks in a with block",
        """class Hooks(list):
    def __init__(self, ms, f): super().__init__(m.register_forward_hook(f) for m in ms)
    def __enter__(self): return self
    def __exit__(self, *args):
        for h in self: h.remove()
with Hooks([torch.nn.ReLU()], lambda m, i, o: None) as hooks:
    print(len(hooks))""",
        seen="fastai/course-v3/nbs/dl2/06_cuda_cnn_hooks_init.ipynb",
    ),
    Habit(
        "a buffer",
        """class Mask(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("mask", torch.triu(torch.ones(n, n), diagonal=1), persistent=False)
Mask(2).mask.requires_grad""",
        seen="rasbt/LLMs-from-scratch/ch03/01_main-chapter-code/ch03.ipynb",
    ),
    Habit(
        "parameters counted",
        """model = torch.nn.Linear(3, 2)
print(f"{sum(p.numel() for p in model.parameters() if p.requires_grad):,} trainable parameters")""",
        seen="rasbt/LLMs-from-scratch/appendix-A/01_main-chapter-code/code-part1.ipynb",
    ),
    Habit(
        "layers frozen",
        """model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
for param in model[0].parameters():
    param.requires_grad = False
print([(name, p.requires_grad) for name, p in model.named_parameters()])""",
        seen="rasbt/LLMs-from-scratch/appendix-E/01_main-chapter-code/appendix-E.ipynb",
    ),
    Habit(
        "a checkpoint saved",
        """model = torch.nn.Linear(1, 1); optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
checkpoint = {'epoch': 1, 'model_state_dict': model.state_dict(), 'optimizer_state_dict': optimizer.state_dict()}
torch.save(checkpoint, 'model_checkpoint.pth')
model.load_state_dict(torch.load('model_checkpoint.pth', weights_only=False)['model_state_dict'])""",
        seen="dvgodoy/PyTorchStepByStep/Chapter02.1.ipynb",
    ),
    Habit(
        "a model saved whole",
        """model = torch.nn.Linear(1, 1)
torch.save(model, "model.pkl")
torch.load("model.pkl", weights_only=False)""",
        seen="ageron/handson-mlp/10_neural_nets_with_pytorch.ipynb",
    ),
    Habit(
        "weights loaded to the processor",
        """torch.save(torch.nn.Linear(1, 1).state_dict(), 'w.pth')
state = torch.load('w.pth', map_location=torch.device('cpu'))
print(state.keys())""",
        seen="pytorch/captum/tutorials/Multimodal_VQA_Captum_Insights.ipynb",
    ),
    Habit(
        "a copy of the model",
        """import copy
model = torch.nn.Linear(1, 1)
models = [copy.deepcopy(model) for _ in range(2)]
best_model_wts = copy.deepcopy(model.state_dict())""",
        seen="udlbook/udlbook/Notebooks/Chap20/20_3_Lottery_Tickets.ipynb",
    ),
    Habit(
        "compile where it is there",
        """if int(torch.__version__.split('.')[0]) >= 2:
    model = torch.nn.Linear(1, 1)
    compiled_model = torch.compile(model)""",
        seen="mrdbourke/pytorch-deep-learning/extras/pytorch_2_intro.ipynb",
    ),
    Habit(
        "compile that may fail",
        """model = torch.nn.Linear(1, 1)
try:
    print(torch.compile(model)(torch.ones(1, 1)).shape)
except Exception as e:
    print("no compiler:", type(e).__name__)""",
        seen="rasbt/LLMs-from-scratch/ch03/02_bonus_efficient-multihead-attention/mha-implementations.ipynb",
    ),
    Habit(
        "script and trace of a function",
        """def myfn(x):
    for i in range(x.size(0)): x = x * i
    return x
inp = torch.ones(3)
traced_fn = torch.jit.trace(myfn, inp)
scripted_fn = torch.jit.script(myfn)
print(scripted_fn.code)""",
        seen="deep-learning-with-pytorch/dlwpt-code/p3ch15/1_jit_intro.ipynb",
    ),
    Habit(
        "fx's nodes",
        """import torch.fx
traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.ReLU()))
print([(node.op, node.name) for node in traced.graph.nodes])""",
        seen="pytorch/examples/fx/replace_op.py",
    ),
    Habit(
        "per-sample gradients",
        """from torch.func import functional_call, vmap, grad
model = torch.nn.Linear(2, 1)
params = {k: v.detach() for k, v in model.named_parameters()}
def loss(params, x, y): return ((functional_call(model, params, (x[None],)) - y) ** 2).mean()
vmap(grad(loss), in_dims=(None, 0, 0))(params, torch.ones(3, 2), torch.ones(3, 1))""",
        seen="pytorch/functorch/notebooks/colab/per_sample_grads_colab.ipynb",
    ),
    Habit(
        "jacobians timed",
        """from torch.func import jacrev, jacfwd
from torch.utils.benchmark import Timer
def predict(weight, x): return torch.tanh(weight @ x)
weight, x = torch.ones(2, 2), torch.ones(2)
using_bwd = Timer(stmt="jacrev(predict, argnums=1)(weight, x)", globals=globals())
print(using_bwd.timeit(3))""",
        seen="pytorch/functorch/notebooks/colab/jacobians_hessians_colab.ipynb",
    ),
    Habit(
        "jacobian and hessian of autograd",
        """from torch.autograd.functional import jacobian, hessian
print(jacobian(torch.sin, torch.ones(2)), hessian(lambda x: (x ** 3).sum(), torch.ones(2)))""",
        seen="pytorch/captum/captum/influence/_core/tracincp_fast_rand_proj.py",
    ),
    Habit(
        "checkpoints of activations",
        """import torch.utils.checkpoint as cp
x = torch.ones(1, 2, requires_grad=True)
cp.checkpoint(torch.nn.Linear(2, 2), x, use_reentrant=False).sum().backward()""",
        seen="rasbt/deeplearning-models/pytorch-lightning_ipynb/cnn/cnn-densenet121-cifar10.ipynb",
    ),
    Habit(
        "half precision with a scaler",
        """import warnings; warnings.simplefilter('ignore')
scaler = torch.cuda.amp.GradScaler(enabled=torch.cuda.is_available())
with torch.autocast('cpu', dtype=torch.bfloat16), torch.no_grad():
    torch.nn.Linear(1, 1)(torch.ones(1, 1))""",
        seen="fastai/course22p2/nbs/17_DDPM_v2.ipynb",
    ),
    Habit(
        "a profile by parts",
        """from torch.profiler import profile, record_function, ProfilerActivity
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
    with record_function("model_inference"): torch.nn.Linear(4, 4)(torch.ones(1, 4))
print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=3))""",
        seen="fastai/course22p2/nbs/_DDPM_profiler.ipynb",
    ),
    Habit(
        "a mode that logs",
        """from torch.utils._python_dispatch import TorchDispatchMode
class LoggingMode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print(func)
        return func(*args, **(kwargs or {}))
with LoggingMode():
    torch.ones(2) + 1""",
        seen="albanD/subclass_zoo/memory_debugging_tensor.ipynb",
    ),
    Habit(
        "a subclass of Tensor",
        """class TrivialTensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})
print(type(torch.ones(2).as_subclass(TrivialTensor) + 1).__name__)""",
        seen="albanD/subclass_zoo/base_tensor.py",
    ),
    Habit(
        "saved tensors packed",
        """def pack(x): return x.numpy() if not x.requires_grad else x
def unpack(x): return torch.as_tensor(x)
x = torch.ones(2, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    y = x ** 2
y.sum().backward()""",
        seen="https://docs.pytorch.org/tutorials/intermediate/autograd_saved_tensors_hooks_tutorial.html",
    ),
    Habit(
        "gradients switched by a context",
        """with torch.set_grad_enabled(False):
    y = torch.nn.Linear(1, 1)(torch.ones(1, 1))
print(y.requires_grad)""",
        seen="girafe-ai/ml-course/week0_10_cnn/week10_cnn_seminar.ipynb",
    ),
    Habit(
        "evaluation decorated",
        """@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    loss = ((model(x) - y) ** 2).mean().item()
    model.train()
    return loss
evaluate(torch.nn.Linear(1, 1), torch.ones(1, 1), torch.ones(1, 1))""",
        seen="karpathy/nn-zero-to-hero/lectures/makemore/makemore_part3_bn.ipynb",
    ),
    Habit(
        "a default device",
        """device = "cpu"
with torch.device(device):
    layer = torch.nn.Linear(1, 1)
torch.set_default_device(device)""",
        seen="mrdbourke/pytorch-deep-learning/extras/pytorch_2_intro.ipynb",
    ),
    Habit(
        "threads of torch",
        """torch.set_num_threads(2)
print(torch.get_num_threads(), torch.__config__.parallel_info()[:20])""",
        seen="fastai/course-v3/nbs/dl2/06_cuda_cnn_hooks_init.ipynb",
    ),
    Habit(
        "a network scripted",
        """from torch import nn
net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1), nn.Sigmoid())
net = torch.jit.script(net)
net(torch.ones(1, 2))""",
        seen="d2l-ai/d2l-en/chapter_computational-performance/hybridize.md",
    ),
    Habit(
        "a group of one process",
        """import os, torch.distributed as dist
os.environ['MASTER_ADDR'] = 'localhost'
os.environ['MASTER_PORT'] = '12355'
dist.init_process_group('gloo', rank=0, world_size=1)""",
        seen="harvardnlp/annotated-transformer/the_annotated_transformer.py",
    ),
    Habit(
        "a tracer of one's own",
        """class Leaves(torch.fx.Tracer):
    def is_leaf_module(self, module, name): return True
print(Leaves().trace(torch.nn.Sequential(torch.nn.Linear(1, 1))))""",
        seen="pytorch/examples/fx/module_tracer.py",
    ),
    Habit(
        "a function that fx keeps whole",
        """import torch.fx
def twice(x): return 2 * x
torch.fx.wrap('twice')
print(torch.fx.symbolic_trace(lambda x: twice(x)).code)""",
        seen="pytorch/examples/fx/primitive_library.py",
    ),
    Habit(
        "a graph by make_fx",
        """from torch.fx.experimental.proxy_tensor import make_fx
print(make_fx(torch.sin)(torch.ones(2)).code)""",
        seen="albanD/subclass_zoo/quantization_transform.py",
    ),
    Habit(
        "forward mode",
        """from torch.autograd import forward_ad as fwAD
with fwAD.dual_level():
    print(fwAD.unpack_dual(torch.sin(fwAD.make_dual(torch.ones(1), torch.ones(1)))))""",
        seen="albanD/subclass_zoo/nested_forward_ad.py",
    ),
    Habit(
        "a model in shared memory",
        """model = torch.nn.Linear(1, 1)
model.share_memory()""",
        seen="pytorch/examples/mnist_hogwild/main.py",
    ),
    Habit(
        "TF32 allowed",
        "torch.backends.cuda.matmul.allow_tf32 = True",
        seen="mrdbourke/pytorch-deep-learning/extras/pytorch_2_intro.ipynb",
    ),
    Habit(
        "dynamo's errors suppressed",
        """import torch._dynamo
torch._dynamo.config.suppress_errors = True""",
        seen="rasbt/LLMs-from-scratch/ch03/02_bonus_efficient-multihead-attention/mha-implementations.ipynb",
    ),
    Habit(
        "spectral norm",
        """from torch.nn.utils import weight_norm, spectral_norm
layer = spectral_norm(torch.nn.Linear(2, 2))
layer(torch.ones(1, 2)).sum().backward()""",
        seen="fastai/fastai1/fastai/layers.py",
    ),
]
