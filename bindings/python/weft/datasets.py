"""The datasets that Weft knows: `weft data list` says which are there and how to get others."""
import os

from weft import _core
from weft.utils.data import Dataset


def names():
    """The datasets there are."""
    return _core._dataset_names()


def load(name, train=True, data_dir=None):
    """One split as a dict of tensors: images (uint8 [N, C, H, W]), labels (int64 [N]), mean and
    deviation of the pixels; or tokens, or rows and targets. Files are looked for in `data_dir` (or
    WEFT_DATA_DIR), ~/.cache/weft and where Debian's packages put them."""
    place = os.environ.get("WEFT_DATA_DIR", "") if data_dir is None else os.fspath(data_dir)
    return _core._open_dataset(name, train, place, os.environ.get("HOME", ""))


def _places(name):
    """The folders in which load(name) looks for files."""
    return _core._dataset_folders(name, os.environ.get("WEFT_DATA_DIR", ""),
                                  os.environ.get("HOME", ""))


class ImageDataset(Dataset):
    """(image, label): float32 [C, H, W] in [0, 1], then `transform`; and a whole number."""

    def __init__(self, name, root=None, train=True, transform=None):
        values = load(name, train, root)
        if "images" not in values:
            raise _core.InvalidArgumentError(f"[datasets] {name} has no images: use load()")
        self.data, self.targets = values["images"], values["labels"]
        self.mean, self.deviation = values["mean"], values["deviation"]
        self.classes = values["class_names"]
        self.transform = transform

    def _images(self, pixels):
        images = pixels.float() / 255.0
        return images if self.transform is None else self.transform(images)

    def __getitem__(self, index):
        return self._images(self.data[index]), self.targets[index].item()

    def __len__(self):
        return len(self.data)

    def _batch(self, indexes):
        """Several samples at once; `transform` gets them as one tensor [N, C, H, W]."""
        places = _core.tensor(indexes, dtype=_core.int64)
        return [self._images(self.data.index_select(0, places)),
                self.targets.index_select(0, places)]


class FashionMNIST(ImageDataset):
    """60,000 and 10,000 images [1, 28, 28] of clothes in ten classes."""

    def __init__(self, root=None, train=True, transform=None):
        super().__init__("fashion-mnist", root, train, transform)
