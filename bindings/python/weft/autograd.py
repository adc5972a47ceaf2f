"""Gradients: where history is recorded, derivatives of graphs, operations of one's own."""
import functools
import os
import sys

from weft import _core

Tensor = _core.Tensor


class set_grad_enabled:
    """Recording of history on or off: with set_grad_enabled(False): ...; also a decorator."""

    def __init__(self, mode):
        if not isinstance(mode, (bool, int)):
            raise TypeError(f"set_grad_enabled(): argument 'mode' must be bool, got "
                            f"{type(mode).__name__}")
        self._mode = bool(mode)
        self._entered = []

    def __enter__(self):
        scope = _core._GradMode(self._mode)
        scope.enter()
        self._entered.append(scope)
        return self

    def __exit__(self, *failure):
        self._entered.pop().leave()
        return False

    def __call__(self, function):
        mode = self._mode

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with set_grad_enabled(mode):
                return function(*args, **kwargs)

        return wrapped


def _named_mode(mode, documentation):
    class GradMode(set_grad_enabled):
        def __new__(cls, function=None):
            made = super().__new__(cls)
            if function is None:
                return made
            made.__init__()
            return made(function)  # @no_grad without parentheses

        def __init__(self, function=None):
            super().__init__(mode)

    GradMode.__doc__ = documentation
    return GradMode


no_grad = _named_mode(False, "Within it operations record no history.")
no_grad.__name__ = no_grad.__qualname__ = "no_grad"
enable_grad = _named_mode(True, "Within it operations record history, also inside no_grad().")
enable_grad.__name__ = enable_grad.__qualname__ = "enable_grad"
inference_mode = no_grad


def _listed(value, function, argument):
    found = [value] if isinstance(value, Tensor) else list(value) if hasattr(
        value, "__iter__") else [value]
    for each in found:
        if each is not None and not isinstance(each, Tensor):
            raise TypeError(f"{function}(): argument '{argument}' must be a weft.Tensor or several, "
                            f"got {type(each).__name__}")
    return found


def grad(outputs, inputs, grad_outputs=None, retain_graph=False, create_graph=False,
         only_inputs=True, allow_unused=False):
    """The gradients of the sum of `outputs` for each of `inputs`, as a tuple; .grad stays. In
    PyTorch's order of arguments, of which only_inputs has no meaning any more."""
    if not only_inputs:
        raise _core.InvalidArgumentError(
            "[grad] expected only_inputs=True: use backward() for the gradients of other leaves")
    seeds = None if grad_outputs is None else (
        [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs))
    return _core._grad(_listed(outputs, "grad", "outputs"), _listed(inputs, "grad", "inputs"), seeds, bool(retain_graph),
                       create_graph, allow_unused)


def backward(tensors, grad_tensors=None, retain_graph=False, create_graph=False):
    """Tensor.backward() of each."""
    tensors = _listed(tensors, "backward", "tensors")
    seeds = [None] * len(tensors) if grad_tensors is None else _listed(
        grad_tensors, "backward", "grad_tensors")
    for i, (tensor, seed) in enumerate(zip(tensors, seeds)):
        tensor.backward(seed, retain_graph or i + 1 < len(tensors), create_graph)


class set_detect_anomaly:
    """Whether this thread looks for the first NaN or infinity, in the forward pass and in the
    backward; also as `with set_detect_anomaly(True): ...`.

    The operation that makes one raises weft.AnomalyError, which names it and the line that called
    it. Infinities that masked_fill() puts in, or that an operand had, are none. For debugging: each
    operation's operands, output and gradients are read once more. `check_nan=False` looks for
    nothing; `check_infinity=False` only for NaN, as PyTorch does."""

    def __init__(self, mode, check_nan=True, check_infinity=True):
        self._before = _core._anomaly_level()
        _core._set_anomaly_level((1 + bool(check_infinity)) if mode and check_nan else 0)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        _core._set_anomaly_level(self._before)
        return False


class detect_anomaly(set_detect_anomaly):
    """Within it the first NaN or infinity raises weft.AnomalyError: see set_detect_anomaly()."""

    def __init__(self, check_nan=True, check_infinity=True):
        self._wanted = (True, check_nan, check_infinity)

    def __enter__(self):
        super().__init__(*self._wanted)
        return self


def is_anomaly_enabled():
    """Whether this thread looks for NaN and infinities."""
    return _core._anomaly_level() > 0


def _call_site():
    """The line of the program, outside this package, that runs now."""
    frame = sys._getframe()
    package = os.path.join(os.path.dirname(__file__), "")
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"


_core._set_call_site(_call_site)


