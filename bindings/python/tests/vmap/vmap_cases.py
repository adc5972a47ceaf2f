"""Functions of one sample for vmap(), each with the kinds of its arguments."""
import weft
from weft.nn import functional as F


class Kind:
    """What an argument of one sample is: its shape, and how its values are drawn."""

    def __init__(self, *shape, of="normal", high=None):
        self.shape, self.of, self.high = shape, of, high

    def draw(self, generator, lead):
        """Values of `lead` samples and more."""
        shape = (*lead, *self.shape)
        if self.high is not None:
            return weft.tensor(generator.integers(0, self.high, shape))
        if self.of == "bool":
            return weft.tensor(generator.random(shape) < 0.5)
        if self.of == "share":
            return weft.tensor(generator.random(shape) * 0.9 + 0.05)
        if self.of == "definite":
            square = weft.tensor(generator.standard_normal(shape))
            return square @ square.mT + weft.eye(self.shape[-1], dtype=weft.float64)
        if self.of == "distinct":
            count = 1
            for length in shape:
                count *= length
            return weft.tensor(generator.permutation(count).reshape(shape) / 7.0 - count / 15.0)
        return weft.tensor(generator.standard_normal(shape))


def _ints(*shape, high):
    return Kind(*shape, high=high)


V, W, S = Kind(3), Kind(4), Kind()
M, N, T = Kind(2, 3), Kind(3, 4), Kind(2, 3, 4)
B, MB = Kind(3, of="bool"), Kind(2, 3, of="bool")
P, MP = Kind(3, of="share"), Kind(2, 3, of="share")
D, MD = Kind(5, of="distinct"), Kind(2, 5, of="distinct")

