"""Habits inside the cell of an answer."""

from __future__ import annotations

from .habit import Habit

ANSWERS = [
    Habit(
        "the answer tried at once",
        answer="""if __name__ == "__main__":
    _model = torch.nn.Linear(1, 1, bias=False)
    accumulate_equal(_model, [(torch.ones(2, 1), torch.ones(2, 1))])
    print(_model.weight.grad)""",
        seen="mrdbourke/pytorch-deep-learning/extras/solutions/05_pytorch_going_modular_exercise_solutions.ipynb",
    ),
    Habit(
        "the answer timed",
        answer="""import functools, time
def timed(func):
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        start = time.perf_counter()
        result = func(*args, **kwargs)
        print(f"{func.__name__} took {time.perf_counter() - start:.3f}s")
        return result
    return wrapper
accumulate_equal = timed(accumulate_equal)""",
        seen="fastai/course22p2/nbs/26_diffusion_unet.ipynb",
    ),
    Habit(
        "the answer with d2l's hyperparameters",
        answer="""import inspect
class Keeps:
    def save_hyperparameters(self):
        caller = inspect.currentframe().f_back
        for name, value in inspect.getargvalues(caller).locals.items():
            if name != 'self': setattr(self, name, value)
class Trainer(Keeps):
    def __init__(self, fit): self.save_hyperparameters()
    def __call__(self, model, batches): return self.fit(model, batches)
accumulate_equal = Trainer(accumulate_equal)""",
        refused="sys._getframe",
        seen="d2l-ai/d2l-en/chapter_attention-mechanisms-and-transformers/vision-transformer.md",
    ),
    Habit(
        "the answer that logs",
        answer="""import logging
log = logging.getLogger(__name__)
def logged(func):
    def wrapper(model, batches):
        log.warning("%d batches, %s", len(batches), type(model).__name__)
        return func(model, batches)
    return wrapper
accumulate_equal = logged(accumulate_equal)""",
        seen="deep-learning-with-pytorch/dlwpt-code/p2_run_everything.ipynb",
    ),
    Habit(
        "the answer that prints as it goes",
        answer="""def told(func):
    def wrapper(model, batches):
        result = func(model, batches)
        print('Epoch: %03d | grad %s' % (1, model.weight.grad))
        return result
    return wrapper
accumulate_equal = told(accumulate_equal)""",
        seen="rasbt/deeplearning-models/pytorch_ipynb/autoencoder/ae-basic-with-rf.ipynb",
    ),
    Habit(
        "the answer with a bar",
        answer="""try:
    from tqdm.auto import tqdm
except ImportError:
    def tqdm(it, **kwargs): return it
def with_bar(func):
    return lambda model, batches: func(model, [batch for batch in tqdm(batches, desc="training...")])
accumulate_equal = with_bar(accumulate_equal)""",
        seen="bentrevett/pytorch-sentiment-analysis/1 - Neural Bag of Words.ipynb",
    ),
    Habit(
        "the answer that frees memory",
        answer="""import gc
def freed(func):
    def wrapper(model, batches):
        result = func(model, batches)
        torch.cuda.empty_cache()
        gc.collect()
        return result
    return wrapper
accumulate_equal = freed(accumulate_equal)""",
        seen="rasbt/LLMs-from-scratch/ch05/07_gpt_to_llama/converting-llama2-to-llama3.ipynb",
    ),
    Habit(
        "the answer that goes to the device",
        answer="""device = torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")
def on_device(func):
    def wrapper(model, batches):
        model.to(device)
        return func(model, [(x.to(device), y.to(device)) for x, y in batches])
    return wrapper
accumulate_equal = on_device(accumulate_equal)""",
        seen="phlippe/uvadlc_notebooks/docs/tutorial_notebooks/tutorial2/Introduction_to_PyTorch.ipynb",
    ),
    Habit(
        "the answer with asserts",
        answer="""def asserted(func):
    def wrapper(model, batches):
        assert isinstance(model, torch.nn.Module), type(model)
        assert all(len(x) == len(y) for x, y in batches)
        return func(model, batches)
    return wrapper
accumulate_equal = asserted(accumulate_equal)""",
        seen="fastai/course-v3/nbs/dl1/lesson7-superres-imagenet.ipynb",
    ),
    Habit(
        "the answer with hints of types",
        answer="""from typing import List, Tuple
def typed(func):
    def wrapper(model: torch.nn.Module, batches: List[Tuple[torch.Tensor, torch.Tensor]]) -> None:
        return func(model, batches)
    return wrapper
accumulate_equal = typed(accumulate_equal)""",
        seen="mrdbourke/pytorch-deep-learning/03_pytorch_computer_vision.ipynb",
    ),
    Habit(
        "the answer that checks its signature",
        answer="""import inspect
def by_signature(func):
    names = list(inspect.signature(func).parameters)
    def wrapper(*args):
        return func(**dict(zip(names, args)))
    return wrapper
accumulate_equal = by_signature(accumulate_equal)""",
        seen="pytorch/captum/captum/insights/attr_vis/attribution_calculation.py",
    ),
    Habit(
        "the answer in train mode",
        answer="""def in_train_mode(func):
    def wrapper(model, batches):
        model.train()
        return func(model, batches)
    return wrapper
accumulate_equal = in_train_mode(accumulate_equal)""",
        seen="rasbt/deeplearning-models/pytorch-lightning_ipynb/cnn/cnn-alexnet-cifar10.ipynb",
    ),
    Habit(
        "the answer that catches its error",
        answer="""import traceback
def caught(func):
    def wrapper(model, batches):
        try:
            return func(model, batches)
        except RuntimeError:
            traceback.print_exc()
            raise
    return wrapper
accumulate_equal = caught(accumulate_equal)""",
        seen="albanD/subclass_zoo/dynamic_shapes.ipynb",
    ),
    Habit(
        "the answer by callbacks",
        answer="""from contextlib import contextmanager
@contextmanager
def cb_ctx(nm):
    try: yield
    finally: pass
def with_callbacks(func):
    def wrapper(model, batches):
        with cb_ctx('fit'): return func(model, batches)
    return wrapper
accumulate_equal = with_callbacks(accumulate_equal)""",
        seen="fastai/course22p2/nbs/09_learner.ipynb",
    ),
    Habit(
        "the answer with a seed",
        answer="""def seeded(func):
    def wrapper(model, batches):
        torch.manual_seed(42)
        return func(model, batches)
    return wrapper
accumulate_equal = seeded(accumulate_equal)""",
        seen="karpathy/nn-zero-to-hero/lectures/makemore/makemore_part5_cnn1.ipynb",
    ),
    Habit(
        "the answer with anomaly mode",
        answer="""def anomalies(func):
    def wrapper(model, batches):
        with torch.autograd.set_detect_anomaly(True):
            return func(model, batches)
    return wrapper
accumulate_equal = anomalies(accumulate_equal)""",
        seen="https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection",
    ),
    Habit(
        "the answer with a hook that is removed",
        answer="""def hooked(func):
    def wrapper(model, batches):
        handle = model.weight.register_hook(lambda grad: grad)
        try: return func(model, batches)
        finally: handle.remove()
    return wrapper
accumulate_equal = hooked(accumulate_equal)""",
        seen="dvgodoy/PyTorchStepByStep/ChapterExtra.ipynb",
    ),
    Habit(
        "the answer that watches activations",
        answer="""def watched(func):
    def wrapper(model, batches):
        outputs = []
        handle = model.register_forward_hook(lambda m, i, o: outputs.append(o.detach().mean()))
        func(model, batches)
        handle.remove()
    return wrapper
accumulate_equal = watched(accumulate_equal)""",
        seen="fastai/course-v3/nbs/dl2/06_cuda_cnn_hooks_init.ipynb",
    ),
    Habit(
        "the answer profiled",
        answer="""def profiled(func):
    def wrapper(model, batches):
        with torch.autograd.profiler.record_function("accumulate"):
            return func(model, batches)
    return wrapper
accumulate_equal = profiled(accumulate_equal)""",
        seen="fastai/course22p2/nbs/_DDPM_profiler.ipynb",
    ),
    Habit(
        "the answer that draws its losses",
        answer="""def drawn(func):
    import matplotlib.pyplot as plt
    def wrapper(model, batches):
        func(model, batches)
        plt.figure(figsize=(1, 1)); plt.plot(model.weight.grad.flatten().tolist()); plt.show()
    return wrapper
accumulate_equal = drawn(accumulate_equal)""",
        seen="udlbook/udlbook/Notebooks/Chap02/2_1_Supervised_Learning.ipynb",
    ),
    Habit(
        "the answer with warnings off",
        answer="""import warnings
def quiet(func):
    def wrapper(model, batches):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return func(model, batches)
    return wrapper
accumulate_equal = quiet(accumulate_equal)""",
        seen="fastai/course-v3/nbs/dl2/12a_awd_lstm.ipynb",
    ),
    Habit(
        "the answer by a DataLoader",
        answer="""from torch.utils.data import DataLoader
def loaded(func):
    def wrapper(model, batches):
        loader = DataLoader(batches, batch_size=None, shuffle=False, num_workers=0)
        return func(model, list(loader))
    return wrapper
accumulate_equal = loaded(accumulate_equal)""",
        seen="dvgodoy/PyTorchStepByStep/Chapter02.1.ipynb",
    ),
    Habit(
        "the answer that saves a checkpoint",
        answer="""def checkpointed(func):
    def wrapper(model, batches):
        func(model, batches)
        torch.save({'grad': model.weight.grad}, 'checkpoint.pth')
        torch.load('checkpoint.pth')
    return wrapper
accumulate_equal = checkpointed(accumulate_equal)""",
        seen="dvgodoy/PyTorchStepByStep/Chapter02.1.ipynb",
    ),
    Habit(
        "the answer's source shown",
        answer="""import inspect
print(inspect.getsource(accumulate_equal))
help(accumulate_equal)
print(accumulate_equal.__doc__, accumulate_equal.__code__.co_varnames)""",
        seen="srush/Tensor-Puzzles/Tensor Puzzlers.ipynb",
    ),
    Habit(
        "the answer with the names it knows",
        answer="""def by_globals(func):
    def wrapper(model, batches):
        assert 'torch' in globals()
        return func(model, batches)
    return wrapper
accumulate_equal = by_globals(accumulate_equal)""",
        seen="fastai/course22p2/nbs/09_learner.ipynb",
    ),
    Habit(
        "the answer as a class that is called",
        answer="""class Accumulate:
    def __init__(self, func): self.func = func
    def __call__(self, model, batches): return self.func(model, batches)
    def __repr__(self): return f"{self.__class__.__name__}({self.func})"
accumulate_equal = Accumulate(accumulate_equal)""",
        seen="karpathy/nn-zero-to-hero/lectures/makemore/makemore_part3_bn.ipynb",
    ),
    Habit(
        "the answer as a partial",
        answer="""from functools import partial
def _accumulate(how, model, batches): return how(model, batches)
accumulate_equal = partial(_accumulate, accumulate_equal)""",
        seen="fastai/course22p2/nbs/02_meanshift.ipynb",
    ),
    Habit(
        "the answer in a cell that is timed",
        answer="""%time print("defined")
get_ipython().run_line_magic("timeit", "-n 1 -r 1 1 + 1")""",
        seen="mrdbourke/pytorch-deep-learning/00_pytorch_fundamentals.ipynb",
    ),
    Habit(
        "the answer that prints its own name",
        answer="""import inspect
def named(func):
    def wrapper(model, batches):
        print("in", inspect.currentframe().f_code.co_name)
        return func(model, batches)
    return wrapper
accumulate_equal = named(accumulate_equal)""",
        refused="sys._getframe",
        seen="https://runebook.dev/en/docs/python/library/inspect/inspect.FrameInfo.function",
    ),
    Habit(
        "the answer that makes a trainer with its hyperparameters",
        answer="""import inspect
class Keeping:
    def save_hyperparameters(self):
        caller = inspect.currentframe().f_back
        for name, value in inspect.getargvalues(caller).locals.items():
            if name != 'self': setattr(self, name, value)
class Fit(Keeping):
    def __init__(self, model, batches): self.save_hyperparameters()
def by_trainer(func):
    def wrapper(model, batches):
        fit = Fit(model, batches)
        return func(fit.model, fit.batches)
    return wrapper
accumulate_equal = by_trainer(accumulate_equal)""",
        refused="sys._getframe",
        seen="d2l-ai/d2l-en/chapter_attention-mechanisms-and-transformers/vision-transformer.md",
    ),
    Habit(
        "the answer that counts live tensors",
        answer="""import gc
def counting(func):
    def wrapper(model, batches):
        func(model, batches)
        print(sum(torch.is_tensor(each) for each in gc.get_objects()), "tensors")
    return wrapper
accumulate_equal = counting(accumulate_equal)""",
        refused="gc.get_objects",
        seen="https://discuss.pytorch.org/t/how-to-debug-causes-of-gpu-memory-leaks/6741",
    ),
]
