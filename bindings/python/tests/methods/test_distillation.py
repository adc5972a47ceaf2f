"""weft.distillation against formulas in NumPy and against differences."""
import unittest

import numpy as np

import weft
from weft import distillation, nn


def blobs(seed=0, per_class=60, axes=6):
    """(x [N, axes], y [N]) of three Gaussians, and their centres."""
    draw = np.random.RandomState(seed)
    centres = draw.randn(3, axes) * 3
    y = np.repeat(np.arange(3), per_class)
    x = (centres[y] + draw.randn(len(y), axes)).astype(np.float32)
    return weft.from_numpy(x), weft.from_numpy(y), centres


class Losses(unittest.TestCase):
    def test_distributions(self):
        x, y, _ = blobs()
        made, labels = weft.randn(9, 6, dtype=weft.float64), weft.arange(3).repeat_interleave(3)
        x = x.double()
        weights = weft.randn(6, 4, dtype=weft.float64)
        loss = distillation.distribution_matching_loss(lambda v: (v @ weights).tanh(), x, y, made,
                                                       labels)
        real, synthetic = np.tanh((x @ weights).numpy()), np.tanh((made @ weights).numpy())
        wanted = sum(((real[y.numpy() == c].mean(0) - synthetic[labels.numpy() == c].mean(0)) ** 2)
                     .sum() for c in range(3))
        self.assertAlmostEqual(loss.item(), wanted, places=10)
        alone = distillation.distribution_matching_loss(lambda v: v, x[:60], y[:60], made, labels)
        self.assertAlmostEqual(alone.item(), ((x[:60].mean(0) - made[:3].mean(0)) ** 2).sum().item(),
                               places=10)

    def test_gradients(self):
        draw = np.random.RandomState(1)
        shapes = ((3, 4), (3,), (2, 3, 2, 2))
        found, wanted = ([draw.randn(*shape) for shape in shapes] for _ in range(2))
        loss = distillation.gradient_matching_loss([weft.from_numpy(each) for each in found],
                                                   [weft.from_numpy(each) for each in wanted])
        by_hand = 0.0
        for mine, theirs in zip(found, wanted):
            if mine.ndim > 1:
                for a, b in zip(mine.reshape(len(mine), -1), theirs.reshape(len(theirs), -1)):
                    by_hand += 1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b)
        self.assertAlmostEqual(loss.item(), by_hand, places=10)

    def test_contrast(self):
        draw = np.random.RandomState(2)
        features, anchors = draw.randn(5, 4), draw.randn(7, 4)
        labels, of_anchors = np.array([0, 1, 2, 1, 9]), np.array([0, 0, 1, 2, 2, 1, 1])
        loss = distillation.contrastive_loss(*(weft.from_numpy(each) for each in (
            features, labels, anchors, of_anchors)), temperature=0.3)
        unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (features, anchors)]
        near = np.exp(unit[0] @ unit[1].T / 0.3)
        each = [-np.mean(np.log(near[i, of_anchors == labels[i]] / near[i].sum()))
                for i in range(4)]
        self.assertAlmostEqual(loss.item(), np.mean(each), places=10)
        none = distillation.contrastive_loss(weft.ones(2, 3), weft.tensor([5, 6]), weft.ones(1, 3),
                                             weft.tensor([0]))
        self.assertEqual(none.item(), 0.0)


class Steps(unittest.TestCase):
    def test_the_start_has_the_statistics_of_the_classes(self):
        x, y, _ = blobs()
        made = distillation.SyntheticSet(x, y, 3, 4000)
        self.assertEqual(tuple(made.samples.shape), (12000, 6))
        for label in range(3):
            own = made.samples.detach()[made.labels == label]
            real = x[y == label]
            self.assertLess((own.mean(0) - real.mean(0)).abs().max().item(), 0.1)
            self.assertLess((own.std(0) - real.std(0)).abs().max().item(), 0.1)

    def test_the_gradient_of_a_gradient(self):
        weft.manual_seed(3)
        model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)).double()
        x, y, _ = blobs()
        made = distillation.SyntheticSet(x.double(), y, 3, 2)
        wanted = [weft.randn(p.shape, dtype=weft.float64) for p in model.parameters()]
        start = made.samples.detach().clone()

        def loss_at(samples):
            value = nn.functional.cross_entropy(model(samples), made.labels)
            found = weft.autograd.grad(value, list(model.parameters()))
            return distillation.gradient_matching_loss(found, wanted).item()

        distillation.match_gradients(made, model, wanted, 1, lr=1.0, momentum=0.0)
        moved = (start - made.samples.detach()).numpy()  # the gradient, with a rate of 1
        for row, column in ((0, 0), (2, 3), (5, 5)):
            shift = weft.zeros_like(start)
            shift[row, column] = 1e-5
            slope = (loss_at(start + shift) - loss_at(start - shift)) / 2e-5
            self.assertAlmostEqual(moved[row, column], slope, delta=1e-6 + 1e-5 * abs(slope))

    def test_matched_gradients_point_where_they_should(self):
        weft.manual_seed(4)
        x, y, _ = blobs()
        model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
        wanted = weft.autograd.grad(nn.functional.cross_entropy(model(x), y),
                                    list(model.parameters()))
        made = distillation.SyntheticSet(-x, y, 3, 4)
        losses = distillation.match_gradients(made, model, wanted, 300, lr=1.0)
        self.assertLess(losses[-1], losses[0] / 2)

    def test_a_model_learns_from_matched_samples(self):
        weft.manual_seed(5)
        x, y, centres = blobs()
        start = weft.randn(180, 6)  # nothing of the data's
        made = distillation.SyntheticSet(start, y, 3, 2)

        def features():
            return nn.Sequential(nn.Linear(6, 32), nn.ReLU())

        distillation.match_distribution(made, features, x, y, 300, lr=0.3)
        model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
        optimizer = weft.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(100):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(made.samples.detach()), made.labels).backward()
            optimizer.step()
        right = (model(x).argmax(1) == y).float().mean().item()
        self.assertGreater(right, 0.9)

    def test_wrong_uses(self):
        x, y, _ = blobs()
        invalid = weft.InvalidArgumentError
        for call, error, what in (
                (lambda: distillation.SyntheticSet(x, y, 4, 2), invalid, "none of class 3"),
                (lambda: distillation.SyntheticSet(x, y, 3, 0), invalid, "per_class .*got 0"),
                (lambda: distillation.SyntheticSet(x, y[1:], 3, 1), invalid, "got \\[180, 6\\] and"),
                (lambda: distillation.SyntheticSet(x, y.float(), 3, 1), invalid, "float32"),
                (lambda: distillation.SyntheticSet([1], y, 3, 1), TypeError, "'samples'.*list"),
                (lambda: distillation.gradient_matching_loss([x], [x[1:]]), invalid, "179"),
                (lambda: distillation.gradient_matching_loss([x[0]], [x[0]]), invalid, "two or more"),
                (lambda: distillation.contrastive_loss(x, y, x, y, 0), invalid, "above 0, got 0")):
            with self.assertRaisesRegex(error, what):
                call()


if __name__ == "__main__":
    unittest.main()
