"""Images: datasets, transforms, files and grids, with torchvision's names.

`import weft` does not import it; `from weft.vision import datasets, transforms` does. Pillow is
needed where an image is one of Pillow's, as in torchvision: transforms of tensors do without."""
from weft.vision import datasets, io, transforms, utils

__all__ = ["datasets", "io", "transforms", "utils"]
