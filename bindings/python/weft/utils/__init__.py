"""weft.utils.data and weft.utils.checkpoint; the names are PyTorch's."""
from weft.utils import checkpoint, data  # noqa: F401
