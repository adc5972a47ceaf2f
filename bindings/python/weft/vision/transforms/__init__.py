"""Transforms of images, of Pillow's and of tensors [..., C, H, W], with torchvision's names.

Random ones draw from Weft's default generator: weft.manual_seed() repeats them, and each worker of
a DataLoader has draws of its own."""
from weft.vision.transforms import functional
from weft.vision.transforms._auto import (
    AugMix, AutoAugment, AutoAugmentPolicy, RandAugment, TrivialAugmentWide)
from weft.vision.transforms._color import (
    ColorJitter, GaussianBlur, Grayscale, RandomAdjustSharpness, RandomAutocontrast, RandomEqualize,
    RandomErasing, RandomGrayscale, RandomInvert, RandomPosterize, RandomSolarize)
from weft.vision.transforms._compose import (
    Compose, Lambda, RandomApply, RandomChoice, RandomOrder)
from weft.vision.transforms._convert import (
    ConvertImageDtype, LinearTransformation, Normalize, PILToTensor, ToPILImage, ToTensor)
from weft.vision.transforms._sizes import (
    CenterCrop, FiveCrop, Pad, RandomCrop, RandomHorizontalFlip, RandomResizedCrop,
    RandomVerticalFlip, Resize, TenCrop)
from weft.vision.transforms._warp import (
    ElasticTransform, RandomAffine, RandomPerspective, RandomRotation)
from weft.vision.transforms.functional import InterpolationMode

__all__ = [
    "AugMix", "AutoAugment", "AutoAugmentPolicy", "CenterCrop", "ColorJitter", "Compose",
    "ConvertImageDtype", "ElasticTransform", "FiveCrop", "GaussianBlur", "Grayscale",
    "InterpolationMode", "Lambda", "LinearTransformation", "Normalize", "PILToTensor", "Pad",
    "RandAugment", "RandomAdjustSharpness", "RandomAffine", "RandomApply", "RandomAutocontrast",
    "RandomChoice", "RandomCrop", "RandomEqualize", "RandomErasing", "RandomGrayscale",
    "RandomHorizontalFlip", "RandomInvert", "RandomOrder", "RandomPerspective", "RandomPosterize",
    "RandomResizedCrop", "RandomRotation", "RandomSolarize", "RandomVerticalFlip", "Resize",
    "TenCrop", "ToPILImage", "ToTensor", "TrivialAugmentWide", "functional"]
