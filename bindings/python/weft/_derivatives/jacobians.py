"""Jacobians and hessians of functions: jacrev(), jacfwd() and hessian() of weft.func."""
import functools

from weft import _core
from weft._derivatives.run import Run, places_of, refuse
from weft._derivatives.trees import mapped

ROWS_BY_LOOP = 2  # so few rows are not worth a second run of the function


def _one_by_one(tensors):
    """[[1, 0, ...], [0, 1, ...], ...] over the elements of all tensors, each part in the shape of
    its tensor behind the axis of the rows."""
    total = sum(each.numel() for each in tensors)
    basis, found, start = _core.eye(total), [], 0
    for each in tensors:
        part = basis.narrow(1, start, each.numel()).to(each.dtype)
        found.append(part.reshape(total, *each.shape))
        start += each.numel()
    return found, total


def _all_rows(run, product, along, across, settings):
    """product(run, *row) of each row of the basis over `along`, stacked: for each of `across` a
    tensor with one more axis in front.

    All rows at once, by vmap() of another run of the function; and one by one where that cannot be,
    as an operation has no rule or a value decides what the function does."""
    basis, total = _one_by_one(along)
    randomness, chunk_size = settings
    if total > ROWS_BY_LOOP and chunk_size != 1:
        from weft._batched.mapped import vmap

        try:
            return list(vmap(lambda *row: product(run.again(), row), randomness=randomness,
                             chunk_size=chunk_size)(*basis))
        except Exception:  # noqa: BLE001, S110  (the loop raises again what is the function's fault)
            pass
    rows = [product(run, [part[i] for part in basis]) for i in range(total)]
    return [_core.stack([row[i] for row in rows]) if rows
            else _core.zeros(0, *each.shape, dtype=each.dtype) for i, each in enumerate(across)]


def _pulled(run, row):
    return tuple(run.pull(row))


def _pushed(run, row):
    return tuple(run.push(row))


def _by_rows(run, settings):
    """blocks[o][i]: the derivatives of output o by leaf i, of shape [*output, *leaf]."""
    rows = _all_rows(run, _pulled, run.outputs, run.leaves, settings)
    blocks, start = [], 0
    for output in run.outputs:
        count = output.numel()
        blocks.append([part.narrow(0, start, count).reshape(*output.shape, *leaf.shape)
                       for part, leaf in zip(rows, run.leaves)])
        start += count
    return blocks


def _by_columns(run, settings):
    """The same from the changes along each element of the leaves."""
    columns = _all_rows(run, _pushed, run.leaves, run.outputs, settings)
    blocks = [[] for _ in run.outputs]
    start = 0
    for leaf in run.leaves:
        for part, output, block in zip(columns, run.outputs, blocks):
            own = part.narrow(0, start, leaf.numel()).movedim(0, -1)
            block.append(own.reshape(*output.shape, *leaf.shape))
        start += leaf.numel()
    return blocks


def _arranged(run, blocks, argnums):
    """The blocks in the output's structure, each part in that of the arguments."""
    numbers = {id(leaf): number for number, leaf in enumerate(run.leaves)}
    rows = iter(blocks)

    def of_output(_):
        row = next(rows)
        made = tuple(mapped(lambda leaf: row[numbers[id(leaf)]], each) for each in run.arguments)
        return made if isinstance(argnums, tuple) else made[0]

    return mapped(of_output, run.output)


def _checked_chunk(name, chunk_size):
    if chunk_size is not None and not (type(chunk_size) is int and chunk_size > 0):
        raise refuse(name, "chunk_size as a whole number of at least 1, or None", repr(chunk_size))


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None):
    """A function that gives the derivatives of each value of func(...) by each value of arguments.

    argnums: the argument, or a tuple of those. The result has the structure of func's output, with
    that of the argument in the place of each tensor, and tensors of shape [*output, *argument].
    has_aux: func gives (output, aux), and the result is (derivatives, aux). chunk_size: so many rows
    at once at most. func runs twice: for its output, and within vmap() for all rows; where vmap()
    cannot run it, the rows are computed one by one."""
    _checked_chunk("jacrev", chunk_size)

    @functools.wraps(func, updated=())
    def wrapped(*args, **keywords):
        places = places_of("jacrev", argnums, args)
        run = Run("jacrev", func, args, places, keywords, has_aux)
        found = _arranged(run, _by_rows(run, ("same", chunk_size)), argnums)
        return (found, run.kept(run.aux)) if has_aux else found

    return wrapped


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error", chunk_size=None):
    """What jacrev() gives, for functions with more outputs than inputs: by columns.

    There is no forward mode: a column takes two passes backward, as jvp() does, so that rows as in
    jacrev() are taken unless func has more than twice as many outputs as inputs. randomness: what
    random numbers within func are, "error", "same" for all columns, or "different"."""
    _checked_chunk("jacfwd", chunk_size)
    if randomness not in ("error", "same", "different"):
        raise refuse("jacfwd", "randomness 'error', 'different' or 'same'", repr(randomness))

    @functools.wraps(func, updated=())
    def wrapped(*args, **keywords):
        places = places_of("jacfwd", argnums, args)
        run = Run("jacfwd", func, args, places, keywords, has_aux)
        if randomness == "error" and run.has_drawn():
            raise refuse("jacfwd", "a function without random numbers, as randomness='error'",
                         "one that draws some: choose randomness='same' or 'different'")
        settings = ("different" if randomness == "different" else "same", chunk_size)
        inputs, outputs = (sum(each.numel() for each in part)
                           for part in (run.leaves, run.outputs))
        if outputs > 2 * inputs:
            blocks = _by_columns(run, settings)
        else:
            blocks = [[part.to(output.dtype) for part in row]
                      for row, output in zip(_by_rows(run, settings), run.outputs)]
        found = _arranged(run, blocks, argnums)
        return (found, run.kept(run.aux)) if has_aux else found

    return wrapped


def hessian(func, argnums=0):
    """A function that gives the second derivatives of func(...): jacrev() of jacrev(), in the
    structure of jacfwd(jacrev(func, argnums), argnums)."""
    return jacrev(jacrev(func, argnums), argnums)
