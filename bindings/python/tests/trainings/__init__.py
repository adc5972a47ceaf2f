"""Small trainings that run in Weft and in PyTorch alike: each is a function of the library T that
yields, a step, its losses and the gradients by name. All first weights, data and masks come from
NumPy's RandomState, whose numbers are the same in every version.

Activations are smooth: where a kink decides, rounding would part two right implementations.
"""
import numpy as np

STEPS = 50


def is_torch(T):
    return T.__name__ == "torch"


def checkpoint(T, function, x):
    """function(x), computed again in the backward pass."""
    if is_torch(T):
        from torch.utils.checkpoint import checkpoint as of_torch

        return of_torch(function, x)
    return T.autograd.checkpoint(function, x)


def floats(T, array):
    return T.tensor(np.ascontiguousarray(array, dtype=np.float32))


def give_weights(T, module, draws):
    """Fills what a module learns: matrices with 1 / sqrt(inputs), scales about 1, biases about 0."""
    for name, parameter in sorted(module.named_parameters()):
        shape = tuple(parameter.shape)
        values = draws.standard_normal(shape)
        if len(shape) > 1:
            values /= np.sqrt(np.prod(shape[1:]))
        else:
            values = values * 0.1 + (1.0 if name.endswith("weight") else 0.0)
        with T.no_grad():
            parameter.copy_(floats(T, values))
    return module


def gradients(module, prefix=""):
    """Copies of what backward() left, by name."""
    return {prefix + name: parameter.grad.detach().numpy().copy()
            for name, parameter in module.named_parameters() if parameter.grad is not None}


def all_trainings():
    """By name."""
    from trainings import images, loops, sequences

    return {
        "dcgan": images.dcgan,
        "wgan_gp": images.wgan_gp,
        "mixup": images.mixup,
        "gpt_checkpointed": sequences.gpt_checkpointed,
        "language_with_padding": sequences.language_with_padding,
        "maml": loops.maml,
        "two_schedules": loops.two_schedules,
    }
