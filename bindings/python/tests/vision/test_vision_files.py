"""weft.vision: folders of images, image files as tensors, grids of images."""
import os
import pathlib
import tempfile
import unittest

import numpy as np

import weft
from weft.utils.data import DataLoader
from weft.vision import datasets, io, transforms, utils

try:
    from PIL import Image
except ImportError:
    Image = None
try:
    import torch
    import torchvision
except ImportError:
    torch = torchvision = None


def picture(seed, size=(5, 4), channels=3):
    """Noise, uint8 [H, W, C]."""
    return np.random.RandomState(seed).randint(0, 256, (*size, channels)).astype(np.uint8)


class Temporary(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.root = pathlib.Path(held.name)

    def write(self, name, pixels):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)


@unittest.skipIf(Image is None, "Pillow is not installed")
class Folders(Temporary):
    def setUp(self):
        super().setUp()
        for number, name in enumerate(("dog/b.png", "dog/a.PNG", "cat/deep/c.bmp", "ape/d.ppm",
                                       "cat/z.png")):
            self.write(name, picture(number))
        (self.root / "cat" / "notes.txt").write_text("no image")
        (self.root / "top.png").write_bytes(b"not in a class")

    def names(self, dataset):
        return [(os.path.relpath(path, self.root), target) for path, target in dataset.samples]

    def test_classes_and_samples(self):
        found = datasets.ImageFolder(self.root)
        self.assertEqual(found.classes, ["ape", "cat", "dog"])
        self.assertEqual(found.class_to_idx, {"ape": 0, "cat": 1, "dog": 2})
        self.assertEqual(self.names(found), [("ape/d.ppm", 0), ("cat/z.png", 1),
                                             ("cat/deep/c.bmp", 1), ("dog/a.PNG", 2),
                                             ("dog/b.png", 2)])
        self.assertEqual((found.targets, found.imgs), ([0, 1, 1, 2, 2], found.samples))
        image, target = found[4]
        self.assertEqual((image.mode, target), ("RGB", 2))
        self.assertTrue(np.array_equal(np.asarray(image), picture(0)))
        if torchvision is not None:
            theirs = torchvision.datasets.ImageFolder(self.root)
            self.assertEqual(theirs.samples, found.samples)
            self.assertEqual(repr(theirs), repr(found))

    def test_choices(self):
        grey = datasets.ImageFolder(
            str(self.root), loader=lambda path: os.path.basename(path), target_transform=str,
            is_valid_file=lambda path: path.endswith((".png", ".ppm", ".txt")))
        self.assertEqual([grey[i] for i in range(len(grey))],
                         [("d.ppm", "0"), ("notes.txt", "1"), ("z.png", "1"), ("b.png", "2")])
        whole = datasets.DatasetFolder(self.root, os.path.getsize, (".bmp", ".png", ".ppm"))
        self.assertEqual(len(whole), 5)

    def test_what_is_refused(self):
        (self.root / "void").mkdir()
        with self.assertRaisesRegex(FileNotFoundError, "1 of 4 folders .*void"):
            datasets.ImageFolder(self.root)
        with self.assertRaisesRegex(FileNotFoundError, "has no folders"):
            datasets.ImageFolder(self.root / "dog")
        with self.assertRaisesRegex(FileNotFoundError, "nowhere"):
            datasets.ImageFolder(self.root / "nowhere")
        for files in ({}, {"extensions": ".png", "is_valid_file": bool}):
            with self.assertRaisesRegex(ValueError, "extensions or is_valid_file"):
                datasets.make_dataset(self.root, {"dog": 0}, **files)
        with self.assertRaisesRegex(ValueError, "`transforms` alone"):
            datasets.VisionDataset(self.root, transforms=min, transform=max)
        with self.assertRaisesRegex(TypeError, "'transform' must be a function, got str"):
            datasets.ImageFolder(self.root / "dog", "resize")

    def test_worker_processes_make_batches(self):
        steps = transforms.Compose([transforms.RandomHorizontalFlip(1.0), transforms.ToTensor(),
                                    transforms.Normalize((0.5,) * 3, (0.25,) * 3)])
        found = datasets.ImageFolder(self.root, steps)
        batches = [list(DataLoader(found, 2, num_workers=workers)) for workers in (0, 2)]
        for (images, targets), (again, _) in zip(*batches):
            self.assertTrue(images.equal(again))
            self.assertEqual(targets.dtype, weft.int64)
        wanted = (picture(3)[:, ::-1].transpose(2, 0, 1) / 255 - 0.5) / 0.25
        np.testing.assert_allclose(batches[0][0][0][0].numpy(), wanted, atol=1e-6)

    def test_fake_images(self):
        fake = datasets.FakeData(5, (3, 6, 7), 4, transforms.ToTensor())
        images, targets = next(iter(DataLoader(fake, 5)))
        self.assertEqual((tuple(images.shape), targets.dtype), ((5, 3, 6, 7), weft.int64))
        self.assertTrue(images[2].equal(fake[2][0]))
        self.assertFalse(images[2].equal(images[3]))
        shifted = datasets.FakeData(5, (3, 6, 7), 4, transforms.ToTensor(), random_offset=1)
        self.assertTrue(images[2].equal(shifted[1][0]))
        with self.assertRaises(IndexError):
            fake[5]


