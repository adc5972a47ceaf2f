"""Rules of losses: those of all samples at once, reduced by sample."""
from weft import _core
from weft._batched.table import has, looped, rule, values, wrap


def _reduced(level, losses, reduction):
    """[B, ...] reduced to one value a sample."""
    if reduction == "none":
        return wrap(level, losses)
    if losses.ndim == 1:
        return wrap(level, losses)
    if reduction not in ("mean", "sum"):
        raise _core.InvalidArgumentError(
            f"[loss] expected the reduction mean, sum or none, got {reduction!r}")
    flat = losses.flatten(1)
    return wrap(level, flat.mean(1) if reduction == "mean" else flat.sum(1))


def _pair(level, name, input, target):  # noqa: A002
    if tuple(input.shape) != tuple(target.shape):
        raise _core.InvalidArgumentError(
            f"[{name}] expected a target of the input's shape {list(input.shape)}, got "
            f"{list(target.shape)}")
    return values(level, input), values(level, target)


def _of_values(name):
    compute = getattr(_core, name)

    @rule(name)
    def run(level, input, target, reduction="mean", *more, **settings):  # noqa: A002
        x, y = _pair(level, name.strip("_"), input, target)
        return _reduced(level, compute(x, y, "none", *more, **settings), reduction)


for _name in ("mse_loss", "l1_loss", "_huber_loss", "_smooth_l1_loss"):
    _of_values(_name)


@rule("kl_div")
def _kl_div(level, input, target, reduction="mean", log_target=False):  # noqa: A002
    x, y = _pair(level, "kl_div", input, target)
    losses = _core.kl_div(x, y, "none", log_target)
    if reduction != "batchmean":
        return _reduced(level, losses, reduction)
    count = input.shape[0] if input.ndim else 1
    return _reduced(level, losses, "sum") / count


def _binary(name):
    compute = getattr(_core, name)

    @rule(name)
    def run(level, input, target, weight=None, reduction="mean", pos_weight=None):  # noqa: A002
        x, y = _pair(level, name, input, target)
        if pos_weight is not None and has(level, pos_weight):
            positive, negative = (wrap(level, compute(x, _core.full_like(x.detach(), truth), None,
                                                      "none")) for truth in (1, 0))
            losses = positive * target * pos_weight + negative * (1 - target)
        else:
            losses = wrap(level, compute(x, y, None, "none", pos_weight))
        if weight is not None:
            losses = losses * weight
        return _reduced(level, losses._value, reduction)


_binary("binary_cross_entropy")
_binary("binary_cross_entropy_with_logits")


def _of_classes(level, compute, input, target, weight, ignore_index, reduction,  # noqa: A002
                **settings):
    """A loss of [C] and one class, or [N, C, ...] and [N, ...]: the samples are more of the N."""
    single = input.ndim == 1
    x, y = values(level, input), values(level, target)
    if not single:
        x = x.reshape(level.size * input.shape[0], *input.shape[1:])
        y = y.reshape(level.size * target.shape[0], *target.shape[1:])
    losses = compute(x, y, weight, ignore_index, "none", **settings)
    losses = losses.reshape(level.size, -1)
    if reduction == "none":
        return wrap(level, losses.reshape(level.size, *target.shape))
    total = losses.sum(1)
    if reduction == "sum":
        return wrap(level, total)
    y = y.reshape(level.size, -1)
    counted = (y != ignore_index).to(losses.dtype)
    if weight is not None:
        counted = counted * weight[_core.where(y == ignore_index, 0, y)].to(losses.dtype)
    return wrap(level, total / counted.sum(1))


@rule("cross_entropy")
def _cross_entropy(level, input, target, weight=None, ignore_index=-100,  # noqa: A002
                   reduction="mean", label_smoothing=0.0):
    if weight is not None and has(level, weight):
        return looped("cross_entropy")(level, input, target, weight, ignore_index, reduction,
                                       label_smoothing)
    if not target.is_floating_point():
        return _of_classes(level, _core.cross_entropy, input, target, weight, ignore_index,
                           reduction, label_smoothing=label_smoothing)
    x, y = _pair(level, "cross_entropy", input, target)
    if input.ndim > 1:
        x, y = (each.reshape(level.size * input.shape[0], *input.shape[1:]) for each in (x, y))
    losses = _core.cross_entropy(x, y, weight, ignore_index, "none", label_smoothing)
    shape = [n for i, n in enumerate(input.shape) if i != (1 if input.ndim > 1 else 0)]
    return _reduced(level, losses.reshape(level.size, *shape), reduction)


@rule("nll_loss")
def _nll_loss(level, input, target, weight=None, ignore_index=-100, reduction="mean"):  # noqa: A002
    if weight is not None and has(level, weight):
        return looped("nll_loss")(level, input, target, weight, ignore_index, reduction)
    return _of_classes(level, _core.nll_loss, input, target, weight, ignore_index, reduction)


rule("_ctc_loss")(looped("_ctc_loss"))
