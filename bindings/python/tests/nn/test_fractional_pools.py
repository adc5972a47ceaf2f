"""Fractional max-pooling, and gradients of tables by frequency."""
import pickle
import unittest

import numpy as np

import weft
from oracle import needs_torch, torch
from weft import nn
from weft.nn import functional as F

POOLS = {2: (F.fractional_max_pool2d, "fractional_max_pool2d"),
         3: (F.fractional_max_pool3d, "fractional_max_pool3d")}


def problems(count):
    """(image, draws, kernel, sizes), which PyTorch takes, too."""
    random = np.random.default_rng(5)
    for _ in range(count):
        axes = int(random.integers(2, 4))
        lengths = random.integers(3, 9, axes)
        kernel = [int(random.integers(1, length)) for length in lengths]
        sizes = [int(random.integers(1, length - width + 1))
                 for length, width in zip(lengths, kernel)]
        lead = tuple(random.integers(1, 4, 2))
        yield (random.standard_normal((*lead, *lengths)).astype(np.float32),
               random.random((*lead, axes)).astype(np.float32), tuple(kernel), tuple(sizes))


class FractionalPools(unittest.TestCase):
    @needs_torch
    def test_are_pytorchs_for_the_same_draws(self):
        for image, draws, kernel, sizes in problems(80):
            function, name = POOLS[len(kernel)]
            x, theirs = weft.tensor(image, requires_grad=True), torch.tensor(image,
                                                                             requires_grad=True)
            with self.subTest(shape=image.shape, kernel=kernel, sizes=sizes):
                values, places = function(x, kernel, sizes, return_indices=True,
                                          _random_samples=weft.tensor(draws))
                want, at = getattr(torch.nn.functional, name)(
                    theirs, kernel, sizes, return_indices=True,
                    _random_samples=torch.tensor(draws))
                np.testing.assert_array_equal(values.detach().numpy(), want.detach().numpy())
                np.testing.assert_array_equal(places.numpy(), at.numpy())
                values.square().sum().backward()
                want.square().sum().backward()
                np.testing.assert_allclose(x.grad.numpy(), theirs.grad.numpy(), rtol=1e-6)

    def test_windows_begin_at_the_sequence_of_the_paper(self):
        image = weft.arange(49.0).reshape(1, 7, 7)
        values, places = F.fractional_max_pool2d(image, 2, (3, 4), return_indices=True,
                                                 _random_samples=weft.tensor([[[0.3, 0.8]]]))
        # Down floor((i + 0.8) 2.5) - 2 = 0, 2, then 5; across floor((i + 0.3) 5/3) = 0, 2, 3, then 5.
        want = [[8, 10, 11, 13], [22, 24, 25, 27], [43, 45, 46, 48]]
        self.assertEqual(values.tolist(), [want])
        self.assertEqual(places.tolist(), [want])

    def test_draws_repeat_with_the_seed_and_differ_without(self):
        images = weft.randn(2, 3, 32, 32)
        pool = nn.FractionalMaxPool2d(3, output_ratio=0.5)
        found = []
        for seed in (1, 1, 2):
            weft.manual_seed(seed)
            found.append(pool(images))
        self.assertEqual(found[0].shape, (2, 3, 16, 16))
        self.assertTrue(weft.equal(found[0], found[1]))
        self.assertFalse(weft.equal(found[0], found[2]))

    def test_modules(self):
        fixed = nn.FractionalMaxPool3d(2, (2, 3, 1), _random_samples=weft.full((1, 2, 3), 0.5))
        volume = weft.randn(1, 2, 5, 6, 4)
        self.assertEqual(fixed(volume).shape, (1, 2, 2, 3, 1))
        self.assertIn("_random_samples", fixed.state_dict())
        self.assertTrue(weft.equal(pickle.loads(pickle.dumps(fixed))(volume), fixed(volume)))
        self.assertEqual(nn.FractionalMaxPool2d(2, 3)(weft.randn(4, 9, 9)).shape, (4, 3, 3))

    def test_wrong_uses_name_the_argument(self):
        image = weft.ones(1, 2, 6, 6)
        for call, text in (
                (lambda: nn.FractionalMaxPool2d(2), "output_size or output_ratio, got none"),
                (lambda: nn.FractionalMaxPool2d(2, 3, 0.5), "got both"),
                (lambda: nn.FractionalMaxPool3d(2, output_ratio=(0.5, 1.5, 0.5)), "between 0 and 1"),
                (lambda: F.fractional_max_pool2d(image, 3, 5), "6 pixels.*got 5 windows of 3"),
                (lambda: F.fractional_max_pool2d(image, 0, 5), "got 5 windows of 0"),
                (lambda: F.fractional_max_pool2d(image[0, 0], 2, 3), r"got shape \[6, 6\]"),
                (lambda: F.fractional_max_pool2d(image, 2, 3, _random_samples=weft.ones(1, 2, 3)),
                 r"_random_samples of shape \[1, 2, 2\], got \[1, 2, 3\]")):
            with self.assertRaisesRegex(ValueError, text):
                call()


class ByFrequency(unittest.TestCase):
    NUMBERS = [[1, 1, 2], [3, 3, 3]]

    def test_the_gradient_of_a_row_is_divided_by_its_count(self):
        table = weft.arange(10.0).reshape(5, 2).requires_grad_()
        numbers = weft.tensor(self.NUMBERS)
        rows = F.embedding(numbers, table, scale_grad_by_freq=True)
        self.assertTrue(weft.equal(rows, F.embedding(numbers, table)))
        weights = weft.tensor([[1.0, 2, 4], [3, 6, 9]]).unsqueeze(-1)
        (rows * weights).sum().backward()
        self.assertEqual(table.grad.tolist(), [[0, 0], [1.5, 1.5], [4, 4], [6, 6], [0, 0]])

    @needs_torch
    def test_beside_pytorch_with_a_row_of_padding(self):
        for made, tensor in ((nn.Embedding, weft.tensor), (torch.nn.Embedding, torch.tensor)):
            layer = made(5, 2, padding_idx=3, scale_grad_by_freq=True)
            (layer(tensor(self.NUMBERS)) * tensor([2.0, 3.0])).sum().backward()
            self.assertEqual(layer.weight.grad.tolist(),
                             [[0, 0], [2, 3], [2, 3], [0, 0], [0, 0]])

    def test_bags(self):
        table = weft.ones(5, 2, requires_grad=True)
        F.embedding_bag(weft.tensor(self.NUMBERS), table, mode="sum",
                        scale_grad_by_freq=True).sum().backward()
        self.assertEqual(table.grad.tolist(), [[0, 0], [1, 1], [1, 1], [1, 1], [0, 0]])
        with self.assertRaisesRegex(ValueError, "scale_grad_by_freq"):
            F.embedding_bag(weft.tensor(self.NUMBERS), table, mode="max", scale_grad_by_freq=True)


if __name__ == "__main__":
    unittest.main()