@unittest.skipIf(Image is None, "Pillow is not installed")
class Files(Temporary):
    def test_images_are_read_as_they_are(self):
        for channels, mode in ((1, "L"), (2, "LA"), (3, "RGB"), (4, "RGBA")):
            pixels = picture(channels, channels=channels)
            path = self.root / f"{mode}.png"
            Image.fromarray(pixels[..., 0] if channels == 1 else pixels, mode).save(path)
            wanted = pixels.transpose(2, 0, 1)
            self.assertTrue(np.array_equal(io.read_image(path).numpy(), wanted))
            read = io.decode_image(io.read_file(str(path)))
            self.assertTrue(np.array_equal(read.numpy(), wanted))
            rgb = io.read_image(path, io.ImageReadMode.RGB)
            self.assertEqual(tuple(rgb.shape), (3, 5, 4))
        self.assertEqual(io.read_image(path, io.ImageReadMode.GRAY).shape[0], 1)

    def test_images_are_written(self):
        for channels in (1, 3):
            image = weft.from_numpy(picture(7, (40, 30), channels).transpose(2, 0, 1).copy())
            io.write_png(image, self.root / "a.png", 9)
            self.assertTrue(io.read_image(self.root / "a.png").equal(image))
            self.assertTrue(io.decode_png(io.encode_png(image)).equal(image))
            smooth = weft.arange(1200).reshape(1, 30, 40).expand(channels, 30, 40) // 5
            smooth = smooth.to(weft.uint8).contiguous()
            io.write_jpeg(smooth, self.root / "a.jpg", quality=100)
            off = (io.read_image(self.root / "a.jpg").float() - smooth.float()).abs().max()
            self.assertLess(off.item(), 5)

    def test_what_is_no_image(self):
        path = self.root / "x.png"
        io.write_png(weft.zeros(3, 9, 9, dtype=weft.uint8), path)
        raw = path.read_bytes()
        for content in (b"", b"text", raw[:40], raw[:20] + b"\xff" * 30 + raw[50:]):
            path.write_bytes(content)
            with self.assertRaisesRegex(weft.CorruptError, "x.png: expected an image, got"):
                io.read_image(path)
        with self.assertRaises(FileNotFoundError):
            io.read_image(self.root / "none.png")
        for call, what in ((lambda: io.decode_image(weft.zeros(3)), "uint8 \\[n\\], got"),
                           (lambda: io.encode_png(weft.zeros(3, 2, 2)), "uint8 .*float32"),
                           (lambda: io.encode_png(weft.zeros(2, 2, 2, dtype=weft.uint8)), "2, 2, 2"),
                           (lambda: io.encode_jpeg(weft.zeros(1, 2, 2, dtype=weft.uint8), 0),
                            "quality from 1 to 100, got 0"),
                           (lambda: io.write_png(weft.zeros(1, 2, 2, dtype=weft.uint8), path, 10),
                            "from 0 to 9, got 10")):
            with self.assertRaisesRegex(weft.InvalidArgumentError, what):
                call()
        with self.assertRaisesRegex(TypeError, "ImageReadMode, got int"):
            io.decode_image(weft.zeros(3, dtype=weft.uint8), 3)


