# %%


def _others(losses):
    """Return for each sample the mean loss of the other samples."""
    found = (losses.sum() - losses) / (len(losses) - 1)
    return found

# %% mistake="own_loss_in_the_baseline" theme="scaling"
# The gradient of the logits is too short on the average: the baseline holds the sample's own loss, as the mean of all
#     losses does.
# Градиент по логитам в среднем слишком короток: в базовый уровень входят и потери самого примера, как бывает, если это
#     среднее всех потерь.
def score_loss(log_probs, losses):
    return (log_probs * (losses - losses.mean()).detach() + losses).mean()

# %% mistake="no_baseline" theme="own"
# The mean is right, and the noise is that of the plain estimator: nothing was subtracted from the losses.
# Среднее верно, а шум такой же, как у простейшей оценки: из потерь ничего не вычтено.
def score_loss(log_probs, losses):
    return (log_probs * losses.detach() + losses).mean()

# %% mistake="losses_not_detached" theme="recording"
# The gradient of the logits is right, and that of the losses has a term too many: the factor of `log_probs` still has
#     its graph.
# Градиент по логитам верен, а в градиенте потерь есть лишнее слагаемое: у множителя при `log_probs` остался граф.
def score_loss(log_probs, losses):
    return (log_probs * (losses - _others(losses)) + losses).mean()

# %% mistake="losses_have_no_path" theme="missing"
# The gradient of the logits is right, and what the losses depend on gets none: their own term is missing, or the losses
#     are detached in it.
# Градиент по логитам верен, а до того, от чего зависят потери, ничего не доходит: их собственного слагаемого нет, или
#     они в нём отсоединены.
def score_loss(log_probs, losses):
    return (log_probs * (losses - _others(losses)).detach()).mean()

# %% mistake="mean_loss_alone" theme="recording"
# The logits get no gradient. A sample is a constant for autograd: the way to its probability leads through `log_probs`
#     alone.
# Логиты не получают градиента. Выбранный пример для autograd — константа: путь к его вероятности ведёт только через
#     `log_probs`.
def score_loss(log_probs, losses):
    return losses.mean()

# %% mistake="sums_the_samples" theme="scaling"
# The terms were summed. The estimate is their mean.
# Возвращена сумма слагаемых, а оценка — это их среднее.
def score_loss(log_probs, losses):
    return (log_probs * (losses - _others(losses)).detach() + losses).sum()

# %% mistake="rewards_in_place_of_losses" theme="own"
# The gradient of the logits has the wrong sign: losses were treated as rewards. The result is a loss, which falls with
#     its gradient.
# У градиента по логитам неверный знак: потери приняты за награды. Результат — функция потерь, и её нужно уменьшать.
def score_loss(log_probs, losses):
    return (losses - log_probs * (losses - _others(losses)).detach()).mean()

# %% mistake="probability_without_logarithm" theme="derivative"
# The probabilities themselves were used. A sample already occurs as often as it is probable; only the logarithm takes
#     that weight out again.
# Взяты сами вероятности. Но пример и так встречается тем чаще, чем он вероятнее. Второй раз этот вес не учитывается,
#     только если взят логарифм.
def score_loss(log_probs, losses):
    return (log_probs.exp() * (losses - _others(losses)).detach() + losses).mean()

# %% mistake="divides_by_the_spread" theme="scaling"
# The advantages were divided by their standard deviation. This number is taken from the samples themselves, and the
#     gradient on the average is another one.
# Преимущества разделены на их стандартное отклонение. Это число зависит от самой выборки, и градиент в среднем
#     получается другим.
def score_loss(log_probs, losses):
    advantage = (losses - _others(losses)).detach()
    return (log_probs * advantage / (losses.detach().std() + 1e-6) + losses).mean()

# %% mistake="best_loss_as_baseline" theme="own"
# The least loss of the batch is the baseline. It may be the sample's own, and then its gradient is lost.
# Базовый уровень — наименьшие потери в выборке. Они могут быть у самого этого примера, и тогда его градиент теряется.
def score_loss(log_probs, losses):
    return (log_probs * (losses - losses.min()).detach() + losses).mean()

# %% mistake="divides_by_all" theme="scaling"
# The baseline is too small: the sum of the other losses was divided by the number of all. The mean is right, and much
#     noise is left.
# Базовый уровень слишком мал: сумма остальных потерь разделена на число всех примеров. Среднее верно, но остаётся много
#     шума.
def score_loss(log_probs, losses):
    others = (losses.sum() - losses) / len(losses)
    return (log_probs * (losses - others).detach() + losses).mean()

# %% mistake="only_the_baseline_detached" theme="recording"
# Only the baseline is detached. The loss in the factor of `log_probs` has its graph, and a term too many joins the
#     gradient of the losses.
# Отсоединён только базовый уровень. У потерь в множителе при `log_probs` граф остался, и к их градиенту добавилось
#     лишнее слагаемое.
def score_loss(log_probs, losses):
    return (log_probs * (losses - _others(losses).detach()) + losses).mean()

# %% mistake="one_product_of_means" theme="axes"
# The means were multiplied. Each log-probability belongs to the loss of its own sample.
# Перемножены средние. Но каждый логарифм вероятности относится к потерям своего примера.
def score_loss(log_probs, losses):
    return log_probs.mean() * losses.mean().detach() + losses.mean()

