"""Convolutions, pools, padding, sizes, norms and attention with all their options."""
import numpy as np

from cases import Case


def _image(draws, axes=2, least=1, most=9):
    return (draws.whole(0, 2) if draws.chance(0.1) else draws.whole(1, 3), draws.whole(1, 4),
            *(draws.whole(least, most) for _ in range(axes)))


def _pairs(draws, low, high, axes=2):
    """One number for all axes or one each."""
    return draws.whole(low, high) if draws.chance(0.4) else [
        draws.whole(low, high) for _ in range(axes)]


def _convolution(draws):
    axes = draws.pick([1, 2, 2])
    shape = _image(draws, axes)
    groups = draws.divisor(shape[1])
    kernel = [draws.whole(1, 4) for _ in range(axes)]
    options = {"stride": _pairs(draws, 1, 3, axes), "padding": _pairs(draws, 0, 3, axes),
               "dilation": _pairs(draws, 1, 3, axes), "groups": groups}
    if draws.chance(0.2):
        options["padding"] = draws.pick(["same", "valid"])
        if options["padding"] == "same":
            options["stride"] = 1
    outputs, bias = groups * draws.whole(1, 3), draws.chance(0.5)
    arrays = [draws.values(*shape), draws.values(outputs, shape[1] // groups, *kernel)]
    if bias:
        arrays.append(draws.values(outputs))
    return Case(f"conv{axes}d({shape}, {arrays[1].shape}, bias={bias}, {options})", arrays,
                lambda T, F, x, w, *b: getattr(F, f"conv{axes}d")(x, w, *b, **options))


def _transposed(draws):
    shape = _image(draws, 2, 1, 5)
    groups = draws.divisor(shape[1])
    stride, dilation = _pairs(draws, 1, 3), _pairs(draws, 1, 3)
    options = {"stride": stride, "padding": _pairs(draws, 0, 2), "dilation": dilation,
               "groups": groups, "output_padding": _pairs(draws, 0, 2)}
    kernel, outputs = [draws.whole(1, 4), draws.whole(1, 4)], draws.whole(1, 3)
    arrays = [draws.values(*shape), draws.values(shape[1], outputs, *kernel)]
    if draws.chance(0.5):
        arrays.append(draws.values(outputs * groups))
    return Case(f"conv_transpose2d({shape}, {arrays[1].shape}, {options})", arrays,
                lambda T, F, x, w, *b: F.conv_transpose2d(x, w, *b, **options))


def _pool(draws):
    shape = _image(draws)
    shape = shape[1:] if draws.chance(0.1) else shape
    name = draws.pick(["max_pool2d", "avg_pool2d"])
    kernel = _pairs(draws, 1, 4)
    smallest = min(kernel) if isinstance(kernel, list) else kernel
    options = {"padding": _pairs(draws, 0, smallest // 2), "ceil_mode": draws.chance(0.5)}
    if draws.chance(0.6):
        options["stride"] = _pairs(draws, 1, 4)
    if name == "avg_pool2d":
        options["count_include_pad"] = draws.chance(0.5)
    kind = draws.pick([draws.values, draws.coarse])
    return Case(f"{name}({shape}, {kernel}, {options})", [kind(*shape)],
                lambda T, F, x: getattr(F, name)(x, kernel, **options))


def _resize(draws):
    shape = _image(draws)
    name = draws.pick(["adaptive_avg_pool2d", "adaptive_max_pool2d", "interpolate", "interpolate"])
    size = _pairs(draws, 1, 9)
    mode = draws.pick(["nearest", "bilinear"])
    options = {"mode": mode}
    if mode == "bilinear" and draws.chance(0.7):
        options["align_corners"] = draws.chance(0.5)

    def call(T, F, x):
        if name == "interpolate":
            return F.interpolate(x, size=size, **options)
        return getattr(F, name)(x, size)

    return Case(f"{name}({shape}, {size}, {options if name == 'interpolate' else ''})",
                [draws.values(*shape)], call)


def _pad(draws):
    mode = draws.pick(["constant", "reflect", "replicate"])
    if mode == "constant":
        shape = draws.shape(1, 4, empty=0.1)
        widths = [draws.whole(-1, 3) for _ in range(2 * draws.whole(1, len(shape)))]
    else:
        shape = _image(draws, draws.pick([1, 2]), 1, 5)
        widths = [draws.whole(-1 if draws.chance(0.2) else 0, 3)
                  for _ in range(2 * len(shape) - 4)]
    extra = {"value": -1.5} if mode == "constant" else {}
    return Case(f"pad({shape}, {widths}, {mode})", [draws.values(*shape)],
                lambda T, F, x: F.pad(x, widths, mode=mode, **extra))


def _batch_norm(draws):
    shape = (draws.whole(1, 4), draws.whole(1, 4), *draws.shape(0, 2, (1, 2, 3)))
    training, tracked = draws.chance(0.6), draws.chance(0.7)
    if not training:
        tracked = True
    momentum, epsilon = draws.pick([0.1, 0.7, 1.0, 0.0]), draws.pick([1e-5, 0.1])
    affine = draws.chance(0.7)
    count, mean = shape[1], draws.values(shape[1])
    variance = draws.positive(count)

    def call(T, F, x, *learned):
        of = T.tensor(mean).to(x.dtype), T.tensor(variance).to(x.dtype)
        running = of if tracked else (None, None)
        y = F.batch_norm(x, *running, *(learned or (None, None)), training, momentum, epsilon)
        return (y, *of)

    return Case(f"batch_norm({shape}, affine={affine}, training={training}, tracked={tracked}, "
                f"{momentum}, {epsilon})",
                [draws.values(*shape) + np.float32(draws.pick([0, 5])),
                 *([draws.values(count), draws.values(count)] if affine else [])], call)


def _norm(draws):
    name, epsilon = draws.pick(["layer_norm", "group_norm"]), draws.pick([1e-5, 0.5])
    shape = (draws.whole(1, 3), draws.whole(1, 6), *draws.shape(0, 2, (1, 2, 3, 7)))
    over = shape[draws.whole(0, len(shape) - 1):] if name == "layer_norm" else draws.divisor(
        shape[1])
    of = over if name == "layer_norm" else shape[1:2]
    learned = [draws.values(*of) for _ in range(draws.pick([0, 1, 2]))]
    return Case(f"{name}({shape}, {over}, {len(learned)} learned, {epsilon})",
                [draws.values(*shape), *learned],
                lambda T, F, x, *w: getattr(F, name)(
                    x, over, *(*w, None, None)[:2], eps=epsilon))


def _attention(draws):
    """MultiheadAttention with its masks, as a module with given weights."""
    heads = draws.whole(1, 3)
    width, batch = heads * draws.whole(1, 4), draws.whole(1, 3)
    queries, keys = draws.whole(1, 5), draws.whole(1, 5)
    first, bias = draws.chance(0.5), draws.chance(0.7)
    need, average = draws.chance(0.5), draws.chance(0.5)
    masks = {}
    if draws.chance(0.4):
        masks["key_padding_mask"] = draws.uniform(size=(batch, keys)) < 0.4
        masks["key_padding_mask"][:, 0] = False
    if draws.chance(0.5):
        masks["attn_mask"] = draws.pick([
            draws.values(queries, keys), draws.uniform(size=(queries, keys)) < 0.4,
            draws.values(batch * heads, queries, keys)])
        if masks["attn_mask"].dtype == bool:
            masks["attn_mask"][:, 0] = False
    shapes = [(batch, n, width) if first else (n, batch, width) for n in (queries, keys, keys)]
    weights = {"in_proj_weight": (3 * width, width), "out_proj.weight": (width, width)}
    if bias:
        weights.update({"in_proj_bias": (3 * width,), "out_proj.bias": (width,)})
    weights = {name: draws.values(*of) * np.float32(0.5) for name, of in weights.items()}

    def call(T, F, q, k, v):
        layer = T.nn.MultiheadAttention(width, heads, bias=bias, batch_first=first)
        layer = layer.double() if str(q.dtype).endswith("64") else layer
        layer.load_state_dict({name: T.tensor(w).to(q.dtype) for name, w in weights.items()})
        given = {name: T.tensor(mask) for name, mask in masks.items()}
        given = {name: mask.to(q.dtype) if mask.is_floating_point() else mask
                 for name, mask in given.items()}
        y, shares = layer(q, k, v, need_weights=need, average_attn_weights=average, **given)
        return (y, shares) if need else y

    return Case(f"MultiheadAttention({width}, {heads}, bias={bias}, batch_first={first}) of "
                f"{shapes}, {[(n, m.shape, m.dtype) for n, m in masks.items()]}, {need}, {average}",
                [draws.values(*of) for of in shapes], call)


def case(draws):
    return draws.pick([_convolution, _convolution, _transposed, _pool, _pool, _resize, _pad,
                       _batch_norm, _norm, _attention])(draws)
