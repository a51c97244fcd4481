"""Classes, and methods set on classes."""

from __future__ import annotations

from .habit import Habit

CLASSES = [
    Habit(
        "a method added by d2l's decorator",
        """def add_to_class(cls):
    def add(function):
        setattr(cls, function.__name__, function)
        return function
    return add
class Counter:
    number = 1
@add_to_class(Counter)
def tell(self):
    print(f'number is {self.number}')
Counter().tell()""",
        seen="d2l-ai/d2l-en/chapter_linear-regression/oo-design.md",
    ),
    Habit(
        "arguments kept by d2l's save_hyperparameters",
        """import inspect
class Keeps:
    def save_hyperparameters(self):
        caller = inspect.currentframe().f_back
        for name, value in inspect.getargvalues(caller).locals.items():
            if name != 'self': setattr(self, name, value)
class Settings(Keeps):
    def __init__(self, lr, steps): self.save_hyperparameters()
print(Settings(lr=1, steps=2).lr)""",
        refused="sys._getframe",
        seen="d2l-ai/d2l-en/chapter_appendix-tools-for-deep-learning/utils.md",
    ),
    Habit(
        "methods set on one's own class",
        """class StepByStep:
    def __init__(self, model): self.model, self.losses = model, []
def train(self, n_epochs): self.losses += [0.0] * n_epochs
setattr(StepByStep, 'train', train)
StepByStep(torch.nn.Linear(1, 1)).train(2)""",
        seen="dvgodoy/PyTorchStepByStep/Chapter02.1.ipynb",
    ),
    Habit(
        "a method on one object",
        """import types
model = torch.nn.Linear(1, 1)
model.describe = types.MethodType(lambda self: f"{self.in_features} -> {self.out_features}", model)
print(model.describe())""",
        seen="fastai/course22p2/nbs/_learner_cb_chain.ipynb",
    ),
    Habit(
        "fastcore's patch",
        """try:
    from fastcore.all import patch
except ImportError:
    import inspect
    def patch(f):
        cls = next(iter(inspect.get_annotations(f).values()))
        setattr(cls, f.__name__, f)
class Net(torch.nn.Module): pass
@patch
def count(self: Net): return len(list(self.parameters()))
print(Net().count())""",
        seen="fastai/course22p2/nbs/01_matmul.ipynb",
    ),
    Habit(
        "the arguments stored",
        """class Learner:
    def __init__(self, model, lr=0.1, **kwargs):
        self.__dict__.update({k: v for k, v in locals().items() if k not in ('self', 'kwargs')}, **kwargs)
print(vars(Learner(None, lr=0.2, n=3)))""",
        seen="fastai/course22p2/nbs/04_minibatch_training.ipynb",
    ),
    Habit(
        "a property of dimensions on tensors",
        """torch.Tensor.ndim = property(lambda x: len(x.shape))
print(torch.ones(2, 3).ndim)""",
        to_look_at=True,
        seen="fastai/course-v3/nbs/dl2/05_anneal.ipynb",
    ),
    Habit(
        "pca on tensors",
        """def principal(x, k=2):
    centred = x - x.mean(0)
    return centred @ torch.linalg.svd(centred)[2][:k].t()
torch.Tensor.pca = principal
print(torch.ones(3, 2).pca().shape)""",
        to_look_at=True,
        seen="fastai/fastai1/fastai/torch_core.py",
    ),
    Habit(
        "a reset on DataParallel",
        """def reset_inner(self):
    getattr(self.module, 'reset', int)()
torch.nn.DataParallel.reset = reset_inner""",
        to_look_at=True,
        seen="fastai/fastai1/fastai/torch_core.py",
    ),
    Habit(
        "attributes of the data set by the loader",
        """from torch.utils.data import DataLoader
def of_data_set(loader, name): return getattr(loader.dataset, name)
DataLoader.__getattr__ = of_data_set""",
        to_look_at=True,
        seen="fastai/fastai1/fastai/basic_data.py",
    ),
    Habit(
        "cuda's setter that does nothing",
        """before = torch.cuda.set_device
def set_device_if_any(device):
    if torch.cuda.is_available(): before(device)
torch.cuda.set_device = set_device_if_any
set_device_if_any(0)""",
        to_look_at=True,
        seen="fastai/fastai1/fastai/torch_core.py",
    ),
    Habit(
        "tensors of cuda that are of the processor",
        """if not torch.cuda.is_available():
    torch.cuda.FloatTensor = torch.FloatTensor  # dirty trick""",
        to_look_at=True,
        seen="yandexdataschool/Practical_DL/week09_speech/optional_tts.ipynb",
    ),
    Habit(
        "layers by a name with a number",
        """from torch import nn
class Net(nn.Module):
    def __init__(self, n=3):
        super().__init__()
        for i in range(n): setattr(self, f'layer{i}', nn.Linear(2, 2))
        self.n = n
    def forward(self, x):
        for i in range(self.n): x = getattr(self, f'layer{i}')(x)
        return x
Net()(torch.ones(1, 2)).sum().backward()""",
        seen="d2l-ai/d2l-en/chapter_computer-vision/ssd.md",
    ),
    Habit(
        "a layer by its name in torch.nn",
        """from torch import nn
rnn = getattr(nn, 'GRU')(2, 3, 1, dropout=0.0)
print(type(rnn).__name__, callable(nn.__dict__['Linear']))""",
        seen="pytorch/examples/word_language_model/model.py",
    ),
    Habit(
        "models' names from a namespace",
        """import torch.nn as nn
names = sorted(name for name in nn.__dict__ if name[0].isupper() and callable(nn.__dict__[name]))
print(len(names) > 50)""",
        seen="pytorch/examples/imagenet/main.py",
    ),
    Habit(
        "schedulers by dir",
        """from torch.optim import lr_scheduler
print(' '.join(filter(lambda x: x[0].isupper() and x[1].islower(), dir(lr_scheduler))))""",
        seen="fastai/course22p2/nbs/12_accel_sgd.ipynb",
    ),
    Habit(
        "names of classes in labels",
        """layers = [torch.nn.Linear(2, 2), torch.nn.Tanh()]
print([f'layer {i} ({layer.__class__.__name__})' for i, layer in enumerate(layers)])""",
        seen="karpathy/nn-zero-to-hero/lectures/makemore/makemore_part3_bn.ipynb",
    ),
    Habit(
        "an own __repr__ with the class's name",
        """class Databunch:
    def __init__(self, x, y): self.x, self.y = x, y
    def __repr__(self): return f'{self.__class__.__name__}\\nx: {self.x}\\ny: {self.y}\\n'
Databunch(1, 2)""",
        seen="fastai/course-v3/nbs/dl2/08_data_block.ipynb",
    ),
    Habit(
        "weights by the class's name",
        """def weights_init(m):
    classname = m.__class__.__name__
    if classname.find('Linear') != -1:
        torch.nn.init.normal_(m.weight, 0.0, 0.02)
        torch.nn.init.zeros_(m.bias)
torch.nn.Sequential(torch.nn.Linear(2, 2)).apply(weights_init)""",
        seen="pytorch/examples/dcgan/main.py",
    ),
    Habit(
        "a class of attributes",
        """class Net:
    def __init__(self):
        self._found = {}
        self.first = torch.nn.Linear(2, 3)
    def __setattr__(self, name, value):
        if name[0] != '_': self._found[name] = value
        super().__setattr__(name, value)
    def parameters(self):
        return [p for layer in self._found.values() for p in layer.parameters()]
print(len(Net().parameters()))""",
        seen="fastai/course22p2/nbs/04_minibatch_training.ipynb",
    ),
    Habit(
        "what is missing, by another object",
        """class Runner:
    def __init__(self, learn): self.learn = learn
    def __getattr__(self, name):
        if name in ('predict', 'get_loss'): return lambda *args: self.learn
        raise AttributeError(name)
print(Runner(1).predict())""",
        seen="fastai/course22p2/nbs/09_learner.ipynb",
    ),
    Habit(
        "a state with a __setstate__",
        """import copy
class ListContainer:
    def __init__(self, items): self.items = items
    def __getattr__(self, k): return getattr(self.items, k)
    def __setstate__(self, data): self.__dict__.update(data)
print(copy.deepcopy(ListContainer([1])).items)""",
        seen="fastai/course-v3/nbs/dl2/08_data_block.ipynb",
    ),
    Habit(
        "slots",
        """class Point:
    __slots__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
print(Point(1, 2).x)""",
        seen="pytorch/captum/captum/attr/_utils/visualization.py",
    ),
    Habit(
        "named tuples",
        """from collections import namedtuple
fields = ["src_token_ids", "src_mask"]
class NmtPair(namedtuple("NmtPairBase", fields)):
    def to(self, device):
        return NmtPair(self.src_token_ids.to(device), self.src_mask.to(device))
NmtPair(torch.ones(1), torch.ones(1)).to("cpu")""",
        seen="ageron/handson-mlp/14_nlp_with_rnns_and_attention.ipynb",
    ),
    Habit(
        "enums by one line",
        """from enum import Enum, IntEnum
Activation = Enum('Activation', 'ReLU Swish GeLU')
class Summary(IntEnum):
    NONE = 0
    AVERAGE = 1
print(Activation.ReLU, Summary(1).name)""",
        seen="fastai/fastai1/fastai/basic_data.py",
    ),
    Habit(
        "a dataclass of settings",
        """from dataclasses import dataclass, field, asdict
@dataclass(frozen=True)
class Config:
    n_layer: int = 2
    betas: tuple = field(default=(0.9, 0.95))
print(asdict(Config()))""",
        seen="albanD/subclass_zoo/dynamic_shapes.ipynb",
    ),
    Habit(
        "an abstract class",
        """from abc import ABC, abstractmethod
class Callback(ABC):
    _order = 0
    @abstractmethod
    def before_fit(self): ...""",
        seen="fastai/fastai1/fastai/callbacks/tensorboard.py",
    ),
    Habit(
        "callbacks found by their names",
        """import re
def snake(name): return re.sub('(?<!^)(?=[A-Z])', '_', name).lower()
class TrainEvalCallback:
    @property
    def name(self): return snake(re.sub(r'Callback$', '', self.__class__.__name__))
print(TrainEvalCallback().name)""",
        seen="fastai/course-v3/nbs/dl2/04_callbacks.ipynb",
    ),
    Habit(
        "a class that wraps super() with its class",
        """class Net(torch.nn.Module):
    def __init__(self):
        super(self.__class__, self).__init__()
        self.w = torch.nn.Parameter(torch.ones(1))
Net()""",
        seen="yandexdataschool/Practical_DL/resources/_under_construction/week06_rnn/captioning_torch.ipynb",
    ),
    Habit(
        "the old super",
        """class NeuralNet(torch.nn.Module):
    def __init__(self, input_size, hidden_size):
        super(NeuralNet, self).__init__()
        self.fc1 = torch.nn.Linear(input_size, hidden_size)
    def forward(self, x):
        return torch.relu(self.fc1(x))
NeuralNet(2, 3)(torch.ones(1, 2))""",
        seen="rasbt/deeplearning-models/pytorch-lightning_ipynb/cnn/cnn-densenet121-cifar10.ipynb",
    ),
    Habit(
        "a dot dictionary",
        """class dotdict(dict):
    __getattr__ = dict.get
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__
config = dotdict({'lr': 0.1}); config.lr""",
        seen="deep-learning-with-pytorch/dlwpt-code/util/util.py",
    ),
    Habit(
        "torch.load that loads everything",
        """import functools
torch.load = functools.partial(torch.load, weights_only=False)""",
        to_look_at=True,
        seen="https://github.com/AboEl3iz/WebRTC-AI-Powered-Meeting-Platform/blob/main/ai/early_patch.py",
    ),
    Habit(
        "cuda() that stays on the processor",
        """if not torch.cuda.is_available():
    torch.Tensor.cuda = lambda self, *args, **kwargs: self
    torch.nn.Module.cuda = lambda self, *args, **kwargs: self""",
        to_look_at=True,
        seen="https://github.com/intel/ipex-llm/pull/6202",
    ),
    Habit(
        "layers without their first weights",
        """setattr(torch.nn.Linear, "reset_parameters", lambda self: None)
setattr(torch.nn.LayerNorm, "reset_parameters", lambda self: None)""",
        to_look_at=True,
        seen="https://github.com/haotian-liu/LLaVA/blob/main/llava/utils.py",
    ),
]
