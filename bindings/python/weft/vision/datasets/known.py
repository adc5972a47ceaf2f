"""The known datasets of images: the MNIST family and CIFAR."""
import os
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from weft import _core
from weft.datasets import _places
from weft.vision import _pillow
from weft.vision.datasets import cifar_pickles
from weft.vision.datasets.download import download_files
from weft.vision.datasets.vision import VisionDataset


class _Known(VisionDataset):
    """A dataset of Weft's catalogue, as (image of Pillow's, class)."""

    _name: str  # in the catalogue
    _folders: Tuple[str, ...]  # where torchvision keeps the files, below root

    def __init__(self, root: Any, train: bool = True, transform: Optional[Callable] = None,
                 target_transform: Optional[Callable] = None, download: bool = False) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = bool(train)
        values = self._find()
        if values is None and download:
            self._download()
            values = self._find()
        if values is None:
            raise self._missing()
        self._set(values)
        self.class_to_idx: Dict[str, int] = {name: i for i, name in enumerate(self.classes)}

    classes: List[str]
    data: Any
    targets: Any

    def _set(self, values: Dict[str, Any]) -> None:
        raise NotImplementedError

    def _candidates(self) -> Iterator[str]:
        """The folders in which the files may be: below root, then Weft's own."""
        for folder in (*self._folders, self._name, ""):
            yield os.path.join(self.root, folder) if folder else self.root
        yield from _places(self._name)

    def _find(self) -> Optional[Dict[str, Any]]:
        """The split as a dict; None if its files are nowhere. Damaged ones raise CorruptError."""
        for folder in self._candidates():
            values = self._read(folder)
            if values is not None:
                return values
        return None

    def _read(self, folder: str) -> Optional[Dict[str, Any]]:
        return _core._open_dataset_in(self._name, self.train, folder)

    def _download(self) -> None:
        download_files(self._name, os.path.join(self.root, self._folders[0]))

    def _missing(self) -> Exception:
        return _core.UnavailableError(
            f"[{type(self).__name__}] expected the dataset's files in "
            f"{', '.join(dict.fromkeys(self._candidates()))}; got none: use download=True, or put "
            f"them there; `weft data get {self._name}` shows where they are offered")

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


class MNIST(_Known):
    """60,000 and 10,000 handwritten digits of 28x28. `data` is uint8 [N, 28, 28], `targets` int64
    [N]. The files are in root/MNIST/raw, packed by gzip or not."""

    _name = "mnist"
    _folders = ("MNIST/raw",)
    classes = ["0 - zero", "1 - one", "2 - two", "3 - three", "4 - four", "5 - five", "6 - six",
               "7 - seven", "8 - eight", "9 - nine"]

    def _set(self, values: Dict[str, Any]) -> None:
        self.data, self.targets = values["images"].squeeze(1), values["labels"]

    def __getitem__(self, index: int) -> Tuple[Any, Any]:
        image = _pillow.module("Image", f"an image of {type(self).__name__}").fromarray(
            self.data[index].numpy(), mode="L")
        return self._transformed(image, self.targets[index].item())


class FashionMNIST(MNIST):
    """60,000 and 10,000 images of clothes, in the form of MNIST, in root/FashionMNIST/raw."""

    _name = "fashion-mnist"
    _folders = ("FashionMNIST/raw",)
    classes = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker",
               "Bag", "Ankle boot"]


class KMNIST(MNIST):
    """60,000 and 10,000 handwritten characters of Japanese, in the form of MNIST, in
    root/KMNIST/raw. Weft knows no place that offers them."""

    _folders = ("KMNIST/raw",)
    classes = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]

    def _candidates(self) -> Iterator[str]:
        yield os.path.join(self.root, self._folders[0])

    def _download(self) -> None:
        pass  # the error says where the files are expected

    def _missing(self) -> Exception:
        return _core.UnavailableError(
            "[KMNIST] expected train-images-idx3-ubyte and the other three files, plain or .gz, in "
            f"{next(self._candidates())}; get them from http://codh.rois.ac.jp/kmnist/")


class CIFAR10(_Known):
    """50,000 and 10,000 photographs of 32x32 in ten classes. `data` is an array of NumPy, uint8
    [N, 32, 32, 3], `targets` a list. root holds cifar-10-batches-py (Python's version, which is
    read without running code) or cifar-10-batches-bin (the binary one)."""

    _name = "cifar10"
    _folders = ("cifar-10-batches-bin",)
    _pickles = cifar_pickles.CIFAR10

    def _find(self) -> Optional[Dict[str, Any]]:
        found = cifar_pickles.read(self.root, self._pickles, self.train)
        return super()._find() if found is None else found

    def _download(self) -> None:
        download_files(self._name, self.root)

    def _set(self, values: Dict[str, Any]) -> None:
        self.data = values["images"].numpy().transpose(0, 2, 3, 1)
        self.targets = values["labels"].tolist()
        self.classes = values["class_names"]

    def __getitem__(self, index: int) -> Tuple[Any, Any]:
        image = _pillow.module("Image", f"an image of {type(self).__name__}").fromarray(
            self.data[index])
        return self._transformed(image, self.targets[index])


class CIFAR100(CIFAR10):
    """The same in a hundred classes, from cifar-100-python or cifar-100-binary."""

    _name = "cifar100"
    _folders = ("cifar-100-binary",)
    _pickles = cifar_pickles.CIFAR100
