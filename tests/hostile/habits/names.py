"""Names that people choose, also those of builtins."""

from __future__ import annotations

from .habit import Habit

NAMES = [
    Habit(
        "max and min as results",
        """x = torch.arange(3.0)
max = torch.max(x)
min = torch.min(x)""",
        seen="mrdbourke/pytorch-deep-learning/extras/solutions/00_pytorch_fundamentals_exercise_solutions.ipynb",
    ),
    Habit(
        "input as a batch",
        """input = torch.rand(2, 3)
target = torch.rand(2, 1)""",
        seen="pytorch/captum/tutorials/CIFAR_TorchVision_Interpret.ipynb",
    ),
    Habit(
        "iter as a counter",
        """iter = 0
for _ in range(3):
    iter += 1""",
        seen="Atcold/NYU-DLSP20/12-regularization.ipynb",
    ),
    Habit(
        "a file's name",
        """file = 'urls_black.csv'
folder = 'black'""",
        seen="fastai/course-v3/nbs/dl1/lesson2-download.ipynb",
    ),
    Habit(
        "abs as torch's",
        """abs = torch.abs
print(abs(torch.tensor(-1.0)))""",
        seen="d2l-ai/d2l-en/d2l/torch.py",
    ),
    Habit(
        "short names of torch's functions",
        """ones, zeros, arange, tensor = torch.ones, torch.zeros, torch.arange, torch.tensor
sin, cos, exp, log = torch.sin, torch.cos, torch.exp, torch.log""",
        seen="d2l-ai/d2l-en/d2l/torch.py",
    ),
    Habit(
        "pi in torch",
        "torch.pi = torch.acos(torch.zeros(1)).item() * 2",
        to_look_at=True,
        seen="d2l-ai/d2l-en/chapter_appendix-mathematics-for-deep-learning/distributions.md",
    ),
    Habit(
        "loss, optimizer and model of one's own",
        """model = torch.nn.Linear(2, 1)
loss = torch.nn.functional.mse_loss(model(torch.ones(4, 2)), torch.zeros(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
batches = [(torch.ones(2, 2), torch.ones(2, 1))]""",
        seen="rasbt/deeplearning-models/pytorch_ipynb/autoencoder/ae-basic-with-rf.ipynb",
    ),
    Habit(
        "a function named test",
        """def test(a, b, cmp, cname=None):
    if cname is None: cname = cmp.__name__
    assert cmp(a, b), f"{cname}:\\n{a}\\n{b}"
test(1, 1, lambda a, b: a == b)""",
        seen="fastai/course-v3/nbs/dl2/01_matmul.ipynb",
    ),
    Habit(
        "a function named train",
        """def train(model, batches, optimizer):
    model.train()
    for x, y in batches:
        optimizer.zero_grad()
        ((model(x) - y) ** 2).mean().backward()
        optimizer.step()
train(torch.nn.Linear(1, 1), [], None)""",
        seen="rasbt/deeplearning-models/pytorch_ipynb/mlp/mlp-fromscratch__sigmoid-mse.ipynb",
    ),
    Habit(
        "functions named like torch's",
        """def relu(x): return x.clamp_min(0.)
def softmax(x): return x.exp() / x.exp().sum(-1, keepdim=True)
def lin(x, w, b): return x @ w + b
print(softmax(relu(torch.ones(2))))""",
        seen="girafe-ai/ml-course/week0_08_dropout_batchnorm/vanishing_grad_example.ipynb",
    ),
    Habit(
        "a loss named mse",
        """def mse(output, targ): return (output.squeeze(-1) - targ).pow(2).mean()
print(mse(torch.ones(2, 1), torch.zeros(2)))""",
        seen="fastai/course-v3/nbs/dl2/02_fully_connected.ipynb",
    ),
    Habit(
        "next as a batch",
        """from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.ones(4, 2), torch.ones(4, 1)), batch_size=2)
xb, yb = next(iter(loader))
x, y = xb, yb""",
        seen="fastai/course-v3/nbs/dl1/lesson5-sgd-mnist.ipynb",
    ),
    Habit(
        "time and random as names",
        """import time
start = time.time()
t = time.time() - start
time = t""",
        seen="yandexdataschool/Practical_DL/week02_autodiff/seminar_pytorch.ipynb",
    ),
    Habit(
        "many names deleted",
        """x, y, model = 1, 2, 3
del x, y, model""",
        seen="phlippe/uvadlc_notebooks/docs/tutorial_notebooks/DL2/Geometric_deep_learning/tutorial2_steerable_cnns.ipynb",
    ),
    Habit(
        "an underscore used",
        """_ = torch.manual_seed(42)
_, indices = torch.max(torch.ones(2, 2), dim=1)""",
        seen="fastai/course-v3/nbs/dl1/lesson3-planet.ipynb",
    ),
    Habit(
        "names in Greek",
        """α, β, σ = 2., 1., 0.1
def fake_loss(θ, λ=0.1): return α * θ + λ
print(fake_loss(β))""",
        seen="fastai/course-v3/nbs/dl2/12a_awd_lstm.ipynb",
    ),
    Habit(
        "stop at an error on purpose",
        'raise NotImplementedError("To be implemented")',
        seen="girafe-ai/ml-course/homeworks/assignment0_01_knn/assignment_knn_template.ipynb",
    ),
    Habit(
        "the letters as names",
        """a = 2.0; b = -3.0; c = 10.0
d = a * b + c
d""",
        seen="karpathy/nn-zero-to-hero/lectures/micrograd/micrograd_lecture_first_half_roughly.ipynb",
    ),
    Habit(
        "constants in capitals",
        """RANDOM_SEED, LEARNING_RATE, BATCH_SIZE, NUM_EPOCHS = 1, 0.001, 256, 10
DEVICE = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")""",
        seen="rasbt/deeplearning-models/pytorch-lightning_ipynb/cnn/cnn-alexnet-cifar10.ipynb",
    ),
    Habit(
        "names put in by globals",
        """for layer in ("fc1", "fc2"):
    globals()[layer] = torch.nn.Linear(2, 2)
print(sorted(name for name in globals() if name.startswith("fc")))""",
        seen="pytorch/functorch/notebooks/colab/jacobians_hessians_colab.ipynb",
    ),
    Habit(
        "an exception by its name",
        """class CancelFitException(Exception): pass
nm = 'fit'
try: raise CancelFitException()
except globals()[f'Cancel{nm.title()}Exception']: pass""",
        seen="fastai/course22p2/nbs/09_learner.ipynb",
    ),
    Habit(
        "text formatted by locals",
        """def url(category='bedroom', set_name='train'):
    return '&category={category}&set={set_name}'.format(**locals())
print(url())""",
        seen="fastai/fastai1/courses/dl2/lsun_scripts/lsun-download.py",
    ),
    Habit(
        "a check of one's own",
        """def check_gradient(f, x, eps=1e-3):
    x = x.clone().requires_grad_(True)
    f(x).backward()
    return (f(x + eps) - f(x - eps)) / (2 * eps) - x.grad
print(check_gradient(lambda t: t ** 2, torch.tensor(3.0)).item())""",
        seen="yandexdataschool/Practical_DL/resources/_under_construction/week06_rnn/captioning_tf.ipynb",
    ),
]
