"""Tensors in tuples, lists and dicts: what functions of weft.func take and give."""
from weft import _core

Tensor = _core.Tensor


def _is_branch(value):
    return isinstance(value, (tuple, list, dict)) and not isinstance(value, Tensor)


def _branches(value):
    return value.values() if isinstance(value, dict) else value


def each_leaf(function, value):
    """`value` with function(leaf) in the place of each leaf of tuples, lists and dicts."""
    if not _is_branch(value):
        return function(value)
    made = [each_leaf(function, each) for each in _branches(value)]
    if isinstance(value, dict):
        return type(value)(zip(value, made))
    return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)


def mapped(function, value):
    """`value` with function(tensor) in the place of each tensor in tuples, lists and dicts."""
    return each_leaf(lambda leaf: function(leaf) if isinstance(leaf, Tensor) else leaf, value)


def leaves(value):
    """The leaves of tuples, lists and dicts, in order."""
    found = []
    each_leaf(found.append, value)
    return found


def tensors(value):
    """The tensors among the leaves, in order."""
    return [each for each in leaves(value) if isinstance(each, Tensor)]


def structure(value):
    """What two trees have in common whose leaves correspond, as a value that can be compared."""
    if isinstance(value, dict) and _is_branch(value):
        return dict, {key: structure(each) for key, each in value.items()}
    if _is_branch(value):
        return type(value), [structure(each) for each in value]
    return None


def depends(value):
    """Whether any of the tensors requires a gradient."""
    return any(each.requires_grad for each in tensors(value))
