"""What the namespace says about itself."""
from . import _dtypes


class Info:
    """Of __array_namespace_info__()."""

    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True}

    def default_device(self):
        return "cpu"

    def default_dtypes(self, *, device=None):
        return {**_dtypes.DEFAULTS, "complex floating": None}

    def devices(self):
        return ["cpu"]

    def dtypes(self, *, device=None, kind=None):
        if kind is None:
            wanted = _dtypes.ALL
        else:
            kinds = kind if isinstance(kind, tuple) else (kind,)
            unknown = [each for each in kinds if each not in _dtypes.KINDS]
            if unknown:
                raise ValueError(f"dtypes: expected kinds of {sorted(_dtypes.KINDS)}, got "
                                 f"{unknown[0]!r}")
            wanted = [dtype for each in kinds for dtype in _dtypes.KINDS[each]]
        return {dtype.name: dtype for dtype in wanted}


def __array_namespace_info__():
    return Info()
