"""Files, processes, threads and the standard library."""

from __future__ import annotations

from .habit import Habit

RUNNING = [
    Habit(
        "folders made",
        """import os
CHECKPOINT_PATH = os.environ.get("PATH_CHECKPOINT", "saved_models/tutorial2/")
os.makedirs(CHECKPOINT_PATH, exist_ok=True)""",
        seen="phlippe/uvadlc_notebooks/docs/tutorial_notebooks/DL2/Causality_and_CRL/citris-tutorial.ipynb",
    ),
    Habit(
        "files fetched where they are missing",
        """import os, urllib.request
if not os.path.exists("the-verdict.txt"):
    try:
        urllib.request.urlretrieve("https://example.org/the-verdict.txt", "the-verdict.txt")
    except OSError as e:
        print("Something went wrong:", e)""",
        seen="rasbt/LLMs-from-scratch/ch02/01_main-chapter-code/ch02.ipynb",
    ),
    Habit(
        "files fetched by requests",
        """import requests
from pathlib import Path
if not Path("helper_functions.py").is_file():
    request = requests.get("https://example.org/helper_functions.py")
    with open("helper_functions.py", "wb") as f: f.write(request.content)""",
        seen="mrdbourke/pytorch-deep-learning/02_pytorch_classification.ipynb",
    ),
    Habit(
        "a zip unpacked",
        """import zipfile
from pathlib import Path
data_path = Path("data/"); data_path.mkdir(parents=True, exist_ok=True)
with zipfile.ZipFile(data_path / "a.zip", "w") as f: f.writestr("a.txt", "1")
with zipfile.ZipFile(data_path / "a.zip", "r") as zip_ref: zip_ref.extractall(data_path)""",
        seen="mrdbourke/pytorch-deep-learning/04_pytorch_custom_datasets.ipynb",
    ),
    Habit(
        "folders removed",
        """import os, shutil
os.makedirs("tmp_data", exist_ok=True)
shutil.rmtree("tmp_data", ignore_errors=True)""",
        seen="rasbt/LLMs-from-scratch/ch07/04_preference-tuning-with-dpo/dpo-from-scratch.ipynb",
    ),
    Habit(
        "the folder changed in a block",
        """import os
from contextlib import contextmanager
@contextmanager
def working_directory(path):
    prev_cwd = os.getcwd(); os.chdir(path)
    try: yield
    finally: os.chdir(prev_cwd)
with working_directory(".."): pass""",
        seen="fastai/fastai1/fastai/core.py",
    ),
    Habit(
        "the folder changed for good",
        """import os
os.makedirs("project", exist_ok=True)
os.chdir("project")
print(os.listdir())""",
        seen="fastai/fastai1/fastai/core.py",
    ),
    Habit(
        "paths appended",
        """import sys
sys.path.append("../../pytorch_ipynb")
sys.path.insert(1, "./")""",
        seen="rasbt/deeplearning-models/pytorch-lightning_ipynb/cnn/cnn-alexnet-cifar10.ipynb",
    ),
    Habit(
        "visible devices chosen",
        """import os
os.environ['CUDA_VISIBLE_DEVICES'] = '1'
os.environ['KMP_DUPLICATE_LIB_OK'] = 'True'
os.environ["TOKENIZERS_PARALLELISM"] = "false\"""",
        seen="fastai/course22p2/nbs/19_DDPM_v3.ipynb",
    ),
    Habit(
        "a look at the display",
        """import os
if type(os.environ.get("DISPLAY")) is not str or len(os.environ.get("DISPLAY")) == 0:
    !bash ../xvfb start
    os.environ['DISPLAY'] = ':1'""",
        seen="yandexdataschool/Practical_DL/resources/_under_construction/week09_rl/optional/atari_lasagne.ipynb",
    ),
    Habit(
        "results in json",
        """import json
with open("results.json", "w") as f:
    json.dump({"loss": [0.5, 0.25]}, f, indent=4)
print(json.load(open("results.json")))""",
        seen="phlippe/uvadlc_notebooks/docs/tutorial_notebooks/tutorial16/Meta_Learning.ipynb",
    ),
    Habit(
        "objects pickled",
        """import pickle
from pathlib import Path
pickle.dump({'w': torch.ones(2)}, Path('w.pkl').open('wb'))
print(pickle.load(open('w.pkl', 'rb')))""",
        seen="fastai/fastai1/courses/dl1/adamw-sgdw-demo.ipynb",
    ),
    Habit(
        "models by joblib",
        """import joblib
joblib.dump({"a": 1}, "model.pkl")""",
        seen="ageron/handson-mlp/02_end_to_end_machine_learning_project.ipynb",
    ),
    Habit(
        "the number of processors",
        """import os
NUM_WORKERS = os.cpu_count()
print(NUM_WORKERS > 0)""",
        seen="phlippe/uvadlc_notebooks/docs/tutorial_notebooks/tutorial17/SimCLR.ipynb",
    ),
    Habit(
        "the main guard",
        """def main():
    print("main")
if __name__ == "__main__":
    main()""",
        seen="mrdbourke/pytorch-deep-learning/extras/solutions/05_pytorch_going_modular_exercise_solutions.ipynb",
    ),
    Habit(
        "arguments parsed from nothing",
        """import argparse
parser = argparse.ArgumentParser(description="Get some hyperparameters.")
parser.add_argument("--lr", default=0.01, type=float)
args = parser.parse_args([])
args.lr""",
        seen="mrdbourke/pytorch-deep-learning/extras/solutions/05_pytorch_going_modular_exercise_solutions.ipynb",
    ),
    Habit(
        "arguments parsed from the kernel's",
        """import argparse
parser = argparse.ArgumentParser()
parser.add_argument('--seed', type=int, default=1)
args, unknown = parser.parse_known_args()""",
        seen="yandexdataschool/Practical_DL/resources/_under_construction/week08_gans_part1/gans/models/StyleGAN2/calc_inception.py",
    ),
    Habit(
        "argv replaced",
        """import sys
sys.argv = ['train.py']
print(sys.argv[1:])""",
        seen="fastai/fastai1/courses/dl1/scripts/train_planet.py",
    ),
    Habit(
        "a pool of threads",
        """from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(max_workers=2) as ex:
    print(list(ex.map(lambda x: x * 2, range(4))))""",
        seen="fastai/course-v3/nbs/dl2/12_text.ipynb",
    ),
    Habit(
        "a pool of processes for a list",
        """from concurrent.futures import ProcessPoolExecutor
def parallel(func, arr, max_workers=2):
    if max_workers < 2: return list(map(func, arr))
    with ProcessPoolExecutor(max_workers=max_workers) as ex: return list(ex.map(func, arr))
print(parallel(abs, [-1, 2]))""",
        seen="fastai/course-v3/nbs/dl2/12_text.ipynb",
    ),
    Habit(
        "multiprocessing's Pool",
        """from multiprocessing import Pool
with Pool(2) as p:
    print(p.map(len, ["a", "bc"]))""",
        seen="yandexdataschool/Practical_DL/week06_nlp/1d_conv_tasks/alternative_assignment_music/music_dnn_comp.ipynb",
    ),
    Habit(
        "torch's multiprocessing",
        """import torch.multiprocessing as mp
print(mp.get_start_method(allow_none=True), mp.get_sharing_strategy())""",
        seen="fastai/course22p2/nbs/04_minibatch_training.ipynb",
    ),
    Habit(
        "a start method set",
        """import torch.multiprocessing as mp
try:
    mp.set_start_method('spawn', force=True)
except RuntimeError:
    pass""",
        seen="fastai/fastai1/old/fastai/set_spawn.py",
    ),
    Habit(
        "a lock and an event",
        """import threading
lock = threading.Lock()
done = threading.Event()
with lock: done.set()
done.wait(1)""",
        seen="pytorch/examples/distributed/rpc/batch/parameter_server.py",
    ),
    Habit(
        "asyncio in a cell",
        """import asyncio
async def work():
    await asyncio.sleep(0)
    return 1
print(await asyncio.gather(work(), work()))""",
        seen="deep-learning-with-pytorch/dlwpt-code/p3ch15/request_batching_jit_server.py",
    ),
    Habit(
        "asyncio's run, which fails in a notebook",
        """import asyncio
async def main(): await asyncio.sleep(0)
try:
    asyncio.run(main())
except RuntimeError as e:
    print(e)""",
        seen="https://stackoverflow.com/questions/55409641/asyncio-run-cannot-be-called-from-a-running-event-loop-when-using-jupyter-no",
    ),
    Habit(
        "nested loops",
        """import nest_asyncio
nest_asyncio.apply()""",
        seen="https://github.com/erdewit/nest_asyncio",
    ),
    Habit(
        "commands by subprocess",
        """import subprocess as sp
try:
    print(sp.check_output("nvidia-smi", shell=True, stderr=sp.STDOUT))
except Exception as e:
    print("No Nvidia GPU in system!", e)""",
        seen="yandexdataschool/Practical_DL/week05_interpretability/practice.ipynb",
    ),
    Habit(
        "memory by sysctl",
        """import subprocess
try:
    result = subprocess.run(["sysctl", "hw.memsize"], capture_output=True, text=True)
    print(result.stdout)
except FileNotFoundError as e:
    print(e)""",
        seen="TransformerLensOrg/TransformerLens/demos/LLaMA_GPU_Quantized.ipynb",
    ),
    Habit(
        "a cached function",
        """from functools import lru_cache, partial, reduce, wraps
@lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(30), reduce(lambda a, b: a * b, [1, 2, 3])""",
        seen="rasbt/LLMs-from-scratch/ch02/05_bpe-from-scratch/bpe-from-scratch-simple.ipynb",
    ),
    Habit(
        "partials",
        """from functools import partial
from torch.optim import lr_scheduler
sched = partial(lr_scheduler.OneCycleLR, max_lr=0.1, total_steps=10)
sched(torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1, momentum=0.9)).step()""",
        seen="fastai/course22p2/nbs/12_accel_sgd.ipynb",
    ),
    Habit(
        "a decorator that tells time",
        """import functools, time
def timeit(func):
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        start = time.time()
        result = func(*args, **kwargs)
        print(f"{func.__name__}: {time.time() - start:.4f}s")
        return result
    return wrapper
@timeit
def work(): return sum(range(100))
work()""",
        seen="fastai/fastai1/fastai/core.py",
    ),
    Habit(
        "a context by contextlib",
        """from contextlib import contextmanager, nullcontext, suppress
@contextmanager
def eval_mode(model):
    training = model.training; model.eval()
    try: yield model
    finally: model.train(training)
with eval_mode(torch.nn.Dropout()) as m, nullcontext(), suppress(KeyError): {}['no']""",
        seen="fastai/course22p2/nbs/09_learner.ipynb",
    ),
    Habit(
        "counters and defaults",
        """from collections import Counter, defaultdict, OrderedDict, deque
history = defaultdict(list)
history['loss'].append(0.5)
print(Counter("hello").most_common(1), deque([1, 2], maxlen=1))""",
        seen="yandexdataschool/Practical_DL/week06_nlp/1d_conv_tasks/alternative_assignment_avito/Seminar3-en-Avito.ipynb",
    ),
    Habit(
        "itertools' parts",
        """from itertools import islice, count, chain, product, zip_longest
print(list(islice(count(), 3)), list(product([0.1, 0.01], [16, 32])))""",
        seen="fastai/course22p2/nbs/01_matmul.ipynb",
    ),
    Habit(
        "operator's getters",
        """from operator import itemgetter, attrgetter, mul
print(sorted([(1, 'b'), (0, 'a')], key=itemgetter(0)))""",
        seen="fastai/course22p2/nbs/05_datasets.ipynb",
    ),
    Habit(
        "a weak reference",
        """import weakref
class Learner: pass
learn = Learner()
ref = weakref.ref(learn); del learn; print(ref())""",
        seen="fastai/fastai1/fastai/basic_train.py",
    ),
    Habit(
        "a checksum",
        """import hashlib
sha1 = hashlib.sha1()
sha1.update(torch.ones(2).numpy().tobytes())
sha1.hexdigest()""",
        seen="d2l-ai/d2l-en/chapter_appendix-tools-for-deep-learning/utils.md",
    ),
    Habit(
        "code run by exec into a module",
        """import types
mod = types.ModuleType("notebook")
exec("def double(x): return 2 * x", mod.__dict__)
print(mod.double(2))""",
        seen="rasbt/LLMs-from-scratch/ch02/02_bonus_bytepair-encoder/compare-bpe-tiktoken.ipynb",
    ),
    Habit(
        "an expression by eval",
        """x = torch.ones(2)
for op in ('+', '*'): print(eval('x {} 2'.format(op)))""",
        seen="srush/Tensor-Puzzles/lib.py",
    ),
    Habit("the notebook left by exit", "exit()", seen="fastai/fastai1/examples/train_imagenette.py"),
]
