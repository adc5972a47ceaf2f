"""Rules of gradients within vmap(): samples are independent, so the gradients of the sum over all of
them are those of each."""
from weft import _core
from weft._batched import levels
from weft._batched.table import has, is_tensor, no_rule, rule, values, wrap


@rule("_grad")
def _grad(level, outputs, inputs, grad_outputs=None, retain_graph=False, create_graph=False,
          allow_unused=False):
    seeds = list(grad_outputs) if grad_outputs is not None else [None] * len(outputs)
    seeds = [_seed(level, output, seed) for output, seed in zip(outputs, seeds)]
    # An output that samples share has one gradient a sample where the seeds differ.
    outputs = [values(level, output) if is_tensor(seed) and has(level, seed) else output
               for output, seed in zip(outputs, seeds)]
    outputs = [each._value if has(level, each) else each for each in outputs]
    seeds = [each._value if is_tensor(each) and has(level, each) else each for each in seeds]
    given = [each._value if has(level, each) else each for each in inputs]
    own = [has(level, each) for each in inputs]
    if all(own):
        found = _core._grad(outputs, given, seeds, retain_graph, create_graph, allow_unused)
        return tuple(None if each is None else wrap(level, each) for each in found)
    return _one_by_one(level, outputs, given, own, seeds, (retain_graph, create_graph,
                                                           allow_unused))


@rule("_depends_on_others")
def _depends_on_others(level, outputs, inputs):
    outputs, inputs = ([each._value if has(level, each) else each for each in part]
                       for part in (outputs, inputs))
    return _core._depends_on_others(outputs, inputs)


def _seed(level, output, seed):
    """The seed of an output with a batch: one a sample."""
    if not has(level, output):
        return seed
    if seed is None:
        if output.numel() != 1:
            raise _core.InvalidArgumentError(
                f"[grad] expected grad_outputs for an output of shape {list(output.shape)}, as it "
                "is not one value")
        return _core.ones_like(output).detach()
    return wrap(level, values(level, seed))


def _one_by_one(level, outputs, given, own, seeds, options):
    """With inputs that samples share: a pass backward for each sample, whose seeds are 0 elsewhere."""
    retain_graph, create_graph, allow_unused = options
    chosen = _core.eye(level.size)
    rows = []
    for i in range(level.size):
        last = i + 1 == level.size
        masked = [None if seed is None else seed * chosen[i].to(seed.dtype).reshape(
            level.size, *[1] * (seed.ndim - 1)) for seed in seeds]
        rows.append(_core._grad(outputs, given, masked, retain_graph or not last, create_graph,
                                allow_unused))
    found = []
    for i, batched in enumerate(own):
        parts = [row[i] for row in rows]
        if any(each is None for each in parts):
            found.append(None)
        else:
            found.append(wrap(level, sum(parts[1:], parts[0]) if batched else _core.stack(parts)))
    return tuple(found)


def _on_samples(level, saved, backward):
    """(saved values, backward) of an operation of Python, whose backward pass runs on samples
    again: it gets one gradient, or a list of them."""
    batched = [each is not None and has(level, each) for each in saved]
    stack = levels.active()[:level.depth + 1]

    def sample_of(value):
        if isinstance(value, list):
            return [sample_of(each) for each in value]
        return None if value is None else wrap(level, value)

    def run(now, gradient):
        with levels.resumed(stack):
            found = backward(tuple(wrap(level, each) if own else each
                                   for each, own in zip(now, batched)), sample_of(gradient))
            return [None if each is None else values(level, each) for each in found]

    return [each._value if own else each for each, own in zip(saved, batched)], run


@rule("_apply_function")
def _apply_function(level, name, output, inputs, saved, backward):
    """An operation of Python."""
    return wrap(level, _core._apply_function(
        name, values(level, output), [values(level, each) for each in inputs],
        *_on_samples(level, saved, backward)))


@rule("_apply_functions")
def _apply_functions(level, name, outputs, inputs, saved, backward):
    """The same with several outputs."""
    found = _core._apply_functions(
        name, [values(level, each) for each in outputs], [values(level, each) for each in inputs],
        *_on_samples(level, saved, backward))
    return [wrap(level, each) for each in found]


@rule("backward")
def _backward(level, *args, **keywords):
    no_rule("backward", "use weft.func.grad(), or weft.autograd.grad(), which give the gradients of "
            "each sample")


@rule("_checkpoint")
def _checkpoint(level, function, inputs):
    no_rule("checkpoint", "call the function itself within vmap()")
