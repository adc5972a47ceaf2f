"""Draws have the law that log_prob() says, repeat after manual_seed(), and move with the parameters
as their distribution functions do. Seeds are fixed: nothing here is left to chance."""
import math
import unittest

import numpy as np

import distribution_tables as tables
import weft
import weft.distributions as D
from oracle import needs_torch, torch
from weft.distributions import _draws, _implicit

COUNT = 4000
# The distance of Kolmogorov and Smirnov of COUNT draws is above this once in 10^5 times.
DISTANCE = math.sqrt(math.log(2e5) / 2 / COUNT)


def f64(*values):
    return weft.tensor(*values, dtype=weft.float64)


CONTINUOUS = (
    D.Beta(f64([0.5, 3, 0.9]), f64([2, 1.5, 0.8])), D.Cauchy(f64([0, 1]), f64([1, 2])),
    D.Chi2(f64([1, 4])), D.ContinuousBernoulli(f64([0.2, 0.5, 0.9])),
    D.Exponential(f64([0.5, 2])), D.FisherSnedecor(f64([3, 5]), f64([5, 1.5])),
    D.Gamma(f64([0.3, 1, 7.5]), f64([2, 1, 0.5])), D.Gumbel(f64([0, 1]), f64([1, 2])),
    D.HalfCauchy(f64([1, 2])), D.HalfNormal(f64([1, 2])),
    D.Kumaraswamy(f64([0.5, 3]), f64([2, 1.5])),
    D.Laplace(f64([0, 1]), f64([1, 2])), D.LogNormal(f64([0, 1]), f64([1, 0.5])),
    D.Normal(f64([0, 1]), f64([1, 2])), D.Pareto(f64([1, 2]), f64([3, 0.5])),
    D.RelaxedBernoulli(f64(0.7), f64([0.2, 0.7])), D.StudentT(f64([0.5, 5]), f64(1), f64(2)),
    D.Uniform(f64([0, 1]), f64([2, 5])), D.VonMises(f64([0, 1, 3]), f64([0.2, 5, 1e-6])),
    D.Weibull(f64([1, 2]), f64([3, 1.5])),
    D.MixtureSameFamily(D.Categorical(f64([0.3, 0.7])), D.Normal(f64([0, 5]), f64([1, 2]))),
    D.TransformedDistribution(D.Normal(f64(0), f64(1)), [D.TanhTransform()]),
)
DISCRETE = (
    (D.Bernoulli(f64([0.2, 0.7])), 2), (D.Binomial(f64([5, 60, 200]), f64([0.2, 0.7, 0.3])), 120),
    (D.Binomial(f64([40, 3]), f64([0.01, 0.999])), 41),
    (D.Categorical(f64([[1, 2, 3], [1, 0, 2]])), 3),
    (D.Geometric(f64([0.2, 0.9])), 100), (D.NegativeBinomial(f64([3, 2.5]), f64([0.2, 0.7])), 120),
    (D.Poisson(f64([0.5, 20])), 90),
)


def cumulated_density(distribution, edges):
    """The integrals of the density from the first edge on, for edges [n, batch], by Simpson's rule
    in 32 parts between two of them."""
    places = np.linspace(0, 1, 33)
    weights = np.array([1, *[4, 2] * 15, 4, 1]) / 96
    low, high = edges[:-1], edges[1:]
    at = low[None] + places.reshape(-1, *[1] * low.ndim) * (high - low)[None]
    with np.errstate(all="ignore"):
        density = distribution.log_prob(weft.from_numpy(at)).exp().numpy()
    each = (density * weights.reshape(-1, *[1] * low.ndim)).sum(0) * (high - low)
    return np.cumsum(each, axis=0)


def beta_share(x, a, b):
    """The distribution function of beta and its slope by the logit, by sums over the logit."""
    top, step = math.log(x) - math.log1p(-x), 0.01
    ends = 40 / np.array([a, b])
    below, above = (np.arange(0, end + abs(top), step) for end in ends)

    def parts(distances):
        logits = top + distances
        return np.exp(-a * np.logaddexp(0, -logits) - b * np.logaddexp(0, logits))

    low, high = parts(-below), parts(above)
    low_sum, high_sum = low.sum() - low[0] / 2, high.sum() - high[0] / 2
    # The rule of the trapezium ends at x: its error there is that of the slope.
    correction = step / 12 * (a * (1 - x) - b * x) * low[0]
    low_sum, high_sum = low_sum - correction, high_sum + correction
    total = low_sum + high_sum
    return low_sum / total, low[0] / total / step


