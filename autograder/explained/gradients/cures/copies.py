# %% cure="tensor_of_tracked_tensors"
a, b = torch.rand(2, requires_grad=True)
torch.stack([a, b])

# %% cure="tensor_of_vectors"
a, b = torch.rand(2), torch.rand(2)
torch.stack([a, b])

# %% cure="copy_of_a_tensor"
x = torch.rand(2, requires_grad=True)
x.detach().clone()

# %% cure="tracked_tensor_to_numpy"
torch.rand(2, requires_grad=True).detach().numpy()

# %% cure="numpy_function_of_a_tensor"
torch.sum(torch.rand(2, requires_grad=True))

# %% cure="array_times_tracked_tensor"
torch.from_numpy(np.ones(2)) * torch.rand(2, requires_grad=True)

# %% cure="asarray_of_a_tracked_tensor"
torch.asarray(torch.rand(2, requires_grad=True), requires_grad=False)

# %% cure="deepcopy_of_a_non_leaf"
(torch.rand(2, requires_grad=True) * 1).detach().clone()

# %% cure="graph_to_another_process"
import torch.multiprocessing
from multiprocessing.reduction import ForkingPickler
ForkingPickler.dumps((torch.rand(2, requires_grad=True) * 1).detach())

# %% cure="python_function_on_a_tracked_tensor"
torch.rand(2, requires_grad=True) + 1

# %% cure="method_without_parentheses"
torch.rand(2, requires_grad=True).detach().numpy()

# %% cure="tracked_constant_in_a_trace"
w = torch.rand(2, requires_grad=True)
torch.jit.trace(lambda x, w: x * w, (torch.rand(2), w))
