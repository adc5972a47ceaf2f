"""What all datasets of images share."""
import os
from typing import Any, Callable, List, Optional, Tuple

from weft import _core
from weft.utils.data import Dataset


class StandardTransform:
    """Two functions, one for the image and one for the target, as one for both."""

    def __init__(self, transform: Optional[Callable] = None,
                 target_transform: Optional[Callable] = None) -> None:
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, input: Any, target: Any) -> Tuple[Any, Any]:  # noqa: A002
        if self.transform is not None:
            input = self.transform(input)  # noqa: A001
        if self.target_transform is not None:
            target = self.target_transform(target)
        return input, target

    def __repr__(self) -> str:
        lines = [type(self).__name__]
        for head, function in (("Transform: ", self.transform),
                               ("Target transform: ", self.target_transform)):
            if function is not None:
                first, *rest = repr(function).splitlines()
                lines += [head + first, *(" " * len(head) + line for line in rest)]
        return "\n".join(lines)


class VisionDataset(Dataset):
    """A dataset in the folder `root`. Subclasses define __getitem__ and __len__. `transform` and
    `target_transform` are for the image and the target; `transforms` gets both at once."""

    def __init__(self, root: Any, transforms: Optional[Callable] = None,
                 transform: Optional[Callable] = None,
                 target_transform: Optional[Callable] = None) -> None:
        self.root = os.path.expanduser(os.fspath(root)) if root is not None else root
        separate = transform is not None or target_transform is not None
        if transforms is not None and separate:
            raise _core.InvalidArgumentError(
                f"[{type(self).__name__}] expected `transforms` alone, or `transform` and "
                "`target_transform`; got both")
        for name, function in (("transforms", transforms), ("transform", transform),
                               ("target_transform", target_transform)):
            if function is not None and not callable(function):
                raise TypeError(f"{type(self).__name__}(): argument '{name}' must be a function, "
                                f"got {type(function).__name__}")
        self.transform = transform
        self.target_transform = target_transform
        self.transforms = StandardTransform(transform, target_transform) if separate else transforms

    def _transformed(self, image: Any, target: Any) -> Tuple[Any, Any]:
        if self.transforms is None:
            return image, target
        if type(self.transforms) is StandardTransform:  # its functions may have been replaced
            if self.transform is not None:
                image = self.transform(image)
            if self.target_transform is not None:
                target = self.target_transform(target)
            return image, target
        return self.transforms(image, target)

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no __getitem__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} defines no __len__")

    def extra_repr(self) -> str:
        """A line more in repr()."""
        return ""

    def __repr__(self) -> str:
        body: List[str] = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            body.append(f"Root location: {self.root}")
        body += self.extra_repr().splitlines()
        if self.transforms is not None:
            body += repr(self.transforms).splitlines()
        return "\n".join([f"Dataset {type(self).__name__}", *("    " + line for line in body)])
