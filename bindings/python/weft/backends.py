"""weft.backends: settings of libraries for GPUs, which change nothing here."""

__all__ = ["cuda", "cudnn", "mkl", "mps", "openmp"]


class _Backend:
    """Settings that programs write and read; none has an effect on the CPU."""

    def __init__(self, available=False, **settings):
        self._available = available
        self.__dict__.update(settings)

    def is_available(self):
        """Whether this build uses it."""
        return self._available

    def is_built(self):
        """Whether this build has it."""
        return self._available

    def version(self):
        """None: it is not there."""
        return None


cudnn = _Backend(benchmark=False, deterministic=False, enabled=True, allow_tf32=True)
cuda = _Backend(matmul=_Backend(allow_tf32=False, allow_fp16_reduced_precision_reduction=True))
mps, mkl, openmp = _Backend(), _Backend(), _Backend(True)
