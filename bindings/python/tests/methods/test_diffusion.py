"""weft.diffusion against closed forms: mixtures of Gaussians, whose velocities are known."""
import unittest

import numpy as np

import weft
from weft import diffusion, nn


class Mixture:
    """sum_k share_k N(mean_k, deviation_k^2 I), float64."""

    def __init__(self, seed, parts=4, axes=3):
        draw = np.random.RandomState(seed)
        self.shares = weft.from_numpy(draw.dirichlet(np.full(parts, 2.0)))
        self.means = weft.from_numpy(draw.randn(parts, axes) * 2)
        self.deviations = weft.from_numpy(draw.uniform(0.2, 1.5, parts))

    def log_density(self, k, x, t):
        """Of part k at x_t, with the logarithm of its share; [N]."""
        variance = (1 - t) ** 2 + (t * self.deviations[k]) ** 2
        apart = ((x - t.reshape(-1, 1) * self.means[k]) ** 2).sum(1)
        return self.shares[k].log() - 0.5 * apart / variance - 0.5 * x.shape[1] * variance.log()

    def velocity(self, k, x, t):
        """E[x - e | x_t] within part k."""
        t = t.reshape(-1, 1)
        variance = (1 - t) ** 2 + (t * self.deviations[k]) ** 2
        slope = (t * self.deviations[k] ** 2 - (1 - t)) / variance
        return self.means[k] + slope * (x - t * self.means[k])

    def all_velocity(self, x, t):
        """From the score of the whole density: (x_t + (1 - t) grad log p) / t."""
        x = x.detach().requires_grad_()
        logs = weft.stack([self.log_density(k, x, t) for k in range(len(self.shares))])
        score, = weft.autograd.grad(logs.logsumexp(0).sum(), x)
        t = t.reshape(-1, 1)
        return ((x + (1 - t) * score) / t).detach()

    def experts(self):
        return [Function(lambda x, t, k=k: self.velocity(k, x, t))
                for k in range(len(self.shares))]

    def router(self):
        return Function(lambda x, t: weft.stack(
            [self.log_density(k, x, t) for k in range(len(self.shares))], 1))


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function, self.rows = function, 0

    def forward(self, x, t):
        self.rows += len(x)
        return self.function(x, t)


class ClosedForms(unittest.TestCase):
    def test_experts_and_router_are_the_model_of_all_data(self):
        for seed in range(5):
            mixture = Mixture(seed)
            draw = np.random.RandomState(seed)
            x = weft.from_numpy(draw.randn(200, 3) * 2)
            t = weft.from_numpy(draw.uniform(0.05, 1.0, 200))
            model = diffusion.Experts(mixture.experts(), mixture.router(), top_k=0)
            np.testing.assert_allclose(model(x, t).numpy(), mixture.all_velocity(x, t).numpy(),
                                       rtol=1e-10, atol=1e-12)

    def test_the_best_experts_alone(self):
        mixture = Mixture(7)
        draw = np.random.RandomState(1)
        x, t = weft.from_numpy(draw.randn(50, 3)), weft.from_numpy(draw.uniform(0.1, 1.0, 50))
        logits = mixture.router()(x, t).numpy()
        for top in (1, 2, 3):
            experts = mixture.experts()
            found = diffusion.Experts(experts, mixture.router(), top_k=top)(x, t).numpy()
            self.assertEqual(sum(expert.rows for expert in experts), 50 * top)
            for row in range(50):
                best = np.argsort(-logits[row])[:top]
                weights = np.exp(logits[row, best] - logits[row, best].max())
                weights /= weights.sum()
                one_x, one_t = x[row:row + 1], t[row:row + 1]
                wanted = sum(w * mixture.velocity(int(k), one_x, one_t).numpy()[0]
                             for w, k in zip(weights, best))
                np.testing.assert_allclose(found[row], wanted, rtol=1e-10, atol=1e-12)

    def test_samples_of_one_gaussian_are_its_scaled_noise(self):
        mixture = Mixture(3, parts=1)
        model = diffusion.Experts(mixture.experts(), mixture.router(), top_k=1)
        noise = weft.from_numpy(np.random.RandomState(2).randn(40, 3))
        wanted = (mixture.means[0] + mixture.deviations[0] * noise).numpy()

        def off(method, steps):
            found = diffusion.sample(model, (40, 3), steps, method, noise=noise)
            return np.abs(found.numpy() - wanted).max()

        for method, order in (("euler", 1), ("heun", 2)):  # the error falls as promised
            errors = [off(method, steps) for steps in (50, 100, 200)]
            for coarse, fine in zip(errors, errors[1:]):
                self.assertAlmostEqual(np.log2(coarse / fine), order, delta=0.15)
        self.assertLess(off("heun", 200), 1e-3)

    def test_samples_of_a_mixture_have_its_moments(self):
        mixture = Mixture(4)
        model = diffusion.Experts(mixture.experts(), mixture.router(), top_k=0)
        noise = weft.from_numpy(np.random.RandomState(2).randn(4000, 3))
        found = diffusion.sample(model, (4000, 3), 60, noise=noise).numpy()
        shares, means, deviations = (each.numpy() for each in (
            mixture.shares, mixture.means, mixture.deviations))
        mean = shares @ means
        second = sum(share * (deviation ** 2 * np.eye(3) + np.outer(m, m))
                     for share, deviation, m in zip(shares, deviations, means))
        np.testing.assert_allclose(found.mean(0), mean, atol=0.12)
        np.testing.assert_allclose(found.T @ found / len(found), second, atol=0.35)


