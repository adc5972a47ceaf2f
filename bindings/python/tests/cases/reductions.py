"""Sums, extremes, orders and running sums over all sorts of axes, of empty arrays too."""
from cases import Case

OVER_AXES = ("sum", "mean", "var", "std", "amax", "amin", "logsumexp", "norm", "all", "any",
             "count_nonzero")
OVER_ONE = ("prod", "max", "min", "argmax", "argmin", "median", "softmax", "log_softmax",
            "normalize")
RUNNING = ("cumsum", "cumprod", "sort", "argsort", "topk")


def _over_axes(draws, name):
    shape, keep = draws.shape(0, 4, empty=0.15), draws.chance(0.5)
    axes = draws.axes(shape)
    unbiased, order = draws.chance(0.5), draws.pick([2, 1, 3, 0.5, float("inf"), float("-inf"), 0])
    kind = draws.pick([draws.values, draws.coarse])

    def call(T, F, x):
        if name in ("var", "std"):
            if axes is None:
                return getattr(x, name)(unbiased=unbiased)
            return getattr(x, name)(axes, unbiased=unbiased, keepdim=keep)
        if name == "norm":
            return x.norm(order) if axes is None else x.norm(order, axes, keepdim=keep)
        if name == "count_nonzero":
            return T.count_nonzero(x) if axes is None else T.count_nonzero(x, axes)
        if name in ("all", "any"):
            x = x > 0
        if name in ("amax", "amin") and axes is None:
            return getattr(x, name)()
        return getattr(x, name)() if axes is None else getattr(x, name)(axes, keepdim=keep)

    options = {"norm": f", p={order}", "var": f", {unbiased}", "std": f", {unbiased}"}
    return Case(f"{name}({shape}, dim={axes}, keepdim={keep}{options.get(name, '')})",
                [kind(*shape)], call, twice=name != "norm" or kind == draws.values)


def _over_one(draws, name):
    shape, keep = draws.shape(0, 4, empty=0.15), draws.chance(0.5)
    axis = draws.axis(shape) if shape and draws.chance(0.8) else None
    # Which of equal values the median is of is nobody's promise.
    kind = draws.values if name == "median" else draws.pick([draws.values, draws.coarse])
    if axis is None and name in ("softmax", "log_softmax", "normalize"):
        return None

    def call(T, F, x):
        if name in ("softmax", "log_softmax"):
            return getattr(F, name)(x, dim=axis)
        if name == "normalize":
            return F.normalize(x, dim=axis, p=3.0 if keep else 2.0)
        return getattr(x, name)() if axis is None else getattr(x, name)(axis, keepdim=keep)

    return Case(f"{name}({shape}, dim={axis}, keepdim={keep})", [kind(*shape)], call,
                twice=name != "normalize" or kind == draws.values)


def _running(draws, name):
    shape, down = draws.shape(1, 4, empty=0.1), draws.chance(0.5)
    axis = draws.axis(shape)
    # PyTorch chooses among equal values as it likes, except in order.
    kind = draws.values if name == "topk" else draws.pick([draws.values, draws.coarse])
    count = draws.whole(0, shape[axis])

    def call(T, F, x):
        if name in ("cumsum", "cumprod"):
            return getattr(x, name)(axis)
        if name == "topk":
            return x.topk(count, axis, largest=down)
        # Equal values keep their order; PyTorch promises it only where it is asked.
        stable = {"stable": True} if T.__name__ == "torch" else {}
        if name == "sort":
            return T.sort(x, dim=axis, descending=down, **stable)
        return (T.sort(x, dim=axis, descending=down, **stable)[1] if stable
                else x.argsort(axis, descending=down))

    return Case(f"{name}({shape}, dim={axis}, {count}, {down})", [kind(*shape)], call)


def case(draws):
    name = draws.pick(OVER_AXES + OVER_ONE + RUNNING)
    if name in OVER_AXES:
        return _over_axes(draws, name)
    return (_over_one if name in OVER_ONE else _running)(draws, name)
