"""Divergences of distributions of two classes.

KL(p, q) = -entropy of p - the mean of log q(x) over draws x of p. The density of q says which means
it needs: of x, x^2, log x, log(1 - x) or e^(-x / s). p has these in closed form. Where p has draws
outside the support of q, the divergence is infinite.
"""
import math
from typing import Any, Dict

import weft
from weft.distributions.counts import Bernoulli, Binomial, ContinuousBernoulli, Poisson
from weft.distributions.derived import Gumbel, Pareto
from weft.distributions.gammas import Beta, Exponential, Gamma
from weft.distributions.kl import register_kl
from weft.distributions.location_scale import Laplace, Normal, Uniform
from weft.distributions.utils import euler_constant


def _x_log_x(x):
    return weft.xlogy(x, x)


def _mean_log(p):
    """The mean of log(x)."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + 1 / p.alpha
    return (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1  # Uniform


def _mean_log_rest(p):
    """The mean of log(1 - x), of Uniform."""
    high, low = 1 - p.low, 1 - p.high
    return (_x_log_x(high) - _x_log_x(low)) / (high - low) - 1


def _mean_exp(p, loc, scale):
    """The mean of e^((loc - x) / scale)."""
    if isinstance(p, Normal):
        return ((loc - p.loc) / scale + 0.5 * (p.scale / scale).square()).exp()
    if isinstance(p, Uniform):
        low, high = ((loc - p.high) / scale).exp(), ((loc - p.low) / scale).exp()
        return (high - low) * scale / (p.high - p.low)
    shape = p.concentration if isinstance(p, Gamma) else 1  # Gamma or Exponential
    return (loc / scale).exp() * (1 + 1 / (p.rate * scale)).pow(-shape)


def _with_moment(p, order):
    """p, where it is a Pareto without a mean of x^order one that has it: a divergence is infinite
    there, and passes no gradients."""
    if not isinstance(p, Pareto):
        return p
    return Pareto(p.scale, weft.where(p.alpha <= order, order + 1.0, p.alpha), validate_args=False)


def _mean(p):
    """The mean of x."""
    return _with_moment(p, 1).mean


def _mean_square(p, loc):
    """The mean of (x - loc)^2."""
    p = _with_moment(p, 2)
    return p.variance + (p.mean - loc).square()


# The mean of log q(x) over draws of p.
def _of_exponential(p, q):
    return q.rate.log() - q.rate * _mean(p)


def _of_gamma(p, q):
    return (q.concentration * q.rate.log() - q.concentration.lgamma()
            + (q.concentration - 1) * _mean_log(p) - q.rate * _mean(p))


def _of_normal(p, q):
    return (-0.5 * (2 * math.pi * q.scale.square()).log()
            - _mean_square(p, q.loc) / (2 * q.scale.square()))


def _of_gumbel(p, q):
    return (q.loc - p.mean) / q.scale - q.scale.log() - _mean_exp(p, q.loc, q.scale)


def _of_pareto(p, q):
    return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p)


def _of_beta(p, q):
    a, b = q.concentration1, q.concentration0
    return ((a - 1) * _mean_log(p) + (b - 1) * _mean_log_rest(p) - q._log_normalizer(a, b))


def _of_continuous_bernoulli(p, q):
    return p.mean * q.logits - weft.nn.functional.softplus(q.logits) + q._cont_bern_log_norm()


def _of_uniform(p, q):
    return -(q.high - q.low).log()


def _of_poisson(p, q):
    """log(x!) is 0 for the values 0 and 1 of Bernoulli."""
    return p.mean * q.rate.log() - q.rate


def _of_laplace(p, q):
    """The mean of |x - loc|, of Normal."""
    away = (p.loc - q.loc) / p.scale
    mean = p.scale * (math.sqrt(2 / math.pi) * (-0.5 * away.square()).exp()
                      + away * (away * math.sqrt(0.5)).erf())
    return -(2 * q.scale).log() - mean / q.scale


def _never(p, q):
    return None


def _below_zero(p, q):
    return p.low < 0


def _beyond_unit(p, q):
    return (p.low < 0) | (p.high > 1)


def _uniform_misses(p, q):
    """Whether q does not have all of [0, 1]."""
    return (q.low > 0) | (q.high < 1)


def _below_scale(p, q):
    return p.low < q.scale


def _without_mean(p, q):
    return p.alpha <= 1


def _without_variance(p, q):
    return p.alpha <= 2


def _register(type_p, type_q, mean_log_density, outside=_never):
    @register_kl(type_p, type_q)
    def divergence(p, q):
        found = -p.entropy() - mean_log_density(p, q)
        impossible = outside(p, q)
        return found if impossible is None else weft.where(impossible, math.inf, found)


_register(Bernoulli, Poisson, _of_poisson)
_register(Beta, ContinuousBernoulli, _of_continuous_bernoulli)
_outside: Dict[Any, Any] = {Uniform: _below_zero, Pareto: _without_mean}
for _p in (Beta, ContinuousBernoulli, Gamma, Pareto, Uniform):
    _register(_p, Exponential, _of_exponential, _outside.get(_p, _never))
for _p in (Beta, Exponential, Pareto, Uniform):
    _register(_p, Gamma, _of_gamma, _outside.get(_p, _never))
for _p in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform):
    _register(_p, Normal, _of_normal, _without_variance if _p is Pareto else _never)
for _p in (Exponential, Gamma, Normal, Uniform):
    _register(_p, Gumbel, _of_gumbel)
for _p in (Beta, ContinuousBernoulli):
    _register(_p, Uniform, _of_uniform, _uniform_misses)
_register(Normal, Laplace, _of_laplace)
_register(Uniform, Beta, _of_beta, _beyond_unit)
_register(Uniform, ContinuousBernoulli, _of_continuous_bernoulli, _beyond_unit)
_register(Uniform, Pareto, _of_pareto, _below_scale)


def _infinite(p, q):
    """p has draws where q has none."""
    return weft.full(weft.broadcast_shapes(p.batch_shape, q.batch_shape), math.inf,
                     dtype=p.mean.dtype)


for _p in (Beta, ContinuousBernoulli):
    register_kl(_p, Pareto)(_infinite)
for _p in (Exponential, Gamma):
    for _q in (Beta, ContinuousBernoulli, Pareto, Uniform):
        register_kl(_p, _q)(_infinite)
for _p in (Gumbel, Laplace, Normal):
    for _q in (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform):
        register_kl(_p, _q)(_infinite)
for _q in (Beta, ContinuousBernoulli, Uniform):
    register_kl(Pareto, _q)(_infinite)
for _q in (Bernoulli, Binomial):
    register_kl(Poisson, _q)(_infinite)
