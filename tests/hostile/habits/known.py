# ruff: noqa: E501 (what students write has lines of any length)
"""Habits of honest notebooks, from experience."""

from __future__ import annotations

from .habit import Habit

SETTINGS = [
    Habit("default dtype", "torch.set_default_dtype(torch.float64)"),
    Habit("default dtype of half precision", "torch.set_default_dtype(torch.float16)"),
    Habit(
        "default tensor type",
        "import warnings\nwarnings.simplefilter('ignore')\ntorch.set_default_tensor_type(torch.DoubleTensor)",
    ),
    Habit("default device cpu", "torch.set_default_device('cpu')"),
    Habit(
        "default device meta", "torch.set_default_device('meta')\nshape = torch.nn.Linear(10**6, 10**6).weight.shape"
    ),
    Habit("two threads, used", "torch.set_num_threads(2)\n_ = torch.ones(400, 400) @ torch.ones(400, 400)"),
    Habit(
        "deterministic algorithms",
        "import os\nos.environ['CUBLAS_WORKSPACE_CONFIG'] = ':4096:8'\ntorch.use_deterministic_algorithms(True)",
    ),
    Habit("anomaly mode", "torch.autograd.set_detect_anomaly(True)"),
    Habit("gradients switched off", "torch.set_grad_enabled(False)"),
    Habit("inference mode entered", "mode = torch.inference_mode()\nmode.__enter__()"),
    Habit("autocast entered", "torch.autocast('cpu', dtype=torch.bfloat16).__enter__()"),
    Habit(
        "autocast in a block",
        "with torch.autocast('cpu', dtype=torch.bfloat16):\n    print((torch.ones(3, 3) @ torch.ones(3, 3)).dtype)",
    ),
    Habit(
        "matmul precision and backend flags",
        "torch.set_float32_matmul_precision('high')\ntorch.backends.cudnn.benchmark = True\ntorch.backends.cudnn.deterministic = True\ntorch.backends.mkldnn.enabled = False\ntorch.set_flush_denormal(True)",
    ),
    Habit(
        "seeds",
        "import random\nimport numpy as np\n\ndef seed_everything(seed=42):\n    random.seed(seed)\n    np.random.seed(seed)\n    torch.manual_seed(seed)\n    torch.cuda.manual_seed_all(seed)\n\nseed_everything()",
    ),
    Habit(
        "print options",
        "import numpy as np\ntorch.set_printoptions(precision=3, sci_mode=False, linewidth=120)\nnp.set_printoptions(suppress=True, precision=3)",
    ),
    Habit(
        "a function mode left on",
        "from torch.overrides import TorchFunctionMode\nclass Log(TorchFunctionMode):\n    def __torch_function__(self, function, types, args=(), kwargs=None):\n        return function(*args, **(kwargs or {}))\nLog().__enter__()",
    ),
    Habit(
        "a dispatch mode left on",
        "from torch.utils.flop_counter import FlopCounterMode\nflops = FlopCounterMode(display=False)\nflops.__enter__()",
    ),
    Habit(
        "a fake mode in a block",
        "from torch._subclasses.fake_tensor import FakeTensorMode\nwith FakeTensorMode():\n    print(torch.empty(3).shape)",
    ),
    Habit(
        "global module hooks",
        "shapes = []\nhandle = torch.nn.modules.module.register_module_forward_hook(lambda m, i, o: shapes.append(1))",
    ),
    Habit(
        "hooks on own model and tensor",
        "model = torch.nn.Linear(2, 1)\nmodel.register_forward_hook(lambda m, i, o: print(o.shape))\nmodel.weight.register_hook(lambda g: print(g))\nmodel.register_full_backward_hook(lambda m, i, o: None)\nmodel(torch.ones(1, 2)).sum().backward()",
    ),
]

