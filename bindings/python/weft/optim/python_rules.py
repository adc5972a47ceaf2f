"""Optimizers whose steps are written in Python, over whole tensors: those that recipes do not have.

Formulas, arguments and defaults are PyTorch's; foreach and fused are taken and change nothing."""
import math

from weft import _core
from weft.autograd import enable_grad, no_grad
from weft.optim.optimizer import Optimizer


def _refuse(name, **checks):
    """checks: setting=(value, holds, expected)."""
    for setting, (value, holds, expected) in checks.items():
        if not holds:
            raise _core.InvalidArgumentError(
                f"[{name}] expected {setting} of {expected}, got {value!r}")


def _at_least_0(value):
    return value, value >= 0, "a number of at least 0"


def _betas(value):
    holds = len(value) == 2 and all(0 <= beta < 1 for beta in value)
    return value, holds, "two numbers in [0, 1)"


class _ByParameter(Optimizer):
    """Calls _move(group, p, gradient, state) for each parameter with a gradient."""

    def step(self, closure=None):
        """One step. `closure`, if given, computes the loss again and returns it."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._move_one(group, p)
        return loss

    def _move_one(self, group, p):
        grad = p.grad.detach()
        if group.get("maximize"):
            grad = -grad
        if group.get("weight_decay"):
            grad = grad + p.detach() * group["weight_decay"]
        self._move(group, p.detach(), grad, self.state[p])


def _count(state, p, *names):
    """The number of this step; moments of those names are there from the first one on."""
    if "step" not in state:
        state["step"] = 0
        for name in names:
            state[name] = _core.zeros_like(p)
    state["step"] += 1
    return state["step"]


class Adamax(_ByParameter):
    """Adam with the largest gradient so far in the place of the second moment."""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0,
                 foreach=None, *, maximize=False, **hints):
        _refuse("Adamax", lr=_at_least_0(lr), eps=_at_least_0(eps), betas=_betas(betas),
                weight_decay=_at_least_0(weight_decay))
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps,
                                  "weight_decay": weight_decay, "maximize": maximize})

    def _move(self, group, p, grad, state):
        step = _count(state, p, "exp_avg", "exp_inf")
        beta1, beta2 = group["betas"]
        state["exp_avg"].mul_(beta1).add_(grad * (1 - beta1))
        state["exp_inf"].copy_(_core.maximum(state["exp_inf"] * beta2, grad.abs() + group["eps"]))
        p.sub_(state["exp_avg"] / state["exp_inf"] * (group["lr"] / (1 - beta1 ** step)))


class NAdam(_ByParameter):
    """Adam with Nesterov's momentum (Dozat, 2016)."""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0,
                 momentum_decay=4e-3, foreach=None, *, maximize=False, **hints):
        _refuse("NAdam", lr=_at_least_0(lr), eps=_at_least_0(eps), betas=_betas(betas),
                weight_decay=_at_least_0(weight_decay), momentum_decay=_at_least_0(momentum_decay))
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize,
                                  "weight_decay": weight_decay, "momentum_decay": momentum_decay})

    def _move(self, group, p, grad, state):
        step = _count(state, p, "exp_avg", "exp_avg_sq")
        beta1, beta2 = group["betas"]
        decay = group["momentum_decay"]
        now = beta1 * (1 - 0.5 * 0.96 ** (step * decay))
        then = beta1 * (1 - 0.5 * 0.96 ** ((step + 1) * decay))
        product = state["mu_product"] = state.get("mu_product", 1.0) * now
        state["exp_avg"].mul_(beta1).add_(grad * (1 - beta1))
        state["exp_avg_sq"].mul_(beta2).add_(grad * grad * (1 - beta2))
        root = (state["exp_avg_sq"] / (1 - beta2 ** step)).sqrt() + group["eps"]
        lr = group["lr"]
        p.sub_(grad / root * (lr * (1 - now) / (1 - product)))
        p.sub_(state["exp_avg"] / root * (lr * then / (1 - product * then)))


