"""Imports that people write, most of packages that are not installed."""

from __future__ import annotations

from .habit import Habit

IMPORTS = [
    Habit(
        "many imports on one line",
        "import pickle,gzip,math,os,time,shutil,torch,matplotlib as mpl,numpy as np,matplotlib.pyplot as plt",
        seen="fastai/course22p2/nbs/03_backprop.ipynb",
    ),
    Habit(
        "numpy and pandas",
        "import numpy as np, pandas as pd",
        seen="yandexdataschool/Practical_DL/resources/_under_construction/week09_rl/reinforce_lasagne.ipynb",
    ),
    Habit(
        "scikit-learn's split",
        """from sklearn.model_selection import train_test_split
from sklearn.metrics import accuracy_score""",
        seen="girafe-ai/ml-course/homeworks/assignment0_04_tree/assignment0_04_decision_tree.ipynb",
    ),
    Habit(
        "scipy",
        """from scipy.spatial.distance import cdist
print(cdist([[0.0]], [[1.0]]))""",
        seen="girafe-ai/ml-course/homeworks/assignment0_03_svm/assignment0_03_submission_template.ipynb",
    ),
    Habit(
        "PIL",
        """from PIL import Image
image = Image.new("RGB", (2, 2))
image""",
        seen="mrdbourke/pytorch-deep-learning/04_pytorch_custom_datasets.ipynb",
    ),
    Habit(
        "torchvision and its transforms",
        """import torchvision
from torchvision import transforms
from torchvision.datasets import CIFAR10""",
        seen="phlippe/uvadlc_notebooks/docs/tutorial_notebooks/DL2/Geometric_deep_learning/tutorial1_regular_group_convolutions.ipynb",
    ),
    Habit(
        "torchinfo, or install it",
        """try:
    from torchinfo import summary
except:
    print("[INFO] Couldn't find torchinfo... installing it.")
    !pip install -q torchinfo""",
        seen="mrdbourke/pytorch-deep-learning/06_pytorch_transfer_learning.ipynb",
    ),
    Habit(
        "lightning, or install it",
        """try:
    import pytorch_lightning as pl
except ModuleNotFoundError:
    !pip install --quiet pytorch-lightning>=1.4
    import pytorch_lightning as pl""",
        seen="phlippe/uvadlc_notebooks/docs/tutorial_notebooks/DL2/Causality_and_CRL/citris-tutorial.ipynb",
    ),
    Habit(
        "torchviz",
        """from torchviz import make_dot
x = torch.ones(1, requires_grad=True)
make_dot(x * x)""",
        seen="Atcold/NYU-DLSP20/03-autograd_tutorial.ipynb",
    ),
    Habit(
        "graphviz's Digraph",
        """from graphviz import Digraph
dot = Digraph(format='svg', graph_attr={'rankdir': 'LR'})
dot.node(name='a', label='{ data 1.0 }', shape='record')
dot""",
        seen="karpathy/nn-zero-to-hero/lectures/micrograd/micrograd_lecture_first_half_roughly.ipynb",
    ),
    Habit(
        "einops",
        """import einops
print(einops.rearrange(torch.ones(2, 3), 'a b -> (a b)').shape)""",
        seen="TransformerLensOrg/TransformerLens/demos/Activation_Patching_in_TL_Demo.ipynb",
    ),
    Habit(
        "jaxtyping",
        """from jaxtyping import Float
def norm(x: Float[torch.Tensor, "batch features"]) -> Float[torch.Tensor, "batch"]:
    return x.norm(dim=1)""",
        seen="TransformerLensOrg/TransformerLens/demos/Exploratory_Analysis_Demo.ipynb",
    ),
    Habit(
        "a stub for a package of types",
        """class TT:
    def __class_getitem__(cls, _):
        return torch.Tensor
def double(x: TT["i"]) -> TT["i"]:
    return 2 * x""",
        seen="TransformerLensOrg/TransformerLens/demos/Attribution_Patching_Demo.ipynb",
    ),
    Habit(
        "tensorboard's writer",
        """from torch.utils.tensorboard import SummaryWriter
writer = SummaryWriter(log_dir="runs/first")
writer.add_scalar("loss", 0.5, 0)
writer.close()""",
        seen="phlippe/uvadlc_notebooks/docs/tutorial_notebooks/JAX/tutorial11/NF_image_modeling.ipynb",
    ),
    Habit(
        "wandb",
        """import wandb
wandb.init(project="autograd", mode="offline")
wandb.log({"loss": 0.5})""",
        seen="fastai/course22p2/nbs/21_cifar10_and_wandb.ipynb",
    ),
    Habit(
        "rich's progress",
        """import rich
from rich.progress import track
for _ in track(range(3)):
    pass""",
        seen="phlippe/uvadlc_notebooks/docs/tutorial_notebooks/DL2/Dynamical_systems/dynamical_systems_neural_odes.ipynb",
    ),
    Habit(
        "fastcore and all of it",
        "import timm, torch, random, datasets, math, fastcore.all as fc, numpy as np, matplotlib as mpl",
        seen="fastai/course22p2/nbs/22_cosine.ipynb",
    ),
    Habit(
        "fastai's imports with a star",
        """from fastai.basics import *
from fastai.vision.all import *""",
        seen="fastai/fastai1/courses/dl1/adamw-sgdw-demo.ipynb",
    ),
    Habit(
        "d2l",
        """from d2l import torch as d2l
d2l.set_figsize()""",
        seen="d2l-ai/d2l-en/chapter_appendix-mathematics-for-deep-learning/distributions.md",
    ),
    Habit(
        "seaborn as it is set",
        "import seaborn as sns; sns.set()",
        seen="girafe-ai/ml-course/homeworks/assignment0_03_svm/assignment0_03_svm_kernel.ipynb",
    ),
    Habit(
        "OpenCV",
        """from cv2 import inpaint, INPAINT_NS
import cv2""",
        seen="Atcold/NYU-DLSP20/10-autoencoder.ipynb",
    ),
    Habit(
        "plotly and its renderer",
        """import plotly.io as pio
pio.renderers.default = "colab\"""",
        seen="TransformerLensOrg/TransformerLens/demos/Activation_Patching_in_TL_Demo.ipynb",
    ),
    Habit(
        "transformers' tokenizer",
        """import transformers
tokenizer = transformers.AutoTokenizer.from_pretrained("bert-base-uncased")""",
        seen="bentrevett/pytorch-sentiment-analysis/4 - Transformers.ipynb",
    ),
    Habit(
        "versions of packages",
        """import torchvision
print(f"PyTorch version: {torch.__version__}\\ntorchvision version: {torchvision.__version__}")""",
        seen="mrdbourke/pytorch-deep-learning/03_pytorch_computer_vision.ipynb",
    ),
    Habit(
        "a version that must be new",
        'assert int(torch.__version__.split(".")[0]) >= 2, "torch version should be 2+"',
        seen="mrdbourke/pytorch-deep-learning/06_pytorch_transfer_learning.ipynb",
    ),
    Habit(
        "Python's version asserted",
        """import sys
assert sys.version_info >= (3, 10)
from packaging.version import Version
assert Version(torch.__version__) >= Version("2.0")""",
        seen="ageron/handson-mlp/01_the_machine_learning_landscape.ipynb",
    ),
    Habit(
        "versions by metadata",
        """from importlib.metadata import version
for package in ["torch", "numpy", "tiktoken"]:
    print(package, version(package))""",
        seen="rasbt/LLMs-from-scratch/appendix-D/01_main-chapter-code/appendix-D.ipynb",
    ),
    Habit(
        "a module from a file of another folder",
        """import sys
sys.path.insert(0, "..")
from helper_evaluate import compute_accuracy""",
        seen="rasbt/deeplearning-models/pytorch_ipynb/cnn/cnn-alexnet-cifar10-grouped.ipynb",
    ),
    Habit(
        "a module of one's own that is not there",
        "from stepbystep.v1 import StepByStep",
        seen="dvgodoy/PyTorchStepByStep/Chapter03.ipynb",
    ),
    Habit(
        "torch's parts by name",
        """from torch import nn, optim, tensor, Tensor
import torch.nn.functional as F
import torch.optim as optim
from torch.autograd import Variable""",
        seen="Atcold/NYU-DLSP20/04-spiral_classification.ipynb",
    ),
    Habit(
        "Variable, as it was",
        """from torch.autograd import Variable
x = Variable(torch.Tensor([2.0]), requires_grad=True)
y = x ** 2
y.backward()
print(x.grad.data[0])""",
        seen="rasbt/deeplearning-models/pytorch_ipynb/mechanics/manual-gradients.ipynb",
    ),
    Habit(
        "all of torch's data tools",
        """from torch.utils.data import *
loader = DataLoader(TensorDataset(torch.ones(2, 1)))""",
        seen="https://github.com/lyleshaw/Frequently-used-Python-code/blob/master/DL/pytorch.md",
    ),
    Habit(
        "all of numpy's names by pylab",
        """%pylab inline
print(linspace(0, 1, 3))""",
        seen="yandexdataschool/Practical_DL/week06_nlp/1d_conv_tasks/alternative_assignment_music/music_dnn_comp.ipynb",
    ),
    Habit(
        "typing's names",
        """from typing import Any, Callable, Dict, List, Optional, Tuple, Union
Batch = Tuple[torch.Tensor, torch.Tensor]
def first(batches: List[Batch]) -> Optional[Batch]:
    return batches[0] if batches else None""",
        seen="mrdbourke/pytorch-deep-learning/04_pytorch_custom_datasets.ipynb",
    ),
]
