# ruff: noqa: E501 (what people write has lines of any length)
"""Looks at objects, errors, warnings, memory and time."""

from __future__ import annotations

from .habit import Habit

LOOKING = [
    Habit(
        "the source of one's own function",
        """import inspect
def where(q, a, b): return q * a + (~q) * b
lines = [l for l in inspect.getsource(where).split("\\n") if not l.strip().startswith("#")]
print(len(lines))""",
        seen="srush/Tensor-Puzzles/Tensor Puzzlers.ipynb",
    ),
    Habit(
        "the members of a class",
        """import inspect
class Learner:
    def fit(self): ...
print([name for name, fn in inspect.getmembers(Learner, predicate=inspect.isfunction)])""",
        seen="fastai/course22p2/nbs/_learner_cb_chain.ipynb",
    ),
    Habit(
        "arguments by a signature",
        """import inspect
print(list(inspect.signature(torch.nn.functional.mse_loss).parameters))
print("inplace" in inspect.signature(torch.nn.ReLU.__init__).parameters)""",
        seen="pytorch/captum/captum/insights/attr_vis/attribution_calculation.py",
    ),
    Habit("help", "help(torch.nn.Identity)", seen="fastai/course-v3/nbs/dl1/lesson1-pets.ipynb"),
    Habit(
        "dir of a module",
        """print(dir(torch.distributions)[:5])
help(torch.ones)""",
        seen="d2l-ai/d2l-en/chapter_preliminaries/lookup-api.md",
    ),
    Habit(
        "vars of an object",
        "print(vars(torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)).keys())",
        seen="bentrevett/pytorch-sentiment-analysis/legacy/1 - Simple Sentiment Analysis.ipynb",
    ),
    Habit(
        "attributes by __dict__",
        """class Config: pass
config = Config()
config.__dict__.update(n_layer=3, n_head=3)
print(torch.nn.Linear(1, 1).__dict__['_parameters'].keys())""",
        seen="pytorch/examples/distributed/minGPT-ddp/mingpt/model.py",
    ),
    Habit(
        "memory freed",
        """import gc, sys, traceback
def free():
    if hasattr(sys, 'last_traceback'): traceback.clear_frames(sys.last_traceback)
    for name in ('last_traceback', 'last_type', 'last_value'):
        if hasattr(sys, name): delattr(sys, name)
    gc.collect()
    torch.cuda.empty_cache()
free()""",
        seen="fastai/course22p2/nbs/11_initializing.ipynb",
    ),
    Habit("an error, and then memory freed", "1 / 0", seen="fastai/course22p2/nbs/11_initializing.ipynb"),
    Habit(
        "the last error cleaned",
        """import sys, traceback
if hasattr(sys, 'last_traceback'):
    traceback.clear_frames(sys.last_traceback)
    delattr(sys, 'last_traceback')""",
        seen="fastai/course22p2/nbs/11_initializing.ipynb",
    ),
    Habit(
        "the history cleaned",
        """def forget():
    if 'get_ipython' not in globals(): return
    shell = get_ipython()
    shell.displayhook.flush()
    for number in range(1, shell.displayhook.prompt_count + 1): shell.user_ns.pop(f'_i{number}', None)
    shell.user_ns.update(_i='', _ii='', _iii='')
forget()""",
        seen="fastai/course22p2/nbs/11_initializing.ipynb",
    ),
    Habit(
        "the shell's history emptied",
        """history = get_ipython().history_manager
history.input_hist_parsed[:] = ['']
history._i = history._ii = history._iii = ''""",
        seen="fastai/course22p2/nbs/11_initializing.ipynb",
    ),
    Habit(
        "memory measured while it runs",
        """import tracemalloc
tracemalloc.start()
torch.ones(10)
current, peak = tracemalloc.get_traced_memory()
print(f"{current:0.2f}, {peak:0.2f}")
tracemalloc.stop()""",
        seen="rasbt/deeplearning-models/pytorch_ipynb/mechanics/gradient-checkpointing-nin.ipynb",
    ),
    Habit(
        "memory of the process",
        """import os
try:
    import psutil
    print(f"{psutil.Process(os.getpid()).memory_info().rss / 1024 ** 3:.1f} GB")
except ImportError:
    print("no psutil")""",
        seen="rasbt/LLMs-from-scratch/ch05/08_memory_efficient_weight_loading/memory-efficient-state-dict.ipynb",
    ),
    Habit(
        "memory watched by a thread",
        """import time
from threading import Thread
def memory_monitor(out, stop):
    while not stop: out.append(1); time.sleep(0.01)
out, stop = [], []
thread = Thread(target=memory_monitor, args=(out, stop)); thread.start()
stop.append(True); thread.join()""",
        seen="rasbt/LLMs-from-scratch/ch05/08_memory_efficient_weight_loading/memory-efficient-state-dict.ipynb",
    ),
    Habit(
        "processes listed",
        """try:
    import psutil
    print(any("ollama" in (proc.info["name"] or "") for proc in psutil.process_iter(["name"])))
except Exception as e:
    print(e)""",
        seen="rasbt/LLMs-from-scratch/ch07/01_main-chapter-code/ch07.ipynb",
    ),
    Habit(
        "live tensors counted by gc",
        """import gc
for obj in gc.get_objects():
    try:
        if torch.is_tensor(obj) or (hasattr(obj, 'data') and torch.is_tensor(obj.data)):
            print(type(obj), obj.size())
    except: pass""",
        refused="gc.get_objects",
        seen="https://discuss.pytorch.org/t/how-to-debug-causes-of-gpu-memory-leaks/6741",
    ),
    Habit(
        "time by a timer",
        """from timeit import default_timer as timer
start = timer()
def print_train_time(begin: float, end: float, on: torch.device = None):
    print(f"{end - begin:.3f} seconds on {on}")
print_train_time(start, timer(), "cpu")""",
        seen="mrdbourke/pytorch-deep-learning/03_pytorch_computer_vision.ipynb",
    ),
    Habit(
        "time by perf_counter",
        """import time
start_time = time.perf_counter()
elapsed = time.perf_counter() - start_time
print(f"{elapsed:.2f} sec")""",
        seen="rasbt/LLMs-from-scratch/ch05/11_qwen3/standalone-qwen3-plus-kvcache.ipynb",
    ),
    Habit(
        "timers by d2l",
        """import time
class Timer:
    def __init__(self):
        self.laps = []
        self.start()
    def start(self): self.since = time.time()
    def stop(self):
        self.laps.append(time.time() - self.since)
        return self.laps[-1]
print(f'{Timer().stop():.5f} sec')""",
        seen="d2l-ai/d2l-en/chapter_optimization/minibatch-sgd.md",
    ),
    Habit(
        "the time of day",
        """import datetime
for epoch in range(2):
    print('{} Epoch {}, Training loss {}'.format(datetime.datetime.now(), epoch, 0.5))""",
        seen="deep-learning-with-pytorch/dlwpt-code/p1ch8/1_convolution.ipynb",
    ),
    Habit(
        "an error printed with its traceback",
        """import traceback
try:
    torch.ones(2) @ torch.ones(3)
except RuntimeError:
    traceback.print_exc()""",
        seen="albanD/subclass_zoo/dynamic_shapes.ipynb",
    ),
    Habit(
        "an error by sys.exc_info",
        """import sys
try:
    torch.ones(1, requires_grad=True).numpy()
except:
    print("Unexpected error:", sys.exc_info()[0], str(sys.exc_info()[1])[:20])""",
        seen="fastai/fastai1/tests/test_basic_train.py",
    ),
    Habit(
        "an error's traceback by its parts",
        """import sys, traceback
def get_ref_free_exc_info():
    kind, val, tb = sys.exc_info()
    traceback.clear_frames(tb)
    return (kind, val, tb)
try: 1 / 0
except ZeroDivisionError: print(get_ref_free_exc_info()[0])""",
        seen="fastai/fastai1/fastai/utils/ipython.py",
    ),
    Habit(
        "pdb left in comments",
        """from pdb import set_trace
def forward(x):
    # set_trace()
    # import pdb; pdb.set_trace()
    return x
forward(1)""",
        seen="fastai/fastai1/fastai/imports/core.py",
    ),
    Habit(
        "asserts with numpy",
        """import numpy as np
grads, numeric = torch.ones(2).numpy(), np.ones(2)
assert np.allclose(grads, numeric, rtol=1e-3, atol=0), "input gradient does not match numeric grad"
np.testing.assert_array_equal(grads, numeric)""",
        seen="yandexdataschool/Practical_DL/resources/_under_construction/week01_backprop/adapdive_sgd/adaptive_sgd.ipynb",
    ),
    Habit(
        "tests near one another",
        """def near(a, b): return torch.allclose(a, b, rtol=1e-3, atol=1e-5)
def test_near(a, b): assert near(a, b), f"near:\\n{a}\\n{b}"
test_near(torch.ones(1), torch.ones(1))""",
        seen="fastai/course-v3/nbs/dl2/01_matmul.ipynb",
    ),
    Habit(
        "unit tests",
        """import unittest
class TestLayers(unittest.TestCase):
    def test_Linear(self):
        self.assertTrue(torch.allclose(torch.nn.Linear(2, 3)(torch.ones(4, 2)).detach(), torch.zeros(4, 3), atol=10))
suite = unittest.TestLoader().loadTestsFromTestCase(TestLayers)
unittest.TextTestRunner(verbosity=2).run(suite)""",
        seen="girafe-ai/ml-course/homeworks/assignment0_05_nn_from_scratch/test_modules.ipynb",
    ),
    Habit(
        "unit tests by main",
        """import unittest
class TestNotebook(unittest.TestCase):
    def test_add(self): self.assertEqual(2 + 2, 4)
unittest.main(argv=[''], verbosity=2, exit=False)""",
        seen="https://docs.python.org/3/library/unittest.html",
    ),
    Habit(
        "doctests of a function",
        """import doctest
def mean(xs):
    '''
    >>> mean([1, 3])
    2.0
    '''
    return sum(xs) / len(xs)
doctest.run_docstring_examples(mean, globals(), verbose=True)""",
        seen="https://docs.python.org/3/library/doctest.html",
    ),
    Habit(
        "warnings ignored for a message",
        """import warnings
warnings.filterwarnings("ignore", ".*Skipping this token.*")
warnings.filterwarnings('ignore', category=UserWarning)
warnings.warn("hidden")""",
        seen="pytorch/captum/tutorials/Llama2_LLM_Attribution.ipynb",
    ),
    Habit(
        "warnings caught in a block",
        """import warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    warnings.warn("no")""",
        seen="fastai/course-v3/nbs/dl2/12a_awd_lstm.ipynb",
    ),
    Habit(
        "warnings recorded",
        """import warnings
with warnings.catch_warnings(record=True) as ws:
    warnings.simplefilter("always")
    (torch.ones(1, requires_grad=True) * 2).grad
print(len(ws), str(ws[0].message)[:30] if ws else "")""",
        seen="fastai/fastai1/docs_src/nbval/plugin.py",
    ),
    Habit(
        "logging switched off",
        """import logging
logging.disable(logging.WARNING)
logging.warning("hidden")""",
        seen="fastai/course22p2/nbs/05_datasets.ipynb",
    ),
    Habit(
        "a logger of one's own",
        """import logging
log = logging.getLogger('nb')
log.setLevel(logging.DEBUG)
handler = logging.StreamHandler()
handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-8s pid:%(process)d %(name)s:%(lineno)03d:%(funcName)s %(message)s"))
log.addHandler(handler)
log.info("hello")""",
        seen="deep-learning-with-pytorch/dlwpt-code/p2_run_everything.ipynb",
    ),
    Habit(
        "loggers of packages quieted",
        """import logging
logging.getLogger("matplotlib").setLevel(logging.ERROR)
logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)""",
        seen="deep-learning-with-pytorch/dlwpt-code/p2ch14/nodule_analysis.py",
    ),
    Habit("help on an optimizer", "help(torch.optim.SGD)", seen="d2l-ai/d2l-en/chapter_preliminaries/lookup-api.md"),
    Habit(
        "members of a class of torch",
        """import inspect
print([name for name, _ in inspect.getmembers(torch.nn.Tanh, inspect.isfunction)][:3])""",
        seen="fastai/course22p2/nbs/_learner_cb_chain.ipynb",
    ),
    Habit(
        "functions of a module",
        """functions = lambda mod: {name for name in dir(mod) if callable(getattr(mod, name))}
print(len(functions(torch.nn.functional) & functions(torch)) > 0)""",
        seen="ageron/handson-mlp/10_neural_nets_with_pytorch.ipynb",
    ),
    Habit(
        "lines printed into a logger",
        """import logging, sys
class StreamToLogger:
    def __init__(self, log): self.log, self.terminal = log, sys.stdout
    def __getattr__(self, name): return getattr(self.terminal, name)
    def write(self, text): self.log.info(text.rstrip())
    def flush(self): pass
sys.stdout = StreamToLogger(logging.getLogger("stdout"))
print("into the log")""",
        seen="https://github.com/haotian-liu/LLaVA/blob/main/llava/utils.py",
    ),
]
