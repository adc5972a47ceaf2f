"""Settings of the process that PyTorch's programs write and read."""
from weft import _core


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None,
                     sci_mode=None):
    """How tensors are printed: digits behind the point, how many values are printed in full, how
    many at each end of what is not, columns of a line; `profile`: default, short or full."""
    from weft import _printing

    _printing.set_printoptions(precision, threshold, edgeitems, linewidth, profile, sci_mode)


def set_num_interop_threads(count):
    """Does nothing: operations run one after another."""


def get_num_interop_threads():
    """1: operations run one after another."""
    return 1


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Does nothing: results are the same on every run, and for any number of threads."""


def are_deterministic_algorithms_enabled():
    """True: results are the same on every run."""
    return True


def set_deterministic_debug_mode(debug_mode):
    """Does nothing: results are the same on every run."""


def set_float32_matmul_precision(precision):
    """Refuses what is none of highest, high and medium; products are always of the first kind."""
    if precision not in ("highest", "high", "medium"):
        raise _core.InvalidArgumentError(
            f"[set_float32_matmul_precision] expected highest, high or medium, got {precision!r}")


def get_float32_matmul_precision():
    """'highest': products of float32 are computed in float32."""
    return "highest"


def set_flush_denormal(mode):
    """False: small numbers stay as they are."""
    return False


def set_default_tensor_type(t):
    """set_default_dtype() of what that type of tensors holds."""
    from weft._names.facts import dtype_of

    _core.set_default_dtype(dtype_of(t))


def set_warn_always(b):
    """Does nothing: warnings are Python's, and its filters choose."""


class autocast:
    """Within it products, convolutions and attention take float32 operands as bfloat16, which halves
    what is kept for gradients; parameters and their gradients stay float32.

    Norms, recurrent layers, transposed convolutions, cross_entropy() and nll_loss() take operands of
    16 bits as float32, and all else computes in the types that it is given. Also a decorator. Of
    this thread alone; autocast("cuda") warns and changes nothing."""

    def __init__(self, device_type="cpu", dtype=None, enabled=True, cache_enabled=None):
        self._type, self._before = _core.float32, []
        dtype = _core.bfloat16 if dtype is None else dtype
        if not enabled or dtype is _core.float32:
            return
        import warnings

        if device_type != "cpu":
            warnings.warn(f"autocast is switched off: there is no {device_type}", stacklevel=2)
        elif dtype is not _core.bfloat16:
            warnings.warn(f"autocast is switched off: on the CPU it takes weft.bfloat16, got {dtype}",
                          stacklevel=2)
        else:
            self._type = dtype

    def __enter__(self):
        self._before.append(_core._autocast_type())
        _core._set_autocast_type(self._type)
        return self

    def __exit__(self, *failure):
        _core._set_autocast_type(self._before.pop())
        return False

    def __call__(self, function):
        import functools

        @functools.wraps(function)
        def wrapped(*args, **keywords):
            with self:
                return function(*args, **keywords)

        return wrapped


def is_autocast_cpu_enabled():
    """Whether this thread is within an autocast() that is switched on."""
    return _core._autocast_type() is not _core.float32


def is_autocast_enabled():
    """False: this is about GPUs, and there is none."""
    return False


def get_autocast_cpu_dtype():
    """The type that autocast() takes operands in."""
    return _core.bfloat16


def set_autocast_cpu_enabled(enabled):
    """Switches autocast() on or off for this thread."""
    _core._set_autocast_type(_core.bfloat16 if enabled else _core.float32)


def set_autocast_cpu_dtype(dtype):
    """Refuses what is not bfloat16, the type that autocast() takes operands in."""
    if dtype is not _core.bfloat16:
        raise _core.InvalidArgumentError(
            f"[set_autocast_cpu_dtype] expected weft.bfloat16, got {dtype}")


def get_autocast_gpu_dtype():
    """float16, as PyTorch says where there is no GPU."""
    return _core.float16


def clear_autocast_cache():
    """Does nothing: there is none."""


def is_autocast_cache_enabled():
    """False: there is none."""
    return False


def is_anomaly_enabled():
    """Whether this thread is within detect_anomaly()."""
    return _core._anomaly_level() != 0


def is_anomaly_check_nan_enabled():
    """is_anomaly_enabled(): NaN is what it looks for."""
    return is_anomaly_enabled()


def is_inference_mode_enabled():
    """Whether no history is recorded: inference_mode() is no_grad()."""
    return not _core.is_grad_enabled()


def is_warn_always_enabled():
    """False: warnings are Python's, and its filters choose."""
    return False


def get_deterministic_debug_mode():
    """0: results are the same on every run, there is nothing to warn about."""
    return 0


def is_deterministic_algorithms_warn_only_enabled():
    """False: there is nothing to warn about."""
    return False
