"""What x.storage() and x.untyped_storage() give: where the memory of a tensor is, and how much."""


class UntypedStorage:
    """The bytes behind a tensor, up to the last one that the tensor shows; a view's begin where the
    memory does, not where the view does."""

    def __init__(self, tensor):
        self._tensor = tensor.detach()

    def data_ptr(self):
        """The address of the first byte."""
        x = self._tensor
        return x.data_ptr() - x.storage_offset() * x.element_size()

    def _count(self):
        x = self._tensor
        if x.numel() == 0:
            return 0
        reach = sum((length - 1) * step for length, step in zip(x.shape, x.stride()) if step > 0)
        return x.storage_offset() + reach + 1

    def nbytes(self):
        """How many bytes there are."""
        return self._count() * self._tensor.element_size()

    def size(self):
        """How many elements there are: of an untyped storage bytes."""
        return self.nbytes()

    def element_size(self):
        """Bytes of one element."""
        return 1

    @property
    def device(self):
        """Where the memory is: the CPU."""
        return self._tensor.device

    def __len__(self):
        return self.size()

    def __repr__(self):
        return f"weft.{type(self).__name__}({self.nbytes()} bytes at {hex(self.data_ptr())})"

    def __getattr__(self, name):
        raise AttributeError(f"a storage has no attribute {name!r}: it has data_ptr(), size(), "
                             f"nbytes() and len(); read and write values through the tensor")


class TypedStorage(UntypedStorage):
    """The same, counted in elements of the tensor's type."""

    def size(self):
        """How many elements there are."""
        return self._count()

    def element_size(self):
        """Bytes of one element."""
        return self._tensor.element_size()

    @property
    def dtype(self):
        """The type of the elements."""
        return self._tensor.dtype

    def untyped(self):
        """The storage counted in bytes."""
        return UntypedStorage(self._tensor)
