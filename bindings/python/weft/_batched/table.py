"""The rules, by the name of the native function, and what rules share.

A rule is called with the level and the function's own arguments, of which at least one is a
BatchedTensor of that level or holds one; others may be tensors without a batch, also those of outer
levels. It computes with the samples' values, which may be BatchedTensors of an outer level.
"""
from weft import _core

Tensor = _core.Tensor
RULES: dict = {}
# Functions that draw random numbers: called without BatchedTensors, too, while a vmap() is at work.
DRAWS: dict = {}
# Methods of Tensor, written in Python, that make something else of a BatchedTensor.
METHODS: dict = {}
_SETTINGS = {int, float, bool, str, type(None), _core.dtype}


def no_rule(name, remedy=""):
    """Raises: the function `name` is not for BatchedTensors."""
    raise NotImplementedError(
        f"[{name.strip('_')}] there is no batched rule for '{name.lstrip('_')}' within vmap(): "
        + (remedy or "call it before or after vmap(), or loop over the samples and stack the "
           "results with weft.stack()"))


def rule(*names):
    """Registers a function as the rule for these native functions."""
    def register(function):
        for name in names:
            RULES[name] = function
        return function

    return register


def native(name):
    """The native function of that name; a method of Tensor where there is no function."""
    found = getattr(_core, name, None)
    return getattr(Tensor, name) if found is None else found


def method(name):
    """f(x, ...) as x.NAME(...), for tensors and for BatchedTensors."""
    def called(x, *args, **keywords):
        return getattr(x, name)(*args, **keywords)

    return called


def has(level, x):
    """Whether `x` is a BatchedTensor of the level."""
    return type(x) is _batched_type() and x._level is level


def _batched_type():
    global _batched_type
    from weft._batched.tensor import BatchedTensor

    def _batched_type():
        return BatchedTensor

    return BatchedTensor


def is_tensor(x):
    """Whether `x` is a tensor, of whatever level."""
    return type(x) is Tensor or isinstance(x, Tensor)


def values(level, x):
    """The samples of `x` along a first axis, repeated without a copy where all share one."""
    if has(level, x):
        return x._value
    return x.unsqueeze(0).expand(level.size, *x.shape)


def wrap(level, value):
    """The BatchedTensor of samples; of each tensor in a tuple."""
    if isinstance(value, tuple):
        made = [wrap(level, each) for each in value]
        return tuple(made) if type(value) is tuple else type(value)(made)
    if isinstance(value, list):
        return [wrap(level, each) for each in value]
    return _batched_type()(value, level)


def axis_of(name, dim, ndim):
    """An axis of one sample, counted from the front."""
    if not hasattr(dim, "__index__"):
        raise TypeError(f"{name}(): argument 'dim' must be int, got {type(dim).__name__}")
    count = max(ndim, 1)
    if not -count <= dim < count:
        raise _core.InvalidArgumentError(
            f"[{name}] expected an axis in [{-count}, {count}), got {dim}")
    return dim % count


def sizes_of(given):
    """f(2, 3) and f((2, 3)) as a list."""
    one = len(given) == 1 and not hasattr(given[0], "__index__")
    return list(given[0] if one else given)


def _promoted(operands, found, ndim):
    """The types of samples without axes count less than those of tensors with axes, though their
    batch is an axis in memory."""
    small = [i for i, x in enumerate(operands) if is_tensor(x) and x.ndim == 0]
    large = [x.dtype for x in operands if is_tensor(x) and x.ndim > 0]
    if not small or not large or ndim == 0:
        return
    together = large[0]
    for each in large[1:]:
        together = _core.promote_types(together, each)
    for i in small:
        kind = operands[i].dtype
        if kind is not together and not (
                kind.is_floating_point and not together.is_floating_point) and together is not (
                getattr(_core, "bool")):
            found[i] = found[i].to(together)


def aligned(level, operands):
    """The values of operands that broadcast by the axes of one sample: those of the level have
    axes of length 1 behind their batch."""
    ndim = max((x.ndim for x in operands if is_tensor(x)), default=0)
    found = list(operands)
    for i, x in enumerate(operands):
        if has(level, x):
            value = x._value
            missing = ndim + 1 - value.ndim
            if missing:
                shape = value.shape
                value = value.reshape(shape[0], *[1] * missing, *shape[1:])
            found[i] = value
    kinds = {x.dtype for x in operands if is_tensor(x)}
    if len(kinds) > 1:
        _promoted(operands, found, ndim)
    return found


def elementwise(name, function=None):
    """The rule of a function of each element of operands that broadcast, and of settings."""
    compute = function or native(name)

    def run(level, *operands, **keywords):
        first = operands[0]
        if not keywords and has(level, first) and all(type(x) in _SETTINGS for x in operands[1:]):
            return wrap(level, compute(first._value, *operands[1:]))
        given = aligned(level, (*operands, *keywords.values()))
        count = len(operands)
        return wrap(level, compute(*given[:count], **dict(zip(keywords, given[count:]))))

    RULES[name] = run


def looped(name):
    """The rule that calls the function once a sample."""
    compute = native(name)

    def sample(level, value, i):
        if has(level, value):
            return value._value[i]
        if isinstance(value, (tuple, list)):
            return type(value)(sample(level, each, i) for each in value)
        return value

    def run(level, *args, **keywords):
        results = [compute(*(sample(level, each, i) for each in args),
                           **{key: sample(level, each, i) for key, each in keywords.items()})
                   for i in range(level.size)]
        return wrap(level, _core.stack(results))

    return run