HEAVY = [
    Habit(
        "compile with eager",
        "@torch.compile(backend='eager')\ndef double(x):\n    return 2 * x\n\nprint(double(torch.ones(2)))",
    ),
    Habit(
        "compile with aot_eager",
        "net = torch.compile(torch.nn.Linear(2, 1), backend='aot_eager')\nnet(torch.ones(1, 2)).sum().backward()",
    ),
    Habit(
        "DataLoader with workers",
        "from torch.utils.data import DataLoader, TensorDataset\nloader = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=2, num_workers=2)\nfor (batch,) in loader:\n    print(batch)",
    ),
    Habit(
        "DataLoader with workers that stay",
        "from torch.utils.data import DataLoader, TensorDataset\nloader = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=2, num_workers=2, persistent_workers=True)\nfor (batch,) in loader:\n    print(batch)",
    ),
    Habit(
        "profiler",
        "with torch.profiler.profile() as profile:\n    torch.ones(50, 50).mm(torch.ones(50, 50))\nprint(profile.key_averages().table(row_limit=3))",
    ),
    Habit("profiler left on", "profile = torch.profiler.profile()\nprofile.start()"),
    Habit(
        "autograd's profiler",
        "with torch.autograd.profiler.profile(with_stack=True) as profile:\n    x = torch.ones(3, requires_grad=True)\n    (x * x).sum().backward()\nprint(len(profile.function_events))",
    ),
    Habit(
        "script and trace",
        "import warnings\nwarnings.simplefilter('ignore')\nscripted = torch.jit.script(torch.nn.Linear(2, 1))\ntraced = torch.jit.trace(torch.nn.Linear(2, 1), torch.ones(1, 2))\nfrom torch.fx import symbolic_trace\nprint(symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 1))).code)",
    ),
    Habit(
        "transforms",
        "from torch.func import grad, jacrev, vmap\nprint(vmap(grad(lambda x: x.sin()))(torch.ones(3)), jacrev(torch.sin)(torch.ones(2)))",
    ),
    Habit(
        "parametrizations and swa",
        "import torch.nn.utils.parametrizations as P\nfrom torch.optim.swa_utils import AveragedModel\nfrom torch.optim.lr_scheduler import CosineAnnealingLR\nlayer = P.weight_norm(torch.nn.Linear(2, 2))\naveraged = AveragedModel(layer)\noptimizer = torch.optim.AdamW(layer.parameters())\nscheduler = CosineAnnealingLR(optimizer, 10)\nlayer(torch.ones(1, 2)).sum().backward()\noptimizer.step()\nscheduler.step()",
    ),
    Habit(
        "gradient checking and checkpointing",
        "from torch.autograd import gradcheck\nfrom torch.utils.checkpoint import checkpoint\nx = torch.ones(3, dtype=torch.float64, requires_grad=True)\nprint(gradcheck(torch.sin, (x,)))\ncheckpoint(torch.sin, x, use_reentrant=False).sum().backward()",
    ),
    Habit(
        "distributions and benchmark",
        "from torch.distributions import Normal\nfrom torch.utils.benchmark import Timer\nprint(Normal(0.0, 1.0).log_prob(torch.tensor(0.0)))\nprint(Timer('x + 1', globals={'x': torch.ones(3)}).timeit(10).median > 0)",
    ),
    Habit(
        "saving and loading",
        "import io, pickle\nbuffer = io.BytesIO()\ntorch.save(torch.nn.Linear(2, 1).state_dict(), buffer)\nbuffer.seek(0)\ntorch.load(buffer)\ntorch.save({'a': 1}, 'model.pt')\npickle.loads(pickle.dumps(torch.ones(2)))",
    ),
]

