"""Transforms as functions of a PIL image or a tensor [..., C, H, W], with torchvision's names."""
from weft.vision.transforms.functional._color import (
    adjust_brightness, adjust_contrast, adjust_gamma, adjust_hue, adjust_saturation,
    rgb_to_grayscale, to_grayscale)
from weft.vision.transforms.functional._convert import (
    convert_image_dtype, erase, normalize, pil_to_tensor, to_pil_image, to_tensor)
from weft.vision.transforms.functional._image import (
    InterpolationMode, get_dimensions, get_image_num_channels, get_image_size)
from weft.vision.transforms.functional._levels import (
    adjust_sharpness, autocontrast, equalize, gaussian_blur, invert, posterize, solarize)
from weft.vision.transforms.functional._sizes import (
    center_crop, crop, five_crop, hflip, pad, resize, resized_crop, ten_crop, vflip)
from weft.vision.transforms.functional._warp import (
    affine, elastic_transform, perspective, rotate)

__all__ = [
    "InterpolationMode", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue",
    "adjust_saturation", "adjust_sharpness", "affine", "autocontrast", "center_crop",
    "convert_image_dtype", "crop", "elastic_transform", "equalize", "erase", "five_crop",
    "gaussian_blur", "get_dimensions", "get_image_num_channels", "get_image_size", "hflip",
    "invert", "normalize", "pad", "perspective", "pil_to_tensor", "posterize", "resize",
    "resized_crop", "rgb_to_grayscale", "rotate", "solarize", "ten_crop", "to_grayscale",
    "to_pil_image", "to_tensor", "vflip"]
