# %%
import torch


class Value:
    recording, version = True, 0

    def __init__(self, data, inputs=(), rule=None, op=""):
        self.data, self.inputs, self.rule, self.op = data, inputs, rule, op


def four_rules():
    return {
        "+": lambda g, out, a, b: (g, g),
        "*": lambda g, out, a, b: (g * b, g * a),
        "@": lambda g, out, a, b: (g @ b.t(), a.t() @ g),
        "sum": lambda g, out, a: (g.expand(a.shape),),
        "tanh": lambda g, out, a: (g * (1 - out * out),),
    }


def read_by(op, inputs, made):
    return {"*": inputs, "@": inputs, "tanh": (made,)}.get(op, ())


def parts_of(gradient, op, data, inputs):
    parts = four_rules()[op](gradient, data, *(each.data for each in inputs))
    return tuple(part.sum_to_size(each.data.shape) for part, each in zip(parts, inputs))


def version_of(value):
    return value.version


def complain():
    raise RuntimeError("a value that this rule reads was edited")


def recorded(op, data, *inputs, read=read_by, note=version_of, same=lambda old, new: old == new, refuse=complain):
    made = type(inputs[0])(data, inputs, None, op)
    kept = list(read(op, inputs, made))
    noted = [note(each) for each in kept]

    def rule(gradient):
        if not all(same(old, note(each)) for old, each in zip(noted, kept)):
            refuse()
        return parts_of(gradient, op, data, inputs)

    made.rule = rule
    return made


def leaf(data, inputs):
    return type(inputs[0])(data)


# %% mistake="records_always" theme="recording"
# Inside `no_recording()` a result is recorded as it is outside.
# Внутри `no_recording()` результат записывается так же, как и снаружи.
def stop_recording(op, data, *inputs):
    return recorded(op, data, *inputs)


# %% mistake="notices_nothing" theme="in_place"
# No rule raises an error after an edit: the gradient is computed with the edited numbers.
# После изменения ни одно правило не вызывает ошибки: градиент вычисляется по изменённым числам.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    return recorded(op, data, *inputs, read=lambda op, inputs, made: ())


# %% mistake="asks_in_the_rule" theme="order"
# The switch is asked when a rule runs. A walk inside `no_recording()` then brings nothing to the leaves.
# Выключатель проверяется, когда выполняется правило. Поэтому обход внутри `no_recording()` ничего не приносит листьям.
def stop_recording(op, data, *inputs):
    made = recorded(op, data, *inputs)
    inner = made.rule
    made.rule = lambda gradient: inner(gradient) if type(inputs[0]).recording else [0 * each.data for each in inputs]
    return made


# %% mistake="keeps_the_inputs" theme="graph_life"
# Inside `no_recording()` a result has no rule, but it still holds its inputs.
# Внутри `no_recording()` у результата нет правила, но входы он по-прежнему удерживает.
def stop_recording(op, data, *inputs):
    made = recorded(op, data, *inputs)
    if not type(inputs[0]).recording:
        made.rule = None
    return made


# %% mistake="keeps_the_rule" theme="graph_life"
# Inside `no_recording()` a result has no inputs, but it still has its rule.
# Внутри `no_recording()` у результата нет входов, но правило у него осталось.
def stop_recording(op, data, *inputs):
    made = recorded(op, data, *inputs)
    if not type(inputs[0]).recording:
        made.inputs = ()
    return made


# %% mistake="returns_a_tensor" theme="return"
# Inside `no_recording()` no value comes back: a bare tensor, or nothing.
# Внутри `no_recording()` возвращается не значение, а просто тензор или вообще ничего.
def stop_recording(op, data, *inputs):
    return recorded(op, data, *inputs) if type(inputs[0]).recording else data


# %% mistake="inverts_the_switch" theme="slip"
# The switch works the wrong way round: a result is recorded only inside `no_recording()`.
# Выключатель действует наоборот: результат записывается только внутри `no_recording()`.
def stop_recording(op, data, *inputs):
    return leaf(data, inputs) if type(inputs[0]).recording else recorded(op, data, *inputs)


# %% mistake="another_class" theme="own"
# The result is no value of the class of its inputs. Their class also holds the switch.
# Результат — не значение того класса, что и входы. В их же классе находится и выключатель.
def stop_recording(op, data, *inputs):
    if not Value.recording:
        return Value(data)
    made = recorded(op, data, *inputs)
    return Value(data, inputs, made.rule, op)


