"""state_dict() and load_state_dict() of modules."""
from collections import OrderedDict, namedtuple

from weft import _core
from weft.autograd import no_grad

EXTRA = "_extra_state"


class IncompatibleKeys(namedtuple("IncompatibleKeys", ("missing_keys", "unexpected_keys"))):
    """What load_state_dict() gives: names that it lacked, and names that it did not know."""

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def _own_items(module):
    for name, parameter in module._own_parameters():
        if parameter is not None:
            yield name, parameter
    for name, buffer in module._own_buffers():
        if buffer is not None and name not in module._non_persistent:
            yield name, buffer


def _has_extra(module, which):
    from weft.nn.module import Module

    return getattr(type(module), which) is not getattr(Module, which)


def save_to(module, destination, prefix, keep_vars):
    """Writes the module's part and all parts below into `destination`."""
    for name, value in _own_items(module):
        destination[prefix + name] = value if keep_vars else value.detach()
    if _has_extra(module, "get_extra_state"):
        destination[prefix + EXTRA] = module.get_extra_state()
    for name, part in module.named_children():
        part.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    for hook in list(module._state_dict_hooks.values()):
        changed = hook(module, destination, prefix, {})
        if changed is not None:
            destination = changed
    return destination


class _Loading:
    """One load_state_dict(): first everything is compared, then values are copied."""

    def __init__(self, state_dict, strict):
        self.given, self.strict = OrderedDict(state_dict), strict
        self.missing, self.unexpected, self.errors = [], [], []
        self.known, self._copies, self._extras = set(), [], []

    def visit(self, module, prefix):
        for hook in list(module._load_state_dict_pre_hooks.values()):
            hook(self.given, prefix, {}, self.strict, self.missing, self.unexpected, self.errors)
        if hasattr(module, "prepare_loading"):  # a lazy layer's
            module.prepare_loading(self.given, prefix)
        for name, own in _own_items(module):
            self._compare(prefix + name, own)
        if _has_extra(module, "set_extra_state"):
            key = prefix + EXTRA
            self.known.add(key)
            if key in self.given:
                self._extras.append((module, self.given[key]))
            else:
                self.missing.append(key)
        for name, part in module.named_children():
            self.visit(part, f"{prefix}{name}.")

    def _compare(self, key, own):
        self.known.add(key)
        if key not in self.given:
            self.missing.append(key)
            return
        value = self.given[key]
        if not hasattr(value, "shape"):
            self.errors.append(f"{key}: expected a tensor, got {type(value).__name__}")
        elif tuple(value.shape) != tuple(own.shape):
            self.errors.append(f"{key}: expected {tuple(own.shape)}, got {tuple(value.shape)}")
        else:
            self._copies.append((own, value))

    @no_grad()
    def finish(self, module):
        self.unexpected += [key for key in self.given if key not in self.known]
        if self.errors or (self.strict and (self.missing or self.unexpected)):
            raise _core.InvalidArgumentError(
                f"[load_state_dict] of {type(module).__name__}: missing {self.missing}, unexpected "
                f"{self.unexpected}, of wrong shape {self.errors}")
        for own, value in self._copies:
            if not isinstance(value, _core.Tensor) and hasattr(value, "detach"):
                value = value.detach().cpu().numpy()  # of PyTorch
            own.data.copy_(_core.asarray(value).detach())
        for owner, extra in self._extras:
            owner.set_extra_state(extra)


def load_into(module, state_dict, strict):
    """Copies values by name; nothing is copied where something does not fit."""
    if not hasattr(state_dict, "keys"):
        raise TypeError(f"load_state_dict() expects a dict of names and tensors, got "
                        f"{type(state_dict).__name__}")
    loading = _Loading(state_dict, strict)
    loading.visit(module, "")
    loading.finish(module)
    result = IncompatibleKeys(loading.missing, loading.unexpected)
    for part in module.modules():
        for hook in list(part._load_state_dict_post_hooks.values()):
            hook(part, result)
    return result
