"""Distributions, and what of them is compared with PyTorch: densities, shares, moments, gradients,
divergences and transforms. A row is an expression; D is the module of distributions, T makes a
tensor, `torch` is the library."""
import warnings

import calls

# A distribution, and a value of it.
CASES = (
    ("Bernoulli(T([0.2, 0.7, 1.]))", "T([0., 1., 1.])"),
    ("Bernoulli(logits=T([-1., 2.]))", "T([0., 1.])"),
    ("Beta(T([0.5, 3.]), T([2., 1.5]))", "T([0.2, 0.7])"),
    ("Beta(2., 3.)", "T(0.3)"),
    ("Binomial(5, T([0.2, 0.7]))", "T([2., 5.])"),
    ("Binomial(4, logits=T([[0.2], [-0.7]]))", "T([2., 4.])"),
    ("Binomial(4, T([0.0, 1.0]))", "T([0., 4.])"),
    ("Categorical(T([[1., 2., 3.], [0.2, 0.3, 0.5]]))", "T([0, 2])"),
    ("Categorical(logits=T([[1., 2., 3.], [0.2, 0.3, 0.5]]))", "T([[0, 2], [1, 1]])"),
    ("Cauchy(T([0., 1.]), T([1., 2.]))", "T([0.5, -3.])"),
    ("Chi2(T([1., 4.]))", "T([0.5, 3.])"),
    ("ContinuousBernoulli(T([0.2, 0.5004, 0.7]))", "T([0.3, 0.6, 0.9])"),
    ("ContinuousBernoulli(logits=T([1.5, -3., 0.]))", "T([0.3, 0.6, 0.9])"),
    ("Dirichlet(T([[0.5, 1., 3.], [2., 2., 2.]]))", "T([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]])"),
    ("Dirichlet(T([0.5, 0.1, 0.3]))", "T([0.2, 0.3, 0.5])"),
    ("Exponential(T([0.5, 2.]))", "T([0.5, 3.])"),
    ("FisherSnedecor(T([3., 5., 1.5]), T([5., 1.5, 9.]))", "T([0.5, 3., 1.])"),
    ("Gamma(T([0.5, 1., 3.]), T([2., 1.5, 1.]))", "T([0.2, 0.7, 2.])"),
    ("Geometric(T([0.2, 1.]))", "T([3., 0.])"),
    ("Geometric(logits=T([0.2, -1.]))", "T([0., 4.])"),
    ("Gumbel(T([0., 1.]), T([1., 2.]))", "T([0.5, -3.])"),
    ("HalfCauchy(T([1., 2.]))", "T([0.5, 3.])"),
    ("HalfNormal(T([1., 2.]))", "T([0.5, 3.])"),
    ("Independent(D.Normal(T([[0., 1.], [2., 3.]]), 2.), 1)", "T([0.5, -3.])"),
    ("Kumaraswamy(T([0.5, 3.]), T([2., 1.5]))", "T([0.2, 0.7])"),
    ("LKJCholesky(3, T([0.5, 2.]))",
     "torch.linalg.cholesky(T([[1., .3, .2], [.3, 1., -.4], [.2, -.4, 1.]])).expand(2, 3, 3)"),
    ("Laplace(T([0., 1.]), T([1., 2.]))", "T([0.5, -3.])"),
    ("LogNormal(T([0., 1.]), T([1., 2.]))", "T([0.5, 3.])"),
    ("LogisticNormal(T([0., 1.]), T([1., 2.]))", "T([0.2, 0.3, 0.5])"),
    ("LowRankMultivariateNormal(T([[0., 1., 2.]]), T([[1.], [2.], [.5]]), T([1., 2., .5]))",
     "T([[0.2, 0.3, 0.5], [1., 2., 3.]])"),
    ("MultivariateNormal(T([0., 1.]), T([[2., .5], [.5, 1.]]))", "T([[[0.2, 0.3]], [[1., 2.]]])"),
    ("MultivariateNormal(T([[0., 1.], [2., 3.]]), precision_matrix=T([[2., .5], [.5, 1.]]))",
     "T([[0.2, 0.3], [1., 2.]])"),
    ("MultivariateNormal(T([0., 1.]), scale_tril=T([[[2., 0.], [.5, 1.]], [[1., 0.], [2., 3.]]]))",
     "torch.arange(8.).reshape(2, 2, 2)[:, :1]"),
    ("MixtureSameFamily(D.Categorical(T([.3, .7])), D.Normal(T([0., 1.]), T([1., 2.])))",
     "T(0.5)"),
    ("MixtureSameFamily(D.Categorical(T([.3, .7])), D.Independent(D.Normal("
     "T([[0., 1.], [2., 3.]]), T([1., 2.])), 1))", "T([0.5, -3.])"),
    ("Multinomial(4, T([.2, .3, .5]))", "T([1., 1., 2.])"),
    ("Multinomial(4, logits=T([[.2, .3, .5], [1., 2., 3.]]))", "T([1., 1., 2.])"),
    ("NegativeBinomial(T([3., 2.5]), T([.2, .7]))", "T([1., 4.])"),
    ("NegativeBinomial(3., logits=T([.2, .7]))", "T([1., 0.])"),
    ("Normal(T([0., 1.]), T([1., 2.]))", "T([0.5, -3.])"),
    ("Normal(0., 2.)", "T([[0.5, -3.]])"),
    ("OneHotCategorical(T([.2, .3, .5]))", "T([0., 1., 0.])"),
    ("OneHotCategoricalStraightThrough(logits=T([[.2, .3, .5]]))", "T([0., 1., 0.])"),
    ("Pareto(T([1., 2., 1.]), T([3., 0.5, 1.5]))", "T([2.5, 3., 2.])"),
    ("Poisson(T([1., 2.]))", "T([0., 3.])"),
    ("RelaxedBernoulli(T(0.7), T([.2, .7]))", "T([.3, .4])"),
    ("RelaxedBernoulli(T(0.7), logits=T([.2, .7]))", "T([.3, .4])"),
    ("RelaxedOneHotCategorical(T(0.7), T([.2, .3, .5]))", "T([.3, .4, .3])"),
    ("RelaxedOneHotCategorical(T(0.7), logits=T([[.2, .3, .5]]))", "T([.3, .4, .3])"),
    ("StudentT(T([.5, 1.5, 5.]), 1., 2.)", "T([.3, .4, -3.])"),
    ("TransformedDistribution(D.Normal(T([0., 1.]), 2.), [D.TanhTransform(), "
     "D.AffineTransform(1., T([-2., 3.]))])", "T([0.5, 2.])"),
    ("TransformedDistribution(D.Normal(T([0., 1.]), 2.), D.ExpTransform())", "T([0.5, 2.])"),
    ("Uniform(T([0., 1.]), T([2., 5.]))", "T([1., 2.])"),
    ("VonMises(T([0., 1.]), T([.2, 5.]))", "T([1., 2.])"),
    ("Weibull(T([1., 2.]), T([3., 1.5]))", "T([2.5, 3.])"),
    ("Wishart(T([3., 5.]), T([[2., .5], [.5, 1.]]))", "T([[1., .2], [.2, 2.]])"),
    ("Wishart(4., precision_matrix=T([[2., .5], [.5, 1.]]))", "T([[1., .2], [.2, 2.]])"),
    ("Wishart(T(4.5), scale_tril=T([[2., 0.], [.5, 1.]]))", "T([[1., .2], [.2, 2.]])"),
)
ASKED = """log_prob({v}) cdf({v}) icdf(torch.full_like({v},0.3)) entropy() perplexity() mean mode
    variance stddev batch_shape event_shape has_rsample has_enumerate_support enumerate_support()
    enumerate_support(False) covariance_matrix precision_matrix scale_tril probs logits support
    param_shape""".split()
