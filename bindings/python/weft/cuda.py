"""weft.cuda: what PyTorch's programs ask before they go on with the CPU. There are no GPUs here."""
from weft import _core
from weft._device import cpu_device
from weft._names.settings import autocast as _autocast

__all__ = ["amp", "current_device", "device", "device_count", "empty_cache", "get_device_name",
           "get_rng_state_all", "is_available", "is_bf16_supported", "is_initialized", "manual_seed",
           "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "memory_allocated",
           "memory_reserved", "memory_summary", "reset_peak_memory_stats", "seed_all",
           "set_device", "set_rng_state_all", "synchronize"]


def is_available():
    """False: this build computes on the CPU."""
    return False


def device_count():
    """0: this build computes on the CPU."""
    return 0


def is_initialized():
    """False: there is no GPU to prepare."""
    return False


def is_bf16_supported():
    """False: there is no GPU."""
    return False


def _needs_a_gpu(name, text):
    def function(*args, **keywords):
        raise _core.InvalidArgumentError(
            f"[cuda.{name}] expected a GPU, got none: this build computes on the CPU; ask "
            "weft.cuda.is_available() first")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = text + " Raises: there is none."
    return function


def _without_effect(name, text, result=None):
    def function(*args, **keywords):
        return result

    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


# PyTorch does nothing either where it finds no GPU.
manual_seed, manual_seed_all, seed_all = (
    _without_effect(name, "Does nothing, as there is no GPU: weft.manual_seed() is the CPU's.")
    for name in ("manual_seed", "manual_seed_all", "seed_all"))
empty_cache = _without_effect("empty_cache", "Does nothing, as there is no GPU.")
reset_peak_memory_stats = _without_effect("reset_peak_memory_stats",
                                          "Does nothing, as there is no GPU.")
memory_allocated, memory_reserved, max_memory_allocated, max_memory_reserved = (
    _without_effect(name, "0: there is no memory of a GPU.", 0) for name in (
        "memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved"))
get_rng_state_all = _without_effect("get_rng_state_all", "[]: one state for each GPU.", [])
set_rng_state_all = _without_effect("set_rng_state_all", "Does nothing, as there is no GPU.")
get_device_name, current_device, synchronize, memory_summary = (
    _needs_a_gpu(name, text) for name, text in (
        ("get_device_name", "The name of a GPU."), ("current_device", "The number of a GPU."),
        ("synchronize", "Waits for a GPU."), ("memory_summary", "What a GPU's memory holds.")))


def set_device(device):
    """Raises for a GPU: there is none. A number below 0 changes nothing, as in PyTorch."""
    if not (isinstance(device, int) and device < 0):
        cpu_device(device)


class device:
    """with cuda.device(-1): nothing. Raises for a GPU."""

    def __init__(self, device):
        set_device(device)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        return False


class amp:
    """weft.cuda.amp: autocast and GradScaler, switched off."""

    class GradScaler:
        """Scales losses for half precision on a GPU; here each method does what it does when
        switched off. With enabled=True it warns once, as PyTorch does without a GPU."""

        def __init__(self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5,
                     growth_interval=2000, enabled=True):
            if enabled:
                import warnings

                warnings.warn("GradScaler is switched off: there is no GPU, and the CPU computes in "
                              "single precision", stacklevel=2)

        def scale(self, outputs):
            """`outputs` as they are."""
            return outputs

        def unscale_(self, optimizer):
            """Does nothing."""

        def step(self, optimizer, *args, **keywords):
            """optimizer.step()."""
            return optimizer.step(*args, **keywords)

        def update(self, new_scale=None):
            """Does nothing."""

        def get_scale(self):
            """1.0."""
            return 1.0

        def is_enabled(self):
            """False."""
            return False

        def state_dict(self):
            """{}: there is no state."""
            return {}

        def load_state_dict(self, state_dict):
            """Does nothing."""

    class autocast(_autocast):
        """Changes nothing: without a GPU PyTorch computes in float32 within it, too."""

        def __init__(self, enabled=True, dtype=None, cache_enabled=True):
            super().__init__("cuda", dtype, enabled=False)