def __getattr__(name):
    # What is asked of derivatives as a whole is read when it is first asked for.
    if name == "functional":
        from weft._derivatives import functional

        return functional
    if name in ("gradcheck", "gradgradcheck"):
        from weft._derivatives import functional

        return getattr(functional, name)
    raise AttributeError(f"module 'weft.autograd' has no attribute '{name}'")


def Variable(data, requires_grad=False):  # noqa: N802
    """A tensor of the same values: tensors have gradients themselves."""
    return Tensor(data, requires_grad)


class FunctionContext:
    """What forward() leaves for backward() of a Function."""

    def __init__(self, needs_input_grad):
        self.needs_input_grad = needs_input_grad
        self.saved_tensors = ()
        self._to_save = ()
        self._constant = ()
        self._materialize = True

    def save_for_backward(self, *tensors):
        """Keeps tensors (or None) for backward(), where saved_tensors has them."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(f"save_for_backward() expects tensors, got {type(tensor)}")
        self._to_save = tensors

    def mark_non_differentiable(self, *tensors):
        """These outputs take no gradient."""
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise TypeError("mark_non_differentiable() expects outputs that are tensors, got "
                                f"{type(tensor)}")
        self._constant = tensors

    def set_materialize_grads(self, value):
        """Whether backward() gets zeros, as it does unless this is False, or None for an output that
        got no gradient."""
        self._materialize = bool(value)

    def _gradients(self, outputs, arrived):
        """What backward() gets for each output, of which (shape, dtype) is known, or None for what is
        no tensor: `arrived`, by place, else zeros or None."""
        return [arrived[i] if arrived.get(i) is not None
                else _core.zeros(output[0], dtype=output[1]) if self._materialize and output
                else None for i, output in enumerate(outputs)]


class Function:
    """An operation of one's own: derive, write forward(ctx, ...) and backward(ctx, *grads) as static
    methods, and call apply(...). forward gives a tensor or a tuple, whose parts may be other objects,
    too; backward gets a gradient an output and gives one (or None) an argument."""

    def __call__(self, *args):
        raise TypeError(f"call {type(self).__name__}.apply(...): a Function has no objects")

    @staticmethod
    def forward(ctx, *args):
        """The value; runs without history."""
        raise NotImplementedError("a Function needs a static method forward(ctx, ...)")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """The gradients of forward()'s arguments."""
        raise NotImplementedError("a Function needs a static method backward(ctx, grad)")

    @classmethod
    def apply(cls, *args):
        """forward(), with a history that calls backward()."""
        places = [i for i, argument in enumerate(args) if isinstance(argument, Tensor)]
        context = FunctionContext(tuple(
            isinstance(argument, Tensor) and argument.requires_grad for argument in args))
        with no_grad():
            result = cls.forward(context, *args)
        outputs = list(result) if isinstance(result, tuple) else [result]
        saved, context._to_save = context._to_save, ()
        # Those that get a history.
        chosen = [i for i, output in enumerate(outputs)
                  if isinstance(output, Tensor) and output.is_floating_point()
                  and not any(output is constant for constant in context._constant)]
        if not any(isinstance(output, Tensor) for output in outputs):
            raise TypeError(f"{cls.__name__}.forward() must give a tensor, or a tuple with one, got "
                            f"{type(result)}")
        present = [tensor is not None for tensor in saved]
        like = [(output.shape, output.dtype) if isinstance(output, Tensor) else None
                for output in outputs]

        def run(now, gradients):
            arrived = dict(zip(chosen, gradients))
            context.saved_tensors = tuple(
                tensor if kept else None for kept, tensor in zip(present, now))
            try:
                given = cls.backward(context, *context._gradients(like, arrived))
            finally:
                context.saved_tensors = ()
            given = given if isinstance(given, (tuple, list)) else (given,)
            if len(given) != len(args):
                raise _core.InvalidArgumentError(
                    f"[{cls.__name__}] expected {len(args)} gradients from backward(), one an "
                    f"argument of forward(), got {len(given)}")
            return [given[i] for i in places]

        inputs = [args[i] for i in places]
        if len(outputs) == 1 and chosen:
            found = [_core._apply_function(cls.__name__, outputs[0], inputs, list(saved),
                                           lambda now, gradient: run(now, [gradient]))]
        elif chosen:
            found = _core._apply_functions(cls.__name__, [outputs[i] for i in chosen], inputs,
                                           list(saved), run)
        else:
            found = []
        for i, output in zip(chosen, found):
            outputs[i] = output
        return tuple(outputs) if isinstance(result, tuple) else outputs[0]


def checkpoint(function, *inputs):
    """function(*inputs), one tensor; its inside is computed again in the backward pass instead of
    being kept."""
    return _core._checkpoint(function, list(inputs))
