"""Classes of distributions and transforms beyond their values: checks, classes of one's own,
caches, divergences that one registers, and constraints."""
import pickle
import subprocess
import sys
import unittest
import warnings

import numpy as np

import weft
import weft.distributions as D
from weft.distributions import constraints, transforms


class Checks(unittest.TestCase):
    def test_errors_name_the_parameter_its_value_and_the_remedy(self):
        with self.assertRaises(ValueError) as caught:
            D.Normal(weft.zeros(3), weft.tensor([1.0, -2.0, 3.0]))
        for word in ("Normal", "scale", "[3]", "GreaterThan", "-2.0", "validate_args=False"):
            self.assertIn(word, str(caught.exception))
        self.assertIsInstance(caught.exception, weft.InvalidArgumentError)

    def test_the_first_wrong_event_is_shown(self):
        with self.assertRaisesRegex(ValueError, r"got \[0.5, 0.75\]"):
            D.Dirichlet(weft.ones(2)).log_prob(weft.tensor([[0.5, 0.5], [0.5, 0.75]]))

    def test_checks_can_be_left_out(self):
        self.assertTrue(D.Normal(0.0, -1.0, validate_args=False).scale.item() == -1)
        self.assertTrue(D.Bernoulli(0.5, validate_args=False).log_prob(weft.tensor(2.0)).isfinite())
        D.Distribution.set_default_validate_args(False)
        try:
            D.Normal(0.0, -1.0)
            with self.assertRaises(ValueError):
                D.Normal(0.0, -1.0, validate_args=True)
        finally:
            D.Distribution.set_default_validate_args(True)
        with self.assertRaises(ValueError):
            D.Normal(0.0, -1.0)

    def test_expanded_ones_keep_their_choice(self):
        loose = D.Poisson(1.0, validate_args=False).expand((2,))
        loose.log_prob(weft.tensor([0.5, 1.0]))
        with self.assertRaisesRegex(ValueError, "0.5"):
            D.Poisson(1.0).expand((2,)).log_prob(weft.tensor([0.5, 1.0]))

    def test_what_a_distribution_lacks_is_named(self):
        for ask in (lambda d: d.cdf(weft.ones(())), lambda d: d.rsample(), lambda d: d.mean,
                    lambda d: d.enumerate_support(), lambda d: d.entropy()):
            with self.assertRaisesRegex(NotImplementedError, "LKJCholesky has no"):
                ask(D.LKJCholesky(2))

    def test_sample_n_warns(self):
        with self.assertWarnsRegex(UserWarning, "sample"):
            self.assertEqual(D.Normal(0.0, 1.0).sample_n(3).shape, (3,))

    def test_types_follow_the_parameters(self):
        double = weft.tensor([0.5, 1.5], dtype=weft.float64)
        for made in (D.Gamma(double, 1.0), D.Normal(0, double), D.Poisson(double),
                     D.Binomial(3, double / 2), D.VonMises(0.0, double), D.StudentT(double)):
            self.assertEqual(made.sample().dtype, weft.float64, str(made))
            self.assertEqual(made.log_prob(made.sample()).dtype, weft.float64, str(made))


