"""Core exercise: predictions about threads and the order of nodes."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Which thread, which order", "В каком потоке и в каком порядке"),
    kind="predict",
    core=True,
    difficulty=2,
    minutes=10,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Who does the work of a backward pass on the CPU: a thread of torch, or the one that called?",
            "Кто на CPU выполняет обратный проход: поток самой библиотеки или тот поток, который вызвал метод?",
        ),
        Text(
            "A mode belongs to the thread that entered it. One of the three here does not: it is a switch of the whole "
            "process. And of the nodes that are ready, the one created last runs first.",
            "Режим действует только в том потоке, который в него вошёл. Из трёх режимов в таблице это неверно для одного: "
            "он переключается сразу во всём процессе. А из готовых узлов первым выполняется тот, который создан последним.",
        ),
        Text(
            "Both threads read after both have added: 1 + 2. Anomaly mode is the switch of the process. `c` was created "
            "last.",
            "Оба потока читают, когда оба уже прибавили: 1 + 2. Режим обнаружения аномалий общий для всего процесса. "
            "Последним создан `c`.",
        ),
    ],
)
def predict_engine(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_engine)}


predict_engine.wrong(
    "backward_has_its_thread",
    {"the hook runs in": "main"},
    en="You expected backward to return to the thread of the forward pass. On the CPU it runs in the thread that calls it.",
    ru="Вы ожидали, что обратный проход вернётся в поток прямого. Но на CPU он выполняется в том потоке, который его "
    "вызвал.",
)


predict_engine.wrong(
    "threads_see_their_own",
    {"w.grad read by thread 1": 1.0, "w.grad read by thread 2": 2.0},
    en="You expected each thread to see its own gradient. There is one `.grad`, and both gradients are in it.",
    ru="Вы ожидали, что каждый поток увидит только свой градиент. Но поле `.grad` одно, и в нём лежат оба.",
)


predict_engine.wrong(
    "shared_graph_is_safe",
    {"two passes through one graph": "accepted"},
    en="You expected two threads to be able to go through one graph. The first pass frees what the second one needs.",
    ru="Вы ожидали, что два потока могут пройти по одному графу. Но первый проход освобождает то, что нужно второму.",
)


predict_engine.wrong(
    "no_grad_reaches_threads",
    {"recorded in a thread, under no_grad": False},
    en="You expected `no_grad` to hold in a thread that was started under it. Each thread begins with recording on.",
    ru="Вы ожидали, что `no_grad` действует и в потоке, запущенном внутри блока. Но новый поток начинает с включённой "
    "записью.",
)


predict_engine.wrong(
    "hooks_reach_threads",
    {"packs in a thread": 1},
    en="You expected hooks for saved tensors to reach another thread. They belong to the thread that entered the block.",
    ru="Вы ожидали, что хуки сохранённых тензоров действуют и в другом потоке. Но они действуют только в том потоке, "
    "который вошёл в блок.",
)


predict_engine.wrong(
    "anomaly_stays_home",
    {"anomaly mode in a thread": False},
    en="You expected anomaly mode to belong to one thread. It is one switch for the whole process.",
    ru="Вы ожидали, что режим обнаружения аномалий действует в одном потоке. Но этот переключатель — один на весь процесс.",
)


predict_engine.wrong(
    "in_order_of_creation",
    {"order of a, b, c": "abc"},
    en="You expected nodes to run in the order of their creation. Of the nodes that are ready, the one created last runs "
    "first.",
    ru="Вы ожидали, что узлы выполняются в том порядке, в котором созданы. Но из готовых узлов первым выполняется "
    "созданный последним.",
)


predict_engine.wrong(
    "in_order_of_the_sum",
    {"order of a, b, c": "bca"},
    en="You expected nodes to run in the order in which they stand in the sum. Of the nodes that are ready, the one "
    "created last runs first.",
    ru="Вы ожидали, что узлы выполняются в том порядке, в каком стоят слагаемые. Но из готовых узлов первым выполняется "
    "созданный последним.",
)


predict_engine.wrong(
    "last_thread_wins",
    {"w.grad read by thread 1": 2.0, "w.grad read by thread 2": 2.0},
    en="You expected the gradient of one thread to replace that of the other. Both are added: 1 + 2.",
    ru="Вы ожидали, что градиент одного потока заменит градиент другого. Но оба складываются: 1 + 2.",
)


predict_engine.wrong(
    "nearest_first",
    {"order of a, b, c": "acb"},
    en="You expected `a` first, as it is added last. Of the nodes that are ready, the one created last runs first, and that "
    "is `c`.",
    ru="Вы ожидали, что первым будет `a`: его прибавляют последним. Но из готовых узлов первым выполняется созданный "
    "последним, а это `c`.",
)


predict_engine.wrong(
    "hooks_pack_for_each_factor",
    {"packs in a thread": 2},
    en="You expected hooks for saved tensors to reach another thread, and `square` to save its input twice. They belong to "
    "the thread that entered the block.",
    ru="Вы ожидали, что хуки сохранённых тензоров действуют и в другом потоке, а `square` сохраняет свой вход дважды. Но они "
    "действуют только в том потоке, который вошёл в блок.",
)


predict_engine.wrong(
    "first_reads_early",
    {"w.grad read by thread 1": 1.0, "w.grad read by thread 2": 3.0},
    en="You expected thread 1 to read before thread 2 has added. The barrier lets nobody go on until both have added.",
    ru="Вы ожидали, что поток 1 прочтёт значение раньше, чем поток 2 прибавит своё. Но барьер не пропускает никого, пока не "
    "прибавили оба.",
)


predict_engine.wrong(
    "second_reads_early",
    {"w.grad read by thread 1": 3.0, "w.grad read by thread 2": 2.0},
    en="You expected thread 2 to read before thread 1 has added. The barrier lets nobody go on until both have added.",
    ru="Вы ожидали, что поток 2 прочтёт значение раньше, чем поток 1 прибавит своё. Но барьер не пропускает никого, пока не "
    "прибавили оба.",
)
