"""weft.autograd.functional: derivatives of functions as a whole; and gradcheck()."""
from weft import _core
from weft._batched.levels import per_sample

Tensor = _core.Tensor


def _leaves(inputs, create_graph=False):
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if create_graph:
        own = (each if each.requires_grad else each.detach().requires_grad_() for each in given)
    else:
        own = (each.detach().clone().requires_grad_() for each in given)
    return tuple(map(per_sample, own))


def _gradients(output, leaves, seed=None, create_graph=False):
    from weft import autograd

    if not output.requires_grad:
        return tuple(_core.zeros_like(leaf) for leaf in leaves)
    found = autograd.grad(output, leaves, seed, retain_graph=True, create_graph=create_graph,
                          allow_unused=True)
    return tuple(_core.zeros_like(leaf) if each is None else each
                 for each, leaf in zip(found, leaves))


def _of_one(output, leaves, create_graph):
    """The rows of the derivative of one output, stacked, for each leaf."""
    flat = output.reshape(-1)
    rows = [_gradients(flat[i], leaves, None, create_graph) for i in range(flat.numel())]
    shape = tuple(output.shape)
    return tuple(
        _core.stack(list(each)).reshape(shape + tuple(leaf.shape)) if rows
        else _core.zeros(shape + tuple(leaf.shape), dtype=leaf.dtype)
        for each, leaf in zip(zip(*rows) if rows else [()] * len(leaves), leaves))


def _as_given(found, inputs):
    return found[0] if isinstance(inputs, Tensor) else found


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False):
    """The derivatives of each value of func(*inputs) by each value of the inputs."""
    leaves = _leaves(inputs, create_graph)
    outputs = func(*leaves)
    for each in outputs if isinstance(outputs, tuple) else (outputs,):
        if not isinstance(each, Tensor):
            raise TypeError(f"jacobian(): expected a function that gives tensors, got "
                            f"{type(each).__name__}")
    if isinstance(outputs, Tensor):
        return _as_given(_of_one(outputs, leaves, create_graph), inputs)
    return tuple(_as_given(_of_one(each, leaves, create_graph), inputs) for each in outputs)


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False):
    """The second derivatives of one value."""
    leaves = _leaves(inputs, create_graph)
    output = func(*leaves)
    if output.numel() != 1:
        raise _core.InvalidArgumentError(
            f"[hessian] expected a function of one value, got shape {list(output.shape)}")
    first = _gradients(output.reshape(()), leaves, None, True)
    rows = tuple(_of_one(each, leaves, create_graph) for each in first)
    return rows[0][0] if isinstance(inputs, Tensor) else rows


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), the gradients of v . func)."""
    leaves = _leaves(inputs, create_graph)
    output = func(*leaves)
    found = _gradients(output, leaves, v, create_graph)
    return output if create_graph else output.detach(), _as_given(found, inputs)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), the change of func along v), by two passes backward."""
    leaves = _leaves(inputs, create_graph)
    output = func(*leaves)
    seed = _core.zeros_like(output).requires_grad_()
    first = _gradients(output, leaves, seed, True)
    along = (v,) if isinstance(v, Tensor) else tuple(v or map(_core.ones_like, leaves))
    total = sum((each * way).sum() for each, way in zip(first, along))
    return output if create_graph else output.detach(), _gradients(
        total, (seed,), None, create_graph)[0]


def _differs(func, leaves, number, output_number, eps, atol, rtol):
    """A text on the first slope of one input that differences do not confirm, or None."""
    leaf = leaves[number]
    outputs = func(*leaves)
    output = (outputs if isinstance(outputs, Tensor) else outputs[output_number]).reshape(-1)
    slopes = [_gradients(value, leaves)[number].reshape(-1) for value in output]
    for place in range(leaf.numel()):
        shifted = []
        for sign in (1, -1):
            moved = leaf.detach().clone().reshape(-1)
            moved[place] += sign * eps
            given = [*leaves[:number], moved.reshape(tuple(leaf.shape)), *leaves[number + 1:]]
            with _no_grad():
                found = func(*given)
            found = found if isinstance(found, Tensor) else found[output_number]
            shifted.append(found.reshape(-1))
        estimate = (shifted[0] - shifted[1]) / (2 * eps)
        for row, slope in enumerate(slopes):
            got, want = slope[place].item(), estimate[row].item()
            if not abs(got - want) <= atol + rtol * abs(want):
                return (f"the slope of output {output_number}[{row}] by input {number}[{place}] is "
                        f"{got:g}, differences give {want:g}")
    return None


def _no_grad():
    from weft import autograd

    return autograd.no_grad()


def gradcheck(func, inputs, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, **others):
    """Whether the gradients of func are those that differences give; inputs of float64."""
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if not any(isinstance(each, Tensor) and each.requires_grad for each in given):
        raise _core.InvalidArgumentError(
            "[gradcheck] expected at least one input with requires_grad=True, got none")
    outputs = func(*given)
    count = 1 if isinstance(outputs, Tensor) else len(outputs)
    for number, leaf in enumerate(given):
        if not (isinstance(leaf, Tensor) and leaf.requires_grad):
            continue
        for output_number in range(count):
            wrong = _differs(func, given, number, output_number, eps, atol, rtol)
            if wrong and raise_exception:
                raise _core.InvalidArgumentError(f"[gradcheck] {wrong}")
            if wrong:
                return False
    return True


def gradgradcheck(func, inputs, grad_outputs=None, eps=1e-6, atol=1e-5, rtol=1e-3,
                  raise_exception=True, **others):
    """gradcheck() of the gradients of func."""
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)

    def first(*leaves):
        from weft import autograd

        with autograd.enable_grad():  # differences are taken without history
            leaves = [each if each.requires_grad else each.detach().requires_grad_()
                      for each in leaves]
            output = func(*leaves)
            return _gradients((output if grad_outputs is None else output * grad_outputs).sum(),
                              leaves, None, True)

    return gradcheck(first, given, eps, atol, rtol, raise_exception)
