"""Transforms between images and tensors, and of the values of tensors."""
from typing import Any, Optional, Sequence

import weft
from weft import _core
from weft.vision.transforms import functional as F
from weft.vision.transforms._base import Transform
from weft.vision.transforms.functional._image import check_tensor, refuse, refuse_type


class ToTensor:
    """A PIL image or an array [H, W, C] as a tensor [C, H, W]; bytes become numbers in [0, 1]."""

    def __call__(self, pic: Any) -> weft.Tensor:
        return F.to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class PILToTensor:
    """A PIL image as a tensor [C, H, W] of its own type."""

    def __call__(self, pic: Any) -> weft.Tensor:
        return F.pil_to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ToPILImage:
    """A tensor [C, H, W] or an array [H, W, C] as a PIL image of a mode, by default the one that
    follows from the channels."""

    def __init__(self, mode: Optional[str] = None) -> None:
        if mode is not None and not isinstance(mode, str):
            refuse_type("ToPILImage", "mode", "one of Pillow's modes, such as 'RGB'", mode)
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        return F.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.mode is None else f'mode={self.mode}'})"


class ConvertImageDtype(Transform):
    """A tensor of another type, scaled to the range of its values."""

    def __init__(self, dtype: weft.dtype) -> None:
        super().__init__()
        if not isinstance(dtype, _core.dtype):
            refuse_type("ConvertImageDtype", "dtype", "a weft.dtype, such as weft.float32", dtype)
        self.dtype = dtype

    def forward(self, image: weft.Tensor) -> weft.Tensor:
        """The tensor in the other type."""
        return F.convert_image_dtype(image, self.dtype)


class Normalize(Transform):
    """(tensor - mean) / std, channel by channel."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean, self.std, self.inplace = mean, std, inplace

    def forward(self, tensor: weft.Tensor) -> weft.Tensor:
        """The normalized tensor."""
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def settings(self) -> str:
        return f"mean={self.mean}, std={self.std}"


class LinearTransformation(Transform):
    """(tensor - mean_vector) @ transformation_matrix of a flattened tensor [..., C, H, W], such as
    whitening: the matrix is [D, D] and the vector [D] for D = C * H * W."""

    def __init__(self, transformation_matrix: weft.Tensor, mean_vector: weft.Tensor) -> None:
        super().__init__()
        for name, value in (("transformation_matrix", transformation_matrix),
                            ("mean_vector", mean_vector)):
            if not isinstance(value, _core.Tensor):
                refuse_type("LinearTransformation", name, "a weft.Tensor", value)
        shape = list(transformation_matrix.shape)
        if len(shape) != 2 or shape[0] != shape[1]:
            refuse("LinearTransformation", "transformation_matrix as a square [D, D]", shape)
        if list(mean_vector.shape) != shape[:1]:
            refuse("LinearTransformation", f"mean_vector of shape {shape[:1]}, as the matrix",
                   list(mean_vector.shape))
        self.transformation_matrix, self.mean_vector = transformation_matrix, mean_vector

    def forward(self, tensor: weft.Tensor) -> weft.Tensor:
        """The tensor of the same shape, transformed."""
        check_tensor(tensor, "LinearTransformation", "tensor")
        length, shape = self.mean_vector.shape[0], tensor.shape
        if tensor.ndim < 3 or shape[-3] * shape[-2] * shape[-1] != length:
            refuse("LinearTransformation", f"tensor as [..., C, H, W] of {length} values each",
                   f"shape {list(shape)}")
        flat = tensor.reshape(-1, length) - self.mean_vector
        return (flat @ self.transformation_matrix).view(*shape)

    def settings(self) -> str:
        return (f"transformation_matrix={self.transformation_matrix.tolist()}, "
                f"mean_vector={self.mean_vector.tolist()}")