# %% mistake="tanh_reads_its_input" theme="in_place"
# The rule of `tanh` watches its input. It reads its result alone.
# Правило для `tanh` следит за входом. Читает оно только результат.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)

    def read(op, inputs, made):
        return inputs if op in ("*", "@", "tanh") else ()

    return recorded(op, data, *inputs, read=read)


# %% mistake="all_read_their_inputs" theme="in_place"
# Every rule watches its inputs, and none its result. So `+` and `sum` stop for nothing, and `tanh` misses an edit.
# Каждое правило следит за входами и ни одно — за результатом. Поэтому `+` и `sum` прерываются зря, а `tanh` пропускает
#     изменение.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    return recorded(op, data, *inputs, read=lambda op, inputs, made: inputs)


# %% mistake="every_edit_counts" theme="in_place"
# An edit of any input and of the result stops every rule, though the rule does not read that value.
# Изменение любого входа или результата прерывает каждое правило, даже если правило это значение не читает.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    return recorded(op, data, *inputs, read=lambda op, inputs, made: (*inputs, made))


# %% mistake="tanh_reads_its_input_too" theme="in_place"
# An edit of the input of `tanh` stops its rule, as one of the result does. The rule reads the result alone.
# Правило для `tanh` прерывается не только после изменения результата, но и после изменения входа. А читает оно только
#     результат.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)

    def read(op, inputs, made):
        return (*inputs, made) if op == "tanh" else read_by(op, inputs, made)

    return recorded(op, data, *inputs, read=read)


# %% mistake="sum_reads_its_input" theme="in_place"
# The rules of `+` and `sum` stop after an edit of an input. They read no number of it.
# Правила для `+` и `sum` прерываются после изменения входа. Его числа они не читают.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    return recorded(op, data, *inputs, read=lambda op, inputs, made: (made,) if op == "tanh" else inputs)


# %% mistake="first_input_only" theme="in_place"
# Only the first input of `*` and `@` is watched, so an edit of the second goes unnoticed.
# У `*` и `@` отслеживается только первый вход, поэтому изменение второго остаётся незамеченным.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    return recorded(op, data, *inputs, read=lambda op, inputs, made: read_by(op, inputs, made)[:1])


# %% mistake="forgets_the_matrices" theme="missing"
# An edit of an input of `@` goes unnoticed.
# Изменение входа операции `@` остаётся незамеченным.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    return recorded(op, data, *inputs, read=lambda op, inputs, made: () if op == "@" else read_by(op, inputs, made))


# %% mistake="watches_tanh_alone" theme="missing"
# Only an edit of the result of `tanh` is noticed, none of an input of `*` or `@`.
# Замечено только изменение результата `tanh`. Изменения входов у `*` и `@` остались незамеченными.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    return recorded(op, data, *inputs, read=lambda op, inputs, made: (made,) if op == "tanh" else ())


# %% mistake="forgets_the_result" theme="missing"
# An edit of the result of `tanh` goes unnoticed.
# Изменение результата `tanh` остаётся незамеченным.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    return recorded(op, data, *inputs, read=lambda op, inputs, made: () if op == "tanh" else read_by(op, inputs, made))


# %% mistake="expects_version_0" theme="in_place"
# A rule refuses every value that was ever edited, also one that was edited before the operation.
# Правило отвергает любое когда-либо изменённое значение, в том числе изменённое ещё до операции.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    return recorded(op, data, *inputs, same=lambda old, new: new == 0)


# %% mistake="takes_the_largest_version" theme="in_place"
# If two inputs have different versions, an edit of the one with the lower version goes unnoticed. Compare each.
# Если версии двух входов различаются, изменение входа с меньшей версией остаётся незамеченным. Сравнивать нужно каждую.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    made = recorded(op, data, *inputs, read=lambda op, inputs, made: ())
    inner, read = made.rule, read_by(op, inputs, made)
    largest = max((each.version for each in read), default=0)

    def rule(gradient):
        if max((each.version for each in read), default=0) != largest:
            complain()
        return inner(gradient)

    made.rule = rule
    return made


# %% mistake="refuses_the_operation" theme="order"
# An edited value may not be used at all: already the operation raises an error. Only a rule from before the edit should.
# Изменённое значение нельзя даже использовать: ошибку вызывает уже операция, а должно только правило, записанное до
#     изменения.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    if any(each.version for each in inputs):
        complain()
    return recorded(op, data, *inputs)


