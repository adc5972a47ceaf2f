"""Losses with all their options."""
import numpy as np

from cases import Case


def _class_targets(draws, loss):
    """cross_entropy or nll_loss of whole numbers; now and then all are to be ignored."""
    classes = draws.whole(1, 6)
    batch = () if draws.chance(0.1) else (draws.whole(1, 5), *draws.shape(0, 2, (1, 2, 3)))
    shape = (*batch[:1], classes, *batch[1:])
    ignored = draws.pick([-100, draws.whole(0, classes - 1)])
    target = draws.randint(0, classes, batch)
    target = np.where(draws.uniform(size=batch) < draws.pick([0, .3, 1.1]), ignored, target)
    options = {"reduction": draws.pick(["mean", "sum", "none"]), "ignore_index": ignored}
    if loss == "cross_entropy":
        options["label_smoothing"] = draws.pick([0.0, 0.1, 1.0])
    weight = [draws.positive(classes)] if draws.chance(0.5) else []
    scale = draws.pick([1, 1, 40])

    def call(T, F, x, t, *w):
        return getattr(F, loss)(x, t, *(v.detach() for v in w), **options)

    return Case(f"{loss}({shape}, {target.tolist()}, weight={bool(weight)}, {options})",
                [draws.values(*shape) * np.float32(scale), target, *weight], call,
                twice=bool((target != ignored).any()))  # else the loss is NaN


def _shares(draws):
    """cross_entropy of probabilities, which learn, too."""
    shape = draws.shape(2, 4, (1, 2, 3, 4), empty=0.05)
    if draws.chance(0.1):
        shape = shape[1:2]
    classes = shape[1] if len(shape) > 1 else shape[0]
    options = {"reduction": draws.pick(["mean", "sum", "none"]),
               "label_smoothing": draws.pick([0.0, 0.2])}
    weight = [draws.positive(classes)] if draws.chance(0.5) else []

    def call(T, F, x, t, *w):
        return F.cross_entropy(x, t, *(v.detach() for v in w), **options)

    return Case(f"cross_entropy({shape}, probabilities, weight={bool(weight)}, {options})",
                [draws.values(*shape), draws.positive(*shape), *weight], call)


def _pointwise(draws):
    loss = draws.pick(["mse_loss", "l1_loss"])
    shape = draws.shape(0, 3, empty=0.1)
    other = draws.spread(shape) if draws.chance(0.3) else shape
    reduction = draws.pick(["mean", "sum", "none"])
    kind = draws.pick([draws.values, draws.coarse])
    return Case(f"{loss}({shape}, {other}, {reduction})", [kind(*shape), kind(*other)],
                lambda T, F, x, t: getattr(F, loss)(x, t, reduction=reduction))


def _binary(draws):
    """Of probabilities, up to 0 and 1 themselves, or of logits."""
    shape = draws.shape(0, 3, empty=0.1)
    logits, reduction = draws.chance(0.5), draws.pick(["mean", "sum", "none"])
    with_weight, with_positive = draws.chance(0.4), logits and draws.chance(0.5)
    x = draws.values(*shape) * np.float32(draws.pick([1, 1, 60]))
    if not logits:
        x = 1 / (1 + np.exp(-x.astype(np.float64)))
    hard = draws.chance(0.5)
    target = draws.uniform(size=shape)
    extra = [draws.positive(*draws.spread(shape))] if with_weight else []
    extra += [draws.positive(*shape[-1:])] if with_positive else []

    def call(T, F, v, t, *rest):
        rest = [each.detach() for each in rest]
        weight = rest.pop(0) if with_weight else None
        if not logits:
            return F.binary_cross_entropy(v, t.detach(), weight, reduction=reduction)
        positive = rest.pop() if with_positive else None
        return F.binary_cross_entropy_with_logits(v, t, weight, reduction=reduction,
                                                  pos_weight=positive)

    name = "binary_cross_entropy" + "_with_logits" * logits
    return Case(f"{name}({shape}, weight={with_weight}, pos_weight={with_positive}, {reduction})",
                [x.astype(np.float32), (np.round(target) if hard else target).astype(np.float32),
                 *extra], call, twice=bool((np.abs(x - 0.5) < 0.49).all()) or logits)


def _divergence(draws):
    shape = draws.shape(0, 3, empty=0.1)
    reduction = draws.pick(["mean", "sum", "none", "batchmean"])
    in_logs = draws.chance(0.5)
    zeros = not in_logs and draws.chance(0.5)  # where PyTorch's gradient of the target is NaN
    target = draws.values(*shape) if in_logs else np.maximum(draws.coarse(*shape), 0 if zeros else 1)
    return Case(f"kl_div({shape}, {reduction}, log_target={in_logs})",
                [draws.values(*shape), target],
                lambda T, F, x, t: F.kl_div(x, t.detach() if zeros else t, reduction=reduction,
                                            log_target=in_logs))


def _similarity(draws):
    shape = draws.shape(1, 3, empty=0.05)
    axis, epsilon = draws.axis(shape), draws.pick([1e-8, 1e-8, 3.0])
    other = draws.spread(shape) if draws.chance(0.3) else shape
    kind = draws.pick([draws.values, draws.coarse])
    # A norm below eps counts as eps, which has no slope; PyTorch's gradient is that of the norm.
    grads = epsilon < 1
    twice = kind == draws.values  # vectors of zeros have a slope, of a sort, but no second one
    return Case(f"cosine_similarity({shape}, {other}, dim={axis}, eps={epsilon})",
                [kind(*shape), kind(*other)],
                lambda T, F, x, y: F.cosine_similarity(x, y, dim=axis, eps=epsilon), grads,
                twice)


def case(draws):
    return draws.pick([
        lambda: _class_targets(draws, "cross_entropy"), lambda: _class_targets(draws, "nll_loss"),
        lambda: _shares(draws), lambda: _pointwise(draws), lambda: _binary(draws),
        lambda: _divergence(draws), lambda: _similarity(draws)])()