THREADS = [
    Habit(
        "a thread that ends",
        "import threading\nthread = threading.Thread(target=lambda: print('hello'))\nthread.start()\nthread.join()",
    ),
    Habit(
        "a daemon thread that waits",
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()",
    ),
    Habit("a timer", "import threading\ntimer = threading.Timer(3600, print)\ntimer.daemon = True\ntimer.start()"),
    Habit(
        "a heartbeat",
        "import threading, time\nbeats = []\ndef beat():\n    while True:\n        beats.append(time.time())\n        time.sleep(0.5)\nthreading.Thread(target=beat, daemon=True).start()",
    ),
    Habit(
        "an executor left open",
        "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(4)\nprint(list(pool.map(abs, range(-4, 4))))",
    ),
    Habit("await to_thread", "import asyncio\nprint(await asyncio.to_thread(sum, [1, 2]))\nawait asyncio.sleep(0)"),
    Habit(
        "asyncio with a loop of its own",
        "import asyncio, threading\nloop = asyncio.new_event_loop()\nthreading.Thread(target=loop.run_forever, daemon=True).start()\nasync def one():\n    return 1\nprint(asyncio.run_coroutine_threadsafe(one(), loop).result())",
    ),
    Habit(
        "a queue of multiprocessing",
        "import multiprocessing as mp\nqueue = mp.Queue()\nqueue.put(1)\nprint(queue.get())",
    ),
    Habit(
        "a pool of processes",
        "import multiprocessing as mp\nwith mp.Pool(2) as pool:\n    print(pool.map(abs, [-1, -2]))",
    ),
    Habit(
        "an answer that starts and joins a thread",
        answer="""
import threading
_alone = accumulate_equal
def accumulate_equal(model, batches):
    thread = threading.Thread(target=_alone, args=(model, batches))
    thread.start()
    thread.join()
""",
    ),
    Habit(
        "an answer that leaves an executor open",
        answer="""
from concurrent.futures import ThreadPoolExecutor
_alone = accumulate_equal
def accumulate_equal(model, batches):
    ThreadPoolExecutor(1).submit(_alone, model, batches).result()
""",
    ),
    Habit(
        "subprocess",
        "import subprocess, sys\nprint(subprocess.run(['ls'], capture_output=True, text=True).stdout)\nprint(subprocess.check_output([sys.executable, '-c', 'print(1)'], text=True))",
    ),
]

LOOKING = [
    Habit(
        "gc.get_objects",
        "import gc\nprint(sum(torch.is_tensor(thing) for thing in gc.get_objects()))",
        refused="gc.get_objects",
    ),
    Habit(
        "gc.get_referrers", "import gc\nx = torch.ones(1)\nprint(len(gc.get_referrers(x)))", refused="gc.get_referrers"
    ),
    Habit("currentframe", "import inspect\nprint(inspect.currentframe().f_lineno)", refused="sys._getframe"),
    Habit(
        "currentframe above a helper of the answer",
        "import inspect\nprint('line', inspect.currentframe().f_lineno)\ndef helper(model):\n    model.zero_grad()\n    return model",
        answer="""
_alone = accumulate_equal
def accumulate_equal(model, batches):
    return _alone(helper(model), batches)
""",
        refused="sys._getframe",
    ),
    Habit(
        "inspect.stack",
        "import inspect\ndef who():\n    return inspect.stack()[0].function\nprint(who())",
        refused="sys._getframe",
    ),
    Habit(
        "a reference count by ctypes",
        "import ctypes\nx = []\nprint(ctypes.c_long.from_address(id(x)).value)",
        refused="ctypes",
    ),
    Habit("settrace(None)", "import sys\nsys.settrace(None)", refused="sys.settrace"),
    Habit("cProfile left on", "import cProfile\nprofile = cProfile.Profile()\nprofile.enable()"),
    Habit(
        "cProfile in a block",
        "import cProfile, pstats\nwith cProfile.Profile() as profile:\n    sum(range(1000))\npstats.Stats(profile).print_stats(3)",
    ),
    Habit(
        "traceback and pdb imported",
        "import pdb, traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    traceback.print_exc()\nprint(traceback.format_stack()[-1][:10])",
    ),
    Habit(
        "logging, doctest and a debugger made",
        "import doctest, logging, pdb\nlogging.basicConfig(level=logging.INFO)\nlogging.info('hello')\nlogging.getLogger(__name__).warning('here', stack_info=True)\nprint(doctest.testmod())\npdb.Pdb()",
    ),
    Habit(
        "gc, references and sizes",
        "import gc, sys, weakref\ngc.collect()\ngc.disable()\nx = torch.ones(1)\nprint(sys.getrefcount(x), sys.getsizeof(x), weakref.ref(x)() is x)",
    ),
    Habit(
        "tracemalloc, resource and faulthandler",
        "import faulthandler, resource, tracemalloc\ntracemalloc.start()\nfaulthandler.enable()\nprint(tracemalloc.get_traced_memory()[0] >= 0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0)",
    ),
    Habit(
        "sources and signatures",
        "import dis, inspect\nprint(inspect.signature(torch.nn.Linear.forward))\nprint(inspect.getsource(torch.nn.Linear)[:20])\ndis.dis(lambda x: x)",
    ),
]

