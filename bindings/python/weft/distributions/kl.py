"""kl_divergence, and register_kl for classes of one's own."""
import warnings
from typing import Any, Dict

from weft.distributions.distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

_REGISTRY: Dict[Any, Any] = {}
_FOUND: Dict[Any, Any] = {}  # what the registry gave for pairs of classes


def register_kl(type_p, type_q):
    """A decorator: the function(p, q) computes the divergence of objects of these classes, and of
    classes that are derived from them, unless a nearer pair is registered."""
    for argument, cls in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(cls, type) or not issubclass(cls, Distribution):
            raise TypeError(f"register_kl(): argument '{argument}' must be a class of "
                            f"Distributions, got {cls!r}")

    def decorator(function):
        _REGISTRY[type_p, type_q] = function
        _FOUND.clear()
        return function

    return decorator


def _nearest(type_p, type_q):
    """The registered function for two classes, or None: the class of p counts first."""
    pairs = [(p, q) for p, q in _REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not pairs:
        return None

    def distance(pair):
        return type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1])

    by_p = min(pairs, key=distance)
    by_q = min(pairs, key=lambda pair: distance(pair)[::-1])
    if _REGISTRY[by_p] is not _REGISTRY[by_q]:
        names = [f"{p.__name__}, {q.__name__}" for p, q in (by_p, by_q)]
        warnings.warn(f"kl_divergence({type_p.__name__}, {type_q.__name__}): ({names[0]}) and "
                      f"({names[1]}) are registered, and the first is taken; register_kl("
                      f"{by_p[0].__name__}, {by_q[1].__name__}) decides", RuntimeWarning,
                      stacklevel=3)
    return _REGISTRY[by_p]


def kl_divergence(p, q):
    """The divergence of Kullback and Leibler: the mean of log p(x) - log q(x) over draws x of p."""
    for argument, value in (("p", p), ("q", q)):
        if not isinstance(value, Distribution):
            raise TypeError(f"kl_divergence(): argument '{argument}' must be a Distribution, got "
                            f"{type(value).__name__}")
    pair = type(p), type(q)
    if pair not in _FOUND:
        _FOUND[pair] = _nearest(*pair)
    if _FOUND[pair] is None:
        raise NotImplementedError(f"no divergence of {pair[0].__name__} and {pair[1].__name__} is "
                                  f"known: register_kl({pair[0].__name__}, {pair[1].__name__}) "
                                  f"takes a function for it")
    return _FOUND[pair](p, q)
