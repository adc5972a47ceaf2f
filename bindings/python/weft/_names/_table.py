"""How functions written in Python become methods of Tensor, and get a history of their own."""
import functools

from weft import _core

Tensor = _core.Tensor


def named(function):
    """`function`, with a TypeError that names the argument where something that is no tensor was
    given for one."""
    @functools.wraps(function)
    def checked(*args, **keywords):
        try:
            return function(*args, **keywords)
        except AttributeError as error:
            wrong = [(name, value) for name, value in _given(function, args, keywords)
                     if value is error.obj and not isinstance(value, Tensor)]
            if not wrong:
                raise
            raise TypeError(f"{function.__name__}(): argument '{wrong[0][0]}' must be weft.Tensor, "
                            f"got {type(wrong[0][1]).__name__}") from None

    return checked


def _given(function, args, keywords):
    import inspect

    return inspect.signature(function).bind_partial(*args, **keywords).arguments.items()


def method(function):
    """Makes `function`, with named(), Tensor.NAME, too."""
    checked = named(function)
    setattr(Tensor, function.__name__, checked)
    return checked


def require_tensor(name, value, argument="input"):
    """Raises if `value` is no tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name}(): argument '{argument}' must be weft.Tensor, "
                        f"got {type(value).__name__}")
    return value


def refuse(name, expected, got):
    """The error of an argument that does not fit."""
    return _core.InvalidArgumentError(f"[{name}] expected {expected}, got {got}")


def recorded(name, output, inputs, slopes):
    """`output`, computed from `inputs` without history, with one in which the gradient of input i
    is slopes(dy, *inputs)[i], summed to its shape."""
    if not (_core.is_grad_enabled() and any(x.requires_grad for x in inputs)):
        return output

    def backward(saved, gradient):
        return [None if slope is None else sum_to_size(slope, x.shape).to(x.dtype)
                for slope, x in zip(slopes(gradient, *saved), saved)]

    return _core._apply_function(name, output, list(inputs), list(inputs), backward)


def sum_to_size(x, size):
    """x summed over the axes along which a tensor of `size` would be repeated."""
    if tuple(x.shape) == tuple(size):
        return x
    ahead = x.ndim - len(size)
    axes = [*range(ahead), *(ahead + i for i, length in enumerate(size)
                             if length == 1 and x.shape[ahead + i] != 1)]
    summed = x.sum(axes, True) if axes else x
    return summed.reshape(tuple(size))


def number_or_tensor(value, beside):
    """`value` as a tensor that can stand beside another one."""
    return value if isinstance(value, Tensor) else _core.tensor(value, dtype=beside.dtype)


def kind_of(dtype):
    """0 for bool, 1 for whole numbers, 2 for floats: values go into a type of no lower kind."""
    return 2 if dtype.is_floating_point else 0 if dtype.name == "bool" else 1


def axes_in(name, dim, ndim):
    """One axis or several, counted from the front."""
    wanted = [dim] if hasattr(dim, "__index__") else list(dim)
    found = []
    for axis in wanted:
        if not -max(ndim, 1) <= axis < max(ndim, 1):
            raise refuse(name, f"an axis in [{-max(ndim, 1)}, {max(ndim, 1)})", axis)
        found.append(axis % max(ndim, 1))
    return found
