"""The state of the default generator, as PyTorch's functions give and take it."""
import os
import struct

from weft import _core

_FORM = struct.Struct("<QQ")  # seed, offset


def get_rng_state():
    """Where the default generator is, 16 bytes (uint8): for set_rng_state(), and to be saved."""
    return _core.tensor(list(_FORM.pack(*_core.default_generator.get_state())), dtype=_core.uint8)


def set_rng_state(new_state):
    """Goes on where get_rng_state() was called."""
    if new_state.dtype is not _core.uint8 or tuple(new_state.shape) != (_FORM.size,):
        raise _core.InvalidArgumentError(
            f"[set_rng_state] expected what get_rng_state() gave, uint8 of shape [{_FORM.size}], "
            f"got {new_state.dtype} of shape {list(new_state.shape)}")
    _core.default_generator.set_state(_FORM.unpack(bytes(new_state.tolist())))


def seed():
    """Starts the default generator over with a seed that nobody chose; returns it."""
    chosen = int.from_bytes(os.urandom(8), "little") >> 1
    _core.manual_seed(chosen)
    return chosen