class RAdam(_ByParameter):
    """Adam that waits until the variance of its rate is known (Liu et al., 2019)."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0,
                 foreach=None, *, maximize=False, **hints):
        _refuse("RAdam", lr=_at_least_0(lr), eps=_at_least_0(eps), betas=_betas(betas),
                weight_decay=_at_least_0(weight_decay))
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize,
                                  "weight_decay": weight_decay})

    def _move(self, group, p, grad, state):
        step = _count(state, p, "exp_avg", "exp_avg_sq")
        beta1, beta2 = group["betas"]
        state["exp_avg"].mul_(beta1).add_(grad * (1 - beta1))
        state["exp_avg_sq"].mul_(beta2).add_(grad * grad * (1 - beta2))
        unbiased = state["exp_avg"] * (group["lr"] / (1 - beta1 ** step))
        largest = 2 / (1 - beta2) - 1
        length = largest - 2 * step * beta2 ** step / (1 - beta2 ** step)
        if length <= 5.0:
            p.sub_(unbiased)
            return
        root = state["exp_avg_sq"].sqrt() + group["eps"]
        rectified = math.sqrt((length - 4) * (length - 2) * largest
                              / ((largest - 4) * (largest - 2) * length))
        p.sub_(unbiased / root * (math.sqrt(1 - beta2 ** step) * rectified))


class Rprop(_ByParameter):
    """A step size for each value, which grows while the gradient keeps its sign."""

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), foreach=None, *,
                 maximize=False, **hints):
        _refuse("Rprop", lr=_at_least_0(lr),
                etas=(etas, 0 < etas[0] < 1 < etas[1], "two numbers, below and above 1"))
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes,
                                  "maximize": maximize})

    def _move(self, group, p, grad, state):
        if "step" not in state:
            state["step_size"] = _core.full(p.shape, group["lr"], dtype=p.dtype)
        _count(state, p, *() if "prev" in state else ("prev",))
        smaller, larger = group["etas"]
        sign = (grad * state["prev"]).sign()
        ones = _core.ones_like(p)
        factor = _core.where(sign > 0, ones * larger, _core.where(sign < 0, ones * smaller, ones))
        state["step_size"].copy_((state["step_size"] * factor).clamp(*group["step_sizes"]))
        grad = grad.masked_fill(sign < 0, 0.0)
        p.sub_(grad.sign() * state["step_size"])
        state["prev"].copy_(grad)


class ASGD(_ByParameter):
    """Averaged stochastic gradient descent (Polyak and Juditsky, 1992); `ax` is the average."""

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0.0,
                 foreach=None, maximize=False, **hints):
        _refuse("ASGD", lr=_at_least_0(lr), weight_decay=_at_least_0(weight_decay))
        super().__init__(params, {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0,
                                  "weight_decay": weight_decay, "maximize": maximize})

    def _move(self, group, p, grad, state):
        if "eta" not in state:
            state.update(eta=group["lr"], mu=1.0, ax=_core.zeros_like(p))
        step = _count(state, p)
        p.mul_(1 - group["lambd"] * state["eta"]).sub_(grad * state["eta"])
        state["ax"].add_((p - state["ax"]) * state["mu"])
        state["eta"] = group["lr"] / (1 + group["lambd"] * group["lr"] * step) ** group["alpha"]
        state["mu"] = 1 / max(1, step - group["t0"])


class SparseAdam(_ByParameter):
    """Adam that leaves rows alone whose gradient is 0: gradients of tables are dense here."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        _refuse("SparseAdam", lr=_at_least_0(lr), eps=_at_least_0(eps), betas=_betas(betas))
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def _move(self, group, p, grad, state):
        step = _count(state, p, "exp_avg", "exp_avg_sq")
        beta1, beta2 = group["betas"]
        used = (grad.reshape(p.shape[0], -1) != 0).any(1).nonzero().reshape(-1)
        rows = grad.index_select(0, used)
        moved = []
        for name, value, beta in (("exp_avg", rows, beta1), ("exp_avg_sq", rows * rows, beta2)):
            old = state[name].index_select(0, used)
            moved.append(old + (value - old) * (1 - beta))
            state[name].index_copy_(0, used, moved[-1])
        size = group["lr"] * math.sqrt(1 - beta2 ** step) / (1 - beta1 ** step)
        change = moved[0] / (moved[1].sqrt() + group["eps"]) * size
        p.index_copy_(0, used, p.index_select(0, used) - change)
