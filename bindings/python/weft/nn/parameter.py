"""Parameter: a tensor that a Module trains."""
from weft._core import Tensor


class Parameter(Tensor):
    """A leaf on the memory of `data`; modules list it among their parameters()."""

    def __new__(cls, data, requires_grad=True):
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter(): argument 'data' must be weft.Tensor, got "
                            f"{type(data).__name__}: make one of it with weft.tensor()")
        return super().__new__(cls, data, requires_grad)

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()
