"""Magics and commands of the shell."""

from __future__ import annotations

from .habit import Habit

MAGICS = [
    Habit(
        "watermark",
        """%load_ext watermark
%watermark -a 'A. Student' -v -p torch""",
        seen="rasbt/deeplearning-models/pytorch-lightning_ipynb/kfold/baseline-light-cnn-mnist.ipynb",
    ),
    Habit(
        "tensorboard's magic",
        """%load_ext tensorboard
%tensorboard --logdir runs""",
        seen="fastai/fastai1/docs_src/callbacks.tensorboard.ipynb",
    ),
    Habit(
        "black by nb_black",
        "%load_ext nb_black",
        seen="rasbt/deeplearning-models/pytorch-lightning_ipynb/cnn/cnn-alexnet-cifar10.ipynb",
    ),
    Habit(
        "flake8 by pycodestyle_magic",
        """%load_ext pycodestyle_magic
%flake8_on --ignore W291,W293,E703""",
        seen="rasbt/deeplearning-models/pytorch-lightning_ipynb/cnn/cnn-alexnet-cifar10.ipynb",
    ),
    Habit(
        "svg and pdf formats",
        """%matplotlib inline
import matplotlib_inline.backend_inline
matplotlib_inline.backend_inline.set_matplotlib_formats('svg', 'pdf')""",
        seen="phlippe/uvadlc_notebooks/docs/tutorial_notebooks/DL2/Causality_and_CRL/citris-tutorial.ipynb",
    ),
    Habit(
        "matplotlib's notebook backend",
        "%matplotlib notebook",
        seen="yandexdataschool/Practical_DL/week02_autodiff/homework.ipynb",
    ),
    Habit("matplotlib's widget backend", "%matplotlib widget", seen="Atcold/NYU-DLSP20/02-space_stretching.ipynb"),
    Habit(
        "figures in high resolution",
        """%config InlineBackend.figure_format = 'retina'
%config InlineBackend.rc = {'figure.figsize': (4, 3)}""",
        seen="yandexdataschool/Practical_DL/resources/_under_construction/week08_gans_part2/CLIP/notebooks/Interacting_with_CLIP.ipynb",
    ),
    Habit(
        "html in a cell",
        """%%html
<style>table {float: left}</style>""",
        seen="phlippe/uvadlc_notebooks/docs/tutorial_notebooks/JAX/tutorial11/NF_image_modeling.ipynb",
    ),
    Habit(
        "timeit of a cell",
        """%%timeit -n 10 -r 2
sum(i * i for i in range(100))""",
        seen="fastai/course22p2/nbs/01_matmul.ipynb",
    ),
    Habit(
        "timeit of a line, kept quiet",
        """a = torch.ones(20, 20)
%timeit -n 5 -r 1 _=a @ a""",
        seen="fastai/course22p2/nbs/01_matmul.ipynb",
    ),
    Habit(
        "a module written",
        """%%writefile utils.py
def double(x):
    return 2 * x""",
        seen="mrdbourke/pytorch-deep-learning/extras/solutions/05_pytorch_going_modular_exercise_solutions.ipynb",
    ),
    Habit(
        "the module imported",
        """import importlib, utils
importlib.reload(utils)
print(utils.double(2))""",
        seen="mrdbourke/pytorch-deep-learning/06_pytorch_transfer_learning.ipynb",
    ),
    Habit(
        "a script run in the notebook's names",
        "%run -i data_preparation/v0.py",
        seen="dvgodoy/PyTorchStepByStep/Chapter01.ipynb",
    ),
    Habit("the debugger after an error", "%debug", seen="fastai/course-v3/nbs/dl1/00_notebook_tutorial.ipynb"),
    Habit(
        "the debugger on each error",
        "%pdb off",
        seen="https://ipython.readthedocs.io/en/stable/interactive/magics.html",
    ),
    Habit("help on magics", "%lsmagic", seen="Atcold/NYU-DLSP20/01-tensor_tutorial.ipynb"),
    Habit(
        "a variable of the environment",
        "%env MASTER_PORT=8891",
        seen="rasbt/deeplearning-models/pytorch_ipynb/mechanics/model-pipeline-vgg16.ipynb",
    ),
    Habit(
        "captured output without display",
        """%%capture --no-display
import torch.nn as nn
print("hidden")""",
        seen="rasbt/deeplearning-models/pytorch-lightning_ipynb/data-augmentation/autoaugment/with-autoaugment.ipynb",
    ),
    Habit(
        "the machine's GPU kept in a variable",
        """gpu_info = !nvidia-smi
gpu_info = '\\n'.join(gpu_info)
if gpu_info.find('failed') >= 0:
    print('Not connected to a GPU')
else:
    print(gpu_info)""",
        seen="mrdbourke/pytorch-deep-learning/extras/pytorch_2_intro.ipynb",
    ),
    Habit(
        "a repository cloned",
        """!git clone https://github.com/greydanus/mnist1d
import mnist1d""",
        seen="udlbook/udlbook/Notebooks/Chap20/20_3_Lottery_Tickets.ipynb",
    ),
    Habit(
        "data fetched by wget",
        """!wget -q https://example.org/data.zip -O data.zip
!unzip -o data.zip""",
        seen="yandexdataschool/Practical_DL/week02_autodiff/homework.ipynb",
    ),
    Habit(
        "folders made by the shell",
        """!mkdir -p models images
!rm -rf models""",
        seen="mrdbourke/pytorch-deep-learning/extras/04_custom_data_creation.ipynb",
    ),
    Habit(
        "python's version by the shell",
        "!python --version",
        seen="TransformerLensOrg/TransformerLens/demos/Tracr_to_Transformer_Lens_Demo.ipynb",
    ),
    Habit(
        "files listed and counted",
        "!ls . | wc -l",
        seen="yandexdataschool/Practical_DL/week04_finetuning/seminar_pytorch.ipynb",
    ),
    Habit(
        "a name of Python in a command",
        """datadir = "speech"
!mkdir {datadir} && ls -l {datadir}""",
        seen="yandexdataschool/Practical_DL/week09_speech/practice.ipynb",
    ),
    Habit(
        "pip by the kernel's own Python",
        """import sys
!{sys.executable} -m pip install -q einops""",
        seen="https://jakevdp.github.io/blog/2017/12/05/installing-python-packages-from-jupyter/",
    ),
    Habit(
        "packages upgraded quietly",
        "!pip install --upgrade --quiet torchmetrics 2>/dev/null",
        seen="phlippe/uvadlc_notebooks/docs/tutorial_notebooks/DL2/Causality_and_CRL/citris-tutorial.ipynb",
    ),
    Habit(
        "autoreload by the shell object",
        """from IPython import get_ipython
ipython = get_ipython()
ipython.run_line_magic("load_ext", "autoreload")
ipython.run_line_magic("autoreload", "2")""",
        seen="TransformerLensOrg/TransformerLens/demos/ARENA_Content.ipynb",
    ),
    Habit(
        "Colab, or not",
        """import sys, os
if 'google.colab' in sys.modules and not os.path.exists('.setup_complete'):
    !touch .setup_complete""",
        seen="yandexdataschool/Practical_DL/week10_rl/a2c-optional.ipynb",
    ),
    Habit(
        "Colab by an import",
        """try:
    import google.colab
    IN_COLAB = True
except ImportError:
    IN_COLAB = False
print("Running in Colab" if IN_COLAB else "Running as a Jupyter notebook")""",
        seen="TransformerLensOrg/TransformerLens/demos/ARENA_Content.ipynb",
    ),
    Habit(
        "Colab's drive",
        """from google.colab import drive
drive.mount('/content/drive')""",
        seen="https://github.com/pytorch/tutorials/blob/main/beginner_source/colab.rst",
    ),
    Habit(
        "a look at a function by a mark", "torch.nn.Linear?", seen="fastai/course-v3/nbs/dl1/00_notebook_tutorial.ipynb"
    ),
    Habit(
        "a source by two marks", "torch.nn.Linear.forward??", seen="fastai/course-v3/nbs/dl1/00_notebook_tutorial.ipynb"
    ),
    Habit("names listed by whos", "%whos", seen="https://ipython.readthedocs.io/en/stable/interactive/magics.html"),
    Habit(
        "a precision for numbers shown",
        """%precision 4
1 / 3""",
        seen="https://ipython.readthedocs.io/en/stable/interactive/magics.html",
    ),
]
