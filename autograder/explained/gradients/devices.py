"""Explanations about mixtures of devices, and errors of a GPU."""

from __future__ import annotations

from ..entry import entry
from .device_texts import GRADIENTS, INDICES, LAYERS, MIXTURE

LEAVES, SAVED, ENGINE, HIGHER = "01_leaf_tensors", "06_saved_tensors", "09_engine", "10_higher_order"

ENTRIES = (
    entry(
        "layer_on_another_device",
        LEAVES,
        LAYERS,
        """
        nn.LSTM(2, 2)(torch.ones(1, 1, 2, device="meta"))
        """,
        "The layer and its input (or its state) are on different devices. Move the whole model once, `model.to(device)`, before the optimizer is made, and each batch in the loop: `x = x.to(device)`. A tensor made in `forward` takes the device of the input: `torch.zeros(n, device=x.device)`.",
        "Слой и его вход (или состояние) находятся на разных устройствах. Модель перенесите целиком один раз, `model.to(device)`, до создания оптимизатора, а каждый батч — в цикле: `x = x.to(device)`. Тензор, созданный в `forward`, создавайте на устройстве входа: `torch.zeros(n, device=x.device)`.",
        exercise="trainable_weight",
        met="RuntimeError: Expected all tensors to be on the same device, but got mat1 is on cuda:0, different from other tensors on cpu (when checking argument in method wrapper_CUDA_addmm)",
    ),
    entry(
        "indices_on_another_device",
        LEAVES,
        INDICES,
        "",
        "Indices or a mask lie on another device than the tensor they index. Indices on the CPU fit every tensor when written `x[i]`; those on a GPU fit only tensors there. Move them: `x[i.to(x.device)]`.",
        "Индексы или маска находятся не на том устройстве, что индексируемый тензор. В записи `x[i]` индексы на CPU подходят к любому тензору, а индексы на GPU — только к тензорам там же. Перенесите их: `x[i.to(x.device)]`.",
        exercise="trainable_weight",
        met="RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)",
    ),
    entry(
        "assigned_gradient_on_another_device",
        "03_gradient_accumulation",
        r"attempting to assign a gradient with device type|assigned grad has data located on a different device",
        """
        torch.rand(2, requires_grad=True).grad = torch.ones(2, device="meta")
        """,
        "`.grad` was given a tensor on another device than its owner. Move it: `w.grad = g.to(w.device)`. After a model has moved, its gradients are made anew by the next `backward()`.",
        "В `.grad` записан тензор не с того устройства, на котором лежит владелец поля. Перенесите его: `w.grad = g.to(w.device)`. После переноса модели градиенты заново создаст следующий `backward()`.",
        exercise="accumulate_equal",
        met="RuntimeError: attempting to assign a gradient with device type 'cpu' to a tensor with device type 'cuda'. Please ensure that the gradient and the tensor are on the same device",
    ),
    entry(
        "gradient_on_another_device",
        "07_custom_functions",
        GRADIENTS,
        """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return torch.ones(2, device="meta")

        Double.apply(torch.rand(2, requires_grad=True)).sum().backward()
        """,
        "A gradient (that of a custom `backward`, a hook's, or the v given to `backward(v)`) lies on another device, or in another layout, than what it belongs to. Make it from the gradient that comes in, `torch.ones_like(grad)` or `grad.new_zeros(...)`, or move it with `.to(grad.device)`.",
        "Градиент (из своего `backward`, из хука или вектор v для `backward(v)`) находится на другом устройстве или имеет другую организацию хранения, чем то, к чему он относится. Создавайте его из пришедшего градиента, `torch.ones_like(grad)` или `grad.new_zeros(...)`, либо перенесите: `.to(grad.device)`.",
        exercise="scale_function",
        met="RuntimeError: Function DoubleBackward returned an invalid gradient at index 0 - expected device cuda:0 but got cpu",
    ),
    entry(
        "mixture_of_devices",
        LEAVES,
        MIXTURE,
        """
        torch.ones(2) + torch.ones(2, device="meta")
        """,
        "One operation was given tensors on different devices, often one on the CPU and one on the GPU. Bring them together with `.to(device)`, and make new tensors where the others are: `torch.zeros(n, device=x.device)` or `torch.zeros_like(x)`. Often forgotten: the target, class weights, constants inside a custom `backward` or a hook, the state of an optimizer made before the model moved.",
        "Одна операция получила тензоры с разных устройств, чаще всего один с CPU, другой с GPU. Соберите их на одном через `.to(device)`, а новые создавайте там же, где остальные: `torch.zeros(n, device=x.device)` или `torch.zeros_like(x)`. Часто забывают перенести метки (target), веса классов, константы внутри своего `backward` или хука, состояние оптимизатора, созданного до переноса модели.",
        exercise="trainable_weight",
        met="RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
    ),
    entry(
        "numpy_of_a_gpu_tensor",
        LEAVES,
        r"can't convert \w+(:\d+)? device type tensor to numpy",
        """
        torch.rand(2, device="meta").numpy()
        """,
        "NumPy works in main memory, and this tensor lies elsewhere. Copy it first: `t.detach().cpu().numpy()`.",
        "NumPy работает в оперативной памяти, а этот тензор не в ней. Сначала скопируйте его: `t.detach().cpu().numpy()`.",
        exercise="predict_bridge",
        met="TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
    ),
    entry(
        "no_gpu_here",
        LEAVES,
        r"Torch not compiled with CUDA enabled|Found no NVIDIA driver on your system|No CUDA GPUs are available",
        "",
        "torch finds no GPU that it can use: this is a build for the CPU, or there is no GPU or no driver. Choose the device by what is there, `device = 'cuda' if torch.cuda.is_available() else 'cpu'`, and write `.to(device)` in place of `.cuda()`.",
        "torch не находит GPU, которым мог бы пользоваться: это сборка для CPU, либо нет GPU или драйвера. Выбирайте устройство по тому, что есть: `device = 'cuda' if torch.cuda.is_available() else 'cpu'`, а вместо `.cuda()` пишите `.to(device)`.",
        exercise="trainable_weight",
        met="AssertionError: Torch not compiled with CUDA enabled",
    ),
    entry(
        "assert_on_the_gpu",
        "02_graph_and_backward",
        r"device-side assert triggered",
        "",
        "A kernel on the GPU met an index that is not there, usually a class outside 0 to C - 1 or a token outside the embedding. The GPU works behind Python, so the error shows at a later line, and every use of the GPU fails from now on: restart the kernel. Run the same program on the CPU to see the line, or check `target.min()` and `target.max()`.",
        "Вычислению на GPU попался несуществующий индекс: обычно это класс вне диапазона от 0 до C − 1 или токен вне таблицы эмбеддингов. GPU отстаёт от Python, поэтому ошибка видна на более поздней строке, а любое обращение к GPU теперь завершится ошибкой: перезапустите ядро Jupyter. Чтобы увидеть строку, выполните ту же программу на CPU или проверьте `target.min()` и `target.max()`.",
        exercise="nan_node",
        met="AcceleratorError: CUDA error: device-side assert triggered",
    ),
    entry(
        "out_of_gpu_memory",
        SAVED,
        r"(CUDA|MPS|XPU|HIP) (error: |backend )?out of memory",
        "",
        "The GPU's memory is full. In training most of it is what the graph keeps for backward: use smaller batches and accumulate gradients, checkpoints (`use_reentrant=False`), or mixed precision; evaluate under `no_grad()`. Do not collect losses with their graphs: `total += loss.item()`. After the error, old variables and the traceback still hold memory: delete them or restart.",
        "Видеопамять заполнена. При обучении большую часть занимает то, что граф хранит для обратного прохода: уменьшите батчи и накапливайте градиенты, используйте контрольные точки (`use_reentrant=False`) или смешанную точность; оценивайте модель внутри `no_grad()`. Не собирайте значения функции потерь вместе с графами: `total += loss.item()`. После ошибки память ещё держат старые переменные и трассировка: удалите их или перезапустите ядро.",
        exercise="checkpointed",
        met="OutOfMemoryError: CUDA out of memory. Tried to allocate … GiB. GPU 0 has a total capacity of … GiB of which … GiB is free.",
    ),
    entry(
        "gpu_after_a_fork",
        ENGINE,
        r"Cannot re-initialize CUDA in forked subprocess",
        "",
        "A process that has used the GPU was forked, and the copy cannot use it. Start workers with `multiprocessing.get_context('spawn')` (for a `DataLoader`: `multiprocessing_context='spawn'`), or let workers return CPU tensors and move them afterwards.",
        "Процесс, который уже обращался к GPU, скопирован через fork, и копия пользоваться им не может. Запускайте рабочие процессы через `multiprocessing.get_context('spawn')` (у `DataLoader`: `multiprocessing_context='spawn'`) или пусть они возвращают тензоры на CPU, а переносите их потом.",
        exercise="fix_threads",
        met="RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method",
    ),
    entry(
        "recurrent_layer_in_eval_mode",
        SAVED,
        r"cudnn RNN backward can only be called in training mode",
        "",
        "In `eval()` mode cuDNN saves nothing for backward in an LSTM or a GRU. Call `train()` on this layer before the forward pass (dropout can stay off), or run the forward pass under `torch.backends.cudnn.flags(enabled=False)`.",
        "В режиме `eval()` cuDNN для LSTM и GRU ничего не сохраняет для обратного прохода. Вызовите `train()` у этого слоя до прямого прохода (dropout можно оставить выключенным) или выполните прямой проход внутри `torch.backends.cudnn.flags(enabled=False)`.",
        exercise="predict_saved",
        met="RuntimeError: cudnn RNN backward can only be called in training mode",
    ),
    entry(
        "second_derivative_of_a_recurrent_layer",
        HIGHER,
        r"Double backwards is not supported for CuDNN RNNs",
        "",
        "cuDNN has no second derivative of an LSTM or a GRU. Run the forward pass under `with torch.backends.cudnn.flags(enabled=False):`; then torch's own formula is differentiated.",
        "В cuDNN нет второй производной LSTM и GRU. Выполните прямой проход внутри `with torch.backends.cudnn.flags(enabled=False):`, и дифференцироваться будет формула самого torch.",
        exercise="has_second_derivative",
        met="NotImplementedError: the derivative for '_cudnn_rnn_backward' is not implemented. Double backwards is not supported for CuDNN RNNs due to limitations in the CuDNN API.",
    ),
)