# %% mistake="compares_the_numbers" theme="in_place"
# The numbers are compared, not the versions: an edit that leaves the numbers as they were goes unnoticed.
# Сравниваются числа, а не версии: изменение, при котором числа остались прежними, не замечено.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    return recorded(op, data, *inputs, note=lambda value: value.data.clone(), same=torch.equal)


# %% mistake="computes_with_copies" theme="in_place"
# After an edit the gradient is that of the old numbers, of which a copy was kept. An error is wanted.
# После изменения градиент вычислен по копии прежних чисел. А должна быть ошибка.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    copies, out = [leaf(each.data.clone(), inputs) for each in inputs], data.clone()
    return type(inputs[0])(data, inputs, lambda gradient: parts_of(gradient, op, out, copies), op)


# %% mistake="returns_zeros" theme="own"
# After an edit the gradient is 0. An error is wanted: nobody would notice zeros.
# После изменения градиент равен 0. А должна быть ошибка: нулей никто не заметит.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    made = recorded(op, data, *inputs)
    inner = made.rule

    def rule(gradient):
        try:
            return inner(gradient)
        except RuntimeError:
            return tuple(torch.zeros_like(each.data) for each in inputs)

    made.rule = rule
    return made


# %% mistake="returns_none" theme="own"
# After an edit a rule returns None. An error is wanted: a walk would go on without this gradient.
# После изменения правило возвращает None. А должна быть ошибка: обход пошёл бы дальше без этого градиента.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    made = recorded(op, data, *inputs)
    inner = made.rule

    def rule(gradient):
        try:
            return inner(gradient)
        except RuntimeError:
            return None

    made.rule = rule
    return made


# %% mistake="asserts" theme="own"
# After an edit a rule raises AssertionError, not RuntimeError.
# После изменения правило вызывает AssertionError, а не RuntimeError.
def stop_recording(op, data, *inputs):
    def refuse():
        raise AssertionError("edited")

    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    return recorded(op, data, *inputs, refuse=refuse)


# %% mistake="raises_a_value_error" theme="own"
# After an edit a rule raises ValueError, not RuntimeError.
# После изменения правило вызывает ValueError, а не RuntimeError.
def stop_recording(op, data, *inputs):
    def refuse():
        raise ValueError("edited")

    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    return recorded(op, data, *inputs, refuse=refuse)


# %% mistake="calls_record" theme="own"
# The function calls `record`. In the engine it takes the place of `record`, and then it calls itself without end.
# Функция вызывает `record`. Но в движке она занимает место `record` и тогда без конца вызывает саму себя.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    made = record(op, data, *inputs)  # that of the notebook
    inner, read = made.rule, read_by(op, inputs, made)
    versions = [each.version for each in read]

    def rule(gradient):
        if [each.version for each in read] != versions:
            complain()
        return inner(gradient)

    made.rule = rule
    return made


# %% mistake="forgets_the_return" theme="return"
# While recording is on, the function returns nothing.
# При включённой записи функция ничего не возвращает.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    recorded(op, data, *inputs)


# %% mistake="forgets_the_rule" theme="missing"
# While recording is on, the result has its inputs but no rule.
# При включённой записи у результата есть входы, но нет правила.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    return type(inputs[0])(data, inputs, None, op)


# %% mistake="forgets_the_shape" theme="axes"
# A part of `+` or `*` has the shape of the result. It has to be summed to the shape of its input.
# Градиент входа у `+` или `*` имеет форму результата. Его нужно просуммировать до формы входа.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    made = recorded(op, data, *inputs)
    inner = made.rule

    def rule(gradient):
        inner(gradient)
        return four_rules()[op](gradient, data, *(each.data for each in inputs))

    made.rule = rule
    return made


# %% mistake="refuses_the_walk" theme="order"
# A rule raises an error when it runs inside `no_recording()`. The switch is about what is recorded, not about a walk.
# Правило вызывает ошибку, если выполняется внутри `no_recording()`. Выключатель относится к записи, а не к обходу.
def stop_recording(op, data, *inputs):
    if not type(inputs[0]).recording:
        return leaf(data, inputs)
    made = recorded(op, data, *inputs)
    inner = made.rule

    def rule(gradient):
        if not type(inputs[0]).recording:
            raise RuntimeError("recording is off")
        return inner(gradient)

    made.rule = rule
    return made
