"""ONNX files: weft.onnx.export(model, "model.onnx", x) writes a model for other programs, and
weft.onnx.load("model.onnx") runs one of any program's. docs/onnx.md lists the operators."""
import inspect
import os
from collections import namedtuple

import weft
from weft import _core
from weft.models import LoadedModel
from weft.nn.module import Module

# How far the outputs of a file may be from the model's, as a share of the largest.
_DIFFERENCE_MAX = 1e-4
_CHECKED_ROWS = 5
_CHECKS = 4
_REMEDY = ("write it with other layers or functions, or export the parts before and after it as "
           "models of their own")

Value = namedtuple("Value", "name dtype shape")
Value.__doc__ = """An input or output: its type (None if the file does not say it), and its sizes,
each a number, the name of one that the caller decides ("batch"), or None."""


def _wrong(text):
    return _core.InvalidArgumentError("[onnx.export] " + text)


def export(model, path, *inputs, input_names=None, output_names=None, name="model", batch=True):
    """Writes what `model` computes from `inputs` into the ONNX file `path`, opset 17, and returns
    how far the file's outputs are from the model's, as a share of the largest.

    `model` is any Module, in whose evaluation mode it runs, or a function of tensors. `inputs` are
    examples, one for each argument: tensors, or shapes of float32 such as (1, 3, 32, 32). Their
    first axis is the batch, whose size stays open; with batch=False all sizes are fixed. Outputs may
    be a tensor, lists, tuples or dicts of them. PyTorch's order, export(model, inputs, path), is
    understood too. A model of weft.models.load() needs no example: its file takes pixels, rows or
    tokens as they are.

    What is written is the operations that ran. The file is then run with other values and another
    number of rows; if an output is off by more than 1e-4, nothing is written."""
    if not isinstance(path, (str, os.PathLike)) and len(inputs) == 1:
        inputs, path = (path if _is_several(path) else (path,)), inputs[0]
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"onnx.export() expects a path as its second argument, got {type(path)}")
    if isinstance(model, LoadedModel) and not inputs:
        written, apart = model._native.onnx()
        if not apart <= _DIFFERENCE_MAX:
            raise _wrong(f"the file's outputs differ from the model's by {apart:.2g} of the "
                         f"largest: nothing was written")
        written.write(os.fspath(path))
        return apart
    samples = [_sample(each) for each in inputs]
    if not samples:
        raise _wrong("expected an example of each input, a tensor or a shape, got none")
    run = _Run(model)
    with run:
        names = _names_of(run, samples, input_names, output_names)
        written = _traced(run, samples, name, *names, batch)
        apart = _difference(run, written.program(), samples, batch)
    if not apart <= _DIFFERENCE_MAX:
        raise _wrong(
            f"the file would give other outputs than the model, by {apart:.2g} of the largest: "
            f"forward() decides something by values (if, item(), numpy()), draws random numbers or "
            f"changes its own state; compute it with tensors (weft.where), or export the parts")
    written.write(os.fspath(path))
    return apart


def _is_several(value):
    return isinstance(value, (tuple, list)) and not all(type(each) is int for each in value)


def _sample(given):
    if isinstance(given, _core.Tensor):
        return given.detach()
    if isinstance(given, (tuple, list)) and all(type(each) is int for each in given):
        return weft.randn(*given, generator=_core.Generator(1))
    if hasattr(given, "__array__"):
        return weft.asarray(given)
    raise TypeError(f"onnx.export() expects a tensor or a shape for each input, got {type(given)}")