class Laws(unittest.TestCase):
    def test_continuous_draws_have_the_density(self):
        for distribution in CONTINUOUS:
            with self.subTest(str(distribution)):
                weft.manual_seed(11)
                drawn = np.sort(distribution.sample((COUNT,)).numpy().astype(float), axis=0)
                edges = drawn[20::20]  # densities that are infinite at an end are so below these
                share = cumulated_density(distribution, edges)
                wanted = np.arange(1, len(edges)) * 20 / COUNT
                wanted = wanted.reshape(-1, *[1] * (drawn.ndim - 1))
                self.assertLess(np.abs(share - wanted).max(), 1.5 * DISTANCE)
                self.assertEqual(len(np.unique(drawn)), drawn.size, "draws repeat")

    def test_shares_of_draws_are_uniform(self):
        wanted, tried = (np.arange(COUNT) + 0.5) / COUNT, 0
        for distribution in CONTINUOUS:
            weft.manual_seed(12)
            drawn = distribution.sample((COUNT,))
            try:
                share = np.sort(distribution.cdf(drawn).numpy(), axis=0)
            except NotImplementedError:
                continue
            with self.subTest(str(distribution)):
                shape = (-1, *[1] * (share.ndim - 1))
                self.assertLess(np.abs(share - wanted.reshape(shape)).max(), DISTANCE)
                tried += 1
        self.assertGreaterEqual(tried, 14)

    def test_beta_draws_of_small_shapes(self):
        weft.manual_seed(17)
        for a, b in ((0.2, 0.2), (0.05, 1.0), (2.0, 0.1)):
            drawn = np.sort(D.Beta(f64(a), f64(b)).sample((COUNT,)).numpy())
            places = [each for each in range(100, COUNT, 200) if 1e-12 < drawn[each] < 1 - 1e-12]
            self.assertGreater(len(places), 5)
            for each in places:
                share, _ = beta_share(drawn[each], a, b)
                self.assertLess(abs(share - (each + 0.5) / COUNT), DISTANCE, (a, b))

    def test_icdf_is_the_inverse_of_cdf(self):
        share, tried = np.linspace(0.01, 0.99, 21), 0
        for distribution in CONTINUOUS:
            shape = (21, *[1] * len(distribution.batch_shape))
            at = weft.from_numpy(share).reshape(shape).expand((21, *distribution.batch_shape))
            try:
                got = distribution.cdf(distribution.icdf(at))
            except NotImplementedError:
                continue
            with self.subTest(str(distribution)):
                np.testing.assert_allclose(got.numpy(), at.numpy(), rtol=1e-9)
                tried += 1
        self.assertGreaterEqual(tried, 13)

    def test_discrete_draws_have_the_probabilities(self):
        for distribution, count in DISCRETE:
            with self.subTest(str(distribution)):
                weft.manual_seed(13)
                drawn = distribution.sample((COUNT,)).numpy().astype(int)
                values = np.arange(count).reshape(-1, 1)
                chances = D.Distribution.__new__(type(distribution))
                chances.__dict__.update(distribution.__dict__, _validate_args=False)
                with np.errstate(all="ignore"):
                    share = np.nan_to_num(chances.log_prob(f64(values.astype(float).tolist())).exp(
                    ).numpy())
                for row in range(drawn.shape[1]):
                    got = np.bincount(drawn[:, row], minlength=count)[:count] / COUNT
                    difference = np.cumsum(got) - np.cumsum(share[:, row])
                    self.assertLess(np.abs(difference).max(), DISTANCE)

    def test_moments_of_vectors_and_matrices(self):
        one = f64([[2, 0.5], [0.5, 1]])
        for distribution in (
                D.Dirichlet(f64([[0.5, 1, 3], [2, 2, 2]])), D.Multinomial(30, f64([0.2, 0.3, 0.5])),
                D.OneHotCategorical(f64([0.2, 0.3, 0.5])), D.MultivariateNormal(f64([0, 1]), one),
                D.MultivariateNormal(f64([0, 1]), precision_matrix=one), D.Wishart(f64(4.5), one),
                D.LowRankMultivariateNormal(f64([0, 1]), f64([[1], [2]]), f64([1, 0.5])),
                D.Wishart(f64([3, 9]), precision_matrix=one)):
            with self.subTest(str(distribution)):
                weft.manual_seed(14)
                drawn = distribution.sample((COUNT,)).numpy()
                # Six standard errors; those of variances by the fourth moments of the draws.
                error = drawn.std(0) / math.sqrt(COUNT)
                away = drawn.mean(0) - distribution.mean.numpy()
                self.assertLess((np.abs(away) - 6 * error).max(), 1e-12)
                squares = (drawn - distribution.mean.numpy()) ** 2
                error = squares.std(0) / math.sqrt(COUNT)
                away = squares.mean(0) - distribution.variance.numpy()
                self.assertLess((np.abs(away) - 6 * error).max(), 1e-12)

    def test_covariances_of_normal_vectors(self):
        for distribution in (D.MultivariateNormal(f64([0, 1]), f64([[2, 0.9], [0.9, 1]])),
                             D.LowRankMultivariateNormal(
                                 f64([0, 1]), f64([[1], [2]]), f64([1, 0.5]))):
            weft.manual_seed(15)
            got = np.cov(distribution.sample((COUNT,)).numpy().T)
            np.testing.assert_allclose(got, distribution.covariance_matrix.numpy(), atol=0.25)

    def test_correlations_of_lkj(self):
        """Each correlation has a beta law on (-1, 1), of variance 1 / (2 eta + d - 1)."""
        for size, eta in ((2, 1.0), (3, 0.5), (4, 3.0)):
            weft.manual_seed(16)
            factor = D.LKJCholesky(size, f64(eta)).sample((COUNT,))
            matrix = (factor @ factor.mT).numpy()
            np.testing.assert_allclose(np.diagonal(matrix, axis1=1, axis2=2), 1, rtol=1e-12)
            spread = matrix.var(0)[np.tril_indices(size, -1)]
            np.testing.assert_allclose(spread, 1 / (2 * eta + size - 1), rtol=0.1)

    def test_the_seed_repeats_draws_of_every_distribution(self):
        for made, _ in tables.CASES:
            scope = {"D": D, "T": weft.tensor, "torch": weft}
            distribution = eval(f"D.{made}", scope)  # noqa: S307
            with self.subTest(made):
                weft.manual_seed(5)
                first, other = distribution.sample((50,)), distribution.sample((50,))
                weft.manual_seed(5)
                again = distribution.sample((50,))
                self.assertTrue(first.equal(again))
                self.assertFalse(first.requires_grad)
                self.assertEqual(first.equal(other), "[0.0, 1.0]" in made)

    def test_extreme_parameters_give_finite_draws(self):
        weft.manual_seed(6)
        for distribution in (D.Gamma(1e-3, 1.0), D.Gamma(1e6, 1.0), D.Beta(1e-3, 1e-3),
                             D.Dirichlet(weft.full((5,), 1e-3)), D.VonMises(0.0, 1e4),
                             D.VonMises(0.0, 1e-8), D.Binomial(10 ** 6, 0.5),
                             D.StudentT(0.1), D.Cauchy(0.0, 1.0), D.Laplace(0.0, 1.0)):
            drawn = distribution.sample((COUNT,))
            self.assertTrue(drawn.isfinite().all(), str(distribution))
        sums = D.Dirichlet(weft.full((5,), 1e-3)).sample((COUNT,)).sum(-1)
        np.testing.assert_allclose(sums.numpy(), 1, rtol=1e-5)


