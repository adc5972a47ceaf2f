"""vmap() against what it stands for: a loop over the samples, whose results are stacked."""
import itertools

import numpy as np

import weft
from weft import func
from oracle import assert_close

SAMPLES = 3


def leaves(value):
    """The tensors of nested tuples, lists and dicts."""
    if isinstance(value, dict):
        return [each for key in value for each in leaves(value[key])]
    if isinstance(value, (tuple, list)):
        return [each for part in value for each in leaves(part)]
    return [value]


def by_loop(function, arguments, dims):
    """The leaves of function's results, sample by sample, stacked."""
    count = next(x.shape[dim] for x, dim in zip(arguments, dims) if dim is not None)
    rows = [leaves(function(*(x if dim is None else x.select(dim, i)
                              for x, dim in zip(arguments, dims)))) for i in range(count)]
    return [weft.stack(list(each)) for each in zip(*rows)]


def drawn(kinds, dims, seed):
    """Arguments with SAMPLES samples along those axes."""
    generator = np.random.default_rng(seed)
    found = []
    for kind, dim in zip(kinds, dims):
        x = kind.draw(generator, () if dim is None else (SAMPLES,))
        found.append(x if not dim else x.movedim(0, dim).contiguous())
    return found


def choices(kinds, first_has_batch=False):
    """All ways in which some arguments have a batch: in front, or behind all axes."""
    ways = [dims for dims in itertools.product((0, None), repeat=len(kinds))
            if any(dim is not None for dim in dims) and (dims[0] is not None or not first_has_batch)]
    return [*ways, tuple(-1 for _ in kinds)]


def assert_same(got, want, what):
    """Equal types and shapes, and close values, of all leaves."""
    assert len(got) == len(want), f"{what}: {len(got)} results where {len(want)} were expected"
    for one, other in zip(got, want):
        assert one.dtype is other.dtype, f"{what}: {one.dtype} where {other.dtype} was expected"
        rtol = {weft.float32: 1e-4, weft.float16: 4e-3, weft.bfloat16: 3e-2}.get(one.dtype, 1e-6)
        try:
            assert_close(one.detach().double(), other.detach().double(), rtol, rtol / 10)
        except AssertionError as error:
            raise AssertionError(f"{what}: {error}") from None


def slopes(results, arguments, seed):
    """The gradients of a weighted sum of the results for the floating arguments."""
    generator = np.random.default_rng(seed)
    total = None
    for each in results:
        if each.requires_grad:
            weights = weft.tensor(generator.standard_normal(tuple(each.shape))).to(each.dtype)
            part = (each * weights).sum().double()
            total = part if total is None else total + part
    wanted = [x for x in arguments if x.requires_grad]
    if total is None or not wanted:
        return []
    found = weft.autograd.grad(total, wanted, allow_unused=True)
    return [weft.zeros_like(x) if each is None else each for x, each in zip(wanted, found)]


def check(function, kinds, dims, seed=0):
    """Values and gradients of vmap() are those of the loop."""
    arguments = [x.requires_grad_() if x.is_floating_point() else x
                 for x in drawn(kinds, dims, seed)]
    what = f"in_dims {dims}"
    got = leaves(func.vmap(function, dims)(*arguments))
    want = by_loop(function, arguments, dims)
    assert_same(got, want, what)
    for one, other in zip(slopes(got, arguments, seed), slopes(want, arguments, seed)):
        assert_same([one], [other], what + ", gradients")


def check_nested(function, kinds, dims, seed=0):
    """vmap() in vmap(): the inner one over what `dims` names, the outer one over all else, or over
    everything where nothing else is left."""
    generator = np.random.default_rng(seed)
    outer = tuple(None if dim is not None else 0 for dim in dims)
    outer = outer if any(dim is not None for dim in outer) else tuple(0 for _ in dims)
    arguments = []
    for kind, inner, out in zip(kinds, dims, outer):
        lead = (*((2,) if out is not None else ()), *((SAMPLES,) if inner is not None else ()))
        x = kind.draw(generator, lead)
        arguments.append(x.movedim(len(lead) - 1, -1).contiguous() if inner == -1 else x)
    got = leaves(func.vmap(func.vmap(function, dims), outer)(*arguments))
    want = by_loop(lambda *row: by_loop(function, row, dims), arguments, outer)
    assert_same(got, want, f"in_dims {dims} in {outer}")


def check_inner_gradients(function, kinds, seed=0):
    """vmap(grad()) of a sum of the results: one gradient a sample, also of what samples share."""
    places = tuple(i for i, kind in enumerate(kinds) if kind.high is None and kind.of != "bool")

    def loss(*row):
        found = [each for each in leaves(function(*row)) if each.is_floating_point()]
        return sum((each * each.detach().cos()).sum() for each in found)

    for dims in choices(kinds):
        arguments = drawn(kinds, dims, seed)
        sample = [x if dim is None else x.select(dim, 0) for x, dim in zip(arguments, dims)]
        if not places or not any(each.is_floating_point() for each in leaves(function(*sample))):
            return
        slope = func.grad(loss, places)
        got = leaves(func.vmap(slope, dims)(*arguments))
        assert_same(got, by_loop(slope, arguments, dims), f"in_dims {dims}, gradients within")
