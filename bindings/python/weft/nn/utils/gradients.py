"""What is done with the gradients of many parameters at once, and parameters as one vector."""
from weft import _core
from weft.autograd import no_grad


def _gradients(parameters):
    if isinstance(parameters, _core.Tensor):
        parameters = [parameters]
    if not hasattr(parameters, "__iter__"):
        raise TypeError(f"argument 'parameters' must be a tensor or several, got "
                        f"{type(parameters).__name__}")
    return [p.grad for p in parameters if p.grad is not None]


def get_total_norm(tensors, norm_type=2.0):
    """The norm of all tensors taken together."""
    tensors = list(tensors)
    if not tensors:
        return _core.zeros(())
    return _core.stack([each.detach().norm(norm_type) for each in tensors]).norm(norm_type)


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales the gradients so that their norm, taken together, is at most max_norm. Returns the
    norm before."""
    del foreach
    if not hasattr(max_norm, "__float__"):
        raise TypeError(f"clip_grad_norm_(): argument 'max_norm' must be float, got "
                        f"{type(max_norm).__name__}")
    gradients = _gradients(parameters)
    total = get_total_norm(gradients, float(norm_type))
    if error_if_nonfinite and not total.isfinite().item():
        raise _core.InvalidArgumentError(
            f"[clip_grad_norm_] expected a finite norm of the gradients, got {total.item()}")
    scale = float(max_norm) / (total.item() + 1e-6)
    if scale < 1.0:
        for gradient in gradients:
            gradient.detach().mul_(scale)
    return total


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Moves each value of the gradients into [-clip_value, clip_value]."""
    del foreach
    for gradient in _gradients(parameters):
        plain = gradient.detach()
        plain.copy_(plain.clamp(-clip_value, clip_value))


def parameters_to_vector(parameters):
    """The values of all parameters as one vector."""
    return _core.cat([parameter.reshape(-1) for parameter in parameters])


@no_grad()
def vector_to_parameters(vec, parameters):
    """Writes the values of a vector into the parameters, in their order."""
    parameters = list(parameters)
    counts = [parameter.numel() for parameter in parameters]
    if vec.ndim != 1 or vec.numel() != sum(counts):
        raise _core.InvalidArgumentError(
            f"[vector_to_parameters] expected {sum(counts)} values, got shape {list(vec.shape)}")
    for parameter, part in zip(parameters, vec.split(counts)):
        parameter.data.copy_(part.reshape(parameter.shape))
