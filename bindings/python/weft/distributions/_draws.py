"""Draws that Weft has no kernel for, by rejection, and how they move with their parameters.

All of it is drawn from Weft's generator, in float64.
"""
import math

import weft
from weft import _core
from weft._limits import finfo
from weft._names._table import recorded
from weft.distributions import _implicit

_f64 = weft.float64


def until_accepted(count, propose):
    """`count` draws: propose(places) gives proposals for those of them, and which are accepted."""
    drawn = weft.zeros(count, dtype=_f64)
    waiting = weft.arange(count)
    while waiting.numel():
        proposals, accepted = propose(waiting)
        drawn[waiting[accepted]] = proposals[accepted]
        waiting = waiting[~accepted]
    return drawn


def uniform_above_zero(shape, dtype=_f64):
    """Uniform values in (0, 1]."""
    return 1 - _core.rand(shape, dtype=dtype)


def log_gammas(concentration):
    """Logarithms of draws of gamma distributions of rate 1, in float64.

    Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; a shape below 1 by
    that of shape + 1 and a power of a uniform draw, in logarithms, so that nothing underflows.
    """
    shapes = concentration.detach().double().reshape(-1)
    low = shapes < 1
    third = weft.where(low, shapes + 1, shapes) - 1 / 3
    scale = (9 * third).rsqrt()

    def propose(places):
        d, c = third[places], scale[places]
        normal = _core.randn(places.shape, dtype=_f64)
        cube = (1 + c * normal).pow(3)
        logs = cube.clamp(min=1e-300).log()
        bound = normal.square() / 2 + d * (1 - cube + logs)
        return d.log() + logs, (cube > 0) & (uniform_above_zero(places.shape).log() < bound)

    drawn = until_accepted(shapes.numel(), propose)
    powers = uniform_above_zero(shapes.shape).log() / shapes
    return weft.where(low, drawn + powers, drawn).reshape(concentration.shape)


def _once(name, slope, inputs):
    """`slope`, of which no further derivative is known."""
    def refuse(gradient, *_):
        raise NotImplementedError(f"the slope of {name} by its shape has no derivative of its own: "
                                  f"second derivatives of rsample() are not there")

    return recorded(f"slope of {name}", slope, inputs, refuse)


def standard_gamma(concentration):
    """Draws of the gamma distribution of rate 1, with gradients to the shape."""
    with weft.no_grad():
        exact = log_gammas(concentration).exp()
        drawn = exact.to(concentration.dtype).clamp(min=finfo(concentration.dtype).tiny)

    def slopes(gradient, shape):
        with weft.no_grad():
            slope = _implicit.gamma_slope(exact, shape).to(gradient.dtype)
        return [gradient * _once("a gamma draw", slope, [shape])]

    return recorded("standard_gamma", drawn, [concentration], slopes)


def dirichlet(concentration):
    """Draws of the Dirichlet distribution along the last axis, with gradients."""
    with weft.no_grad():
        exact = log_gammas(concentration).softmax(-1)
        drawn = exact.to(concentration.dtype)

    def slopes(gradient, shapes):
        with weft.no_grad():
            total = shapes.sum(-1, True).expand(shapes.shape)
            slope = _implicit.beta_slope(exact, shapes, total).to(gradient.dtype)
        slope = _once("a Dirichlet draw", slope, [shapes])
        return [slope * (gradient - (drawn * gradient).sum(-1, True))]

    return recorded("dirichlet", drawn, [concentration], slopes)


def binomial(count, probs):
    """Draws of the binomial distribution, in the type of `probs`; takes tensors of one shape.

    Where fewer than 10 are expected by inversion, else by rejection (Hormann, "The generation of
    binomial random variates", 1993).
    """
    n, p = count.double().reshape(-1), probs.detach().double().reshape(-1)
    rare = weft.minimum(p, 1 - p)
    many = n * rare >= 10
    drawn = weft.zeros_like(n)
    for which, method in ((many, _binomial_by_rejection), (~many, _binomial_by_inversion)):
        places = which.nonzero().reshape(-1)
        if places.numel():
            drawn[places] = method(n[places], rare[places])
    return weft.where(p > 0.5, n - drawn, drawn).reshape(probs.shape).to(probs.dtype)


def _binomial_by_inversion(n, p):
    """Counts how many terms of the sum of probabilities a uniform draw exceeds."""
    odds = p / (1 - p)
    term = (n * (-p).log1p()).exp()
    left, drawn = _core.rand(n.shape, dtype=_f64) - term, weft.zeros_like(n)
    while True:
        going = (left >= 0) & (drawn < n)
        if not going.any():
            return drawn
        drawn = drawn + going.to(_f64)
        term = term * odds * ((n - drawn + 1) / drawn.clamp(min=1))
        left = weft.where(going, left - term, -1.0)


def _binomial_by_rejection(n, p):
    deviation = (n * p * (1 - p)).sqrt()
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * deviation
    mode = ((n + 1) * p).floor()
    log_odds = p.log() - (-p).log1p()
    height = (mode + 1).lgamma() + (n - mode + 1).lgamma()

    def propose(places):
        u = _core.rand(places.shape, dtype=_f64) - 0.5
        v = uniform_above_zero(places.shape)
        near = 0.5 - u.abs()
        k = ((2 * a[places] / near + b[places]) * u + n[places] * p[places] + 0.5).floor()
        inside = (k >= 0) & (k <= n[places])
        at = weft.where(inside, k, mode[places])
        ratio = (height[places] - (at + 1).lgamma() - (n[places] - at + 1).lgamma()
                 + (at - mode[places]) * log_odds[places])
        tried = (v * alpha[places] / (a[places] / near.square() + b[places])).log()
        return at, inside & (tried <= ratio)

    return until_accepted(n.numel(), propose)


def multinomial_counts(count, probs):
    """How often each of the classes along the last axis comes in `count` draws."""
    flat = probs.detach().double().reshape(-1, probs.shape[-1])
    left, rest = weft.full(flat.shape[:1], float(count), dtype=_f64), flat.flip(-1).cumsum(-1)
    rest = rest.flip(-1)  # the probability of this class and all after it
    counts = []
    for number in range(flat.shape[-1] - 1):
        share = flat[:, number] / rest[:, number].clamp(min=1e-300)
        drawn = binomial(left, share.clamp(0, 1))
        counts.append(drawn)
        left = left - drawn
    return weft.stack([*counts, left], -1).reshape(probs.shape).to(probs.dtype)


def von_mises(concentration):
    """Angles around 0, in float64 (Best and Fisher, "Efficient simulation of the von Mises
    distribution", 1979)."""
    kappa = concentration.detach().double().reshape(-1)
    tau = 1 + (1 + 4 * kappa.square()).sqrt()
    rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
    # For small concentrations that is a difference of near values: the first term of its series.
    rho = weft.where(kappa < 1e-4, kappa / 2, rho)
    r = (1 + rho.square()) / (2 * rho)

    def propose(places):
        z = (math.pi * _core.rand(places.shape, dtype=_f64)).cos()
        f = ((1 + r[places] * z) / (r[places] + z)).clamp(-1, 1)
        c = kappa[places] * (r[places] - f)
        accepted = (c / uniform_above_zero(places.shape)).log() + 1 - c >= 0
        side = weft.where(_core.rand(places.shape, dtype=_f64) < 0.5, -1.0, 1.0)
        return side * f.acos(), accepted

    return until_accepted(kappa.numel(), propose).reshape(concentration.shape)