# Pairs of classes that have a divergence, by the classes' parameters.
OBJECTS = {
    "Bernoulli": "(T([.2, 1.])) (T([.4, .1]))",
    "Binomial": "(4, T([.2, .7])) (4, T([.4, .1]))",
    "Beta": "(T([.5, 3.]), T([2., 1.5])) (T([1.5, 2.]), 2.5)",
    "Categorical": "(T([.2, .3, .5])) (T([[.1, .1, .8], [.5, .5, 0.]]))",
    "Cauchy": "(T([0., 1.]), 2.) (1., T([2., 3.]))",
    "ContinuousBernoulli": "(T([.2, .7])) (T([.4, .9]))",
    "Dirichlet": "(T([.5, 1., 3.])) (T([[2., 1., .3], [1., 1., 1.]]))",
    "Exponential": "(T([.5, 2.])) (T([1.5, .3]))",
    "Gamma": "(T([.5, 3.]), T([2., 1.5])) (1.5, T([1., .4]))",
    "Geometric": "(T([.2, .7])) (T([.4, .1]))", "Gumbel": "(T([0., 1.]), 2.) (1., T([2., 3.]))",
    "HalfNormal": "(T([1., 2.])) (T([3., .5]))", "Laplace": "(T([0., 1.]), 2.) (1., T([2., 3.]))",
    "LogNormal": "(T([0., 1.]), 2.) (1., T([2., 3.]))",
    "LowRankMultivariateNormal": "(T([0., 1.]), T([[1.], [2.]]), T([1., .5])) "
                                 "(T([[1., 1.], [0., 2.]]), T([[[.5], [1.]]]), T([.3, .4]))",
    "MultivariateNormal": "(T([0., 1.]), T([[2., .5], [.5, 1.]])) (T([[1., 1.], [0., 2.]]), "
                          "T([[1., .2], [.2, 3.]]))",
    "Normal": "(T([0., 1.]), 2.) (1., T([2., 3.]))",
    "OneHotCategorical": "(T([.2, .3, .5])) (T([.1, .1, .8]))",
    "Pareto": "(T([1., 2.]), T([3., .9])) (T([.5, 3.]), T([2., 1.]))",
    "Poisson": "(T([1., 2.])) (T([3., .5]))",
    "Uniform": "(T([.1, .2]), T([.5, .9])) (T([0., .3]), T([.6, 2.]))",
    "Wishart": "(4., T([[2., .5], [.5, 1.]])) (T(5.), T([[1., .2], [.2, 3.]]))",
    "Chi2": "(T([1., 4.])) (T([2., 3.]))",
}
# A transform, and a value that it takes.
TRANSFORMS = (
    ("D.ExpTransform()", "T([0.2, -1.])"), ("D.AbsTransform()", "T([0.2, -1.])"),
    ("D.SigmoidTransform()", "T([0.2, -1.])"), ("D.TanhTransform()", "T([0.2, -1.])"),
    ("D.transforms.SoftplusTransform()", "T([0.2, -1.])"),
    ("D.PowerTransform(2.5)", "T([0.2, 1.])"),
    ("D.PowerTransform(T([2., .5]))", "T([0.2, 1.])"),
    ("D.AffineTransform(1., -2.)", "T([0.2, 1.])"),
    ("D.AffineTransform(T([1., 2.]), T([3., -4.]), event_dim=1)", "T([0.2, 1.])"),
    ("D.SoftmaxTransform()", "T([0.2, -1., 2.])"),
    ("D.StickBreakingTransform()", "T([[0.2, -1., 2.], [0., 0., 0.]])"),
    ("D.LowerCholeskyTransform()", "T([[0.2, -1.], [2., 1.]])"),
    ("D.CorrCholeskyTransform()", "T([[0.2, -1., 0.5], [0., 0., 0.]])"),
    ("D.CorrCholeskyTransform()", "T([0.2, -1., 0.5, 0.3, 0.1, -0.2])"),
    ("D.ReshapeTransform((2, 3), (6,))", "torch.arange(6.).reshape(1, 2, 3)"),
    ("D.IndependentTransform(D.ExpTransform(), 1)", "T([[0.2, -1.]])"),
    ("D.CatTransform([D.ExpTransform(), D.AffineTransform(0., 2.)], -1, [1, 2])",
     "T([[0.2, -1., 2.]])"),
    ("D.StackTransform([D.ExpTransform(), D.AffineTransform(0., 2.)], 1)", "T([[0.2, -1.]])"),
    ("D.transforms.CumulativeDistributionTransform(D.Normal(0., 2.))", "T([0.2, -1.])"),
    ("D.ComposeTransform([D.AffineTransform(1., 2.), D.StickBreakingTransform(), "
     "D.ExpTransform()])", "T([[0.2, -1.]])"),
    ("D.ComposeTransform([])", "T([0.2])"),
)
CONSTRAINTS = (
    "real", "positive", "nonnegative", "unit_interval", "greater_than(1.)", "greater_than_eq(1.)",
    "less_than(2.)", "interval(-1., 3.)", "half_open_interval(0., T([1., 2.]))", "simplex",
    "lower_cholesky", "corr_cholesky", "independent(C.positive, 1)", "real_vector",
    "stack([C.positive, C.real], -1)", "cat([C.positive, C.unit_interval], -1, [1, 1])")
