"""Random images, for trying a program out."""
from typing import Any, Callable, Optional, Tuple

import weft
from weft.vision.datasets.vision import VisionDataset


class FakeData(VisionDataset):
    """`size` images of noise with a random class; index i gives the same each time, drawn with the
    seed random_offset + i."""

    def __init__(self, size: int = 1000, image_size: Tuple[int, ...] = (3, 224, 224),
                 num_classes: int = 10, transform: Optional[Callable] = None,
                 target_transform: Optional[Callable] = None, random_offset: int = 0) -> None:
        super().__init__(None, transform=transform, target_transform=target_transform)
        self.size, self.num_classes, self.random_offset = size, num_classes, random_offset
        self.image_size = tuple(image_size)

    def __getitem__(self, index: int) -> Tuple[Any, Any]:
        from weft.vision.transforms.functional import to_pil_image

        if not 0 <= index < self.size:
            raise IndexError(f"FakeData: index {index} is out of range for {self.size} images")
        drawn = weft.Generator().manual_seed(self.random_offset + index)
        pixels = weft.randn(self.image_size, generator=drawn)
        target = weft.randint(0, self.num_classes, (1,), generator=drawn).item()
        return self._transformed(to_pil_image(pixels), target)

    def __len__(self) -> int:
        return self.size
