"""Products of jacobians with vectors: vjp(), jvp() and linearize() of weft.func."""
from weft import _core
from weft._derivatives.run import Run, refuse
from weft._derivatives.trees import leaves, mapped, structure

Tensor = _core.Tensor


def _checked(name, what, given, like):
    """The tensors of `given`, which correspond to those of `like`."""
    if structure(given) != structure(like):
        raise refuse(name, f"{what} in the tuples, lists and dicts of what they belong to",
                     f"{_shown(given)} beside {_shown(like)}")
    found = leaves(given)
    for each, other in zip(found, leaves(like)):
        if not isinstance(each, Tensor):
            raise TypeError(f"{name}() expects tensors as {what}, got {type(each).__name__}")
        if tuple(each.shape) != tuple(other.shape):
            raise refuse(name, f"{what} of shape {list(other.shape)}", list(each.shape))
    return [each.to(other.dtype) for each, other in zip(found, leaves(like))]


def _shown(value):
    return "a tensor" if isinstance(value, Tensor) else f"{type(value).__name__} of {len(value)}" if (
        isinstance(value, (tuple, list, dict))) else type(value).__name__


def _filled(tree, found):
    """`tree` with the next of `found` in the place of each tensor."""
    parts = iter(found)
    return mapped(lambda _: next(parts), tree)


def vjp(func, *primals, has_aux=False):
    """(func(*primals), a function of v, of the output's structure, that gives the gradients of
    v . func as a tuple, one for each of the primals); with has_aux, func gives (output, aux), and
    aux comes third."""
    if not primals:
        raise refuse("vjp", "at least one argument of the function", "none")
    run = Run("vjp", func, primals, tuple(range(len(primals))), None, has_aux)

    def back(cotangents, retain_graph=True, create_graph=None):
        now = run.here()
        seeds = _checked("vjp", "cotangents", cotangents, now.output)
        return tuple(_filled(now.arguments, now.pull(seeds, create_graph)))

    output = run.kept(run.output)
    return (output, back, run.kept(run.aux)) if has_aux else (output, back)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), its change along the tangents), by two passes backward; with has_aux, func
    gives (output, aux), and aux comes third."""
    run = _at("jvp", func, _several("jvp", "primals", primals), has_aux)
    along = _checked("jvp", "tangents", tuple(_several("jvp", "tangents", tangents)), primals)
    change = _filled(run.output, run.push(along))
    output = run.kept(run.output)
    return (output, change, run.kept(run.aux)) if has_aux else (output, change)


def _several(name, what, value):
    """The tensors that a tuple or a list gives, or a TypeError."""
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"{name}(): argument '{what}' must be a tuple of tensors, got "
                        f"{type(value).__name__}")
    return value


def _at(name, func, primals, has_aux=False):
    if not primals:
        raise refuse(name, "at least one argument of the function", "none")
    return Run(name, func, primals, tuple(range(len(primals))), None, has_aux)


def linearize(func, *primals):
    """(func(*primals), a function of tangents that gives the change of func along them). The second
    runs func no more, but goes backward through its history twice."""
    run = _at("linearize", func, primals)

    def along(*tangents):
        now = run.here()
        return _filled(now.output, now.push(_checked("linearize", "tangents", tangents, primals)))

    return run.kept(run.output), along