class Losses(unittest.TestCase):
    def test_noise_and_velocity(self):
        x = weft.randn(5, 2, 3, dtype=weft.float64)
        t = weft.tensor([0.0, 0.25, 0.5, 0.75, 1.0], dtype=weft.float64)
        between, times, velocity = diffusion.noised(x, t)
        self.assertTrue(times.equal(t))
        self.assertTrue(between[4].equal(x[4]))
        share = t.reshape(-1, 1, 1)
        self.assertTrue((between + (1 - share) * velocity).allclose(x))
        first, second = (diffusion.noised(x, generator=weft.Generator().manual_seed(3))
                         for _ in range(2))
        for a, b in zip(first, second):
            self.assertTrue(a.equal(b))
        many = diffusion.noised(weft.zeros(20000, 1))
        self.assertAlmostEqual(many[1].mean().item(), 0.5, delta=0.02)
        self.assertAlmostEqual((many[2] ** 2).mean().item(), 1.0, delta=0.05)

    def test_the_least_loss_is_that_of_the_exact_velocity(self):
        mixture = Mixture(5, parts=2)
        draw = np.random.RandomState(0)
        part = draw.choice(2, 5000, p=mixture.shares.numpy())
        x = weft.from_numpy(mixture.means.numpy()[part] + mixture.deviations.numpy()[part][:, None]
                            * draw.randn(5000, 3))
        exact = diffusion.Experts(mixture.experts(), mixture.router(), top_k=0)

        def loss(shift):
            generator = weft.Generator().manual_seed(1)
            return diffusion.flow_matching_loss(lambda x, t: exact(x, t) + shift, x,
                                                generator).item()

        self.assertAlmostEqual(loss(0.5) - loss(0.0), 0.25, delta=0.05)
        self.assertAlmostEqual(loss(-0.5) - loss(0.0), 0.25, delta=0.05)

    def test_a_router_learns_the_posterior(self):
        weft.manual_seed(2)
        centres = weft.tensor([[-2.0], [2.0]])
        router = Function(None)
        layers = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
        router.add_module("layers", layers)
        router.function = lambda x, t: layers(weft.cat([x, t.reshape(-1, 1)], 1))
        optimizer = weft.optim.Adam(layers.parameters(), lr=0.01)
        shares = weft.tensor([0.25, 0.75])
        for _ in range(600):
            clusters = weft.multinomial(shares, 256, replacement=True)
            x = centres[clusters] + 0.1 * weft.randn(256, 1)
            optimizer.zero_grad()
            diffusion.router_loss(router, x, clusters).backward()
            optimizer.step()
        with weft.no_grad():
            x, late = weft.tensor([[-2.0], [2.0]]), weft.ones(2)
            self.assertGreater(router(x, late).softmax(1).diagonal().min().item(), 0.98)
            # At t = 0 all is noise: what is left is how often the clusters come.
            early = router(weft.tensor([[-1.0], [1.0]]), weft.zeros(2)).softmax(1)
            self.assertLess((early[:, 1] - 0.75).abs().max().item(), 0.2)