ELEMENTS = [
    *((getattr(weft, name), M) for name in (
        "abs exp expm1 sin cos tanh sigmoid erf floor ceil trunc sign square neg relu isnan isfinite "
        "logical_not exp2 tan atan asinh sinh cosh erfc frac sgn signbit nan_to_num deg2rad sinc"
    ).split()),
    *((getattr(weft, name), MP) for name in (
        "log log2 log1p log10 sqrt rsqrt reciprocal asin acos atanh lgamma digamma logit erfinv"
    ).split()),
    *((getattr(weft, name), M, V) for name in (
        "add sub mul div maximum minimum atan2 eq lt ge remainder fmax logaddexp hypot copysign "
        "fmod ne").split()),
    (weft.add, S, M), (weft.mul, S, S), (lambda a, b: weft.add(a, b, alpha=3), V, M),
    (weft.pow, MP, S), (lambda a: 2.0 ** a, V), (lambda a: a ** 3, M), (lambda a: 3 - a, S),
    (lambda a, b: a // (b + 2), V, P), (lambda a, b: a % (b + 2), V, P),
    (lambda a, b: (a < b) | (a > 1), V, V), (lambda a: -abs(a), M), (lambda a: ~a, B),
    (lambda a, b: a & b ^ 3, _ints(3, high=8), _ints(3, high=8)),
    (lambda a: (a << 1) >> 2, _ints(3, high=8)), (weft.floor_divide, _ints(3, high=9), V),
    (weft.where, B, V, M), (lambda c, a: weft.where(c, a, 0.0), MB, M),
    (lambda a: a.clamp(-0.5, 0.5), M), (weft.clamp, M, P), (lambda a, b: a.clamp(max=b), M, V),
    (lambda a, m: a.masked_fill(m, -1.0), M, B), (lambda a, m, v: a.masked_fill(m, v), M, MB, S),
    (weft.lerp, M, M, P), (lambda a, b: weft.lerp(a, b, 0.3), M, M), (weft.addcmul, M, V, M),
    (weft.addcdiv, M, M, MP), (weft.xlogy, MP, MP), (weft.isclose, V, V),
    (lambda a, b: a.float() + b, S, V), (lambda a, b: a.double() * b.float(), V, S),
    (lambda a, b: a * b, _ints(3, high=5), S), (lambda a: a.to(weft.int32), M),
    (lambda a: a.float().type_as(a), M), (lambda a: a.long() % 2 == 0, M),
    (lambda a: a.clone().detach() + 1, V), (lambda a, b: a.clone().fill_diagonal_(2.0) + b, M, V),
    (F.gelu, M), (F.silu, M), (F.softplus, M), (F.elu, M), (F.leaky_relu, M), (F.hardtanh, M),
    (F.relu6, M), (F.logsigmoid, M), (F.mish, M), (F.hardswish, M), (F.softsign, M), (F.selu, M),
    (lambda a: F.glu(a, 0), M), (lambda a, w: F.prelu(a, w), M, V), (F.tanhshrink, M),
    (F.softshrink, M), (lambda a: F.threshold(a, 0.1, 0.0), M), (lambda a: F.normalize(a, dim=0), M),
    (lambda a: weft.zeros_like(a) + 1, M), (lambda a: weft.full_like(a, 2.0), V),
    (lambda a: a.new_zeros(2) + a.sum(), V), (lambda a: a.new_ones(3).mul_(a), V),
    (weft.nextafter, M, V), (lambda a: weft.frexp(a)[0], M), (lambda a, x: weft.igamma(a.detach(), x), P, MP),
    (lambda a: weft.special.i1e(a), M), (lambda a: weft.polygamma(2, a), MP), (weft.angle, M),
    (lambda a: a.round(decimals=1), M), (lambda a: weft.ldexp(a, weft.tensor(2.0)), V),
]

REDUCTIONS = [
    *((lambda a, f=getattr(weft, name): f(a), M) for name in (
        "sum mean amax amin logsumexp var std norm median argmax prod count_nonzero").split()),
    *((lambda a, f=getattr(weft, name): f(a, -1), MD) for name in (
        "sum mean prod amax amin logsumexp var std argmax argmin").split()),
    *((lambda a, f=getattr(weft, name): f(a, 0, True), MD) for name in (
        "sum mean amax logsumexp argmax").split()),
    *((lambda a, f=getattr(weft, name): f(a), S) for name in (
        "sum mean amax logsumexp norm max").split()),
    *((lambda a, f=getattr(weft, name): f(a, 1), MD) for name in (
        "cumsum cumprod softmax log_softmax cummax sort argsort logcumsumexp").split()),
    *((lambda a, f=getattr(weft, name): f(a, 0), S) for name in (
        "sum cumsum softmax sort argmax").split()),
    (lambda a: a.sum((0, 1)), M), (lambda a: a.mean((0, 2), True), T), (lambda a: a.sum(axis=1), M),
    (lambda a: a.var(0, unbiased=False), M), (lambda a: a.std(correction=0), M),
    (lambda a: a.norm(1, -1), M), (lambda a: a.norm(p="fro"), M), (lambda a: a.norm(3, (0, 1)), M),
    (lambda a: a.max(1), MD), (lambda a: a.min(0, True), MD), (lambda a: a.max(), D),
    (weft.max, V, V), (lambda a: a.any(), MB), (lambda a: a.all(1), MB),
    (lambda a: a.median(1), MD), (lambda a: a.kthvalue(2, 1), MD), (lambda a: a.topk(2), MD),
    (lambda a: a.topk(3, 1, False), MD), (lambda a: a.sort(descending=True), MD),
    (lambda a: a.mode(1), _ints(2, 6, high=3)), (lambda a: weft.aminmax(a), MD),
    (lambda a: weft.var_mean(a, 1), M), (lambda a: weft.nanmean(a, 0), M), (weft.msort, MD),
    (lambda a: weft.cumulative_trapezoid(a, dim=0), M), (lambda a: weft.gradient(a, dim=1), MD),
    (lambda a: weft.quantile(a, 0.3, 1), MD), (lambda a: weft.diff(a, dim=1), M),
    (lambda a: weft.trapezoid(a, dim=0), M), (weft.cov, M), (weft.trace, Kind(3, 3)),
    (lambda a: a.sum(0, dtype=weft.float32), M), (lambda a: weft.nansum(a, 1), M),
]

PRODUCTS = [
    (weft.matmul, M, N), (weft.matmul, M, V), (weft.matmul, V, N), (weft.matmul, V, V),
    (weft.matmul, T, Kind(4, 2)), (weft.matmul, M, Kind(5, 3, 2)), (weft.matmul, T, W),
    (lambda a, b: a @ b, Kind(2, 1, 2, 3), Kind(4, 3, 2)), (weft.mm, M, N), (weft.mv, M, V),
    (weft.bmm, T, Kind(2, 4, 2)), (weft.dot, V, V), (weft.outer, V, W), (weft.inner, M, V),
    (weft.addmm, W, M, N), (lambda a, b, c: weft.addmm(a, b, c, beta=0.5, alpha=2), W, M, N),
    (weft.baddbmm, Kind(2, 3, 2), T, Kind(2, 4, 2)), (weft.addmv, Kind(2), M, V),
    (lambda a, b: weft.einsum("ij,jk->ik", a, b), M, N),
    (lambda a, b: weft.einsum("ij,jk", a, b), M, N), (lambda a: weft.einsum("ii->i", a), Kind(3, 3)),
    (lambda a, b: weft.einsum("...i,i->...", a, b), T, W),
    (F.linear, M, Kind(4, 3)), (F.linear, V, Kind(4, 3), W), (F.linear, M, Kind(4, 3), W),
    (F.linear, T, Kind(5, 4), Kind(5)), (weft.tensordot, M, Kind(2, 3)), (weft.kron, M, V),
    (weft.cross, M, M), (weft.cdist, M, Kind(4, 3)), (weft.linalg.inv, Kind(3, 3, of="definite")),
    (weft.linalg.solve, Kind(3, 3, of="definite"), V), (weft.linalg.det, Kind(3, 3, of="definite")),
    (weft.linalg.cholesky, Kind(3, 3, of="definite")), (lambda a: weft.matrix_power(a, 3), Kind(2, 2)),
    (lambda a, b: weft.linalg.solve_triangular(a, b, upper=False), Kind(3, 3, of="definite"), Kind(3, 2)),
    (lambda a: weft.linalg.lu(a)[1], Kind(3, 3, of="definite")), (weft.matrix_exp, Kind(2, 2)),
    (F.bilinear, M, Kind(2, 4), Kind(5, 3, 4)), (weft.linalg.eigvalsh, Kind(3, 3, of="definite")),
]

SHAPES = [
    *((function, M) for function in (
        lambda a: a.reshape(3, 2), lambda a: a.view(-1), lambda a: weft.reshape(a, (6,)),
        lambda a: a.flatten(), lambda a: a.T, lambda a: a.mT, lambda a: a.t(),
        lambda a: a.transpose(0, -1), lambda a: a.permute(1, 0), lambda a: weft.permute(a, (-1, 0)),
        lambda a: a.unsqueeze(-1), lambda a: a.unsqueeze(0).squeeze(0), lambda a: a[None].squeeze(),
        lambda a: a.expand(4, 2, 3), lambda a: a.unsqueeze(1).expand(-1, 5, -1).contiguous(),
        lambda a: a.repeat(2, 1, 2), lambda a: a.tile(2), lambda a: a.movedim(0, 1),
        lambda a: weft.stack([a, a * 2], -1), lambda a: weft.cat([a, a[:1]]),
        lambda a: weft.cat([a, weft.ones(2, 1, dtype=a.dtype)], 1), lambda a: weft.hstack([a, a]),
        lambda a: a.split(2, 1), lambda a: a.split([1, 2], -1), lambda a: a.chunk(2),
        lambda a: a.unbind(1), lambda a: list(a), lambda a: a.tensor_split(2, 1),
        lambda a: a.flip(0), lambda a: a.flip(0, 1), lambda a: a.roll(1, -1), lambda a: a.roll(2),
        lambda a: a.tril(), lambda a: a.triu(1), lambda a: a.diagonal(), lambda a: weft.diag(a),
        lambda a: a.narrow(1, 1, 2), lambda a: a.select(1, 2), lambda a: a.unfold(1, 2, 1),
        lambda a: a.repeat_interleave(2, 0), lambda a: a.rot90(), lambda a: a.swapaxes(0, 1),
        lambda a: F.pad(a, (1, 2), value=3.0), lambda a: a.unflatten(1, (3, 1)),
        lambda a: a.view_as(weft.zeros(6)), lambda a: a.sum_to_size(1, 3), lambda a: a.diag_embed(),
        lambda a: a[0], lambda a: a[:, 1], lambda a: a[-1, ::2], lambda a: a[..., 0],
        lambda a: a[None, :, None], lambda a: a[:, [0, 2]], lambda a: a[[1, 0], [2, 0]],
        lambda a: a[weft.tensor([[0, 1], [1, 1]])], lambda a: a[weft.tensor([True, False])],
        lambda a: a.ravel()[::2], lambda a: a[weft.tensor(1)], lambda a: a.squeeze(0))),
    (lambda a: a.permute(2, 0, 1), T), (lambda a: a.flatten(1), T), (lambda a: a.movedim((0, 1), (1, 2)), T),
    (lambda a: a.diagonal(1, 0, 2), T), (lambda a: a[:, 1, 1:], T), (lambda a: a[[1, 0], :, [1, 2]], T),
    (lambda a: a[:, [0, 1], [1, 2]], T), (lambda a: a[:, weft.tensor([[0], [2]])], T),
    (lambda a, b: a.expand_as(b), V, M), (lambda a: a.expand(2, 3), S), (lambda a: a.reshape(1), S),
    (lambda a: weft.diag(a, 1), V), (lambda a: weft.vander(a, 3), V),
    (lambda a, b: weft.cat([a, b], 1), M, Kind(2, 1)), (lambda a, b: weft.stack([a, b]), V, V),
    (lambda a, b: weft.meshgrid(a, b), V, W), (lambda a, b: weft.meshgrid(a, b, indexing="xy"), V, W),
    (lambda a, b: weft.vstack([a, b]), M, V), (lambda a, b: weft.block_diag(a, b), M, M),
]

PLACES = [
    (lambda a, i: a.gather(1, i), M, _ints(2, 2, high=3)), (lambda a, i: a.gather(0, i), V, _ints(5, high=3)),
    (lambda a, i: weft.index_select(a, 1, i), M, _ints(4, high=3)),
    (lambda a, i: a.take_along_dim(i, 1), M, _ints(2, 1, high=3)), (weft.take, M, _ints(2, high=6)),
    (lambda a, i, b: a.scatter(1, i, b), M, Kind(2, 1, high=3), Kind(2, 1)),
    (lambda a, i: a.scatter(1, i, 5.0), M, Kind(2, 1, high=3)),
    (lambda a, i, b: a.scatter_add(1, i, b), M, _ints(2, 3, high=3), M),
    (lambda a, i, b: a.index_add(1, i, b), M, _ints(2, high=3), Kind(2, 2)),
    (lambda a, b: a.index_copy(0, weft.tensor([1, 0]), b), M, M),
    (lambda a, i: a[i], M, _ints(high=2)), (lambda a, i: a[i], M, _ints(4, high=2)),
    (lambda a, i: a[:, i], M, _ints(2, 2, high=3)), (lambda a, i, j: a[i, j], M, _ints(4, high=2), _ints(4, high=3)),
    (lambda a, i: a[:, i, 1:], T, _ints(high=3)), (lambda a, i: a[i, :, i], T, _ints(3, high=2)),
    (lambda a, i: a[..., i], T, _ints(2, high=4)), (lambda a, i, j: a[i, :, j], T, _ints(high=2), _ints(2, high=4)),
    (lambda a, i: a[i, [0, 1]], M, _ints(high=2)), (lambda a, i: a[i, None, i], M, _ints(3, high=2)),
    (lambda a, i: a[[0, 1], None, i], M, _ints(2, high=3)),
    (lambda a, i, m: a[i, :, weft.tensor([True, False, True, False])], T, _ints(2, high=2), S), (lambda a, i: a[-1 - i], V, _ints(high=3)),
    (lambda a, i, b: weft.put(a, i, b), M, _ints(1, high=6), Kind(1)),
    (lambda a, b: a.index_reduce(0, weft.tensor([1, 1]), b, "amax"), M, M),
    (lambda i: F.one_hot(i, 4), _ints(3, high=4)), (F.embedding, _ints(4, high=3), N),
    (lambda i, w: F.embedding(i, w, padding_idx=1), _ints(2, 2, high=3), N),
    (lambda a, i: weft.bucketize(a, weft.tensor([-1.0, 0.0, 1.0], dtype=weft.float64)) + i, V, _ints(high=2)),
    (lambda a, s: weft.searchsorted(s.sort()[0], a), V, Kind(5)),
]


def _written(change):
    def function(a, *others):
        made = a.clone()
        change(made, *others)
        return made

    return function


def _set(key):
    def change(a, *values):
        a[key] = values[0] if values else 7.0

    return _written(change)


def _set_at(a, index, value):
    a[index] = value


# The first argument is written, so it has a batch.
IN_PLACE = [
    (_set(0), M, V), (_set((slice(None), 1)), M, S), (_set(slice(0, 1)), M), (_set(-1), V),
    (_set((slice(None), [0, 2])), M, Kind(2)), (_set(weft.tensor([True, False])), M, V),
    (_written(_set_at), M, _ints(high=2), V), (_written(_set_at), V, _ints(2, high=3), S),
    (_written(_set_at), M, MB, S), (_set((..., None, 0)), M, Kind(2, 1)),
    (_written(lambda a, b: a.add_(b)), M, V), (_written(lambda a, b: a.mul_(b).sub_(1)), M, M),
    (_written(lambda a, b: a.add_(b, alpha=2)), M, S), (_written(lambda a, b: a.div_(b)), M, MP),
    (_written(lambda a: a.clamp_(min=0)), M), (_written(lambda a: a.zero_()), M),
    (_written(lambda a, b: a.copy_(b)), M, V), (_written(lambda a: a.exp_().sqrt_()), M),
    (_written(lambda a, b: a[0].add_(b)), M, S), (_written(lambda a: a.fill_(3)), V),
    (_written(lambda a, m: a.masked_fill_(m, 0.0)), M, MB), (_written(lambda a: a.t_()), M),
]

LAYERS = [
    (lambda x, w, b: F.conv2d(x, w, b, padding=1), Kind(2, 2, 4, 4), Kind(3, 2, 3, 3), V),
    (lambda x, w: F.conv2d(x, w, stride=2, groups=2), Kind(1, 4, 5, 5), Kind(2, 2, 2, 2)),
    (lambda x, w: F.conv2d(x, w), Kind(2, 4, 4), Kind(3, 2, 3, 3)),
    (lambda x, w, b: F.conv1d(x, w, b, dilation=2), Kind(2, 2, 6), Kind(3, 2, 2), V),
    (lambda x, w: F.conv1d(x, w, padding="same"), Kind(1, 2, 6), Kind(3, 2, 3)),
    (lambda x, w: F.conv_transpose2d(x, w, stride=2), Kind(1, 2, 3, 3), Kind(2, 3, 2, 2)),
    (lambda x, w: F.conv_transpose3d(x, w, stride=2), Kind(1, 2, 2, 2, 2), Kind(2, 1, 2, 1, 2)),
    (lambda x: F.max_pool3d(x, 2, return_indices=True), Kind(1, 2, 2, 4)),
    (lambda x: F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2), Kind(2, 3, 4)),
    (lambda x: F.adaptive_max_pool2d(x, (2, 1), True), Kind(2, 3, 3)),
    (lambda x: F.lp_pool1d(x, 3, 2), Kind(1, 2, 4, of="share")),
    (lambda x: F.interpolate(x, size=(2, 3, 1), mode="trilinear"), Kind(1, 1, 3, 2, 2)),
    (lambda x: F.max_pool2d(x, 2), Kind(2, 2, 4, 4)), (lambda x: F.avg_pool2d(x, 2), Kind(1, 2, 4, 4)),
    (lambda x: F.max_pool1d(x, 2), Kind(2, 3, 4)), (lambda x: F.adaptive_avg_pool2d(x, 1), Kind(2, 3, 4, 4)),
    (lambda x: F.interpolate(x, scale_factor=2), Kind(1, 2, 3, 3)),
    (lambda x, w, b: F.layer_norm(x, (3,), w, b), M, V, V), (lambda x: F.layer_norm(x, (2, 3)), M),
    (lambda x, w, b: F.group_norm(x, 2, w, b), Kind(2, 4, 3), W, W),
    (lambda x, w: F.rms_norm(x, (3,), w), M, V), (lambda x: F.instance_norm(x), Kind(2, 3, 4)),
    (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), Kind(4, 3), V, V),
    (lambda x, m, v, w: F.batch_norm(x, m.detach(), v.detach(), w, w), Kind(4, 3, 2), V, P, V),
    (F.scaled_dot_product_attention, Kind(2, 3, 4), Kind(2, 5, 4), Kind(2, 5, 4)),
    (lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), Kind(1, 2, 3, 4)),
    (F.scaled_dot_product_attention, Kind(1, 2, 3, 4), Kind(1, 2, 5, 4), Kind(1, 2, 5, 4), Kind(3, 5, of="bool")),
    (F.cosine_similarity, M, M), (lambda a, b: F.cosine_similarity(a, b, dim=0), V, V),
    (F.mse_loss, M, M), (lambda a, b: F.mse_loss(a, b, reduction="sum"), M, M),
    (lambda a, b: F.l1_loss(a, b, reduction="none"), M, M), (F.smooth_l1_loss, M, M), (F.huber_loss, V, V),
    (F.mse_loss, S, S), (F.cross_entropy, V, _ints(high=3)), (F.cross_entropy, M, _ints(2, high=3)),
    (lambda a, t: F.cross_entropy(a, t, reduction="sum", label_smoothing=0.1), M, _ints(2, high=3)),
    (lambda a, t: F.cross_entropy(a, t, reduction="none"), Kind(2, 3, 4), _ints(2, 4, high=3)),
    (lambda a, t: F.cross_entropy(a, t, ignore_index=0), Kind(5, 3), _ints(5, high=3)),
    (lambda a, t, w: F.cross_entropy(a, t, w.detach()), Kind(5, 3), _ints(5, high=3), P),
    (lambda a, t: F.cross_entropy(a, t.softmax(-1)), M, M), (lambda a, t: F.nll_loss(a, t), M, _ints(2, high=3)),
    (F.binary_cross_entropy, MP, MP), (F.binary_cross_entropy_with_logits, M, MP),
    (lambda a, t, w: F.binary_cross_entropy_with_logits(a, t, pos_weight=w.detach()), M, MP, P),
    (lambda a, t, w: F.binary_cross_entropy(a, t, w.detach(), reduction="sum"), MP, MP, P),
    (lambda a, t: F.kl_div(a, t.softmax(-1), reduction="batchmean"), M, M),
    (lambda a, t: F.kl_div(a, t, log_target=True, reduction="sum"), M, M),
    (lambda a, b, y: F.margin_ranking_loss(a, b, y), V, V, V), (F.poisson_nll_loss, M, MP),
    (F.triplet_margin_loss, M, M, M), (F.hinge_embedding_loss, V, V), (F.soft_margin_loss, M, M),
]

TABLES = {"elements": ELEMENTS, "reductions": REDUCTIONS, "products": PRODUCTS, "shapes": SHAPES,
          "places": PLACES, "in_place": IN_PLACE, "layers": LAYERS}