class OfOnesOwn(unittest.TestCase):
    def test_a_distribution(self):
        class Triangle(D.Distribution):
            """The sum of two uniform draws of [0, width]."""

            arg_constraints = {"width": constraints.positive}
            has_rsample = True

            def __init__(self, width, validate_args=None):
                self.width = width
                super().__init__(width.shape, validate_args=validate_args)

            @constraints.dependent_property(is_discrete=False, event_dim=0)
            def support(self):
                return constraints.interval(0.0, 2 * self.width)

            def rsample(self, sample_shape=()):
                shape = self._extended_shape(sample_shape)
                return self.width * (weft.rand(shape) + weft.rand(shape))

            def expand(self, batch_shape, _instance=None):
                new = self._get_checked_instance(Triangle, _instance)
                new.width = self.width.expand(batch_shape)
                D.Distribution.__init__(new, weft.Size(batch_shape), validate_args=False)
                new._validate_args = self._validate_args
                return new

        one = Triangle(weft.tensor([1.0, 2.0]))
        self.assertEqual(str(one), "Triangle(width: weft.Size([2]))")
        self.assertEqual(D.Independent(one, 1).expand((3,)).sample((4,)).shape, (4, 3, 2))
        self.assertTrue(constraints.is_dependent(Triangle.support))
        self.assertEqual(Triangle.support.event_dim, 0)
        with self.assertRaisesRegex(ValueError, "width"):
            Triangle(weft.tensor([-1.0]))

    def test_a_class_with_an_init_of_its_own_needs_expand(self):
        class Standard(D.Normal):
            def __init__(self):
                super().__init__(0.0, 1.0)

        with self.assertRaisesRegex(NotImplementedError, "Standard.*expand"):
            Standard().expand((2,))

        class Renamed(D.Normal):
            pass

        self.assertIsInstance(Renamed(0.0, 1.0).expand((2,)), Renamed)

    def test_a_class_without_constraints_warns(self):
        class Bare(D.Distribution):
            pass

        with self.assertWarnsRegex(UserWarning, "Bare.*arg_constraints"):
            Bare()

    def test_an_exponential_family(self):
        """The general entropy and divergence are those of the closed forms."""
        one, other = weft.tensor([0.7, 2.0]), weft.tensor([1.5, 0.4])
        for make in (lambda x: D.Normal(x, 2 * x), lambda x: D.Gamma(x, 3 * x), D.Exponential,
                     lambda x: D.Beta(x, 2.0), lambda x: D.Bernoulli(x / 3),
                     lambda x: D.Dirichlet(weft.stack([x, x + 1, x * 2], -1)),
                     lambda x: D.ContinuousBernoulli(x / 3),
                     lambda x: D.Wishart(2 + x, weft.eye(2) * 3)):
            p, q = make(one), make(other)
            type_of = type(p)
            if "_mean_carrier_measure" in {name for each in type_of.__mro__[:-3]
                                           for name in vars(each)}:
                general = D.ExponentialFamily.entropy(p)
                np.testing.assert_allclose(general.numpy(), p.entropy().numpy(), rtol=2e-4,
                                           atol=2e-5, err_msg=str(p))
            bregman = D.kl._REGISTRY[D.ExponentialFamily, D.ExponentialFamily](p, q)
            if (type_of, type_of) in D.kl._REGISTRY:
                np.testing.assert_allclose(bregman.numpy(), D.kl_divergence(p, q).numpy(),
                                           rtol=2e-3, atol=1e-4, err_msg=str(p))