# %% mistake="detaches_the_log_probs" theme="recording"
# The logits get no gradient, because `log_probs` are detached. The factor that must be a number is the loss.
# Логиты не получают градиента, потому что отсоединены `log_probs`. Числом должен быть другой множитель — потери.
def score_loss(log_probs, losses):
    return (log_probs.detach() * (losses - _others(losses)) + losses).mean()

# %% mistake="normalises_with_all" theme="scaling"
# The losses were normalised with mean and standard deviation of the whole batch. Both hold the sample's own loss, and
#     the gradient on the average is another one.
# Потери нормированы средним и стандартным отклонением всей выборки. В оба входят потери самого примера, и градиент в
#     среднем получается другим.
def score_loss(log_probs, losses):
    advantage = ((losses - losses.mean()) / (losses.std() + 1e-8)).detach()
    return (log_probs * advantage + losses).mean()

# %% mistake="worst_loss_as_baseline" theme="own"
# The largest loss of the batch is the baseline. It may be the sample's own, and then its gradient is lost.
# Базовый уровень — наибольшие потери в выборке. Они могут быть у самого этого примера, и тогда его градиент теряется.
def score_loss(log_probs, losses):
    return (log_probs * (losses - losses.max()).detach() + losses).mean()

# %% mistake="one_term_for_each" theme="axes"
# A term for each sample came back. Asked for is one number, their mean.
# Возвращено по слагаемому на каждый пример, а нужно одно число, их среднее.
def score_loss(log_probs, losses):
    return log_probs * (losses - _others(losses)).detach() + losses

# %% mistake="fixed_baseline" theme="own"
# A fixed number was subtracted, that of the cell above. These losses lie elsewhere, and most of the noise is left.
# Вычтено постоянное число, взятое из ячейки выше. Здесь потери далеко от него, и почти весь шум остаётся.
def score_loss(log_probs, losses):
    return (log_probs * (losses.detach() - 0.255) + losses).mean()

# %% mistake="no_term_for_the_losses" theme="recording"
# The losses have no term of their own, and in the product their graph is left: their gradient is multiplied by logarithms
#     of probabilities.
# У потерь нет собственного слагаемого, а в произведении у них остался граф: их градиент умножен на логарифмы
#     вероятностей.
def score_loss(log_probs, losses):
    return (log_probs * (losses - _others(losses))).mean()

# %% mistake="no_term_and_a_fixed_baseline" like="no_term_for_the_losses"
def score_loss(log_probs, losses):
    return (log_probs * (losses - _others(losses).detach())).mean()

# %% mistake="product_alone" like="no_term_for_the_losses"
def score_loss(log_probs, losses):
    return (log_probs * losses).mean()

# %% mistake="product_with_a_graph" theme="recording"
# In the product with `log_probs` the losses have their graph, and a term too many joins their gradient. Nothing is
#     subtracted either: the noise is that of the plain estimator.
# В произведении с `log_probs` у потерь остался граф, и к их градиенту добавилось лишнее слагаемое. К тому же из потерь
#     ничего не вычтено: шум такой же, как у простейшей оценки.
def score_loss(log_probs, losses):
    return (log_probs * losses + losses).mean()

# %% mistake="corrects_the_wrong_way" theme="scaling"
# The gradient of the logits is too short twice over: the mean of all losses leaves (n − 1)/n of it, and so does the
#     factor. The remedy is n/(n − 1).
# Градиент по логитам укорочен дважды: на (n − 1)/n его умножает и среднее всех потерь, и ваш множитель. Исправляет это
#     множитель n/(n − 1).
def score_loss(log_probs, losses):
    n = len(losses)
    return (log_probs * (losses - losses.mean()).detach() * (n - 1) / n + losses).mean()

# %% mistake="median_as_baseline" theme="own"
# The median of the batch is the baseline. It may be the sample's own loss, and then its gradient is lost.
# Базовый уровень — медиана выборки. Ею могут оказаться потери самого этого примера, и тогда его градиент теряется.
def score_loss(log_probs, losses):
    return (log_probs * (losses - losses.median()).detach() + losses).mean()

# %% mistake="weighted_by_probabilities" theme="own"
# The losses are weighted by their probabilities and added, as if these samples were all outcomes. A sample already occurs
#     as often as it is probable.
# Потери взвешены своими вероятностями и сложены, будто эти примеры — все возможные исходы. Но пример и так встречается
#     тем чаще, чем он вероятнее.
def score_loss(log_probs, losses):
    return (log_probs.exp() * losses).sum()

# %% mistake="weighted_by_numbers" like="weighted_by_probabilities"
def score_loss(log_probs, losses):
    return (log_probs.exp() * losses.detach()).sum()

# %% mistake="sums_the_losses" theme="scaling"
# The gradient of the logits is right. The losses were summed in their own term, where their mean is meant.
# Градиент по логитам верен. А в собственном слагаемом потери сложены, хотя нужно их среднее.
def score_loss(log_probs, losses):
    return (log_probs * (losses - _others(losses)).detach()).mean() + losses.sum()