DISPLAY = [
    Habit(
        "a shorter repr of tensors",
        "torch.Tensor.__repr__ = lambda self, **_: f'tensor{tuple(self.shape)}'\ntorch.ones(2)",
    ),
    Habit(
        "print that flushes",
        "import builtins, functools\nbuiltins.print = functools.partial(print, flush=True)\nprint('hello')",
    ),
    Habit("reloading the course's package", "import importlib\nimport autograder\nimportlib.reload(autograder)"),
    Habit("autoreload", "%load_ext autoreload\n%autoreload 2"),
    Habit(
        "every expression shown",
        "from IPython.core.interactiveshell import InteractiveShell\nInteractiveShell.ast_node_interactivity = 'all'\n1\n2",
    ),
    Habit(
        "a formatter for tensors",
        "formatter = get_ipython().display_formatter.formatters['text/plain']\nformatter.for_type(torch.Tensor, lambda t, p, cycle: p.text(f'T{tuple(t.shape)}'))\ntorch.ones(3)",
    ),
    Habit(
        "an exception hook",
        "import sys\nsys.excepthook = lambda *args: None\ndef handler(shell, kind, value, tb, tb_offset=None):\n    print('oh', kind.__name__)\nget_ipython().set_custom_exc((ZeroDivisionError,), handler)\n1 / 0",
    ),
    Habit(
        "events around cells",
        "import time\nget_ipython().events.register('pre_run_cell', lambda info: None)\nget_ipython().events.register('post_run_cell', lambda result: time.time())",
    ),
    Habit(
        "a magic of one's own",
        "from IPython.core.magic import register_line_magic\n@register_line_magic\ndef hello(line):\n    return line\nget_ipython().run_line_magic('hello', 'you')",
    ),
    Habit(
        "matplotlib",
        "import matplotlib.pyplot as plt\nplt.rcParams['figure.figsize'] = (4, 3)\nplt.style.use('ggplot')\nplt.plot([1, 2])\nplt.show()",
    ),
    Habit(
        "progress bar by hand",
        "import sys, time\nfor step in range(5):\n    sys.stdout.write(f'\\r{step}')\n    sys.stdout.flush()\nfrom IPython.display import clear_output\nclear_output(wait=True)",
    ),
    Habit(
        "a progress bar with a monitor",
        "import sys, threading\nclass Monitor(threading.Thread):\n    def run(self):\n        while not self.done.wait(10):\n            pass\n    def __init__(self):\n        super().__init__(daemon=True)\n        self.done = threading.Event()\nMonitor().start()\nprint('100%|####| 10/10', file=sys.stderr)",
    ),
    Habit(
        "logging",
        "import logging\nlogging.basicConfig(level=logging.DEBUG, force=True)\nlogging.captureWarnings(True)\nlogging.getLogger(__name__).info('hello')",
    ),
    Habit("warnings ignored", "import warnings\nwarnings.filterwarnings('ignore')"),
    Habit("warnings as errors", "import warnings\nwarnings.filterwarnings('error')"),
    Habit(
        "an encoder of JSON for tensors",
        "import json\njson.JSONEncoder.default = lambda self, thing: thing.tolist()\nprint(json.dumps({'x': torch.ones(2)}))",
    ),
]

