"""Layers over volumes, maxima with their places and the way back from them, norms of windows."""
import numpy as np

from cases import Case


def _sides(draws, low, high, axes=3):
    """One number for all axes or one each."""
    return draws.whole(low, high) if draws.chance(0.4) else [
        draws.whole(low, high) for _ in range(axes)]


def _image(draws, axes, least=1, most=5):
    lead = (draws.whole(1, 2), draws.whole(1, 3))
    shape = (*lead, *(draws.whole(least, most) for _ in range(axes)))
    return shape[1:] if draws.chance(0.15) else shape


def _transposed(draws):
    groups = draws.whole(1, 2)
    channels, outputs = groups * draws.whole(1, 2), draws.whole(1, 2)
    shape = (draws.whole(1, 2), channels, *(draws.whole(1, 4) for _ in range(3)))
    kernel = [draws.whole(1, 3) for _ in range(3)]
    stride, dilation = _sides(draws, 1, 3), _sides(draws, 1, 2)
    options = {"stride": stride, "padding": _sides(draws, 0, 1), "dilation": dilation,
               "groups": groups, "output_padding": _sides(draws, 0, 1)}
    arrays = [draws.values(*shape), draws.values(channels, outputs, *kernel)]
    if draws.chance(0.5):
        arrays.append(draws.values(outputs * groups))
    return Case(f"conv_transpose3d({shape}, {arrays[1].shape}, {options})", arrays,
                lambda T, F, x, w, *b: F.conv_transpose3d(x, w, *b, **options))


def _windows(draws, axes, dilated):
    kernel = [draws.whole(1, 3) for _ in range(axes)]
    options = {"padding": [draws.whole(0, each // 2) for each in kernel]}
    if draws.chance(0.6):
        options["stride"] = [draws.whole(1, 3) for _ in range(axes)]
    if dilated and draws.chance(0.4):
        options["dilation"] = [draws.whole(1, 2) for _ in range(axes)]
    else:
        options["ceil_mode"] = draws.chance(0.4)
    return kernel, options


def _pool(draws):
    axes = draws.pick([1, 2, 3, 3])
    shape = _image(draws, axes, 3, 7)
    kernel, options = _windows(draws, axes, True)
    places = draws.chance(0.7)
    kind = draws.pick([draws.values, draws.coarse])

    def call(T, F, x):
        return getattr(F, f"max_pool{axes}d")(x, kernel, return_indices=places, **options)

    return Case(f"max_pool{axes}d({shape}, {kernel}, {options}, {places})", [kind(*shape)], call)


def _parts(draws):
    axes = draws.pick([1, 2, 3])
    shape = _image(draws, axes, 1, 7)
    size = [draws.whole(1, 5) for _ in range(axes)]
    size = size[0] if axes == 1 else size

    def call(T, F, x):
        return getattr(F, f"adaptive_max_pool{axes}d")(x, size, return_indices=True)

    return Case(f"adaptive_max_pool{axes}d({shape}, {size})", [draws.values(*shape)], call)


def _back(draws):
    axes = draws.pick([1, 2, 3])
    shape = _image(draws, axes, 3, 7)
    kernel = [draws.whole(1, 3) for _ in range(axes)]
    padding = [draws.whole(0, each // 2) for each in kernel]
    whole = draws.chance(0.5)

    def call(T, F, x):
        values, places = getattr(F, f"max_pool{axes}d")(x, kernel, padding=padding,
                                                        return_indices=True)
        size = list(x.shape[-axes:]) if whole else None
        return getattr(F, f"max_unpool{axes}d")(values, places, kernel, None, padding, size)

    return Case(f"max_unpool{axes}d of max_pool{axes}d({shape}, {kernel}, {padding}), {whole}",
                [draws.values(*shape)], call)


def _norms(draws):
    axes = draws.pick([1, 2])
    shape = _image(draws, axes, 3, 7)
    kernel = [draws.whole(1, 3) for _ in range(axes)]
    order, ceil = draws.pick([1, 2, 3, 2.5]), draws.chance(0.4)
    kernel = kernel[0] if axes == 1 else kernel
    return Case(f"lp_pool{axes}d({shape}, {order}, {kernel}, {ceil})", [draws.positive(*shape)],
                lambda T, F, x: getattr(F, f"lp_pool{axes}d")(x, order, kernel, None, ceil))


def _resize(draws):
    shape = (draws.whole(1, 2), draws.whole(1, 2), *(draws.whole(1, 5) for _ in range(3)))
    size = _sides(draws, 1, 6)
    options = {"mode": draws.pick(["nearest", "trilinear", "area"])}
    if options["mode"] == "trilinear" and draws.chance(0.7):
        options["align_corners"] = draws.chance(0.5)
    return Case(f"interpolate({shape}, {size}, {options})", [draws.values(*shape)],
                lambda T, F, x: F.interpolate(x, size=size, **options))


def _norm(draws):
    shape = (draws.whole(1, 2), draws.whole(1, 3), *(draws.whole(1, 3) for _ in range(3)))
    if np.prod(shape[2:]) == 1:
        shape = (*shape[:-1], 2)
    count = shape[1]
    return Case(f"instance_norm({shape})", [draws.values(*shape), draws.values(count),
                                            draws.values(count)],
                lambda T, F, x, w, b: F.instance_norm(x, weight=w, bias=b))


def case(draws):
    return draws.pick([_transposed, _transposed, _pool, _pool, _parts, _back, _norms, _resize,
                       _norm])(draws)
