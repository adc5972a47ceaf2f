"""weft.distributions: what policies, latent variables and models are drawn from.

Each distribution has batch_shape and event_shape, sample(), log_prob(), and what else its law has
in closed form; rsample() passes gradients to the parameters. Parameters and values are checked
unless validate_args=False. Draws come from Weft's generator: weft.manual_seed() repeats them.
"""
import sys as _sys

from weft.distributions import constraints, transforms, utils  # noqa: F401
from weft.distributions.distribution import Distribution, ExponentialFamily  # noqa: F401
from weft.distributions.categories import (  # noqa: F401
    Categorical, Multinomial, OneHotCategorical, OneHotCategoricalStraightThrough)
from weft.distributions.circular import VonMises  # noqa: F401
from weft.distributions.compound import (  # noqa: F401
    Independent, MixtureSameFamily, TransformedDistribution)
from weft.distributions.constraint_registry import biject_to, transform_to  # noqa: F401
from weft.distributions.counts import (  # noqa: F401
    Bernoulli, Binomial, ContinuousBernoulli, Geometric, NegativeBinomial, Poisson)
from weft.distributions.derived import (  # noqa: F401
    Gumbel, HalfCauchy, HalfNormal, Kumaraswamy, LogisticNormal, LogNormal, Pareto, Weibull)
from weft.distributions.gammas import (  # noqa: F401
    Beta, Chi2, Dirichlet, Exponential, FisherSnedecor, Gamma, StudentT)
from weft.distributions.gaussians import (  # noqa: F401
    LowRankMultivariateNormal, MultivariateNormal)
from weft.distributions.kl import kl_divergence, register_kl  # noqa: F401
from weft.distributions import _kl_pairs, _kl_same  # noqa: F401  (register what is known)
from weft.distributions.location_scale import Cauchy, Laplace, Normal, Uniform  # noqa: F401
from weft.distributions.matrices import LKJCholesky, Wishart  # noqa: F401
from weft.distributions.relaxed import RelaxedBernoulli, RelaxedOneHotCategorical  # noqa: F401
from weft.distributions.transforms import *  # noqa: F401,F403

# PyTorch has a module for each class: weft.distributions.normal is the one with Normal, and so on.
_MODULES = {
    "categories": ("categorical", "multinomial", "one_hot_categorical"),
    "circular": ("von_mises",),
    "compound": ("independent", "mixture_same_family", "transformed_distribution"),
    "counts": ("bernoulli", "binomial", "continuous_bernoulli", "geometric", "negative_binomial",
               "poisson"),
    "derived": ("gumbel", "half_cauchy", "half_normal", "kumaraswamy", "log_normal",
                "logistic_normal", "pareto", "weibull"),
    "distribution": ("exp_family",),
    "gammas": ("beta", "chi2", "dirichlet", "exponential", "fishersnedecor", "gamma", "studentT"),
    "gaussians": ("lowrank_multivariate_normal", "multivariate_normal"),
    "location_scale": ("cauchy", "laplace", "normal", "uniform"),
    "matrices": ("lkj_cholesky", "wishart"),
    "relaxed": ("relaxed_bernoulli", "relaxed_categorical"),
}
for _module, _names in _MODULES.items():
    for _name in _names:
        globals()[_name] = _sys.modules[f"{__name__}.{_name}"] = globals()[_module]

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli",
    "Dirichlet", "Distribution", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma",
    "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "Kumaraswamy", "LKJCholesky",
    "Laplace", "LogNormal", "LogisticNormal", "LowRankMultivariateNormal", "MixtureSameFamily",
    "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical",
    "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "RelaxedBernoulli",
    "RelaxedOneHotCategorical", "StudentT", "TransformedDistribution", "Uniform", "VonMises",
    "Weibull", "Wishart", "biject_to", "kl_divergence", "register_kl", "transform_to",
    *transforms.__all__]