LANGUAGE = [
    Habit(
        "types and dataclasses",
        "from __future__ import annotations\nfrom dataclasses import dataclass, field\nfrom enum import Enum\nfrom typing import NamedTuple, Protocol, TypeVar\nT = TypeVar('T')\n@dataclass(slots=True)\nclass Config:\n    lr: float = 0.1\n    steps: list[int] = field(default_factory=list)\nprint(Config())",
    ),
    Habit(
        "a finder before all others",
        "import sys\nclass Checked:\n    def find_spec(self, name, path=None, target=None):\n        return None\nsys.meta_path.insert(0, Checked())",
    ),
    Habit(
        "contextlib and functools",
        "import contextlib, functools, io\n@functools.cache\ndef fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n@contextlib.contextmanager\ndef timed():\n    yield\nwith timed(), contextlib.redirect_stdout(io.StringIO()):\n    print(fib(50))",
    ),
    Habit(
        "numbers and locale",
        "import decimal, fractions, locale\nimport numpy as np\ndecimal.getcontext().prec = 50\nlocale.setlocale(locale.LC_ALL, '')\nnp.seterr(all='raise')\nprint(decimal.Decimal(1) / 3, fractions.Fraction(1, 3))",
    ),
    Habit(
        "paths and the environment",
        "import os, pathlib, sys, tempfile\nos.environ['OMP_NUM_THREADS'] = '1'\nos.environ['CUDA_VISIBLE_DEVICES'] = ''\nsys.path.append('..')\nsys.path.insert(0, os.getcwd())\npathlib.Path('data').mkdir(exist_ok=True)\nos.chdir('data')\nprint(tempfile.gettempdir())",
    ),
    Habit(
        "recursion limit and hash",
        "import sys\nsys.setrecursionlimit(10_000)\nsys.setswitchinterval(0.001)\nsys.set_int_max_str_digits(0)",
    ),
    Habit(
        "signal handlers",
        "import signal\nsignal.signal(signal.SIGINT, lambda *args: print('stop'))\nsignal.signal(signal.SIGTERM, lambda *args: None)\nsignal.signal(signal.SIGALRM, lambda *args: None)\nsignal.alarm(1000)\nsignal.alarm(0)",
    ),
    Habit(
        "atexit and a file that stays open",
        "import atexit, sys\natexit.register(print, 'bye')\nlog = open('log.txt', 'w')\nsys.stdout = log\nprint('into the log')",
    ),
    Habit(
        "own things patched",
        "class Net(torch.nn.Module):\n    def forward(self, x):\n        return x\nNet.forward = lambda self, x: 2 * x\nNet.__call__ = torch.nn.Module.__call__\nmodel = Net()\nmodel.extra_repr = lambda: 'patched'\nprint(model, model(torch.ones(1)))",
    ),
    Habit(
        "a method of one's own on tensors",
        "torch.Tensor.shape_text = property(lambda self: str(tuple(self.shape)))\ntorch.Tensor.twice = lambda self: 2 * self\ntorch.nn.Module.count = lambda self: sum(p.numel() for p in self.parameters())\nprint(torch.ones(2).twice().shape_text)",
    ),
    Habit("own names that hide builtins", "max = 10\nlist_ = list\nid = 5\ninput = torch.ones(2)\ntype = 'linear'"),
    Habit(
        "aliases and star imports",
        "import torch as th\nimport torch.nn as nn, torch.nn.functional as F\nfrom math import *\nfrom typing import *",
    ),
    Habit("everything of torch", "from torch import *\nprint(ones(2))"),
    Habit(
        "sockets and the network tried",
        "import urllib.request\ntry:\n    urllib.request.urlopen('https://pytorch.org', timeout=1)\nexcept OSError as error:\n    print(error)",
    ),
    Habit("files written and read", "%%writefile helper.py\ndef double(x):\n    return 2 * x"),
    Habit("KeyboardInterrupt in a cell", "raise KeyboardInterrupt"),
    Habit("affinity and priority", "import os\nos.sched_setaffinity(0, range(os.cpu_count()))\nos.nice(1)"),
]

MAGICS = [
    Habit("%matplotlib inline", top="%matplotlib inline"),
    Habit("%matplotlib notebook's kin", top="%config InlineBackend.figure_format = 'retina'\n%matplotlib inline"),
    Habit("!pip install", top="!pip install torch"),
    Habit("%pip install", top="%pip install -q numpy"),
    Habit("!nvidia-smi", top="!nvidia-smi"),
    Habit("!ls, and its lines kept", top="!ls -la\nfiles = !ls\nprint(files)"),
    Habit("%cd", top="%cd /tmp\n%pwd"),
    Habit("%env and %autosave", top="%env OMP_NUM_THREADS=1\n%autosave 60"),
    Habit("%time and %timeit", top="%time sum(range(10))\n%timeit -n1 -r1 sum(range(10))\n%xmode Verbose\n%who\n%precision 3"),
    Habit("%%time", "%%time\nsum(range(10))"),
    Habit("%%capture", "%%capture captured\nprint('hidden')"),
    Habit("%%bash", "%%bash\necho hello\nls"),
    Habit("%prun and %load_ext", "%load_ext autoreload\n%prun -q sum(range(10))"),
    Habit("%store and %history", "x = 1\n%store x\n%history -l 1\n%reset_selective -f x"),
]  # fmt: skip

KNOWN = [*SETTINGS, *HEAVY, *THREADS, *LOOKING, *DISPLAY, *LANGUAGE, *MAGICS]