class Grids(Temporary):
    def test_places(self):
        images = weft.arange(5.0).reshape(5, 1, 1, 1).expand(5, 3, 2, 3)
        grid = utils.make_grid(images, nrow=3, padding=1, pad_value=9.0)
        self.assertEqual(tuple(grid.shape), (3, 7, 13))
        row = [9, 0, 0, 0, 9, 1, 1, 1, 9, 2, 2, 2, 9]
        last = [9, 3, 3, 3, 9, 4, 4, 4, 9, 9, 9, 9, 9]
        for channel in range(3):
            self.assertEqual(grid[channel].tolist(),
                             [[9] * 13, row, row, [9] * 13, last, last, [9] * 13])
        self.assertEqual(tuple(utils.make_grid([weft.ones(1, 2, 2)] * 2, padding=0).shape),
                         (3, 2, 4))

    @unittest.skipIf(torchvision is None, "torchvision is not installed")
    def test_the_grids_of_torchvision(self):
        draw = np.random.RandomState(0)
        for shape in ((7, 3, 5, 4), (1, 1, 5, 4), (3, 5, 4), (5, 4), (9, 1, 3, 3), (4, 2, 3, 3)):
            values = draw.randn(*shape).astype(np.float32)
            for options in ({}, {"nrow": 2, "padding": 3, "pad_value": 0.5},
                            {"normalize": True}, {"normalize": True, "value_range": (-1.0, 0.5)},
                            {"normalize": True, "scale_each": True, "nrow": 4}):
                mine = utils.make_grid(weft.from_numpy(values), **options)
                theirs = torchvision.utils.make_grid(torch.from_numpy(values), **options)
                with self.subTest(shape=shape, options=options):
                    np.testing.assert_allclose(mine.numpy(), theirs.numpy(), atol=1e-6)

    @unittest.skipIf(Image is None, "Pillow is not installed")
    def test_grids_are_saved(self):
        values = weft.linspace(-0.1, 1.1, 24).reshape(2, 1, 3, 4).requires_grad_()
        utils.save_image(values, self.root / "grid.png", nrow=2, padding=0)
        wanted = (values.detach() * 255 + 0.5).clamp(0, 255).to(weft.uint8)
        read = io.read_image(self.root / "grid.png")
        self.assertEqual(tuple(read.shape), (3, 3, 8))
        self.assertTrue(read[0, :, 4:].equal(wanted[1, 0]))

    def test_what_is_refused(self):
        for call, what in ((lambda: utils.make_grid([]), "at least one image"),
                           (lambda: utils.make_grid(weft.ones(2)), "got \\[2\\]"),
                           (lambda: utils.make_grid(weft.ones(0, 3, 2, 2)), "got \\[0, 3, 2, 2\\]"),
                           (lambda: utils.make_grid(weft.ones(2, 2), nrow=0), "nrow .*got 0"),
                           (lambda: utils.make_grid(weft.ones(2, 2), padding=-1), "got -1")):
            with self.assertRaisesRegex(weft.InvalidArgumentError, what):
                call()
        for value in (3, [3], np.ones((3, 2, 2))):
            with self.assertRaisesRegex(TypeError, "weft.Tensor"):
                utils.make_grid(value)
        with self.assertRaisesRegex(TypeError, "value_range"):
            utils.make_grid(weft.ones(2, 2), normalize=True, value_range=3)


if __name__ == "__main__":
    unittest.main()
