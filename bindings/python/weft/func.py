"""weft.func: derivatives as functions of functions, with the names of torch.func."""
import functools

from weft import _core
from weft._derivatives.directions import jvp, linearize, vjp
from weft._derivatives.jacobians import hessian, jacfwd, jacrev
from weft._derivatives.run import leaf_of, places_of, slopes as _slopes, working
from weft._derivatives.trees import mapped as _mapped, tensors as _tensors

Tensor = _core.Tensor
__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
           "linearize", "stack_module_state", "vjp", "vmap"]


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that gives the gradients of func(...), one value, and that value.

    argnums: the argument, or a tuple of those, to which the gradients belong; an argument may be a
    tensor, or a tuple, a list or a dict of them. has_aux: func gives (value, whatever else)."""

    @functools.wraps(func, updated=())
    def wrapped(*args, **keywords):
        places = places_of("grad", argnums, args)
        given = list(args)
        with working(args) as work:
            for place in dict.fromkeys(places):
                given[place] = _mapped(lambda each: leaf_of("grad", each), args[place])
            found = func(*given, **keywords)
            value, aux = found if has_aux else (found, None)
            if not isinstance(value, Tensor) or value.numel() != 1:
                shown = list(value.shape) if isinstance(value, Tensor) else type(value).__name__
                raise _core.InvalidArgumentError(
                    f"[func.grad] expected a function of one value, got {shown}: sum it, or use "
                    "func.jacrev()")
            wanted = [given[place] for place in places]
            leaves = _tensors(wanted)
            work.reaches([value], leaves)
            keeps = work.keeps
            parts = iter(_slopes([value], leaves, [_core.ones_like(value)], keeps, keeps))
        result = tuple(_mapped(lambda _: next(parts), each) for each in wanted)
        value = value if keeps else value.detach()
        return (result if isinstance(argnums, tuple) else result[0],
                (value, aux) if has_aux else value)

    return wrapped


def grad(func, argnums=0, has_aux=False):
    """A function that gives the gradients of func(...), one value: see grad_and_value()."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func, updated=())
    def wrapped(*args, **keywords):
        slopes, value = both(*args, **keywords)
        return (slopes, value[1]) if has_aux else slopes

    return wrapped


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
    from weft._batched.mapped import vmap as of_samples

    return of_samples(func, in_dims, out_dims, randomness, chunk_size=chunk_size)
