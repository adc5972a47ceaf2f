"""The optimizers: one step is one pass over the memory of each parameter, in native code.

Parameters are float32 or float64, and the arithmetic is theirs. One without a gradient is left out
of a step, and its state too. Arguments and their defaults are PyTorch's where it has the optimizer,
the paper's elsewhere; foreach and fused are taken and change nothing.
"""
from weft import _core
from weft.optim.optimizer import NativeOptimizer


class SGD(NativeOptimizer):
    """Stochastic gradient descent: v = momentum v + (1 - dampening) g; p -= lr v."""

    rule = "SGD"

    def __init__(self, params, lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0,
                 nesterov=False, *, maximize=False, **hints):
        super().__init__(params, hints, lr=lr, momentum=momentum, dampening=dampening,
                         weight_decay=weight_decay, nesterov=nesterov, maximize=maximize)

    def _check(self, group):
        super()._check(group)
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise _core.InvalidArgumentError("[SGD] expected momentum above 0 and dampening=0 beside nesterov=True")


class Adam(NativeOptimizer):
    """Adam; weight_decay is part of the gradient."""

    rule = "Adam"

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0,
                 amsgrad=False, *, maximize=False, **hints):
        super().__init__(params, hints, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay,
                         amsgrad=amsgrad, maximize=maximize)


class AdamW(NativeOptimizer):
    """Adam whose weight decay shrinks the parameters and is not part of the gradient."""

    rule = "AdamW"

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2,
                 amsgrad=False, *, maximize=False, **hints):
        super().__init__(params, hints, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay,
                         amsgrad=amsgrad, maximize=maximize)


class Adagrad(NativeOptimizer):
    """Steps shrink with the sum of all squared gradients so far."""

    rule = "Adagrad"

    def __init__(self, params, lr=1e-2, lr_decay=0.0, weight_decay=0.0,
                 initial_accumulator_value=0.0, eps=1e-10, foreach=None, *, maximize=False,
                 **hints):
        del foreach
        super().__init__(params, hints, lr=lr, lr_decay=lr_decay, weight_decay=weight_decay,
                         initial_accumulator_value=initial_accumulator_value, eps=eps,
                         maximize=maximize)


class Adadelta(NativeOptimizer):
    """Steps in the unit of the parameters, from a running mean of their own squares."""

    rule = "Adadelta"

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0, foreach=None, *,
                 maximize=False, **hints):
        del foreach
        super().__init__(params, hints, lr=lr, rho=rho, eps=eps, weight_decay=weight_decay,
                         maximize=maximize)


class RMSprop(NativeOptimizer):
    """Steps relative to a running root mean square of the gradients."""

    rule = "RMSprop"

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0,
                 centered=False, foreach=None, maximize=False, **hints):
        del foreach
        super().__init__(params, hints, lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay,
                         momentum=momentum, centered=centered, maximize=maximize)


class Adafactor(NativeOptimizer):
    """Second moments of a matrix, the last two dimensions, as one value a row and one a column.

    The rate is at most 1 / sqrt(step), times the root mean square of the parameter. eps: the least
    root of a second moment (None: the type's rounding), and the least root mean square."""

    rule = "Adafactor"

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0,
                 weight_decay=0.0, *, maximize=False, **hints):
        super().__init__(params, hints, lr=lr, beta2_decay=beta2_decay, eps=eps, d=d,
                         weight_decay=weight_decay, maximize=maximize)

    _RANGES = {**NativeOptimizer._RANGES, "eps": (
        lambda x: len(x) == 2 and (x[0] is None or x[0] >= 0) and x[1] >= 0,
        "two numbers of at least 0, of which the first may be None")}


class Lion(NativeOptimizer):
    """The sign of a blend of gradient and momentum; one state, decoupled weight decay."""

    rule = "Lion"

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, *, maximize=False,
                 **hints):
        super().__init__(params, hints, lr=lr, betas=betas, weight_decay=weight_decay,
                         maximize=maximize)


class Muon(NativeOptimizer):
    """Orthogonalised momentum, for the matrices of hidden layers; all else is for AdamW.

    A parameter of more than two dimensions is the matrix of its first against the others."""

    rule = "Muon"

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True,
                 ns_coefficients=(3.4445, -4.775, 2.0315), eps=1e-7, ns_steps=5,
                 adjust_lr_fn=None, *, maximize=False, **hints):
        super().__init__(params, hints, lr=lr, weight_decay=weight_decay, momentum=momentum,
                         nesterov=nesterov, ns_coefficients=ns_coefficients, eps=eps,
                         ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn, maximize=maximize)