class _Run:
    """The model as a function of a list of tensors that gives a list; within `with` in evaluation
    mode."""

    def __init__(self, model):
        if not callable(model):
            raise TypeError(f"onnx.export() expects a Module or a function, got {type(model)}")
        self.model = model
        self.modules = list(model.modules()) if isinstance(model, Module) else []
        self.keys = None  # of outputs that are a dict

    def __enter__(self):
        self._training = [module.training for module in self.modules]
        if self.modules:
            self.model.eval()
        return self

    def __exit__(self, *_):
        if self.modules:
            self.model.train(self._training[0])  # also what native models keep
        for module, training in zip(self.modules, self._training):
            module.__dict__["training"] = training

    def __call__(self, inputs):
        result = self.model(*inputs)
        if isinstance(result, dict):
            self.keys = list(result)
        return _flat(result)

    def values(self):
        if not self.modules:
            return []
        named = [*self.model.named_parameters(), *self.model.named_buffers()]
        return [(name, value.detach()) for name, value in named]


def _flat(result):
    if isinstance(result, _core.Tensor):
        return [result]
    if isinstance(result, dict):
        result = result.values()
    elif not isinstance(result, (tuple, list)):
        raise _wrong(f"expected tensors, or lists, tuples and dicts of them, as the model's "
                     f"outputs, got {type(result)}")
    return [tensor for each in result if each is not None for tensor in _flat(each)]


def _names_of(run, samples, input_names, output_names):
    with weft.no_grad():
        count = len(run([sample.clone() for sample in samples]))
    if input_names is None:
        input_names = ["input"] if len(samples) == 1 else _arguments(run.model, len(samples))
    if output_names is None:
        if count == 1:
            output_names = ["output"]
        elif run.keys is not None and len(run.keys) == count:
            output_names = [str(key) for key in run.keys]
        else:
            output_names = [f"output_{i}" for i in range(count)]
    for what, names, wanted in (("input", input_names, len(samples)),
                                ("output", output_names, count)):
        if len(names) != wanted:
            raise _wrong(f"expected {wanted} {what}_names, got {len(names)}: {list(names)}")
    taken = {name for name, _ in run.values()} & {*input_names, *output_names}
    if taken:
        raise _wrong(f"expected names that no parameter has, got {sorted(taken)}: choose "
                     f"input_names and output_names")
    return list(map(str, input_names)), list(map(str, output_names))


def _arguments(model, count):
    function = model.forward if isinstance(model, Module) else model
    try:
        names = list(inspect.signature(function).parameters)[:count]
    except (TypeError, ValueError):
        names = []
    return names if len(names) == count else [f"input_{i}" for i in range(count)]


def _traced(run, samples, name, input_names, output_names, batch):
    try:
        return _core._onnx_export(run, run.values(), samples, name, input_names, output_names,
                                  bool(batch))
    except _core.InvalidArgumentError as error:
        text = str(error)
        if "[export_onnx]" not in text:
            raise
        reason = text.replace("[export_onnx] ", "")
    if "the same operations for every batch" in reason:
        raise _wrong(f"{reason}: if the first axis is not the batch, give batch=False")
    raise _wrong(f"{reason}; {_blamed(run, samples)}: {_REMEDY}")


def _blamed(run, samples):
    """Which layer it is: each is tried alone with the inputs that it has in the model."""
    seen, handles = {}, []
    for name, module in (run.model.named_modules() if run.modules else ()):
        if name and not any(module.children()):
            handles.append(module.register_forward_pre_hook(
                lambda module, args, name=name: seen.setdefault(name, (module, args)) and None))
    try:
        with weft.no_grad():
            run([sample.clone() for sample in samples])
    finally:
        for handle in handles:
            handle.remove()
    for name, (module, args) in seen.items():
        if not args or not all(isinstance(each, _core.Tensor) for each in args):
            continue
        part, given = _Run(module), [each.detach() for each in args]
        try:
            count = len(part(given))
            _core._onnx_export(part, part.values(), given, "part",
                               [f"in {i}" for i in range(len(given))],
                               [f"out {i}" for i in range(count)], False)
        except _core.InvalidArgumentError:
            return f"the layer {name!r}, {type(module).__name__}, does that"
    return f"the code of {type(run.model).__name__}.forward() does that" if run.modules else (
        "the function itself does that")


def _difference(run, program, samples, batch):
    """Of outputs for inputs that the trace has not seen."""
    generator = _core.Generator(2)
    return max(_difference_for([_other_values(sample, batch, generator) for sample in samples],
                               run, program) for _ in range(_CHECKS))


