"""Divergences of distributions of one class, in closed form."""
import math

import weft
from weft.distributions.categories import Categorical, OneHotCategorical
from weft.distributions.compound import Independent, TransformedDistribution
from weft.distributions.counts import (
    Bernoulli, Binomial, ContinuousBernoulli, Geometric, Poisson)
from weft.distributions.derived import Gumbel, HalfNormal, Pareto
from weft.distributions.distribution import ExponentialFamily
from weft.distributions.gammas import Beta, Dirichlet, Exponential, Gamma
from weft.distributions.gaussians import LowRankMultivariateNormal, MultivariateNormal
from weft.distributions.kl import kl_divergence, register_kl
from weft.distributions.location_scale import Cauchy, Laplace, Normal, Uniform
from weft.distributions.utils import euler_constant, sum_rightmost
from weft.nn.functional import softplus


def _weighted(weight, difference, impossible):
    """weight * difference; 0 where the weight is 0, infinity where q makes the event impossible."""
    product = weft.where(impossible, math.inf, weight * difference)
    return weft.where(weight == 0, 0.0, product)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    yes = _weighted(p.probs, softplus(-q.logits) - softplus(-p.logits), q.probs == 0)
    no = _weighted(1 - p.probs, softplus(q.logits) - softplus(p.logits), q.probs == 1)
    return yes + no


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    return _weighted(p.probs, p.logits - q.logits, q.probs == 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p, q):
    return _categorical(p._categorical, q._categorical)


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("no divergence of Binomials is known where q has a higher "
                                  "total_count than p")
    each = (p.probs * (p.logits - q.logits) + softplus(q.logits) - softplus(p.logits))
    return weft.where(p.total_count > q.total_count, math.inf, p.total_count * each)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p, q):
    return (p.mean * (p.logits - q.logits) + softplus(q.logits) - softplus(p.logits)
            + p._cont_bern_log_norm() - q._cont_bern_log_norm())


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    return (q.concentration * (p.rate / q.rate).log()
            + q.concentration.lgamma() - p.concentration.lgamma()
            + (p.concentration - q.concentration) * p.concentration.digamma()
            + p.concentration * (q.rate / p.rate - 1))


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    a, b = p.concentration, q.concentration
    logs = a.digamma() - a.sum(-1, True).digamma()  # the means of log(x)
    return q._log_normalizer(b) - p._log_normalizer(a) + ((a - b) * logs).sum(-1)


@register_kl(Beta, Beta)
def _beta(p, q):
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Normal, Normal)
def _normal(p, q):
    ratio = (p.scale / q.scale).square()
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).square() - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p, q):
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return away / q.scale + ratio * (-away / p.scale).exp() - 1 - ratio.log()


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    squares = (p.scale + q.scale).square() + (p.loc - q.loc).square()
    return squares.log() - (4 * p.scale * q.scale).log()


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    outside = (q.low > p.low) | (q.high < p.high)
    return weft.where(outside, math.inf, ((q.high - q.low) / (p.high - p.low)).log())


@register_kl(Gumbel, Gumbel)
def _gumbel(p, q):
    ratio, away = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return (away + ratio * euler_constant + ((1 + ratio).lgamma() - away).exp()
            - ratio.log() - (1 + euler_constant))


@register_kl(Pareto, Pareto)
def _pareto(p, q):
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return weft.where(p.scale < q.scale, math.inf, found)


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _gaussian(p, q):
    if p.event_shape != q.event_shape:
        raise weft._core.InvalidArgumentError(
            f"[kl_divergence] expected normal distributions of vectors of one length, got "
            f"event_shape {list(p.event_shape)} and {list(q.event_shape)}")
    traces = sum(q._trace(factor) for factor in p._factors())
    return 0.5 * (q._log_det() - p._log_det() + traces + q._mahalanobis(q.loc - p.loc)
                  - p.event_shape[0])


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p, q):
    """The divergence of Bregman of the two log normalisers."""
    if type(p) is not type(q):
        raise NotImplementedError(f"no divergence of {type(p).__name__} and {type(q).__name__} is "
                                  f"known, as they are different exponential families")
    inputs, normalizer, slopes = p._slopes()
    others, axes = q._natural_params, len(q.event_shape)
    found = q._log_normalizer(*others) - normalizer
    for mine, other, slope in zip(inputs, others, slopes):
        found = found - sum_rightmost((other - mine) * slope, axes)
    return found


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("a divergence of transformed distributions is known for equal "
                                  f"transforms alone, got {p.transforms} and {q.transforms}")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("a divergence of Independent distributions needs one "
                                  f"reinterpreted_batch_ndims, got {p.reinterpreted_batch_ndims} "
                                  f"and {q.reinterpreted_batch_ndims}")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