CHECKS = (
    "boolean T([0.,1.,.5])", "one_hot T([[0.,1.],[1.,1.]])", "nonnegative_integer T([0.,-1.,.5])",
    "positive_integer T([0.,1.])", "integer_interval(0,3) T([0.,4.,2.5])", "real T([1.,math.nan])",
    "simplex T([[.5,.5],[.5,.6],[-1.,2.]])", "multinomial(3) T([[1.,2.],[2.,2.]])",
    "lower_triangular T([[1.,0.],[2.,0.]])", "lower_cholesky T([[1.,0.],[2.,0.]])",
    "corr_cholesky T([[1.,0.],[.6,.8]])", "square T([[1.,0.]])", "symmetric T([[1.,2.],[2.,0.]])",
    "positive_semidefinite T([[1.,0.],[0.,0.]])", "positive_definite T([[1.,0.],[0.,0.]])",
    "half_open_interval(0,1) T([0.,1.])", "less_than(1) T([0.,1.])",
    "stack([C.positive,C.real],-1) T([0.,1.])", "cat([C.positive,C.real],-1) T([0.,-1.])")
# Further rows.
OTHERS = (
    "D.kl_divergence(D.ContinuousBernoulli(T(.25)), D.Uniform(T(0.), 1.))",
    "D.kl_divergence(D.Uniform(T(0.), 1.), D.ContinuousBernoulli(T(.25)))",
    "D.kl_divergence(D.Uniform(T(-1.), 1.), D.ContinuousBernoulli(T(.25)))",
    "D.kl_divergence(D.Uniform(T(0.), 1.), D.Gamma(T(2.), 3.))",
    "D.kl_divergence(D.Uniform(T(0.), 1.), D.Beta(T(2.), 3.))",
    "D.kl_divergence(D.Uniform(T(-1.), 1.), D.Gamma(T(2.), 3.))",
    "D.Multinomial(4, T([.2, .3, .5])).expand((2,)).entropy()",
    "D.MultivariateNormal(T([0., 1.]), T([[2., .5], [.5, 1.]])).expand((2,)).entropy()",
    "D.Normal(T([0.]), 1.) == D.Normal(T([0.]), 1.)",
    "D.Categorical(T([[.2, .8]])).expand((3, 1)).enumerate_support()",
    "D.Independent(D.Independent(D.Normal(torch.zeros(2, 3, 4), 1.), 1), 2).event_shape",
    "repr(D.Independent(D.Normal(torch.zeros(2), 1.), 1)), repr(D.Normal(0., 1.)), repr(D.Chi2(1.))",
    "D.utils.vec_to_tril_matrix(torch.arange(6.)), D.utils.tril_matrix_to_vec(torch.eye(3), -1)",
    "D.utils.vec_to_tril_matrix(torch.arange(3.), -1), D.utils.probs_to_logits(T([0., .5, 1.]))",
    "D.utils.logits_to_probs(T([0., 1.])), D.utils.clamp_probs(T([0., .5]))",
    "D.utils.broadcast_all(1, T([1., 2.]))", "repr(C.real), repr(C.interval(0, 1)), repr(C.simplex)",
    "repr(C.independent(C.positive, 1)), repr(C.positive_integer), repr(D.ExpTransform())",
)


