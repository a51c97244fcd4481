"""Explanations about the engine: anomaly detection, deterministic algorithms."""

from __future__ import annotations

from ..entry import entry

LESSON, GRAPH = "09_engine", "02_graph_and_backward"

ENTRIES = (
    entry(
        "nan_in_backward",
        GRAPH,
        r"Function '\w+' returned nan values in its \d+th output",
        """
        with torch.autograd.detect_anomaly():
            (torch.zeros(1, requires_grad=True).sqrt() * 0).sum().backward()
        """,
        "Anomaly detection has found the node whose derivative is NaN: often a square root, a logarithm or a division at 0. A `where` behind it does not help, the value going in must be mended.",
        "Режим обнаружения аномалий нашёл узел, производная которого равна NaN: часто это корень, логарифм или деление на 0. `where` после него не поможет, исправлять нужно значение на входе.",
        exercise="nan_node",
    ),
    entry(
        "anomaly_without_a_traceback",
        GRAPH,
        r"Error detected in \w+\. No forward pass information available",
        """
        y = torch.rand(2, requires_grad=True).exp()
        y += 1
        with torch.autograd.detect_anomaly():
            y.sum().backward()
        """,
        "The node is named, but not the line that made it: the forward pass ran before anomaly detection was switched on. Put the forward pass inside `detect_anomaly()` as well.",
        "Узел назван, а строка, которая его создала, — нет: прямой проход выполнен до включения режима обнаружения аномалий. Выполните внутри `detect_anomaly()` и прямой проход.",
        exercise="nan_node",
    ),
    entry(
        "anomaly_traceback",
        GRAPH,
        r"Error detected in \w+\. Traceback of forward call that caused the error",
        """
        with torch.autograd.detect_anomaly():
            y = torch.rand(2, requires_grad=True).exp()
            y += 1
            y.sum().backward()
        """,
        "Anomaly detection names the operation whose backward failed: the last line of the traceback in this warning is the line of the forward pass that made it. The error itself stands below.",
        "Режим обнаружения аномалий называет операцию, обратный проход которой не удался: последняя строка трассировки в этом предупреждении — строка прямого прохода, которая её создала. Сама ошибка стоит ниже.",
        exercise="nan_node",
    ),
    entry(
        "anomaly_detection_is_on",
        GRAPH,
        r"Anomaly Detection has been enabled",
        """
        with torch.autograd.detect_anomaly():
            pass
        """,
        "Every node is checked for NaN now and remembers its line, which takes much time. Keep it for the search, and take it out afterwards.",
        "Теперь каждый узел проверяется на NaN и помнит свою строку, а это отнимает много времени. Включайте этот режим только на время поиска.",
        exercise="nan_node",
    ),
    entry(
        "no_deterministic_implementation",
        LESSON,
        r"does not have a deterministic implementation, but you set",
        "",
        "This operation adds in an order that varies on a GPU, and `use_deterministic_algorithms(True)` forbids that. Take another operation (another mode of interpolation, for example), compute it on the CPU, or accept differences in the last digits with `warn_only=True`.",
        "На GPU эта операция складывает числа в порядке, который меняется, а `use_deterministic_algorithms(True)` это запрещает. Возьмите другую операцию (например, другой режим интерполяции), выполните её на CPU или согласитесь на различия в последних цифрах: `warn_only=True`.",
        exercise="deterministic_sum",
        met="RuntimeError: upsample_linear1d_backward_out_cuda does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True)'.",
    ),
)
