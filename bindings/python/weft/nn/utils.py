"""What is done with the gradients of many parameters at once."""
from weft import _core


def _gradients(parameters):
    if isinstance(parameters, _core.Tensor):
        parameters = [parameters]
    return [p.grad for p in parameters if p.grad is not None]


def clip_grad_norm_(parameters, max_norm, norm_type=2.0):
    """Scales the gradients so that their norm, taken together, is at most max_norm. Returns the
    norm before."""
    gradients = _gradients(parameters)
    if not gradients:
        return _core.zeros(())
    norms = _core.stack([gradient.detach().norm(norm_type) for gradient in gradients])
    total = norms.norm(norm_type)
    scale = float(max_norm) / (total.item() + 1e-6)
    if scale < 1.0:
        for gradient in gradients:
            gradient.detach().mul_(scale)
    return total


def clip_grad_value_(parameters, clip_value):
    """Moves each value of the gradients into [-clip_value, clip_value]."""
    for gradient in _gradients(parameters):
        plain = gradient.detach()
        plain.copy_(plain.clamp(-clip_value, clip_value))


def parameters_to_vector(parameters):
    """The values of all parameters as one vector."""
    return _core.cat([parameter.reshape(-1) for parameter in parameters])
