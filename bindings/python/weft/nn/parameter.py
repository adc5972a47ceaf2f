"""Parameter: a tensor that a Module trains."""
from weft._core import Tensor


class Parameter(Tensor):
    """A leaf on the memory of `data`; modules list it among their parameters()."""

    def __new__(cls, data, requires_grad=True):
        return super().__new__(cls, data, requires_grad)

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()
