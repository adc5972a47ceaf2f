"""Functions of elements, at kinks, at ties and where values are infinite, NaN or nearly 0."""
import numpy as np

from cases import Case

EDGES = np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, np.inf, -np.inf, np.nan, 1e-40, -1e-40,
                  1e-7, -1e-7, 88.0, -88.0, 104.0, -104.0, 3e38, -3e38, 1e10, 20.0, -20.0],
                 np.float32)
PLAIN = ("relu", "sigmoid", "tanh", "erf", "sin", "cos", "exp", "exp2", "expm1", "log", "log1p",
         "log2", "sqrt", "rsqrt", "reciprocal", "square", "abs", "neg", "floor", "ceil", "round",
         "trunc", "sign", "isnan", "isinf", "isfinite", "logical_not")
OF_LAYERS = ("silu", "mish", "softsign", "logsigmoid", "gelu")
OF_TWO = ("add", "sub", "mul", "div", "pow", "maximum", "minimum", "atan2", "remainder",
          "floor_divide", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or",
          "logical_xor")
NUMBERS = (0, 1, -1, 2, 3, -2, 0.5, -0.5, 1.5, 0.0)
# Far out, sines and cosines of float32 differ by how their argument is reduced.
NEAR = {"sin", "cos"}


def _compared(*arrays):
    """Whether gradients are: at NaN Weft's kinks have none, PyTorch's pass all of it. And whether
    second derivatives are, which are a matter of taste at kinks."""
    values = np.concatenate([array.ravel() for array in arrays])
    plain = (np.abs(values) < 100) & (np.round(values.astype(np.float64), 1) != values)
    return not np.isnan(values).any(), bool(plain.all())


def _values(draws, shape, near=False):
    kind = draws.pick(["normal", "coarse", "edges", "edges"])
    if kind == "edges" and not near:
        return EDGES[draws.randint(0, len(EDGES), shape)]
    return draws.values(*shape) if kind == "normal" else draws.coarse(*shape)


def _one(draws):
    name = draws.pick(PLAIN + OF_LAYERS)
    shape = draws.shape(0, 2, (1, 4, 9))
    extra = {"approximate": "tanh"} if name == "gelu" and draws.chance(0.5) else {}

    def call(T, F, x):
        return getattr(F if name in OF_LAYERS else T, name)(x, **extra)

    x = _values(draws, shape, name in NEAR)
    return Case(f"{name}({x.tolist()}{extra or ''})", [x], call, *_compared(x))


def _with_settings(draws):
    name = draws.pick(["softplus", "elu", "leaky_relu", "hardtanh", "clamp"])
    a, b = draws.pick([0.5, 1.0, 2.0]), draws.pick([-0.5, 0.0, 1.0, 20.0])
    x = _values(draws, draws.shape(0, 2, (1, 4, 9)))
    options = {"softplus": {"beta": a, "threshold": abs(b)}, "elu": {"alpha": a},
               "leaky_relu": {"negative_slope": b if b < 5 else 0.01},
               "hardtanh": {"min_val": -a, "max_val": a},
               "clamp": draws.pick([{"min": b}, {"max": b}, {"min": -a, "max": b}])}[name]

    def call(T, F, v):
        return v.clamp(**options) if name == "clamp" else getattr(F, name)(v, **options)

    return Case(f"{name}({x.tolist()}, {options})", [x], call, *_compared(x))


def _two(draws):
    name = draws.pick(OF_TWO)
    shape = draws.shape(0, 2, (1, 4, 9))
    x, y = _values(draws, shape), _values(draws, draws.spread(shape))
    extra = {"alpha": draws.pick([0.5, -2])} if name in ("add", "sub") and draws.chance(0.3) else {}
    return Case(f"{name}({x.tolist()}, {y.tolist()}{extra or ''})", [x, y],
                lambda T, F, a, b: getattr(T, name)(a, b, **extra), *_compared(x, y))


def _number(draws):
    """A tensor and a number, on either side."""
    sign = draws.pick(["+", "-", "*", "/", "**", "//", "%"])
    number, x = draws.pick(NUMBERS), _values(draws, draws.shape(0, 1, (4, 9)))
    right = draws.chance(0.6)
    text = f"x {sign} {number}" if right else f"{number} {sign} x"
    return Case(f"{text}, x = {x.tolist()}", [x],
                lambda T, F, v: eval(text, {"x": v}), *_compared(x))  # noqa: S307  (a text of ours)


def case(draws):
    return draws.pick([_one, _one, _with_settings, _two, _two, _number])(draws)
