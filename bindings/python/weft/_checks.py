"""What a program asks about a model while it looks for a mistake."""
import warnings

from weft import _core


def _wrong(gradient):
    if gradient is None:
        return "no gradient: the loss does not depend on it, or there was no backward()"
    if not bool(_core.isfinite(gradient).all()):
        return "a gradient that is not finite"
    if gradient.numel() > 0 and not bool((gradient != 0).any()):
        return "a gradient of zeros alone"
    return None


def check_gradients(module):
    """After backward(): {name: what is wrong} of the parameters that require grad and have no
    gradient, one of zeros alone, or one with a NaN or an infinity; warns if there are any."""
    found = {}
    for name, parameter in module.named_parameters():
        wrong = _wrong(parameter.grad) if parameter.requires_grad else None
        if wrong is not None:
            found[name] = wrong
    if found:
        listed = "".join(f"\n  {name}: {wrong}" for name, wrong in found.items())
        warnings.warn(f"parameters that will not learn as they should:{listed}", stacklevel=2)
    return found