def _difference_for(inputs, run, program):
    with weft.no_grad():
        wanted = run([each.clone() for each in inputs])
    try:
        given = program.run(inputs)
    except _core.InvalidArgumentError as error:
        raise _wrong(f"the file would not run for another number of rows or other values: {error}; "
                     f"{_REMEDY}, or give batch=False") from error
    apart = 0.0
    for got, want in zip(given, wanted):
        if tuple(got.shape) != tuple(want.shape):
            return float("inf")
        got, want = got.double(), want.double()
        same = (got == want) | (got.isnan() & want.isnan())
        off = weft.where(same, weft.zeros_like(got), (got - want).abs())
        size = weft.where(want.isfinite(), want.abs(), weft.zeros_like(want))
        if off.numel():
            worst = off.max().item()
            worst = worst if worst == worst else float("inf")
            apart = max(apart, worst / max(1.0, size.max().item()))
    return apart


def _other_values(sample, batch, generator):
    """The sample's own values in another order, floating ones stretched or drawn anew if all are
    0, in another number of rows."""
    flat = sample.reshape(-1)
    shape = list(sample.shape)
    if batch:
        shape[0] = _CHECKED_ROWS
    count = 1
    for size in shape:
        count *= size
    if flat.numel() == 0 or count == 0:
        return weft.zeros(*shape, dtype=sample.dtype)
    places = weft.randint(0, flat.numel(), (count,), generator=generator)
    values = flat.index_select(0, places)
    if sample.is_floating_point():
        if not values.any():
            values = weft.randn(count, generator=generator).to(sample.dtype)
        values = values * (0.5 + weft.rand(count, generator=generator)).to(sample.dtype)
    return values.reshape(shape)


class Program:
    """A loaded file: call it with a tensor for each input, in order or by name."""

    def __init__(self, native, path):
        self._native, self.path = native, path
        try:
            self.inputs = [Value(*value) for value in native.inputs()]
            self.outputs = [Value(*value) for value in native.outputs()]
            self.metadata, self.producer, self.opset = (
                native.metadata(), native.producer(), native.opset())
        except UnicodeDecodeError as error:
            raise _core.CorruptError(f"{path}: onnx: expected names in UTF-8: {error}") from None

    def __call__(self, *inputs, **named):
        """The output, or a tuple of all of them where there are several."""
        results = tuple(self.run(self._by_name(inputs, named)).values())
        return results[0] if len(results) == 1 else results

    def run(self, inputs):
        """The outputs by name for a dict of inputs by name; tensors, arrays or numbers."""
        wanted = [value.name for value in self.inputs]
        if set(inputs) != set(wanted):
            raise _core.InvalidArgumentError(
                f"[onnx] expected inputs for {wanted}, got {sorted(inputs)}")
        values = [each if isinstance(each, _core.Tensor) else weft.asarray(each)
                  for each in (inputs[name] for name in wanted)]
        results = self._native.run([value.detach() for value in values])
        return {value.name: result for value, result in zip(self.outputs, results)}

    def _by_name(self, inputs, named):
        names = [value.name for value in self.inputs]
        if len(inputs) > len(names) or set(names[:len(inputs)]) & set(named):
            raise _core.InvalidArgumentError(
                f"[onnx] expected one value for each of {names}, got {len(inputs)} in order and "
                f"{sorted(named)} by name")
        return {**dict(zip(names, inputs)), **named}

    def __repr__(self):
        def listed(values):
            return ", ".join(value.name if value.shape is None else f"{value.name} "
                             + str(list(value.shape)).replace("'", "") for value in values)
        return f"Program({self.path!r}: {listed(self.inputs)} -> {listed(self.outputs)})"


def load(path):
    """The model of an ONNX file, ready to run. Operators that Weft lacks are named in the error;
    a damaged file is a weft.CorruptError."""
    path = os.fspath(path)
    return Program(_core._onnx_load(path), path)
