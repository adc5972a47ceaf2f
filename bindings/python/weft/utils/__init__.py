"""weft.utils.data; the name is PyTorch's."""
from weft.utils import data  # noqa: F401
