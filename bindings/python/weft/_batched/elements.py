"""Rules of functions of each element: they align their operands."""
import operator

from weft import _core
from weft._batched.table import (
    aligned, elementwise, has, is_tensor, method, no_rule, rule, values, wrap)

Tensor = _core.Tensor
_OF_ONE = """
    abs ceil cos erf exp exp2 expm1 floor isfinite isinf isnan log log1p log2 logical_not neg
    reciprocal relu round rsqrt sigmoid sign sin sqrt square tanh trunc logsigmoid mish silu softsign
    gelu softplus leaky_relu elu hardtanh bitwise_not _special
""".split()
_OF_SEVERAL = """
    add sub mul div pow maximum minimum remainder floor_divide atan2 eq ne lt le gt ge logical_and
    logical_or logical_xor isclose bitwise_and bitwise_or bitwise_xor bitwise_left_shift
    bitwise_right_shift clamp where _special_of_two _nextafter
""".split()
_OPERATORS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul,
              "truediv": operator.truediv, "floordiv": operator.floordiv, "mod": operator.mod,
              "pow": operator.pow, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
              "lshift": operator.lshift, "rshift": operator.rshift, "eq": operator.eq,
              "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
              "ge": operator.ge, "neg": operator.neg, "abs": operator.abs,
              "invert": operator.invert}

for _name in (*_OF_ONE, *_OF_SEVERAL):
    elementwise(_name)
for _name, _function in _OPERATORS.items():
    elementwise(f"__{_name}__", _function)
for _name in ("_cast", "detach", "clone", "contiguous"):
    elementwise(_name, method(_name))


@rule("masked_fill")
def _masked_fill(level, input, mask, value):  # noqa: A002
    if is_tensor(value) and has(level, value):
        input, mask, value = aligned(level, (input, mask, value))  # noqa: A001
        return wrap(level, _core.where(mask, value.to(input.dtype), input))
    if not has(level, input):
        input = wrap(level, values(level, input))  # noqa: A001
    input, mask = aligned(level, (input, mask))  # noqa: A001
    return wrap(level, _core.masked_fill(input, mask, value))


@rule("requires_grad_")
def _requires_grad(level, input, requires_grad=True):  # noqa: A002
    input._value.requires_grad_(requires_grad)
    return input


def _in_place(name):
    def run(level, target, *operands, **keywords):
        if not has(level, target):
            raise _core.InvalidArgumentError(
                f"[{name}] expected a tensor with one value per sample as the target of an in-place "
                "operation with one, got a tensor that all samples share: make a new tensor (x = x + y), or begin with one that "
                "is batched (x = weft.zeros_like(y))")
        for each in operands:
            if is_tensor(each) and each.ndim > target.ndim:
                raise _core.InvalidArgumentError(
                    f"[{name}] expected an operand that broadcasts to {list(target.shape)}, got "
                    f"shape {list(each.shape)}")
        value, *others = aligned(level, (target, *operands))
        getattr(target._value, name)(*others, **keywords)
        return target

    rule(name)(run)


for _name in ("add_", "sub_", "mul_", "copy_", "fill_", "zero_"):
    _in_place(_name)


def _like(name):
    make = getattr(_core, name)

    @rule(name)
    def run(level, input, *fill, dtype=None, requires_grad=False):  # noqa: A002
        return wrap(level, make(values(level, input), *fill, dtype=dtype,
                                requires_grad=requires_grad))


for _name in ("zeros_like", "ones_like", "empty_like", "full_like"):
    _like(_name)


@rule("tensor")
def _tensor(level, data, *, dtype=None, requires_grad=False):
    if not has(level, data):
        no_rule("tensor", "join tensors of vmap() with weft.stack()")
    made = data.detach().clone()
    made = made if dtype is None else made.to(dtype)
    return made.requires_grad_() if requires_grad else made


@rule("asarray")
def _asarray(level, obj, *, dtype=None, copy=None):
    if not has(level, obj):
        no_rule("asarray", "join tensors of vmap() with weft.stack()")
    made = obj if dtype is None else obj.to(dtype)
    return made.clone() if copy and made is obj else made
