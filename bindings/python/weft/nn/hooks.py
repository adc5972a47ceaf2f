"""Hooks of modules: what a program has called before, after and on the way back of forward().

A Module without hooks pays one look at an attribute; run() is what its call becomes with some."""
import itertools
import weakref
from collections import OrderedDict

from weft import _core
from weft.autograd import Function

_numbers = itertools.count()
KINDS = ("_forward_pre_hooks", "_forward_hooks", "_backward_hooks", "_backward_pre_hooks",
         "_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")


class RemovableHandle:
    """What registering a hook gives; remove() takes the hook away. Also a `with`."""

    def __init__(self, hooks, function, first=False, number=None):
        self.id = next(_numbers) if number is None else number
        self._hooks = weakref.ref(hooks)
        hooks[self.id] = function
        if first:
            hooks.move_to_end(self.id, last=False)

    def remove(self):
        """The hook is called no more."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.remove()


class Hooks(OrderedDict):
    """Hooks of one kind, by number; a dict of one's own, because handles refer to it weakly."""


def _as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


class _Watch(Function):
    """Tensors themselves; what comes back goes through a function of all their gradients."""

    @staticmethod
    def forward(ctx, seen, materialize, *tensors):
        ctx.seen = seen
        ctx.set_materialize_grads(materialize)
        return tuple(x.detach().clone() for x in tensors)

    @staticmethod
    def backward(ctx, *gradients):
        return (None, None, *ctx.seen(gradients))


class _BackwardPass:
    """Calls the backward hooks of one call of a module: pre-hooks once the gradients of all its
    outputs are there, the others once those of all its inputs are."""

    def __init__(self, module, pre_hooks, hooks):
        self._module, self._pre_hooks, self._hooks = module, pre_hooks, hooks
        self._places_in, self._count_in, self._outputs = [], 0, ()

    def _watched(self, values, seen, materialize):
        """(values, places): those of `values` that take a gradient, watched; at these places. Where
        no gradient arrives, seen() gets zeros or, unless `materialize`, None."""
        places = [i for i, x in enumerate(values)
                  if isinstance(x, _core.Tensor) and x.requires_grad]
        if not places or not _core.is_grad_enabled():
            return tuple(values), []

        def seen_all(gradients):
            found = dict(zip(places, gradients))
            changed = seen(tuple(found.get(i) for i in range(len(values))))
            return [changed[i] for i in places]

        watched = list(values)
        for i, x in zip(places,
                        _Watch.apply(seen_all, materialize, *(values[i] for i in places))):
            watched[i] = x
        return tuple(watched), places

    def watch_inputs(self, inputs):
        """The inputs, watched where a gradient reaches them."""
        self._count_in = len(inputs)
        watched, self._places_in = self._watched(inputs, self._inputs_seen, True)
        return watched

    def watch_outputs(self, result):
        """The result, tensors in it watched; one tensor or a tuple of them."""
        outputs = _as_tuple(result)
        self._outputs = (None,) * len(outputs)
        watched, _ = self._watched(outputs, self._outputs_seen, False)
        return watched if isinstance(result, tuple) else watched[0]

    def _outputs_seen(self, gradients):
        for hook in list(self._pre_hooks.values()):
            gradients = self._replaced(hook(self._module, gradients), gradients, "outputs")
        self._outputs = gradients
        if not self._places_in:
            nothing = (None,) * self._count_in
            for hook in list(self._hooks.values()):
                changed = hook(self._module, nothing, gradients)
                if changed is not None and any(each is not None for each in _as_tuple(changed)):
                    raise _core.InvalidArgumentError(
                        f"[backward hook] expected None, because no input of "
                        f"{type(self._module).__name__} takes a gradient, got replaced gradients")
        return gradients

    def _inputs_seen(self, gradients):
        for hook in list(self._hooks.values()):
            changed = hook(self._module, gradients, self._outputs)
            gradients = self._replaced(changed, gradients, "inputs")
        return gradients

    def _replaced(self, changed, gradients, what):
        if changed is None:
            return gradients
        changed = _as_tuple(changed)
        if len(changed) != len(gradients):
            raise _core.InvalidArgumentError(
                f"[backward hook] expected {len(gradients)} gradients, one for each of the {what} "
                f"of {type(self._module).__name__}, got {len(changed)}")
        return changed


def run(module, args, keywords):
    """module.forward(*args, **keywords) with the module's hooks around it."""
    for hook in list(module._forward_pre_hooks.values()):
        changed = hook(module, args)
        if changed is not None:
            args = _as_tuple(changed)
    backward = None
    if module._backward_hooks or module._backward_pre_hooks:
        backward = _BackwardPass(module, module._backward_pre_hooks, module._backward_hooks)
        args = backward.watch_inputs(args)
    result = module.forward(*args, **keywords)
    for hook in list(module._forward_hooks.values()):
        changed = hook(module, args, result)
        if changed is not None:
            result = changed
    return result if backward is None else backward.watch_outputs(result)


class Hooked:
    """The registering methods of Module."""

    _forward_pre_hooks: dict[int, object] = {}
    _forward_hooks = _backward_hooks = _backward_pre_hooks = _forward_pre_hooks
    _state_dict_hooks = _load_state_dict_pre_hooks = _forward_pre_hooks
    _load_state_dict_post_hooks = _forward_pre_hooks
    _has_hooks = False

    def _register(self, kind, function, first=False):
        if not callable(function):
            raise TypeError(f"a hook must be callable, got {type(function).__name__}")
        own = self.__dict__
        if kind not in own:
            own[kind] = Hooks()
        own["_has_hooks"] = True
        return RemovableHandle(own[kind], function, first)

    def register_forward_pre_hook(self, hook, *, prepend=False):
        """hook(module, inputs) before forward(); what it gives takes the place of the inputs."""
        return self._register("_forward_pre_hooks", hook, prepend)

    def register_forward_hook(self, hook, *, prepend=False):
        """hook(module, inputs, output) after forward(); what it gives replaces the output."""
        return self._register("_forward_hooks", hook, prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """hook(module, grad_input, grad_output) once the inputs' gradients are there; what it gives
        replaces them."""
        return self._register("_backward_hooks", hook, prepend)

    register_backward_hook = register_full_backward_hook

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """hook(module, grad_output) before the module's gradients are computed."""
        return self._register("_backward_pre_hooks", hook, prepend)

    def _register_state_dict_hook(self, hook):
        """hook(module, state_dict, prefix, local_metadata) after the module's part of it."""
        return self._register("_state_dict_hooks", hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        """hook(state_dict, prefix, metadata, strict, missing, unexpected, errors) before loading."""
        if with_module:
            inner = hook

            def hook(*args):
                return inner(self, *args)

        return self._register("_load_state_dict_pre_hooks", hook)

    def register_load_state_dict_post_hook(self, hook):
        """hook(module, incompatible_keys) after loading."""
        return self._register("_load_state_dict_post_hooks", hook)
