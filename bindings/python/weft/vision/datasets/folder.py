"""Files in one folder for each class."""
import os
from typing import Any, Callable, Dict, List, Optional, Tuple

from weft import _core
from weft.vision import _pillow
from weft.vision.datasets.vision import VisionDataset

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def has_file_allowed_extension(filename: str, extensions: Any) -> bool:
    """Whether the name ends in one of `extensions`, in any case."""
    return filename.lower().endswith(
        extensions if isinstance(extensions, str) else tuple(extensions))


def is_image_file(filename: str) -> bool:
    """Whether the name ends as an image's does."""
    return has_file_allowed_extension(filename, IMG_EXTENSIONS)


def pil_loader(path: str) -> Any:
    """The image in RGB."""
    with open(path, "rb") as file, \
            _pillow.module("Image", "an image as an image of Pillow's").open(file) as image:
        return image.convert("RGB")


default_loader = pil_loader


def find_classes(directory: Any) -> Tuple[List[str], Dict[str, int]]:
    """The names of the folders in `directory`, sorted, and {name: index}."""
    with os.scandir(directory) as entries:
        classes = sorted(entry.name for entry in entries if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"[ImageFolder] {os.fspath(directory)} has no folders: expected "
                                "one for each class, with its images")
    return classes, {name: index for index, name in enumerate(classes)}


def make_dataset(directory: Any, class_to_idx: Optional[Dict[str, int]] = None,
                 extensions: Any = None,
                 is_valid_file: Optional[Callable[[str], bool]] = None) -> List[Tuple[str, int]]:
    """(path, index of the class) of the files below `directory`, sorted; links are followed. Either
    their names end in `extensions`, or is_valid_file(path) is true."""
    root = os.path.expanduser(os.fspath(directory))
    if class_to_idx is None:
        class_to_idx = find_classes(root)[1]
    elif not class_to_idx:
        raise _core.InvalidArgumentError(
            "[make_dataset] expected at least one class in class_to_idx, got none")
    if (extensions is None) == (is_valid_file is None):
        given = "neither" if extensions is None else "both"
        raise _core.InvalidArgumentError(
            f"[make_dataset] expected extensions or is_valid_file, got {given}")

    def wanted(path: str) -> bool:
        if is_valid_file is not None:
            return is_valid_file(path)
        return has_file_allowed_extension(path, extensions)

    samples = []
    empty = set(class_to_idx)
    for name, index in sorted(class_to_idx.items()):
        for folder, _, files in sorted(os.walk(os.path.join(root, name), followlinks=True)):
            paths = [os.path.join(folder, file) for file in sorted(files)]
            found = [(path, index) for path in paths if wanted(path)]
            samples += found
            if found:
                empty.discard(name)
    if empty:
        names = ", ".join(sorted(empty)[:5]) + (", ..." if len(empty) > 5 else "")
        text = extensions if isinstance(extensions, str) else ", ".join(extensions or ())
        raise FileNotFoundError(
            f"[ImageFolder] {len(empty)} of {len(class_to_idx)} folders in {root} have no files "
            "that fit"
            + (f" (their names end in {text})" if extensions is not None else "")
            + f": {names}. Remove these folders, or put files into them")
    return samples


class DatasetFolder(VisionDataset):
    """(loader(path), class) of the files in ROOT/CLASS/..., where the classes are numbered in the
    order of their names: `classes`, `class_to_idx`, `samples` and `targets` list them. Fails:
    FileNotFoundError where a class has no file."""

    def __init__(self, root: Any, loader: Callable[[str], Any], extensions: Any = None,
                 transform: Optional[Callable] = None,
                 target_transform: Optional[Callable] = None,
                 is_valid_file: Optional[Callable[[str], bool]] = None) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.samples = self.make_dataset(self.root, self.class_to_idx, extensions, is_valid_file)
        self.loader, self.extensions = loader, extensions
        self.targets = [target for _, target in self.samples]

    @staticmethod
    def make_dataset(directory: Any, class_to_idx: Dict[str, int], extensions: Any = None,
                     is_valid_file: Optional[Callable[[str], bool]] = None
                     ) -> List[Tuple[str, int]]:
        """The samples; a subclass may choose others."""
        return make_dataset(directory, class_to_idx, extensions, is_valid_file)

    def find_classes(self, directory: Any) -> Tuple[List[str], Dict[str, int]]:
        """The classes; a subclass may choose others."""
        return find_classes(directory)

    def __getitem__(self, index: int) -> Tuple[Any, Any]:
        path, target = self.samples[index]
        return self._transformed(self.loader(path), target)

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """(image, class) of the images in ROOT/CLASS/..., in RGB by default_loader."""

    def __init__(self, root: Any, transform: Optional[Callable] = None,
                 target_transform: Optional[Callable] = None,
                 loader: Callable[[str], Any] = default_loader,
                 is_valid_file: Optional[Callable[[str], bool]] = None) -> None:
        super().__init__(root, loader, IMG_EXTENSIONS if is_valid_file is None else None,
                         transform, target_transform, is_valid_file)
        self.imgs = self.samples
