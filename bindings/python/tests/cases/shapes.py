"""Operations that move values, and broadcasting, with axes of size 0 and 1."""
import numpy as np

from cases import Case


def _reshape(draws, shape):
    size = int(np.prod(shape))
    if size:
        first = draws.divisor(size)
        second = draws.divisor(size // first)
        new = [first, second, size // first // second]
        if draws.chance(0.5):
            new[draws.whole(0, 2)] = -1
    else:
        new = [0, draws.whole(0, 3), draws.whole(1, 3)]
    return f"reshape {new}", lambda T, F, x: x.reshape(new)


def _turn(draws, shape):
    order = [int(i) - (len(shape) if draws.chance(0.3) else 0)
             for i in draws.permutation(len(shape))]
    one, other = (draws.axis(shape), draws.axis(shape)) if shape else (0, 0)
    return draws.pick([
        (f"permute {order}", lambda T, F, x: x.permute(*order)),
        (f"transpose {one}, {other}", lambda T, F, x: x.transpose(one, other)),
        (f"movedim {one}, {other}", lambda T, F, x: x.movedim(one, other)),
        ("T", lambda T, F, x: x.permute(*reversed(range(x.ndim)))),
        (f"flip {one}", lambda T, F, x: x.flip((one,)))])


def _axes_of_one(draws, shape):
    place = draws.whole(-len(shape) - 1, len(shape))
    axis = draws.axis(shape) if shape else 0
    start = draws.whole(0, len(shape) - 1) if shape else 0
    end = draws.whole(start, max(start, len(shape) - 1))
    new = [draws.whole(0, 3), *(-1 if n != 1 else draws.whole(0, 3) for n in shape)]
    return draws.pick([
        (f"unsqueeze {place}", lambda T, F, x: x.unsqueeze(place)),
        (f"squeeze {axis}", lambda T, F, x: x.squeeze(axis)),
        ("squeeze", lambda T, F, x: x.squeeze()),
        (f"flatten {start}, {end}", lambda T, F, x: x.flatten(start, end)),
        (f"expand {new}", lambda T, F, x: x.expand(new))])


def _repeats(draws, shape):
    times = [draws.whole(0, 3) for _ in range(len(shape) + draws.whole(0, 1))]
    fewer = times[draws.whole(0, len(times)):] if times else []
    axis, count = draws.axis(shape) if shape else 0, draws.whole(0, 3)
    shifts, axes = draws.whole(-7, 7), draws.axes(shape)
    if isinstance(axes, tuple):
        shifts = tuple(draws.whole(-7, 7) for _ in axes)
    return draws.pick([
        (f"repeat {times}", lambda T, F, x: x.repeat(*times)),
        (f"tile {fewer}", lambda T, F, x: T.tile(x, fewer)),
        (f"repeat_interleave {count}, {axis}", lambda T, F, x: x.repeat_interleave(count, axis)),
        (f"roll {shifts}, {axes}", lambda T, F, x: x.roll(shifts, 0 if axes is None else axes))])


def _parts(draws, shape):
    axis = draws.axis(shape) if shape else 0
    size = shape[axis] if shape else 1
    piece, step = draws.whole(1, 4), draws.whole(1, 3)
    cut = draws.whole(0, size)
    length = draws.whole(0, size - cut)
    return draws.pick([
        (f"split {piece}, {axis}", lambda T, F, x: x.split(piece, axis)),
        (f"split [{cut}, {size - cut}], {axis}",
         lambda T, F, x: x.split([cut, size - cut], axis)),
        (f"chunk {piece}, {axis}", lambda T, F, x: x.chunk(piece, axis)),
        (f"unbind {axis}", lambda T, F, x: x.unbind(axis)),
        (f"narrow {axis}, {cut}, {length}", lambda T, F, x: x.narrow(axis, cut, length)),
        (f"unfold {axis}, {piece}, {step}", lambda T, F, x: x.unfold(axis, piece, step))])


def _triangles(draws, shape):
    offset = draws.whole(-6, 6)
    one, other = (draws.axis(shape), draws.axis(shape)) if shape else (0, 1)
    return draws.pick([
        (f"triu {offset}", lambda T, F, x: x.triu(offset)),
        (f"tril {offset}", lambda T, F, x: x.tril(offset)),
        (f"diagonal {offset}, {one}, {other}", lambda T, F, x: x.diagonal(offset, one, other)),
        (f"diag {offset}", lambda T, F, x: x.diag(offset)),
        ("trace", lambda T, F, x: x.trace())])


def _joined(draws):
    """cat and stack of arrays that fit or nearly do."""
    shape = list(draws.shape(1, 3, empty=0.2))
    axis = draws.axis(shape)
    shapes = []
    for _ in range(draws.whole(1, 3)):
        other = list(shape)
        other[axis] = draws.whole(0, 3)
        shapes.append(shape if draws.chance(0.4) else other)
    if draws.chance(0.1):
        shapes.append([0])  # PyTorch lets an empty vector pass
    name = draws.pick(["cat", "cat", "stack"])
    return Case(f"{name}({shapes}, {axis})", [draws.values(*each) for each in shapes],
                lambda T, F, *x: getattr(T, name)(list(x), axis))


def _broadcast(draws):
    shape = draws.shape(0, 4, (1, 2, 3), empty=0.3)
    others = [draws.spread(shape) for _ in range(3)]
    name = draws.pick(["where", "add", "lerp", "meshgrid", "expand_as", "maximum"])

    def call(T, F, a, b, c):
        if name == "where":
            return T.where(a > 0, b, c)
        if name == "meshgrid":
            return T.meshgrid(a.flatten(), b.flatten(), indexing="ij")
        if name == "expand_as":
            return a.expand_as(T.zeros(shape)) * c
        if name == "lerp":
            return a + (b - a) * c
        return T.maximum(a, b) - c if name == "maximum" else T.add(a, b, alpha=2) / (c * c + 1)

    return Case(f"{name} of {others} to {shape}", [draws.coarse(*each) for each in others], call)


def case(draws):
    if draws.chance(0.3):
        return draws.pick([_joined, _broadcast])(draws)
    shape = draws.shape(0, 4, empty=0.15)
    make = draws.pick([_reshape, _turn, _axes_of_one, _repeats, _parts, _triangles])
    text, function = make(draws, shape)
    turned = draws.chance(0.3) and len(shape) > 1

    def call(T, F, x):
        # What is not contiguous is copied by some of these.
        return function(T, F, x.transpose(0, 1).contiguous().transpose(0, 1) if turned else x)

    return Case(f"{text} of {shape}{' turned' * turned}", [draws.values(*shape)], call)