def rows(pairs):
    """The texts of all rows; `pairs` are the names of classes that have a divergence."""
    for made, value in CASES:
        for asked in ASKED:
            yield f"D.{made}.{asked.format(v=value)}"
        yield f"expanded(D.{made}, {value})"
        yield f"gradients(lambda T: D.{made}, lambda d: d.log_prob({value}))"
        for name in ("entropy()", "mean", "variance"):
            yield f"gradients(lambda T: D.{made}, lambda d: d.{name})"
    for p, q in pairs:
        first, second = _pair(p, q)
        yield f"D.kl_divergence({first}, {second})"
        yield f"gradients(lambda T: ({first}, {second}), lambda d: D.kl_divergence(*d))"
    yield from OTHERS
    for made, value in TRANSFORMS:
        yield f"transformed({made}, {value})"
    for made in CONSTRAINTS:
        for registry in ("biject_to", "transform_to"):
            yield f"D.{registry}(C.{made})(T([[.2, -1., .4], [.5, .3, .6], [1., 2., 3.]])[:2, :2])"
    for line in CHECKS:
        made, value = line.split()
        yield f"C.{made}.check({value})"


def _pair(p, q):
    first, second = (OBJECTS[name].replace(") (", ")|(").split("|") for name in (p, q))
    return f"D.{p}{first[0]}", f"D.{q}{second[1]}"


def run(library, text):
    """What a row gives, as plain values."""
    D = library.distributions

    def expanded(one, value):
        new = one.expand((2, *one.batch_shape))
        draws = new.sample((3,))
        return [new.batch_shape, new.event_shape, draws.shape, draws.dtype,
                new.log_prob(value.expand((2, *one.batch_shape, *one.event_shape)))]

    def transformed(transform, x):
        y = transform(x)
        found = [y, transform.inv(y), tuple(transform.forward_shape(x.shape)),
                 tuple(transform.inverse_shape(y.shape)), transform.inv.inv is transform,
                 transform.domain.event_dim, transform.codomain.event_dim, transform.bijective]
        return found + ([transform.log_abs_det_jacobian(x, y)] if transform.bijective else [])

    def gradients(make, ask):
        leaves = []

        def leaf(*values):
            leaves.append(library.tensor(*values))
            if leaves[-1].is_floating_point():
                leaves[-1].requires_grad_()
            return leaves[-1]

        found = ask(make(leaf))
        if not found.requires_grad:
            return None
        wanted = [each for each in leaves if each.requires_grad]
        return list(library.autograd.grad(found.sum(), wanted, allow_unused=True))

    import math
    scope = {"D": D, "C": D.constraints, "T": library.tensor, "torch": library, "math": math,
             "expanded": expanded, "transformed": transformed, "gradients": gradients}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library.manual_seed(3)
        return calls.plain(library, eval(text, scope))  # noqa: S307  (a text of this file)
