"""What is done with parameters and gradients of a model, with PyTorch's names."""
from weft.nn.utils.gradients import (  # noqa: F401
    clip_grad_norm_, clip_grad_value_, get_total_norm, parameters_to_vector, vector_to_parameters)
from weft.nn.utils.gradients import clip_grad_norm_ as clip_grad_norm  # noqa: F401
from weft.nn.utils import rnn  # noqa: F401


def __getattr__(name):
    # These build on modules, which build on this package.
    import importlib

    places = {"parametrize": ("parametrize", None), "parametrizations": ("parametrizations", None)}
    places.update(dict.fromkeys(("weight_norm", "remove_weight_norm", "spectral_norm",
                                 "remove_spectral_norm"), ("reparametrized", name)))
    if name not in places:
        raise AttributeError(f"module 'weft.nn.utils' has no attribute '{name}'")
    module, function = places[name]
    found = importlib.import_module(f"weft.nn.utils.{module}")
    found = found if function is None else getattr(found, function)
    globals()[name] = found
    return found
