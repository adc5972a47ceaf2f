"""The draws of random transforms: from Weft's generator, by their distributions, in workers; and
what the package needs to be imported."""
import collections
import copy
import math
import pickle
import subprocess
import sys
import unittest

import numpy as np

import imaging
import weft
from oracle import assert_close, assert_equal
from weft.utils.data import DataLoader, Dataset
from weft.vision import transforms as T
from weft.vision.transforms import _draws
from weft.vision.transforms import functional as F

PICTURE = weft.from_numpy(imaging.arrays()["f3"])
OCTETS = weft.from_numpy(imaging.arrays()["u3"])
RANDOM = [T.RandomCrop(8), T.RandomHorizontalFlip(), T.RandomVerticalFlip(), T.RandomResizedCrop(6),
          T.RandomRotation(40), T.RandomAffine(30, (0.2, 0.2), (0.5, 2), 10),
          T.RandomPerspective(p=0.8), T.RandomErasing(0.8, value="random"), T.GaussianBlur(3),
          T.ColorJitter(0.5, 0.5, 0.5, 0.3),
          T.RandomGrayscale(0.5), T.ElasticTransform(20.0, 0.4), T.RandomInvert(),
          T.RandomApply([T.RandomInvert(1.0)]), T.RandomOrder([T.Pad(1), T.RandomCrop(7)]),
          T.RandomChoice([T.Pad(1), T.CenterCrop(5)])]
AUTOMATIC = [T.AutoAugment(policy) for policy in T.AutoAugmentPolicy] + [
    T.RandAugment(), T.TrivialAugmentWide(), T.AugMix()]
DRAWS = 4000
CHANCE = 5 * math.sqrt(0.25 / DRAWS)  # five deviations of a share


class Noted(Dataset):
    """Samples that show what a transform drew for them."""

    def __len__(self):
        return 12

    def __getitem__(self, index):
        return T.RandomResizedCrop.get_params(PICTURE, (0.1, 1.0), (0.5, 2.0))


class Seeds(unittest.TestCase):
    def test_a_seed_repeats_and_another_does_not(self):
        for transform in RANDOM + AUTOMATIC:
            with self.subTest(repr(transform)):
                image = OCTETS if transform in AUTOMATIC else PICTURE
                results = []
                for seed in (3, 3, *range(4, 16)):
                    weft.manual_seed(seed)
                    results.append(transform(image).numpy())
                assert_equal(results[0], results[1])
                self.assertTrue(any(each.shape != results[0].shape or (each != results[0]).any()
                                    for each in results))

    def test_workers_draw_what_a_seed_repeats(self):
        def drawn(seed):
            weft.manual_seed(seed)
            return [tuple(map(tuple, zip(*(each.tolist() for each in batch))))
                    for batch in DataLoader(Noted(), batch_size=3, num_workers=2)]

        first = drawn(1)
        self.assertEqual(first, drawn(1))
        self.assertNotEqual(first, drawn(2))
        self.assertGreater(len({each for batch in first for each in batch}), 9)

    def test_copies_and_pickles(self):
        for transform in RANDOM + AUTOMATIC + [T.Normalize([0.5], [0.2]), T.ToTensor()]:
            for other in (copy.deepcopy(transform), pickle.loads(pickle.dumps(transform))):
                self.assertEqual(repr(other), repr(transform))


