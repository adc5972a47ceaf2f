"""weft.random: the functions of the default generator."""
from weft._core import default_generator, initial_seed, manual_seed  # noqa: F401
from weft._random import get_rng_state, seed, set_rng_state


class fork_rng:
    """Within it draws leave the default generator as it was before."""

    def __init__(self, devices=None, enabled=True):
        self._enabled = enabled

    def __enter__(self):
        self._before = get_rng_state()
        return self

    def __exit__(self, *failure):
        if self._enabled:
            set_rng_state(self._before)
        return False


__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed",
           "set_rng_state"]