class Slopes(unittest.TestCase):
    def test_gamma_slopes_are_those_of_the_distribution_function(self):
        weft.manual_seed(7)
        for shape in (0.01, 0.3, 1.0, 2.5, 8.0, 40.0, 1000.0):
            shapes = weft.full((500,), shape, dtype=weft.float64)
            x = D.Gamma(shapes, f64(1.0)).sample().clamp(min=1e-200)
            step = shape * 1e-4
            low = weft.igamma(shapes, x) < 0.5
            share = [weft.where(low, weft.igamma(shapes + k * step, x),
                                -weft.igammac(shapes + k * step, x)) for k in (-2, -1, 1, 2)]
            rise = (share[0] - 8 * share[1] + 8 * share[2] - share[3]) / (12 * step)
            wanted = -rise / D.Gamma(shapes, f64(1.0)).log_prob(x).exp()
            got = _implicit.gamma_slope(x, shapes)
            np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=2e-5, err_msg=str(shape))

    def test_slopes_in_closed_form(self):
        x = np.linspace(0.01, 0.99, 50)
        for a in (0.05, 0.7, 3.0, 30.0):  # F(x) = x^a, so that dx/da = -x log(x) / a
            got = _implicit.beta_slope(weft.from_numpy(x), f64(a).expand(50), f64(a + 1).expand(50))
            np.testing.assert_allclose(got.numpy() * (1 - x), -x * np.log(x) / a, rtol=1e-9)

    def test_beta_slopes_are_those_of_the_distribution_function(self):
        weft.manual_seed(8)
        for a, b in ((0.3, 0.3), (0.8, 4.0), (5.0, 0.6), (3.0, 4.0), (50.0, 2.0), (2.0, 50.0)):
            drawn = D.Beta(f64(a), f64(b)).sample((20,)).clamp(1e-6, 1 - 1e-6)
            got = _implicit.beta_slope(drawn, f64(a).expand(20), f64(a + b).expand(20)).numpy()
            for x, slope in zip(drawn.numpy(), got):
                step = 1e-4 * a
                share = [beta_share(x, a + k * step, b)[0] for k in (-1, 1)]
                # dx = x (1 - x) d logit, and the slope is that of x by a over 1 - x.
                wanted = -(share[1] - share[0]) / (2 * step) / beta_share(x, a, b)[1] * x
                np.testing.assert_allclose(slope, wanted, rtol=1e-4, err_msg=f"{a} {b} {x}")

    @needs_torch
    def test_slopes_are_near_pytorchs(self):
        """PyTorch approximates them, to some 10^-3."""
        random = np.random.RandomState(3)
        for shape in (0.05, 0.5, 1.0, 3.0, 20.0, 300.0):
            x, a = np.maximum(random.gamma(shape, 1, 500), 1e-30), np.full(500, shape)
            theirs = torch._standard_gamma_grad(torch.from_numpy(a), torch.from_numpy(x))
            mine = _implicit.gamma_slope(weft.from_numpy(x), weft.from_numpy(a))
            np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=2e-3)
        for a, b in ((0.5, 0.5), (3.0, 4.0), (1.0, 20.0), (30.0, 2.0)):
            x = random.beta(a, b, 500).clip(1e-12, 1 - 1e-12)
            given = (x, np.full(500, a), np.full(500, a + b))
            theirs = torch._dirichlet_grad(*map(torch.from_numpy, given))
            mine = _implicit.beta_slope(*map(weft.from_numpy, given))
            np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-2)

    def test_gradients_of_draws_are_those_of_means(self):
        """The mean of the gradients of x^2 is the gradient of the mean of x^2."""
        def moment(d):
            return d.variance + d.mean.square()

        cases = (
            (D.Gamma, (2.5, 1.5)), (D.Gamma, (0.4, 2.0)), (D.Beta, (0.7, 3.0)), (D.Chi2, (5.0,)),
            (D.StudentT, (9.0, 0.5, 2.0)), (D.FisherSnedecor, (3.0, 30.0)), (D.Normal, (1.0, 2.0)),
            (D.Laplace, (1.0, 2.0)), (D.Gumbel, (1.0, 2.0)), (D.Weibull, (2.0, 1.5)),
            (D.Exponential, (1.5,)), (D.Uniform, (1.0, 3.0)), (D.Kumaraswamy, (2.0, 1.5)),
            (D.ContinuousBernoulli, (0.3,)), (D.LogNormal, (0.1, 0.3)), (D.HalfNormal, (2.0,)))
        for cls, given in cases:
            for number in range(len(given)):
                with self.subTest(cls.__name__, parameter=number):
                    weft.manual_seed(9)
                    each = [f64(value).expand(20000).clone().requires_grad_() for value in given]
                    (cls(*each).rsample().square()).sum().backward()
                    got = each[number].grad.numpy()
                    leaves = [f64(value).requires_grad_() for value in given]
                    moment(cls(*leaves)).backward()
                    error = got.std() / math.sqrt(got.size)
                    away = abs(got.mean() - leaves[number].grad.item())
                    self.assertLess(away, 5.5 * error + 1e-9)

    def test_gradients_of_dirichlet_and_wishart_draws(self):
        weft.manual_seed(10)
        shapes = f64([0.7, 2.0, 3.0]).expand(20000, 3).clone().requires_grad_()
        D.Dirichlet(shapes).rsample()[:, 0].sum().backward()
        got = shapes.grad.numpy()
        total = 5.7  # the mean is 0.7 / total
        wanted = np.array([1 / total - 0.7 / total ** 2, *[-0.7 / total ** 2] * 2])
        error = got.std(0) / math.sqrt(20000)
        self.assertLess((np.abs(got.mean(0) - wanted) - 5.5 * error).max(), 0)
        df = f64(5.0).requires_grad_()
        D.Wishart(df, weft.eye(2, dtype=weft.float64)).rsample((4000,))[:, 0, 0].mean().backward()
        self.assertAlmostEqual(df.grad.item(), 1.0, delta=0.1)  # the mean is df

    def test_a_second_derivative_of_a_draw_is_refused(self):
        shape = f64(2.0).requires_grad_()
        slope, = weft.autograd.grad(D.Gamma(shape, f64(1.0)).rsample(), [shape], create_graph=True)
        with self.assertRaisesRegex(NotImplementedError, "second derivatives"):
            (slope * 2).backward()

    def test_no_draw_is_lost_by_rejection(self):
        weft.manual_seed(1)
        found = _draws.until_accepted(100, lambda places: (
            weft.ones(places.shape, dtype=weft.float64), weft.rand(places.shape) < 0.3))
        self.assertEqual(found.tolist(), [1.0] * 100)


if __name__ == "__main__":
    unittest.main()
