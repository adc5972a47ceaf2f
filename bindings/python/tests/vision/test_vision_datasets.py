"""weft.vision.datasets, io and utils: files in the places and forms that torchvision knows."""
import functools
import gzip
import hashlib
import http.server
import io
import os
import pathlib
import pickle
import random
import struct
import tarfile
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np

import weft
from weft.vision import datasets
from weft.vision.datasets import cifar_pickles, download

try:
    from PIL import Image
except ImportError:
    Image = None

COUNT = 10000  # images of the test split of the MNIST family
needs_pillow = unittest.skipIf(Image is None, "Pillow is not installed")


def idx(array):
    """The bytes of an IDX file of uint8."""
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


@functools.lru_cache(None)
def digits():
    """(images [10000, 28, 28], labels [10000]) of noise."""
    draw = np.random.RandomState(3)
    images = np.zeros((COUNT, 28, 28), np.uint8)
    images[:, 10:14] = draw.randint(0, 256, (COUNT, 4, 28))
    return images, draw.randint(0, 10, COUNT).astype(np.uint8)


def write_mnist(folder, packed=()):
    """All four files, of which those of the training split hold nothing."""
    os.makedirs(folder, exist_ok=True)
    images, labels = digits()
    for name, content in (("train-images-idx3-ubyte", b""), ("train-labels-idx1-ubyte", b""),
                          ("t10k-images-idx3-ubyte", idx(images)),
                          ("t10k-labels-idx1-ubyte", idx(labels))):
        if name in packed:
            name, content = name + ".gz", gzip.compress(content, 1)
        pathlib.Path(folder, name).write_bytes(content)