class Distributions(unittest.TestCase):
    def setUp(self):
        weft.manual_seed(5)

    def test_chances(self):
        for p in (0.0, 0.3, 1.0):
            share = sum(_draws.chance(p) for _ in range(DRAWS)) / DRAWS
            self.assertLessEqual(abs(share - p), CHANCE if 0 < p < 1 else 0)

    def test_uniform(self):
        values = np.array([_draws.uniform(-2.0, 3.0) for _ in range(DRAWS)])
        self.assertGreaterEqual(values.min(), -2.0)
        self.assertLess(values.max(), 3.0)
        self.assertLess(abs(values.mean() - 0.5), 5 * values.std() / math.sqrt(DRAWS))
        self.assertLess(abs(values.std() - 5 / math.sqrt(12)), 0.1)

    def test_whole_numbers_and_weights(self):
        def counts(draw, values):
            found = collections.Counter(draw() for _ in range(DRAWS))
            self.assertLessEqual(set(found), set(values))
            return [found[value] / DRAWS for value in values]

        assert_close(np.array(counts(lambda: _draws.whole(2, 5), (2, 3, 4))), np.full(3, 1 / 3), 0,
                     CHANCE)
        assert_close(np.array(counts(lambda: _draws.one_of(4, (1, 0, 2, 1)), range(4))),
                     np.array([0.25, 0, 0.5, 0.25]), 0, CHANCE)
        orders = counts(lambda: tuple(_draws.order(3)), [
            (0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
        assert_close(np.array(orders), np.full(6, 1 / 6), 0, CHANCE)

    def test_dirichlet(self):
        for alpha in (0.4, 1.0, 3.0):
            values = _draws.dirichlet(alpha, DRAWS, 3).numpy()
            assert_close(values.sum(1), np.ones(DRAWS))
            mean, variance = 1 / 3, (1 / 3) * (2 / 3) / (3 * alpha + 1)
            self.assertLess(abs(values[:, 0].mean() - mean), 5 * math.sqrt(variance / DRAWS))
            self.assertLess(abs(values[:, 0].var() - variance), 0.15 * variance)

    def test_resized_crops_have_areas_and_aspects_of_their_ranges(self):
        image = weft.zeros(1, 200, 300)
        for _ in range(500):
            top, left, height, width = T.RandomResizedCrop.get_params(image, (0.2, 0.5), (0.5, 2.0))
            self.assertLessEqual(max(top + height - 200, left + width - 300), 0)
            self.assertTrue(0.19 < height * width / 60000 < 0.51 and 0.49 < width / height < 2.02)
        for shape, wanted in (((1, 5, 90), (5, 7)), ((1, 90, 5), (7, 5))):
            place = T.RandomResizedCrop.get_params(weft.zeros(*shape), (1.0, 1.0), (0.75, 4 / 3))
            self.assertEqual(place[2:], wanted)  # in the middle, where no draw fits

    def test_corners_of_perspectives(self):
        for _ in range(300):
            starts, ends = T.RandomPerspective.get_params(40, 30, 0.5)
            for (x, y), (to_x, to_y) in zip(starts, ends):
                self.assertLessEqual(abs(x - to_x), 10)
                self.assertLessEqual(abs(y - to_y), 7)


class Images(unittest.TestCase):
    def test_a_batch_is_transformed_as_its_images(self):
        batch = weft.stack([PICTURE, PICTURE.flip(-1)])
        for function in (lambda x: F.resize(x, 7), lambda x: F.rotate(x, 30.0), F.hflip,
                         F.autocontrast,
                         lambda x: F.gaussian_blur(x, 3), lambda x: F.adjust_hue(x, 0.2),
                         lambda x: F.normalize(x, (0.5, 0.4, 0.3), (0.2, 0.3, 0.1)),
                         lambda x: F.pad(x, 2, padding_mode="reflect")):
            one_by_one = weft.stack([function(image) for image in batch.unbind(0)])
            assert_close(function(batch), one_by_one, 1e-5, 1e-6)
            assert_close(function(batch.unsqueeze(1)), one_by_one.unsqueeze(1), 1e-5, 1e-6)

    def test_transforms_are_parts_of_a_sequential(self):
        model = weft.nn.Sequential(T.CenterCrop(8), T.Normalize((0.5,) * 3, (0.5,) * 3))
        assert_equal(model(PICTURE), (PICTURE[:, 2:10, 4:12] - 0.5) / 0.5)

    def test_gradients_pass(self):
        image = PICTURE.clone().requires_grad_()
        F.normalize(F.crop(F.hflip(image), 1, 1, 5, 5), (0.5,), (0.25,)).sum().backward()
        wanted = np.zeros((3, 13, 17), np.float32)
        wanted[:, 1:6, 11:16] = 4.0
        assert_equal(image.grad, wanted)

    def test_a_crop_beyond_the_image_is_0(self):
        assert_equal(F.crop(OCTETS, -9, -9, 4, 5), np.zeros((3, 4, 5), np.uint8))
        assert_equal(F.crop(OCTETS, 40, 3, 2, 2), np.zeros((3, 2, 2), np.uint8))

    @imaging.needs_pillow
    def test_images_of_16_bits(self):
        values = np.array([[0, 300, 65535]], np.uint16)
        image = imaging.Image.fromarray(values)
        for convert in (F.to_tensor, F.pil_to_tensor):
            assert_equal(convert(image), values.astype(np.int32)[None])

    @imaging.needs_pillow
    def test_a_tensor_of_an_image_has_memory_of_its_own(self):
        image = imaging.pictures()["pL"]
        before = np.array(image)
        F.pil_to_tensor(image).zero_()
        assert_equal(np.array(image), before)

    @imaging.needs_pillow
    def test_numbers_of_filters_are_taken_with_a_warning(self):
        image = imaging.pictures()["pRGB"]
        for number, mode in enumerate("NEAREST LANCZOS BILINEAR BICUBIC BOX HAMMING".split()):
            with self.assertWarns(UserWarning):
                found = F.resize(image, 9, number)
            assert_equal(np.array(found), np.array(F.resize(image, 9, T.InterpolationMode[mode])))


class Importing(unittest.TestCase):
    def test_neither_pillow_nor_numpy_is_read_before_it_is_needed(self):
        program = ("import sys, weft; from weft.vision import transforms as T; "
                   "x = T.Compose([T.Resize(5), T.RandomCrop(3), T.Normalize([.5], [.5])])("
                   "weft.ones(3, 8, 8)); read = [name for name in ('numpy', 'PIL') "
                   "if name in sys.modules]; assert not read, read")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_public_name_is_documented(self):
        for module in (T, F):
            missing = [name for name in module.__all__ if not getattr(module, name).__doc__]
            self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
