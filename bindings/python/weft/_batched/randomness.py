"""Random numbers within vmap(): refused, one draw per sample, or one that all samples share, as the
randomness of the level asks for."""
from weft import _core
from weft._batched import levels
from weft._batched.table import DRAWS, METHODS, looped, native, rule, sizes_of, values, wrap

Tensor = _core.Tensor


def _refuse(name):
    raise _core.InvalidArgumentError(
        f"[{name.strip('_')}] expected vmap(..., randomness='different') for one draw per sample, or "
        "randomness='same' for one that all samples share, as random numbers are drawn within "
        "vmap(); got randomness='error'")


def _drawn(name, of_samples):
    """What a function that draws does without a BatchedTensor: of_samples(level, ...) has a draw
    per sample."""
    compute = native(name)

    def run(_, args, keywords):
        now = levels.active()
        if not now:
            return NotImplemented  # the native function computes
        level = now[-1]
        if level.randomness == "error":
            _refuse(name)
        with levels.below(level):
            if level.randomness == "same":
                return compute(*args, **keywords)
            return wrap(level, of_samples(level, compute, *args, **keywords))

    DRAWS[name] = run


def _sized(level, compute, *sizes, **keywords):
    return compute(level.size, *sizes_of(sizes), **keywords)


def _randint(level, compute, low, high=None, size=None, **keywords):
    if size is None:
        low, high, size = 0, low, high
    return compute(low, high, (level.size, *size), **keywords)


def _permutations(level, compute, n, **keywords):
    return _core.stack([compute(n, **keywords) for _ in range(level.size)])


def _of_shared(level, compute, x, *args, **keywords):
    return compute(values(level, x), *args, **keywords)


def _of_shared_rows(level, compute, x, *args, **keywords):
    return _core.stack([compute(x, *args, **keywords) for _ in range(level.size)])


def _in_place(level, compute, *args, **keywords):
    raise _core.InvalidArgumentError(
        "[vmap] expected a tensor with one value per sample as the target of random numbers that "
        "differ by sample, got one that samples share: draw with weft.randn() or weft.rand()")


for _name, _function in {"rand": _sized, "randn": _sized, "randint": _randint,
                         "randperm": _permutations, "_dropout": _of_shared, "bernoulli": _of_shared,
                         "multinomial": _of_shared_rows, "uniform_": _in_place,
                         "normal_": _in_place}.items():
    _drawn(_name, _function)


@rule("_dropout")
def _dropout(level, input, p):  # noqa: A002
    if level.randomness == "error":
        _refuse("dropout")
    with levels.below(level):
        if level.randomness == "different":
            return wrap(level, _core._dropout(input._value, p))
        kept = _core._dropout(_core.ones(tuple(input.shape), dtype=input.dtype), p)
    return input * kept


@rule("bernoulli")
def _bernoulli(level, input, *, generator=None):  # noqa: A002
    if level.randomness == "error":
        _refuse("bernoulli")
    with levels.below(level):
        if level.randomness == "different":
            return wrap(level, _core.bernoulli(input._value, generator=generator))
        drawn = _core.rand(tuple(input.shape), generator=generator)
    return (input > drawn).to(input.dtype)


@rule("multinomial")
def _multinomial(level, input, num_samples, replacement=False, *, generator=None):  # noqa: A002
    if level.randomness != "different":
        if level.randomness == "error":
            _refuse("multinomial")
        raise _core.InvalidArgumentError(
            "[multinomial] expected randomness='different' for weights that differ by sample, got "
            "'same'")
    with levels.below(level):
        return looped("multinomial")(level, input, num_samples, replacement, generator=generator)


def _filled(name):
    @rule(name)
    def run(level, input, *args, **keywords):  # noqa: A002
        if level.randomness == "error":
            _refuse(name)
        with levels.below(level):
            if level.randomness == "different":
                getattr(input._value, name)(*args, **keywords)
            else:
                one = getattr(_core.empty(tuple(input.shape), dtype=input.dtype), name)(
                    *args, **keywords)
                input._value.copy_(one)
        return input


_filled("uniform_")
_filled("normal_")


def _made_beside(name):
    """x.new_zeros(...) and its like: one per sample, so that it can be written in place."""
    from weft._batched.tensor import expanded

    plain = vars(Tensor)[name]

    def made(self, *args, requires_grad=False, **keywords):
        wanted, inner = [], self
        while hasattr(inner, "_level"):
            wanted.insert(0, inner._level)
            inner = inner._value
        found = expanded(plain(self, *args, **keywords), wanted).clone()
        return found.requires_grad_(requires_grad)

    METHODS[name] = made


for _name in ("new_zeros", "new_ones", "new_empty", "new_full", "new_tensor"):
    _made_beside(_name)
