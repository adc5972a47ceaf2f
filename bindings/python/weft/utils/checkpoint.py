"""Parts of a model that are computed twice instead of kept, with the names of
torch.utils.checkpoint."""
from weft import _core
from weft.autograd import checkpoint as _checkpoint

Tensor = _core.Tensor
__all__ = ["checkpoint", "checkpoint_sequential"]


def checkpoint(function, *args, use_reentrant=None, preserve_rng_state=True, **kwargs):
    """function(*args, **kwargs), one tensor; its inside is computed again in the backward pass
    instead of being kept, with the same random numbers. Tensors with a history are positional
    arguments. use_reentrant and preserve_rng_state are accepted and change nothing."""
    if not callable(function):
        raise TypeError("checkpoint(): argument 'function' must be a function, got "
                        f"{type(function).__name__}")
    places = [i for i, each in enumerate(args) if isinstance(each, Tensor)]

    def run(*tensors):
        given = list(args)
        for place, tensor in zip(places, tensors):
            given[place] = tensor
        result = function(*given, **kwargs)
        if not isinstance(result, Tensor):
            raise _core.InvalidArgumentError(
                f"[checkpoint] expected a function that gives one tensor, got "
                f"{type(result).__name__}: join its results with weft.cat(), or use a checkpoint "
                "for each")
        return result

    return _checkpoint(run, *(args[i] for i in places))


def checkpoint_sequential(functions, segments, input, **kwargs):  # noqa: A002
    """The functions, such as those of a Sequential, one after the other in so many segments, of
    which all but the last one are computed by checkpoint()."""
    functions = list(functions)
    if not 1 <= segments <= len(functions):
        raise _core.InvalidArgumentError(
            f"[checkpoint_sequential] expected 1 to {len(functions)} segments, got {segments}")
    size = len(functions) // segments
    for i in range(segments - 1):
        part = functions[i * size:(i + 1) * size]
        input = checkpoint(_chain(part), input, **kwargs)  # noqa: A001
    return _chain(functions[(segments - 1) * size:])(input)


def _chain(functions):
    def run(x):
        for function in functions:
            x = function(x)
        return x

    return run
