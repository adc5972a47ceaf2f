"""Functions of layers, with PyTorch's names; shapes stand in each one's documentation."""
from weft._names.functions import conv_tbc  # noqa: F401
from weft._names.products import pdist  # noqa: F401
from weft._core import (  # noqa: F401
    batch_norm, binary_cross_entropy_with_logits, cosine_similarity, cross_entropy, gelu,
    group_norm, kl_div, linear, logsigmoid, nll_loss, rms_norm, sigmoid, softplus, softsign,
    tanh)
from weft.nn.functions.activation import (  # noqa: F401
    celu, celu_, elu, elu_, glu, gumbel_softmax, hardshrink, hardsigmoid, hardswish, hardtanh,
    hardtanh_, leaky_relu, leaky_relu_, log_softmax, mish, prelu, relu, relu6, relu_, rrelu, rrelu_,
    selu, selu_, silu, softmax, softmin, softshrink, tanhshrink, threshold, threshold_)
from weft.nn.functions.attention import (  # noqa: F401
    attention_weights, multi_head_attention_forward, scaled_dot_product_attention)
from weft.nn.functions.conv import (  # noqa: F401
    conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d, fold, pad, unfold)
from weft.nn.functions.image import (  # noqa: F401
    affine_grid, channel_shuffle, grid_sample, interpolate, pixel_shuffle, pixel_unshuffle,
    upsample, upsample_bilinear, upsample_nearest)
from weft.nn.functions.loss import (  # noqa: F401
    binary_cross_entropy, cosine_embedding_loss, ctc_loss, gaussian_nll_loss,
    hinge_embedding_loss, huber_loss, l1_loss, margin_ranking_loss, mse_loss,
    multi_margin_loss, multilabel_margin_loss, multilabel_soft_margin_loss, pairwise_distance,
    poisson_nll_loss, smooth_l1_loss, soft_margin_loss, triplet_margin_loss, triplet_margin_with_distance_loss)
from weft.nn.functions.fractional_pool import (  # noqa: F401
    fractional_max_pool2d, fractional_max_pool3d)
from weft.nn.functions.pool import (  # noqa: F401
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_max_pool1d, adaptive_max_pool2d,
    avg_pool1d, avg_pool2d, lp_pool1d, lp_pool2d, max_pool1d, max_pool2d)
from weft.nn.functions.pool3d import (  # noqa: F401
    adaptive_avg_pool3d, adaptive_max_pool3d, avg_pool3d, max_pool3d)
from weft.nn.functions.pool_places import (  # noqa: F401
    max_unpool1d, max_unpool2d, max_unpool3d)
from weft.nn.functions.regular import (  # noqa: F401
    alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout, instance_norm,
    layer_norm, local_response_norm, normalize)
from weft.nn.functions.sparse import bilinear, embedding, embedding_bag, one_hot  # noqa: F401


def _with_indices(pool):
    def function(*args, **settings):
        return pool(*args, return_indices=True, **settings)

    function.__name__ = function.__qualname__ = pool.__name__ + "_with_indices"
    function.__doc__ = f"{pool.__name__}(return_indices=True)."
    return function


(max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices,
 adaptive_max_pool1d_with_indices, adaptive_max_pool2d_with_indices,
 adaptive_max_pool3d_with_indices) = map(_with_indices, (
     max_pool1d, max_pool2d, max_pool3d, adaptive_max_pool1d, adaptive_max_pool2d,
     adaptive_max_pool3d))
