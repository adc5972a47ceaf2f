"""Functions that write their result over their input, for the argument `inplace`."""
from weft import _core


def over(input, function, *settings, keeps_input=True):  # noqa: A002
    """`input` with function(input, *settings) as its values and its history. `keeps_input`: whether
    the gradient needs the values that are written over, and so a copy of them."""
    recorded = _core.is_grad_enabled() and input.requires_grad
    if recorded and input.is_leaf:
        raise _core.InvalidArgumentError(
            "[inplace] expected a tensor that is no leaf with a gradient, got such a leaf: leave "
            "inplace=True out, or write under weft.no_grad()")
    old = input.clone() if recorded and keeps_input else input
    return input.copy_(function(old, *settings))
