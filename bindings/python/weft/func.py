"""weft.func: derivatives as functions of functions, with the names of torch.func."""
import functools

from weft import _core
from weft._batched.levels import per_sample as _per_sample
from weft._derivatives import jvp as _jvp
from weft._derivatives import vjp as _vjp
from weft.autograd import enable_grad
from weft.autograd import grad as _gradients

Tensor = _core.Tensor
__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacrev", "jvp",
           "stack_module_state", "vjp", "vmap"]


def _mapped(function, value):
    """`value` with function(tensor) in the place of each tensor in tuples, lists and dicts."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, (tuple, list)):
        made = [_mapped(function, each) for each in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if isinstance(value, dict):
        return type(value)((key, _mapped(function, each)) for key, each in value.items())
    return value


def _tensors(value):
    found = []
    _mapped(found.append, value)
    return found


def _depends(value):
    return any(each.requires_grad for each in _tensors(value))


class _Depth:
    """How many grad() are at work: the inner ones keep the history of their results."""

    now = 0


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that gives the gradients of func(...), one value, and that value.

    argnums: the argument, or a tuple of those, to which the gradients belong; an argument may be a
    tensor, or a tuple, a list or a dict of them. has_aux: func gives (value, whatever else)."""
    places = argnums if isinstance(argnums, tuple) else (argnums,)

    def leaf(tensor):
        if not tensor.is_floating_point():
            raise _core.InvalidArgumentError(
                f"[func.grad] expected arguments of a floating type, got {tensor.dtype}: convert "
                "it with .float(), or leave it out of argnums")
        own = tensor * 1 if tensor.requires_grad else tensor.detach().requires_grad_()
        return _per_sample(own)

    @functools.wraps(func)
    def wrapped(*args, **keywords):
        for place in places:
            if not -len(args) <= place < len(args):
                raise _core.InvalidArgumentError(
                    f"[func.grad] expected argnums of {len(args)} arguments by position, got "
                    f"{place}")
        keeps = _core.is_grad_enabled() and (_Depth.now > 0 or _depends(args))
        given = list(args)
        _Depth.now += 1
        try:
            with enable_grad():
                for place in places:
                    given[place] = _mapped(leaf, args[place])
                found = func(*given, **keywords)
        finally:
            _Depth.now -= 1
        value, aux = found if has_aux else (found, None)
        if not isinstance(value, Tensor) or value.numel() != 1:
            shown = list(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise _core.InvalidArgumentError(
                f"[func.grad] expected a function of one value, got {shown}: sum it, or use "
                "func.jacrev()")
        wanted = [given[place] for place in places]
        slopes = iter(_slopes(value, _tensors(wanted), keeps))
        result = tuple(_mapped(lambda _: next(slopes), each) for each in wanted)
        value = value if keeps else value.detach()
        return (result if isinstance(argnums, tuple) else result[0],
                (value, aux) if has_aux else value)

    return wrapped


def _slopes(value, leaves, keeps):
    if not value.requires_grad or not leaves:
        return [_core.zeros_like(each) for each in leaves]
    with enable_grad():
        found = _gradients(value, leaves, create_graph=keeps, allow_unused=True)
    return [_core.zeros_like(leaf) if each is None else each for each, leaf in zip(found, leaves)]


def grad(func, argnums=0, has_aux=False):
    """A function that gives the gradients of func(...), one value: see grad_and_value()."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapped(*args, **keywords):
        slopes, value = both(*args, **keywords)
        return (slopes, value[1]) if has_aux else slopes

    return wrapped


def jacrev(func, argnums=0):
    """A function that gives the derivatives of each value of func(...) by each value of one
    argument, a tensor."""
    from weft._derivatives import jacobian

    def wrapped(*args):
        def of_one(x):
            return func(*args[:argnums], x, *args[argnums + 1:])

        return jacobian(of_one, args[argnums], create_graph=_depends(args))

    return wrapped


def hessian(func, argnums=0):
    """A function that gives the second derivatives of func(...), one value, by one argument."""
    from weft._derivatives import hessian as second

    def wrapped(*args):
        def of_one(x):
            return func(*args[:argnums], x, *args[argnums + 1:])

        return second(of_one, args[argnums], create_graph=_depends(args))

    return wrapped


def vjp(func, *primals):
    """(func(*primals), a function of v that gives the gradients of v . func)."""
    output = func(*primals)

    def back(v):
        found = _vjp(func, primals, v)[1]
        return found if isinstance(found, tuple) else (found,)

    return output, back


def jvp(func, primals, tangents):
    """(func(*primals), the change of func along the tangents)."""
    return _jvp(func, tuple(primals), tuple(tangents))


def functional_call(module, parameters_and_buffers, args=(), kwargs=None):
    """module(*args, **kwargs) with tensors of {name: tensor}, or of several such dicts, in the place
    of its own, which it has again afterwards. Gradients flow to these tensors."""
    args = args if isinstance(args, tuple) else (args,)
    if isinstance(parameters_and_buffers, (tuple, list)):
        parameters_and_buffers = {name: value for each in parameters_and_buffers
                                  for name, value in each.items()}
    kept = []
    try:
        for name, value in parameters_and_buffers.items():
            owner, _, own = name.rpartition(".")
            place = module.get_submodule(owner)
            registry = next((kind for kind in (place._parameters, place._buffers) if own in kind),
                            None)
            if registry is None:
                raise _core.InvalidArgumentError(
                    f"[func.functional_call] expected names of parameters or buffers of "
                    f"{type(module).__name__}, got {name!r}")
            kept.append((registry, own, registry[own]))
            registry[own] = value
        return module(*args, **(kwargs or {}))
    finally:
        for registry, own, value in reversed(kept):
            registry[own] = value


def stack_module_state(models):
    """({name: parameter}, {name: buffer}) of modules of one kind, each stacked over the modules: for
    vmap() over an ensemble. The parameters are leaves of their own."""
    models = list(models)
    if not models:
        raise _core.InvalidArgumentError("[func.stack_module_state] expected modules, got none")
    for each in models:
        if type(each) is not type(models[0]) or each.training is not models[0].training:
            raise _core.InvalidArgumentError(
                "[func.stack_module_state] expected modules of one class that all train or all do "
                f"not, got {type(models[0]).__name__} and {type(each).__name__}")

    def stacked(named):
        rows = [dict(each) for each in named]
        return {name: _core.stack([row[name].detach() for row in rows]).requires_grad_(
            rows[0][name].requires_grad) for name in rows[0]}

    return (stacked(each.named_parameters() for each in models),
            stacked(each.named_buffers() for each in models))


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function that calls func once for all samples, which lie along the axes in_dims of its
    arguments, and gives its results with the samples along the axes out_dims.

    in_dims: an axis, None for an argument that all samples share, or a tuple with one part an
    argument; a part may be a tuple, list or dict as the argument is. out_dims: the same for the
    results. Arguments by keyword are shared. randomness: what random numbers within func are,
    "error", "different" or "same" for the samples. chunk_size: at most so many samples at once."""
    from weft._batched.mapped import vmap as mapped

    return mapped(func, in_dims, out_dims, randomness, chunk_size=chunk_size)