class Divergences(unittest.TestCase):
    def test_the_divergence_of_equals_is_zero(self):
        for one in (D.Normal(weft.ones(2), 2.0), D.Gamma(0.3, 2.0), D.Beta(0.3, 2.0),
                    D.Gumbel(1.0, 3.0), D.Wishart(4.0, weft.eye(2)),
                    D.MultivariateNormal(weft.ones(2), weft.eye(2)),
                    D.LogNormal(1.0, 2.0), D.Independent(D.Poisson(weft.ones(3)), 1)):
            self.assertLess(D.kl_divergence(one, one).abs().max().item(), 2e-6, str(one))

    def test_divergences_are_means_of_differences_of_logarithms(self):
        """Those of two classes, against draws."""
        double = {"dtype": weft.float64}
        one, two, half = (weft.tensor(value, **double) for value in (1.0, 2.0, 0.5))
        p_of = {D.Beta: D.Beta(two, 3 * one), D.Gamma: D.Gamma(3 * one, two),
                D.Exponential: D.Exponential(two), D.Uniform: D.Uniform(half / 2, half),
                D.ContinuousBernoulli: D.ContinuousBernoulli(half / 2),
                D.Pareto: D.Pareto(one, 9 * one),
                D.Normal: D.Normal(half, two / 3), D.Gumbel: D.Gumbel(half, half),
                D.Laplace: D.Laplace(half, half), D.Bernoulli: D.Bernoulli(half / 2)}
        q_of = {D.Beta: D.Beta(two, two), D.Gamma: D.Gamma(two, one), D.Poisson: D.Poisson(two),
                D.Exponential: D.Exponential(one), D.Uniform: D.Uniform(0 * one, one),
                D.ContinuousBernoulli: D.ContinuousBernoulli(half * 1.4),
                D.Normal: D.Normal(one, two),
                D.Pareto: D.Pareto(half / 4, two), D.Gumbel: D.Gumbel(one, two),
                D.Laplace: D.Laplace(one, two)}
        tried = 0
        for pair in D.kl._REGISTRY:
            if pair[0] is pair[1] or pair[0] not in p_of or pair[1] not in q_of:
                continue
            p, q = p_of[pair[0]], q_of[pair[1]]
            wanted = D.kl_divergence(p, q)
            with self.subTest(f"{pair[0].__name__}, {pair[1].__name__}"):
                weft.manual_seed(3)
                drawn = p.sample((20000,))
                if not wanted.isfinite():
                    outside = ~q.support.check(drawn)
                    self.assertTrue(outside.any() or isinstance(p, D.Pareto))
                    continue
                each = (p.log_prob(drawn) - q.log_prob(drawn)).numpy()
                error = each.std() / np.sqrt(each.size)
                self.assertLess(abs(each.mean() - wanted.item()), 5.5 * error)
                tried += 1
        self.assertGreaterEqual(tried, 25)

    def test_registered_ones(self):
        class Mine(D.Normal):
            pass

        class Nearer(Mine):
            pass

        try:
            @D.register_kl(Mine, D.Normal)
            def first(p, q):
                return "first"

            self.assertEqual(D.kl_divergence(Mine(0.0, 1.0), D.Normal(0.0, 1.0)), "first")
            self.assertEqual(D.kl_divergence(Nearer(0.0, 1.0), Mine(0.0, 1.0)), "first")

            @D.register_kl(D.Normal, Mine)
            def second(p, q):
                return "second"

            with self.assertWarnsRegex(RuntimeWarning, "Mine"):
                self.assertEqual(D.kl_divergence(Nearer(0.0, 1.0), Mine(0.0, 1.0)), "first")
        finally:
            for pair in [each for each in D.kl._REGISTRY if Mine in each]:
                del D.kl._REGISTRY[pair]
            D.kl._FOUND.clear()

    def test_infinite_ones_pass_no_gradient(self):
        alpha = weft.tensor([0.5, 3.0], requires_grad=True)
        found = D.kl_divergence(D.Pareto(1.0, alpha), D.Exponential(1.0))
        self.assertEqual(found.isinf().tolist(), [True, False])
        found.sum().backward()
        self.assertEqual(alpha.grad.isfinite().tolist(), [True, True])