class Python2:
    """Writes what cPickle of Python 2 wrote, protocol 2: text and bytes are one type."""

    def __init__(self, value):
        self.out = io.BytesIO()
        self.out.write(b"\x80\x02")
        self.add(value)
        self.out.write(b".")

    def add(self, value):
        if isinstance(value, dict):
            self.out.write(b"}(")
            for pair in value.items():
                self.add(pair[0])
                self.add(pair[1])
            self.out.write(b"u")
        elif isinstance(value, list):
            self.out.write(b"](")
            for each in value:
                self.add(each)
            self.out.write(b"e")
        elif isinstance(value, np.ndarray):
            self.out.write(b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R")
            self.out.write(b"(K\x01")
            for length in value.shape:
                self.add(length)
            self.out.write(b"\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ"
                           b"\xff\xff\xff\xffK\x00tb\x89")
            self.add(value.tobytes())
            self.out.write(b"tb")
        elif isinstance(value, int):
            self.out.write(b"J" + struct.pack("<i", value))
        else:
            raw = value if isinstance(value, bytes) else value.encode("latin1")
            self.out.write(b"T" + struct.pack("<I", len(raw)) + raw)


def python2(value):
    return Python2(value).out.getvalue()


def write_cifar(root, dump=python2, version=cifar_pickles.CIFAR10, count=7):
    """Few images in all files; (pixels, labels) of the training split."""
    folder = pathlib.Path(root, version.folder)
    folder.mkdir(parents=True)
    draw, pixels, labels = np.random.RandomState(5), [], []
    for name in (*version.train, *version.test):
        data = draw.randint(0, 256, (count, 3072)).astype(np.uint8)
        of_batch = draw.randint(0, version.classes, count).tolist()
        (folder / name).write_bytes(dump({"data": data, version.labels: of_batch}))
        if name in version.train:
            pixels.append(data)
            labels += of_batch
    names = [f"class {i}" for i in range(version.classes)]
    (folder / version.meta).write_bytes(dump({version.names: names}))
    return np.concatenate(pixels), labels


class Folders(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.root = pathlib.Path(held.name)
        # Nothing of this machine's is found.
        for name in ("HOME", "WEFT_DATA_DIR"):
            patch = mock.patch.dict(os.environ, {name: str(self.root / "none")})
            patch.start()
            self.addCleanup(patch.stop)


class Mnist(Folders):
    def check(self, dataset):
        images, labels = digits()
        self.assertEqual(len(dataset), COUNT)
        self.assertEqual((dataset.data.dtype, tuple(dataset.data.shape)),
                         (weft.uint8, (COUNT, 28, 28)))
        self.assertTrue(np.array_equal(dataset.data.numpy(), images))
        self.assertEqual(dataset.targets.tolist(), labels.tolist())

    def test_where_torchvision_keeps_the_files(self):
        for kind in (datasets.MNIST, datasets.FashionMNIST, datasets.KMNIST):
            write_mnist(self.root / kind.__name__ / "raw", ("t10k-images-idx3-ubyte",))
            self.check(kind(self.root, train=False))

    def test_where_weft_keeps_them_and_in_root_itself(self):
        write_mnist(self.root / "mnist", ("t10k-labels-idx1-ubyte", "train-images-idx3-ubyte"))
        self.check(datasets.MNIST(str(self.root), train=False))
        self.check(datasets.MNIST(self.root / "mnist", train=False, download=True))
        with mock.patch.dict(os.environ, {"WEFT_DATA_DIR": str(self.root)}):
            self.check(datasets.MNIST(self.root / "elsewhere", train=False))

    @needs_pillow
    def test_samples(self):
        write_mnist(self.root / "MNIST" / "raw")
        images, labels = digits()
        plain = datasets.MNIST(self.root, train=False)
        image, label = plain[3]
        self.assertEqual((image.mode, image.size, type(label), label),
                         ("L", (28, 28), int, labels[3]))
        self.assertTrue(np.array_equal(np.asarray(image), images[3]))
        both = datasets.MNIST(self.root, False, lambda image: np.asarray(image).sum(),
                              lambda label: -label)
        self.assertEqual(both[4], (images[4].sum(), -int(labels[4])))
        self.assertEqual(repr(plain), f"Dataset MNIST\n    Number of datapoints: {COUNT}\n"
                         f"    Root location: {self.root}\n    Split: Test")
        self.assertEqual(plain.class_to_idx["7 - seven"], 7)

    def test_missing_and_damaged_files(self):
        with self.assertRaisesRegex(weft.UnavailableError, "MNIST/raw.*download=True.*data get mnist"):
            datasets.MNIST(self.root)
        with self.assertRaisesRegex(weft.UnavailableError, "KMNIST.*codh"):
            datasets.KMNIST(self.root, download=True)
        write_mnist(self.root / "MNIST" / "raw")
        with self.assertRaisesRegex(weft.CorruptError, "train-images-idx3-ubyte"):
            datasets.MNIST(self.root)
        with self.assertRaisesRegex(TypeError, "'transform' must be a function, got int"):
            datasets.MNIST(self.root, False, 3)


class Cifar(Folders):
    def test_both_versions_of_python(self):
        dumps = (python2, lambda value: pickle.dumps(value, 2), pickle.dumps)
        for number, dump in enumerate(dumps):
            for kind, version in ((datasets.CIFAR10, cifar_pickles.CIFAR10),
                                  (datasets.CIFAR100, cifar_pickles.CIFAR100)):
                with self.subTest(number=number, kind=kind.__name__):
                    root = self.root / f"{number}{kind.__name__}"
                    pixels, labels = write_cifar(root, dump, version)
                    found = kind(root)
                    self.assertEqual(found.targets, labels)
                    wanted = pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
                    self.assertTrue(np.array_equal(found.data, wanted))
                    self.assertEqual(found.class_to_idx["class 9"], 9)
                    self.assertEqual(len(kind(root, train=False)), 7)

    def test_the_binary_version(self):
        folder = self.root / "cifar-10-batches-bin"
        folder.mkdir()
        record = np.zeros((10000, 3073), np.uint8)
        record[:, 0] = np.arange(10000) % 10
        record[7, 1 + 2 * 1024 + 5 * 32 + 6] = 99  # blue, row 5, column 6
        for name in ("test_batch.bin", *(f"data_batch_{i}.bin" for i in range(1, 6))):
            (folder / name).write_bytes(record.tobytes() if name == "test_batch.bin" else b"")
        (folder / "batches.meta.txt").write_text("".join(f"name{i}\n" for i in range(10)))
        found = datasets.CIFAR10(self.root, train=False)
        self.assertEqual((found.data.shape, found.data[7, 5, 6].tolist(), found.targets[13]),
                         ((10000, 32, 32, 3), [0, 0, 99], 3))
        self.assertEqual(found.classes[3], "name3")

    @needs_pillow
    def test_samples(self):
        pixels, labels = write_cifar(self.root)
        image, label = datasets.CIFAR10(self.root)[8]
        self.assertEqual((image.mode, label), ("RGB", labels[8]))
        self.assertTrue(np.array_equal(np.asarray(image).transpose(2, 0, 1).reshape(-1), pixels[8]))

    def read(self, content):
        """What becomes of a file with these bytes: None, or the text of CorruptError."""
        path = self.root / cifar_pickles.CIFAR10.folder / "test_batch"
        path.write_bytes(content)
        try:
            cifar_pickles.read(str(self.root), cifar_pickles.CIFAR10, False)
        except weft.CorruptError as error:
            return str(error)
        return None

    def test_no_code_of_a_file_runs(self):
        write_cifar(self.root)
        seen = self.root / "seen"
        for content in (f"cos\nmkdir\n(V{seen}\ntR.".encode(),
                        f"cbuiltins\neval\n(V__import__('os').mkdir('{seen}')\ntR.".encode(),
                        f"(cos\nmkdir\nV{seen}\no.".encode(),
                        f"(V{seen}\nios\nmkdir\n.".encode(),
                        b"cnumpy\nload\n.", b"cweft\nload\n."):
            self.assertIn("cannot be read", self.read(content) or "it was read")
        self.assertFalse(seen.exists())

    def test_damaged_files_are_refused(self):
        write_cifar(self.root)
        pixels = np.zeros((3, 3072), np.uint8)
        for value, what in (([1], "expected a dict, got list"), ({}, "expected \"data\""),
                            ({"data": pixels}, "\"labels\" with 3 numbers, got NoneType"),
                            ({"data": pixels, "labels": [1, 2]}, "3 numbers, got 2"),
                            ({"data": pixels, "labels": [1, 2, 10]}, "0 to 9, .* for image 2"),
                            ({"data": pixels, "labels": [1, 2, "3"]}, "for image 2"),
                            ({"data": pixels[:, 1:], "labels": [1, 2, 3]}, "\\[n, 3072\\]"),
                            ({"data": pixels[:0], "labels": []}, "1 to 60000 rows"),
                            ({"data": "x" * 3072, "labels": [1]}, "an array of NumPy")):
            self.assertRegex(self.read(python2(value)) or "it was read", what)
        whole = python2({"data": pixels, "labels": [1, 2, 3]})
        self.assertIsNone(self.read(whole))
        array = whole.index(b"J\x03\x00\x00\x00J\x00\x0c")
        claims = whole[:array + 1] + b"\x00\x00\x00\x7f" + whole[array + 5:]
        self.assertIn("as many bytes", self.read(claims))
        self.assertIn("cannot be read", self.read(b"\x80\x02r\xff\xff\xff\x7f."))
        draw = random.Random(7)
        for _ in range(400):  # nothing but CorruptError comes out
            length = draw.randrange(1, len(whole)) if draw.random() < 0.3 else len(whole)
            damaged = bytearray(whole[:length])
            for _ in range(draw.randrange(4)):
                damaged[draw.randrange(min(260, length))] = draw.randrange(256)
            self.read(bytes(damaged))
        (self.root / cifar_pickles.CIFAR10.folder / "batches.meta").write_bytes(
            python2({"label_names": ["a"] * 9}))
        self.assertIn("with 10 names", self.read(whole))


class ServedFiles(http.server.BaseHTTPRequestHandler):
    """Gives the server's `files`, by name."""

    def do_GET(self):
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        pass


class Downloads(Folders):
    def setUp(self):
        super().setUp()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), ServedFiles)
        self.files = server.files = {}
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.address = f"http://127.0.0.1:{server.server_port}"
        self.offers = {}
        for patch in (mock.patch.object(download, "offered", lambda name: self.offers[name]),
                      mock.patch("sys.stderr", io.StringIO())):
            patch.start()
            self.addCleanup(patch.stop)

    def offer(self, name, content, size=None):
        self.files["/" + name] = content
        return download.File(f"{self.address}/{name}", len(content) if size is None else size,
                             hashlib.sha256(content).hexdigest())

    def test_what_is_missing_is_fetched_once(self):
        images, labels = digits()
        self.offers["mnist"] = [
            self.offer("train-images-idx3-ubyte.gz", gzip.compress(b"")),
            self.offer("train-labels-idx1-ubyte.gz", gzip.compress(b"")),
            self.offer("t10k-images-idx3-ubyte.gz", gzip.compress(idx(images), 1)),
            self.offer("t10k-labels-idx1-ubyte.gz", gzip.compress(idx(labels), 1))]
        found = datasets.MNIST(self.root, train=False, download=True)
        self.assertEqual(found.targets.tolist(), labels.tolist())
        self.assertEqual(sorted(os.listdir(self.root / "MNIST" / "raw")),
                         sorted(file.url.rsplit("/", 1)[1] for file in self.offers["mnist"]))
        self.files.clear()
        self.assertEqual(len(datasets.MNIST(self.root, False, download=True)), COUNT)

    def test_archives_are_unpacked(self):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            record = np.zeros((10000, 3074), np.uint8)
            for name, content in (("train.bin", b""), ("test.bin", record.tobytes()),
                                  ("fine_label_names.txt", b"x\n" * 100), ("../../out", b"x"),
                                  ("/../out", b"x"), ("//out", b"x")):
                member = tarfile.TarInfo(name[1:] if name.startswith("/")
                                         else f"cifar-100-binary/{name}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        self.offers["cifar100"] = [self.offer("cifar-100-binary.tar.gz", packed.getvalue())]
        root = self.root / "a"
        self.assertEqual(len(datasets.CIFAR100(root, train=False, download=True)), 10000)
        self.assertEqual(os.listdir(root), ["cifar-100-binary"])
        self.assertEqual(sorted(os.listdir(self.root)), ["a"])

    def test_what_is_not_the_file_is_not_kept(self):
        folder = self.root / "cifar-10"
        good = self.offer("cifar-10-binary.tar.gz", b"x" * 5000)
        for content, error, what in ((b"y" * 5000, weft.CorruptError, "SHA-256"),
                                     (b"x" * 4999, weft.CorruptError, "got 4999 bytes"),
                                     (b"x" * 900000, weft.CorruptError, "expected 5000 bytes"),
                                     (None, weft.UnavailableError, "Not Found.*put it into")):
            self.files["/cifar-10-binary.tar.gz"] = content
            self.offers["cifar10"] = [good]
            with self.assertRaisesRegex(error, what):
                datasets.CIFAR10(folder, download=True)
            self.assertEqual(os.listdir(folder), [])
        self.offers["cifar10"] = [good._replace(url="http://127.0.0.1:1/x.tar.gz")]
        with self.assertRaisesRegex(weft.UnavailableError, "refused"):
            datasets.CIFAR10(folder, download=True)

    def test_the_catalogue_offers_what_it_says(self):
        files = [download.File(*file) for file in weft._core._dataset_downloads("cifar10")]
        self.assertEqual([(file.size, len(file.sha256)) for file in files], [(170052171, 64)])


if __name__ == "__main__":
    unittest.main()
