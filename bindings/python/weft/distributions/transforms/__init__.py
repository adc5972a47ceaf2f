"""weft.distributions.transforms: functions of draws, their inverses, and how volumes change."""
from weft.distributions.transforms.base import (  # noqa: F401
    ComposeTransform, IndependentTransform, ReshapeTransform, Transform, identity_transform)
from weft.distributions.transforms.elementwise import (  # noqa: F401
    AbsTransform, AffineTransform, CumulativeDistributionTransform, ExpTransform, PowerTransform,
    SigmoidTransform, SoftplusTransform, TanhTransform)
from weft.distributions.transforms.sequences import CatTransform, StackTransform  # noqa: F401
from weft.distributions.transforms.vectors import (  # noqa: F401
    CorrCholeskyTransform, LowerCholeskyTransform, SoftmaxTransform, StickBreakingTransform)

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform",
    "CorrCholeskyTransform", "CumulativeDistributionTransform", "ExpTransform",
    "IndependentTransform", "LowerCholeskyTransform", "PowerTransform", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform",
    "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform"]