class Transforms(unittest.TestCase):
    def test_the_jacobian_is_that_of_autograd(self):
        x = weft.tensor([0.3, -0.8, 0.5], dtype=weft.float64)
        for transform, given in (
                (D.ExpTransform(), x), (D.TanhTransform(), x), (D.SigmoidTransform(), x),
                (transforms.SoftplusTransform(), x), (D.AffineTransform(1.0, -3.0), x),
                (D.PowerTransform(2.5), x.abs()), (D.StickBreakingTransform(), x),
                (D.CorrCholeskyTransform(), x)):
            y = transform(given)
            jacobian = weft.autograd.functional.jacobian(transform, given)
            got = transform.log_abs_det_jacobian(given, y)
            if transform.domain.event_dim == 0:
                wanted = jacobian.diagonal().abs().log()
            else:  # of the independent entries of y
                rows = y[:-1].numel() if y.ndim == 1 else None
                square = jacobian[:rows] if rows else jacobian[[1, 2, 2], [0, 0, 1]]
                wanted = weft.linalg.slogdet(square).logabsdet
            np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-9)
            np.testing.assert_allclose(transform.inv(y).numpy(), given.numpy(), rtol=1e-7)

    def test_the_cache_gives_the_same_tensors(self):
        cached = D.TanhTransform(cache_size=1)
        x = weft.tensor([20.0])
        y = cached(x)
        self.assertIs(cached(x), y)
        self.assertIs(cached.inv(y), x)
        self.assertTrue(D.TanhTransform().inv(y).isinf().item())
        self.assertIs(D.ExpTransform().with_cache(0)._cache_size, 0)
        self.assertEqual(D.AffineTransform(1.0, 2.0).with_cache(1)._cache_size, 1)
        squashed = D.TransformedDistribution(D.Normal(0.0, 30.0), D.TanhTransform(cache_size=1))
        weft.manual_seed(0)
        drawn = squashed.rsample((100,))
        self.assertTrue(squashed.log_prob(drawn).isfinite().all())

    def test_equality_inverses_and_pickles(self):
        self.assertEqual(D.ExpTransform(), D.ExpTransform())
        self.assertNotEqual(D.ExpTransform(), D.TanhTransform())
        self.assertEqual(D.AffineTransform(1.0, weft.ones(2)), D.AffineTransform(1.0, weft.ones(2)))
        self.assertEqual(D.ExpTransform().inv, D.ExpTransform().inv)
        chain = D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1, 2)])
        self.assertIs(chain.inv.inv, chain)
        again = pickle.loads(pickle.dumps(chain))
        self.assertEqual(again(weft.zeros(1)).tolist(), [3.0])
        made = pickle.loads(pickle.dumps(D.Gamma(weft.ones(2), 2.0)))
        self.assertEqual(made.mean.tolist(), [0.5, 0.5])

    def test_a_transform_of_ones_own_in_a_flow(self):
        class Shift(D.Transform):
            """x + 1 from a network's point of view."""

            domain = codomain = constraints.real_vector
            bijective = True

            def _call(self, x):
                return x + 1

            def _inverse(self, y):
                return y - 1

            def log_abs_det_jacobian(self, x, y):
                return weft.zeros(x.shape[:-1])

        flow = D.TransformedDistribution(D.Normal(weft.zeros(2), 1.0), [Shift(), Shift()])
        self.assertEqual((flow.batch_shape, flow.event_shape), ((), (2,)))
        wanted = D.Normal(weft.full((2,), 2.0), 1.0).log_prob(weft.ones(5, 2)).sum(-1)
        np.testing.assert_allclose(flow.log_prob(weft.ones(5, 2)).numpy(), wanted.numpy())

    def test_registries(self):
        x = weft.tensor([[0.2, -1.0], [0.4, 2.0]])
        for constraint in (constraints.positive, constraints.simplex,
                           constraints.interval(1.0, 3.0), constraints.unit_interval,
                           constraints.less_than(2.0),
                           constraints.independent(constraints.positive, 1), constraints.real):
            for registry in (D.biject_to, D.transform_to):
                y = registry(constraint)(x)
                self.assertTrue(constraint.check(y).all(), repr(constraint))
            np.testing.assert_allclose(D.biject_to(constraint).inv(D.biject_to(constraint)(
                x)).numpy(), x.numpy(), rtol=1e-4, atol=1e-5)

        class Even(constraints.Constraint):
            pass

        with self.assertRaisesRegex(NotImplementedError, "Even"):
            D.biject_to(Even())

        @D.biject_to.register(Even)
        def doubled(constraint):
            return D.AffineTransform(0, 2)

        self.assertEqual(D.biject_to(Even())(weft.ones(1)).item(), 2)
        with self.assertRaisesRegex(TypeError, "constraint"):
            D.biject_to.register(int, doubled)


class Module(unittest.TestCase):
    def test_it_is_read_when_it_is_first_used(self):
        program = ("import sys, weft; assert not any(name.startswith('weft.distributions') for "
                   "name in sys.modules); weft.distributions.Normal(0., 1.).sample(); "
                   "from weft.distributions.multivariate_normal import MultivariateNormal; "
                   "from weft.distributions import constraints, kl, transforms, utils; "
                   "assert 'numpy' not in sys.modules")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_gradients_reach_parameters_through_lazy_ones(self):
        logits = weft.tensor([0.3, -0.2], requires_grad=True)
        one = D.Bernoulli(logits=logits)
        with weft.no_grad():
            one.probs  # noqa: B018  (computed here, with its history)
        one.probs.sum().backward()
        self.assertGreater(logits.grad.abs().min().item(), 0.1)

    def test_nothing_warns(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            D.StudentT(weft.tensor([3.0, 0.5])).rsample((2,))
            D.Independent(D.Normal(weft.zeros(2), 1.0), 1).log_prob(weft.ones(2))


if __name__ == "__main__":
    unittest.main()
