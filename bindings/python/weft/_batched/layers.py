"""Rules of layers: samples become more images of a batch where they share the weights, and groups
of channels where they do not."""
from weft import _core
from weft._batched.table import aligned, axis_of, has, looped, rule, values, wrap


def _folded(level, x):
    """[B, N, ...] as [B N, ...]."""
    value = values(level, x)
    return value.reshape(level.size * x.shape[0], *x.shape[1:])


def _unfolded(level, found):
    return wrap(level, found.reshape(level.size, -1, *found.shape[1:]) if found.shape[0] else
                found.reshape(level.size, 0, *found.shape[1:]))


def _of_images(name):
    compute = getattr(_core, name)

    @rule(name)
    def run(level, input, *args, **keywords):  # noqa: A002
        return _unfolded(level, compute(_folded(level, input), *args, **keywords))


for _name in ("max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d", "adaptive_avg_pool1d",
              "adaptive_avg_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d", "interpolate"):
    _of_images(_name)


def _channels(level, x, ndim, axis=1):
    """A vector of channels (or one per sample) beside images of one sample, or None."""
    if x is None:
        return None
    shape = [1] * ndim
    shape[axis] = -1
    return x.reshape(*shape)


def _as_channels(level, x):
    """[B, N, C, ...] as [N, B C, ...]: the samples are groups of channels."""
    value = values(level, x).movedim(0, 1)
    return value.reshape(value.shape[0], level.size * x.shape[1], *x.shape[2:])


def _from_channels(level, found):
    parts = found.reshape(found.shape[0], level.size, -1, *found.shape[2:])
    return wrap(level, parts.movedim(1, 0))


def _convolution(name, groups_place):
    compute = getattr(_core, name)

    @rule(name)
    def run(level, input, weight, bias=None, *settings, relu=False, **keywords):  # noqa: A002
        relus = {"relu": True} if relu else {}
        if not has(level, weight):
            if bias is None or not has(level, bias):
                return _unfolded(level, compute(_folded(level, input), weight, bias, *settings,
                                                **keywords, **relus))
            found = _unfolded(level, compute(_folded(level, input), weight, None, *settings,
                                             **keywords))
        else:
            found = _by_groups(level, input, weight, list(settings), dict(keywords))
        if bias is not None:
            found = found + _channels(level, bias, found.ndim)
        return found.relu() if relu else found

    def _by_groups(level, input, weight, settings, keywords):  # noqa: A002
        groups = settings[groups_place] if len(settings) > groups_place else keywords.get("groups", 1)
        if len(settings) > groups_place:
            settings[groups_place] = groups * level.size
        else:
            keywords["groups"] = groups * level.size
        flat = weight._value.reshape(level.size * weight.shape[0], *weight.shape[1:])
        return _from_channels(level, compute(_as_channels(level, input), flat, None, *settings,
                                             **keywords))


# The place of groups behind the bias.
_convolution("conv1d", 3)
_convolution("conv2d", 3)
_convolution("conv_transpose1d", 3)
_convolution("conv_transpose2d", 3)


@rule("batch_norm")
def _batch_norm(level, input, running_mean, running_var, weight=None, bias=None,  # noqa: A002
                training=False, momentum=0.1, eps=1e-5):
    kept = [running_mean, running_var]
    if training and any(each is not None and not has(level, each) for each in kept):
        raise _core.InvalidArgumentError(
            "[batch_norm] expected no running statistics that the samples share within vmap(), as "
            "each sample would write its own into them: use track_running_stats=False, eval(), or "
            "weft.nn.GroupNorm")
    kept = [None if each is None else values(level, each).reshape(-1) for each in kept]
    found = _from_channels(level, _core.batch_norm(_as_channels(level, input), *kept, None, None,
                                                   training, momentum, eps))
    return _scaled(level, found, _channels(level, weight, input.ndim),
                   _channels(level, bias, input.ndim))


def _scaled(level, x, weight, bias):
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _shared(level, *tensors):
    return not any(each is not None and has(level, each) for each in tensors)


@rule("layer_norm")
def _layer_norm(level, input, normalized_shape, weight=None, bias=None, eps=1e-5):  # noqa: A002
    if _shared(level, weight, bias):
        return wrap(level, _core.layer_norm(values(level, input), normalized_shape, weight, bias, eps))
    found = wrap(level, _core.layer_norm(values(level, input), normalized_shape, None, None, eps))
    return _scaled(level, found, weight, bias)


@rule("rms_norm")
def _rms_norm(level, input, normalized_shape, weight, eps=1e-6):  # noqa: A002
    if _shared(level, weight):
        return wrap(level, _core.rms_norm(values(level, input), normalized_shape, weight, eps))
    one = _core.ones(tuple(weight.shape), dtype=weight.dtype)
    return wrap(level, _core.rms_norm(values(level, input), normalized_shape, one, eps)) * weight


@rule("group_norm")
def _group_norm(level, input, num_groups, weight=None, bias=None, eps=1e-5):  # noqa: A002
    if _shared(level, weight, bias):
        return _unfolded(level, _core.group_norm(_folded(level, input), num_groups, weight, bias,
                                                 eps))
    found = _unfolded(level, _core.group_norm(_folded(level, input), num_groups, None, None, eps))
    return _scaled(level, found, _channels(level, weight, input.ndim),
                   _channels(level, bias, input.ndim))


@rule("scaled_dot_product_attention")
def _attention(level, query, key, value, attn_mask=None, *, is_causal=False,
               scale=None):
    if query.ndim not in (3, 4):
        raise _core.InvalidArgumentError(
            f"[scaled_dot_product_attention] expected 3 or 4 axes, got {query.ndim}")
    mask = attn_mask
    if mask is not None and (mask.ndim > 2 or has(level, mask)):
        lead = [query.shape[0], query.shape[1] if query.ndim == 4 else 1]
        if query.ndim == 3 and mask.ndim == 3:
            mask = mask.unsqueeze(1)
        mask = mask.expand(*lead, query.shape[-2], key.shape[-2])
        mask = _folded(level, mask)
    found = _core.scaled_dot_product_attention(
        _folded(level, query), _folded(level, key), _folded(level, value), mask,
        is_causal=is_causal, scale=scale)
    return _unfolded(level, found)


@rule("_recurrent")
def _recurrent(level, mode, input, weights, state, lengths=None, reverse=False):  # noqa: A002
    """[T, N, width] by one layer in one direction; its outputs have rows behind the last time."""
    if not _shared(level, *weights):
        return looped("_recurrent")(level, mode, input, weights, state, lengths, reverse)
    x = values(level, input).movedim(0, 1)
    count = input.shape[1]
    x = x.reshape(input.shape[0], level.size * count, *input.shape[2:])
    state = [None if each is None else _folded(level, each) for each in state]
    lengths = None if lengths is None else _folded(level, lengths)
    found = _core._recurrent(mode, x, weights, state, lengths, reverse)
    return wrap(level, found.reshape(found.shape[0], level.size, count, -1).movedim(1, 0))


@rule("cosine_similarity")
def _cosine_similarity(level, x1, x2, dim=1, eps=1e-8):
    axis = axis_of("cosine_similarity", dim, max(x1.ndim, x2.ndim))
    x1, x2 = (each if each.ndim else each.unsqueeze(0) for each in (x1, x2))
    one, two = aligned(level, (x1, x2))
    if has(level, x1) != has(level, x2):
        one, two = one + two * 0, two + one * 0
    return wrap(level, _core.cosine_similarity(one, two, axis + 1, eps))
