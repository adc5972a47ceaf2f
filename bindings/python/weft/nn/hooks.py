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
    """x itself; what comes back goes through a function of gradients."""

    @staticmethod
    def forward(ctx, x, seen):
        ctx.seen = seen
        return x.detach().clone()

    @staticmethod
    def backward(ctx, grad):
        return ctx.seen(grad), None


class _BackwardPass:
    """Calls the backward hooks of one call of a module: pre-hooks once the gradients of all its
    outputs are there, the others once those of all its inputs are."""

    def __init__(self, module, pre_hooks, hooks):
        self._module, self._pre_hooks, self._hooks = module, pre_hooks, hooks
        self._outputs, self._inputs = {}, {}
        self._places_in, self._places_out = [], []
        self._count_in = self._count_out = 0

    def watch_inputs(self, inputs):
        """The inputs, watched where a gradient reaches them."""
        self._count_in = len(inputs)
        self._places_in = [i for i, x in enumerate(inputs)
                           if isinstance(x, _core.Tensor) and x.requires_grad]
        if not _core.is_grad_enabled():
            self._places_in = []
        return tuple(_Watch.apply(x, lambda grad, i=i: self._input_seen(i, grad))
                     if i in self._places_in else x for i, x in enumerate(inputs))

    def watch_outputs(self, result):
        """The result, tensors in it watched; one tensor or a tuple of them."""
        outputs = _as_tuple(result)
        self._count_out = len(outputs)
        self._places_out = [i for i, y in enumerate(outputs)
                            if isinstance(y, _core.Tensor) and y.requires_grad]
        watched = tuple(_Watch.apply(y, lambda grad, i=i: self._output_seen(i, grad))
                        if i in self._places_out else y for i, y in enumerate(outputs))
        return watched if isinstance(result, tuple) else watched[0]

    def _gradients_out(self):
        return tuple(self._outputs.get(i) for i in range(self._count_out))

    def _output_seen(self, place, grad):
        if place in self._outputs:  # another backward pass over a graph that was kept
            self._outputs, self._inputs = {}, {}
        self._outputs[place] = grad
        if len(self._outputs) < len(self._places_out):
            return grad
        for hook in list(self._pre_hooks.values()):
            changed = hook(self._module, self._gradients_out())
            if changed is not None:
                self._replace(_as_tuple(changed), self._outputs, self._places_out, "outputs")
        if not self._places_in:
            self._call(self._gradients_out())
        return self._outputs[place]

    def _input_seen(self, place, grad):
        self._inputs[place] = grad
        if len(self._inputs) < len(self._places_in):
            return grad
        self._call(self._gradients_out())
        return self._inputs[place]

    def _call(self, outputs):
        for hook in list(self._hooks.values()):
            given = tuple(self._inputs.get(i) for i in range(self._count_in))
            changed = hook(self._module, given, outputs)
            if changed is not None and self._places_in:
                self._replace(_as_tuple(changed), self._inputs, self._places_in, "inputs")

    def _replace(self, changed, gradients, places, what):
        if len(places) > 1:
            # The others are on their way already.
            raise _core.InvalidArgumentError(
                f"[backward hook] expected None, because {type(self._module).__name__} has "
                f"{len(places)} {what} with gradients, got replaced gradients: a hook may replace "
                "that of a single one")
        gradients[places[0]] = changed[places[0]]


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
        replaces that of a single input."""
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
