"""Datasets of images: files in folders, and the known ones, with torchvision's names.

The known ones are looked for in `root`, where torchvision keeps them and where Weft does, then in
the places of `weft data list`; `download=True` fetches what is in none of them."""
from weft.vision.datasets.fake import FakeData
from weft.vision.datasets.folder import (IMG_EXTENSIONS, DatasetFolder, ImageFolder,
                                         default_loader, find_classes,
                                         has_file_allowed_extension, is_image_file, make_dataset,
                                         pil_loader)
from weft.vision.datasets.known import CIFAR10, CIFAR100, KMNIST, MNIST, FashionMNIST
from weft.vision.datasets.vision import StandardTransform, VisionDataset

__all__ = ["CIFAR10", "CIFAR100", "DatasetFolder", "FakeData", "FashionMNIST", "IMG_EXTENSIONS",
           "ImageFolder", "KMNIST", "MNIST", "StandardTransform", "VisionDataset",
           "default_loader", "find_classes", "has_file_allowed_extension", "is_image_file",
           "make_dataset", "pil_loader"]