class Clusters(unittest.TestCase):
    def test_groups_that_lie_apart_are_found(self):
        draw = np.random.RandomState(0)
        centres = draw.randn(5, 4) * 20
        labels = draw.randint(0, 5, 600)
        rows = weft.from_numpy((centres[labels] + draw.randn(600, 4)).astype(np.float32))
        found = diffusion.kmeans(rows, 5, generator=weft.Generator().manual_seed(1))
        assigned = found.assign(rows).numpy()
        for label in range(5):
            own = assigned[labels == label]
            self.assertEqual(len(set(own.tolist())), 1)
        self.assertEqual(len(set(assigned.tolist())), 5)
        again = diffusion.kmeans(rows, 5, generator=weft.Generator().manual_seed(1))
        self.assertTrue(found.centres.equal(again.centres))

    def test_each_centre_is_the_mean_of_its_rows(self):
        rows = weft.from_numpy(np.random.RandomState(3).randn(20000, 2))
        found = diffusion.kmeans(rows, 7, rounds=500)
        assigned = found.assign(rows)
        apart = ((rows.numpy()[:, None] - found.centres.numpy()[None]) ** 2).sum(2)
        self.assertTrue(np.array_equal(assigned.numpy(), apart.argmin(1)))
        for k in range(7):
            np.testing.assert_allclose(rows.numpy()[assigned.numpy() == k].mean(0),
                                       found.centres[k].numpy(), atol=1e-9)

    def test_few_and_equal_rows(self):
        equal = diffusion.kmeans(weft.ones(6, 2), 3)
        self.assertTrue(equal.centres.equal(weft.ones(3, 2)))
        rows = weft.tensor([[0.0], [1.0], [5.0]])
        self.assertEqual(sorted(diffusion.kmeans(rows, 3).centres.reshape(-1).tolist()),
                         [0.0, 1.0, 5.0])

    def test_a_cluster_without_rows_begins_anew(self):
        from weft.diffusion.clusters import _means
        rows = weft.tensor([[0.0], [1.0], [9.0]])
        means = _means(rows, weft.tensor([0, 0, 0]), weft.tensor([0.0, 1.0, 81.0]),
                       weft.tensor([[0.0], [50.0]]))
        self.assertEqual(means[1].tolist(), [9.0])


class Refused(unittest.TestCase):
    def test_wrong_uses(self):
        def plain(x, t):
            return x

        x = weft.zeros(4, 2)
        invalid = weft.InvalidArgumentError
        module = Function(plain)
        for call, error, what in (
                (lambda: diffusion.noised(weft.zeros(4)), invalid, "\\[N, ...\\].*\\[4\\]"),
                (lambda: diffusion.noised(weft.zeros(4, 2, dtype=weft.int64)), invalid, "int64"),
                (lambda: diffusion.noised([1]), TypeError, "'x'.*list"),
                (lambda: diffusion.noised(x, weft.zeros(3)), invalid, "\\[4\\].*got \\[3\\]"),
                (lambda: diffusion.flow_matching_loss(lambda x, t: x[:, :1], x), invalid,
                 "\\[4, 2\\], got \\[4, 1\\]"),
                (lambda: diffusion.sample(plain, (4, 2), 0), invalid, "at least 1, got 0"),
                (lambda: diffusion.sample(plain, (4, 2), method="rk4"), invalid, "heun, got 'rk4'"),
                (lambda: diffusion.sample(plain, (4, 3), noise=x), invalid, "\\[4, 3\\], got"),
                (lambda: diffusion.Experts([], module), invalid, "at least one"),
                (lambda: diffusion.Experts([module], module, 2), invalid, "from 0 to 1, got 2"),
                (lambda: diffusion.Experts([module] * 3, module)(x, weft.zeros(4)), invalid,
                 "\\[4, 3\\], got \\[4, 2\\]"),
                (lambda: diffusion.kmeans(x, 5), invalid, "1 to 4.*got 5"),
                (lambda: diffusion.kmeans(x, 0), invalid, "got 0"),
                (lambda: diffusion.kmeans(weft.zeros(3), 1), invalid, "\\[N, D\\].*\\[3\\]"),
                (lambda: diffusion.kmeans(3, 1), TypeError, "'features'.*int"),
                (lambda: diffusion.Clusters(x).assign(weft.zeros(2, 3)), invalid, "\\[N, 2\\]")):
            with self.assertRaisesRegex(error, what):
                call()


if __name__ == "__main__":
    unittest.main()
