"""Schedules of the learning rate: call step() after each epoch, or each optimizer step."""
from weft.optim.lr_base import LRScheduler  # noqa: F401
from weft.optim.lr_combined import ChainedScheduler, ReduceLROnPlateau, SequentialLR  # noqa: F401
from weft.optim.lr_cycles import (  # noqa: F401
    CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR)
from weft.optim.lr_factors import (  # noqa: F401
    ConstantLR, CosineAnnealingLR, ExponentialLR, LambdaLR, LinearLR, MultiplicativeLR,
    MultiStepLR, PolynomialLR, StepLR)

_LRScheduler = LRScheduler  # PyTorch's old name
