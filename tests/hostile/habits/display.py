"""Plots, tables, bars and settings of what is shown."""

from __future__ import annotations

from .habit import Habit

DISPLAY = [
    Habit(
        "a style of plots",
        """import matplotlib.pyplot as plt
plt.style.use('fivethirtyeight')""",
        seen="dvgodoy/PyTorchStepByStep/Chapter02.1.ipynb",
    ),
    Habit(
        "a dark style",
        """import matplotlib.pyplot as plt
plt.style.use(('dark_background', 'bmh'))
plt.rc('axes', facecolor='k')""",
        seen="Atcold/NYU-DLSP20/12-regularization.ipynb",
    ),
    Habit(
        "settings of figures",
        """import matplotlib as mpl
mpl.rcParams['figure.dpi'] = 70
mpl.rcParams['image.cmap'] = 'gray'
mpl.rcParams['figure.constrained_layout.use'] = True""",
        seen="fastai/course22p2/nbs/10_activations.ipynb",
    ),
    Habit(
        "fonts of figures",
        """import matplotlib.pyplot as plt
plt.rc('font', size=14)
plt.rc('axes', labelsize=14, titlesize=14)
plt.rc('legend', fontsize=14)""",
        seen="ageron/handson-mlp/01_the_machine_learning_landscape.ipynb",
    ),
    Habit(
        "figures saved to a folder",
        """from pathlib import Path
import matplotlib.pyplot as plt
IMAGES_PATH = Path() / "images" / "autodiff"
IMAGES_PATH.mkdir(parents=True, exist_ok=True)
def save_fig(name, tight_layout=True, extension="png", resolution=30):
    plt.savefig(IMAGES_PATH / f"{name}.{extension}", format=extension, dpi=resolution)
plt.plot([1, 2]); save_fig("line")""",
        seen="ageron/handson-mlp/01_the_machine_learning_landscape.ipynb",
    ),
    Habit(
        "the Agg backend",
        """import matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.show()""",
        seen="yandexdataschool/Practical_DL/resources/_under_construction/week08_gans_part2/pixel2style2pixel/models/psp.py",
    ),
    Habit(
        "interactive mode on",
        """import matplotlib.pyplot as plt
plt.ion()
fig, ax = plt.subplots(figsize=(2, 1))
ax.plot([1, 2], [3, 4])""",
        seen="yandexdataschool/Practical_DL/week02_autodiff/homework.ipynb",
    ),
    Habit(
        "an animation",
        """import matplotlib.pyplot as plt
from matplotlib.animation import FuncAnimation
fig, ax = plt.subplots(figsize=(1, 1))
animation = FuncAnimation(fig, lambda i: ax.plot([0, i]), frames=2, interval=20)""",
        seen="fastai/course22p2/nbs/02_meanshift.ipynb",
    ),
    Habit(
        "an animation as html",
        """import matplotlib
matplotlib.rc('animation', html='jshtml')""",
        seen="ageron/handson-mlp/tools_matplotlib.ipynb",
    ),
    Habit(
        "a slider",
        """from ipywidgets import interact, interactive, fixed, interact_manual
interact(lambda x0: print(x0), x0=(-30, 30, 0.5));""",
        seen="karpathy/nn-zero-to-hero/lectures/makemore/makemore_part3_bn.ipynb",
    ),
    Habit(
        "a loss drawn anew at each step",
        """from IPython.display import display, clear_output
import matplotlib.pyplot as plt
for step in range(2):
    clear_output(wait=True)
    plt.figure(figsize=(1, 1)); plt.plot(range(step + 1)); plt.show()""",
        seen="udlbook/udlbook/Notebooks/Chap18/18_2_1D_Diffusion_Model.ipynb",
    ),
    Habit(
        "a wide notebook",
        """from IPython.display import display, HTML
display(HTML("<style>.container { width:80% !important; }</style>"))""",
        seen="dvgodoy/PyTorchStepByStep/Chapter04.ipynb",
    ),
    Habit(
        "a summary as Markdown",
        """from IPython.display import Markdown
res = '|Module|Shape|\\n|--|--|\\n'
for name, module in torch.nn.Sequential(torch.nn.Linear(2, 1)).named_children():
    res += f'|{name}|{tuple(module.weight.shape)}|\\n'
Markdown(res)""",
        seen="fastai/course22p2/nbs/13_resnet.ipynb",
    ),
    Habit(
        "a video",
        """from IPython.display import IFrame, YouTubeVideo
IFrame(src="https://pytorch.org", width=300, height=100)""",
        seen="mrdbourke/pytorch-deep-learning/09_pytorch_model_deployment.ipynb",
    ),
    Habit(
        "sound",
        """from IPython.display import display, Audio
import numpy as np
display(Audio(np.sin(np.linspace(0, 100, 800)), rate=8000))""",
        seen="Atcold/NYU-DLSP20/07-listening_to_kernels.ipynb",
    ),
    Habit(
        "a script for the page",
        """from IPython.display import display, Javascript
display(Javascript('{ const cells = document.querySelectorAll(".cell") }'))""",
        seen="fastai/course-v3/nbs/dl2/06_cuda_cnn_hooks_init.ipynb",
    ),
    Habit(
        "a table of pandas",
        """import pandas as pd
from IPython.display import display, HTML
display(HTML(pd.DataFrame({'loss': [1.0]}).to_html(index=False)))""",
        seen="fastai/course-v3/nbs/dl2/12_text.ipynb",
    ),
    Habit(
        "a bar by tqdm",
        """from tqdm.notebook import tqdm
for epoch in tqdm(range(3), desc="epochs"):
    pass""",
        seen="phlippe/uvadlc_notebooks/docs/tutorial_notebooks/DL2/Causality_and_CRL/citris-tutorial.ipynb",
    ),
    Habit(
        "a bar by tqdm, or none",
        """try:
    from tqdm.auto import tqdm
except ImportError:
    tqdm = lambda batches, **kwargs: batches
for batch in tqdm(range(3), leave=False):
    pass""",
        seen="pytorch/captum/captum/_utils/progress.py",
    ),
    Habit(
        "a bar of one's own",
        """import sys
for i in range(5):
    sys.stdout.write('\\r[%-5s] %d%%' % ('=' * i, 20 * i))
    sys.stdout.flush()""",
        seen="pytorch/examples/cpp/tools/download_mnist.py",
    ),
    Habit(
        "print with a carriage return",
        """for epoch in range(3):
    print(f'\\repoch {epoch}: loss {1 / (epoch + 1):.3f}', end='')
print()""",
        seen="fastai/course-v3/nbs/swift/05_anneal.ipynb",
    ),
    Habit(
        "pprint",
        """from pprint import pprint
model = torch.nn.Linear(1, 1)
pprint(model.state_dict())""",
        seen="mrdbourke/pytorch-deep-learning/01_pytorch_workflow.ipynb",
    ),
    Habit(
        "torch's and numpy's print options",
        """import numpy as np
torch.set_printoptions(precision=2, linewidth=140, sci_mode=False)
np.set_printoptions(precision=2, linewidth=140)""",
        seen="fastai/course22p2/nbs/01_matmul.ipynb",
    ),
    Habit(
        "rules between headings",
        """print("-" * 40)
print(f"{'name':<10}|{'shape':>10}")
print("=" * 40)""",
        seen="rasbt/deeplearning-models/pytorch_ipynb/rnn/char_rnn-charlesdickens.ipynb",
    ),
    Habit(
        "a repr that shows in the page",
        """class Table:
    def __init__(self, rows):
        self.rows = rows
    def _repr_html_(self):
        return "<table>" + "".join(f"<tr><td>{r}</td></tr>" for r in self.rows) + "</table>"
Table([1, 2])""",
        seen="fastai/fastai1/fastai/vision/image.py",
    ),
    Habit(
        "numbers formatted by pandas",
        """import pandas as pd
pd.set_option('display.max_columns', None)
pd.options.display.float_format = '{:.3f}'.format""",
        seen="https://pandas.pydata.org/docs/user_guide/options.html",
    ),
    Habit(
        "a plot like a comic",
        """import matplotlib.pyplot as plt
with plt.xkcd():
    plt.plot([1, 2]); plt.show()""",
        seen="ageron/handson-mlp/tools_matplotlib.ipynb",
    ),
    Habit(
        "a picture by SVG",
        """from IPython.display import SVG, display
display(SVG('<svg xmlns="http://www.w3.org/2000/svg"></svg>'))""",
        seen="srush/Tensor-Puzzles/lib.py",
    ),
]
