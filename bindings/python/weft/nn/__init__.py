"""Modules: layers, containers, losses; with PyTorch's names and state_dicts."""
from weft.nn import functional, init  # noqa: F401
from weft.nn.activation import (  # noqa: F401
    CELU, ELU, GELU, GLU, SELU, Hardshrink, Hardsigmoid, Hardswish, Hardtanh, LeakyReLU,
    LogSigmoid, LogSoftmax, Mish, PReLU, ReLU, ReLU6, RReLU, Sigmoid, SiLU, Softmax, Softmax2d,
    Softmin, Softplus, Softshrink, Softsign, Tanh, Tanhshrink, Threshold)
from weft.nn.adaptive import AdaptiveLogSoftmaxWithLoss  # noqa: F401
from weft.nn.attention import MultiheadAttention  # noqa: F401
from weft.nn.containers import (  # noqa: F401
    ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential)
from weft.nn.conv import (  # noqa: F401
    Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
from weft.nn.lazy import (  # noqa: F401
    LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d, LazyConv1d, LazyConv2d, LazyConv3d,
    LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d, LazyInstanceNorm1d,
    LazyInstanceNorm2d, LazyInstanceNorm3d, LazyLinear)
from weft.nn.fractional_pool import FractionalMaxPool2d, FractionalMaxPool3d  # noqa: F401
from weft.nn.layers import (  # noqa: F401
    Bilinear, Embedding, EmbeddingBag, Flatten, Identity, Linear, Unflatten)
from weft.nn.loss import (  # noqa: F401
    BCELoss, BCEWithLogitsLoss, CosineEmbeddingLoss, CrossEntropyLoss, CTCLoss, GaussianNLLLoss,
    HingeEmbeddingLoss, HuberLoss, KLDivLoss, L1Loss, MarginRankingLoss, MSELoss,
    MultiLabelMarginLoss, MultiLabelSoftMarginLoss, MultiMarginLoss, NLLLoss, NLLLoss2d,
    PoissonNLLLoss, SmoothL1Loss, SoftMarginLoss, TripletMarginLoss, TripletMarginWithDistanceLoss)
from weft.nn.module import Module  # noqa: F401
from weft.nn.norm import (  # noqa: F401
    BatchNorm1d, BatchNorm2d, BatchNorm3d, GroupNorm, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d,
    LayerNorm)
from weft.nn.parallel import DataParallel  # noqa: F401
from weft.nn.parameter import Parameter  # noqa: F401
from weft.nn.pool import (  # noqa: F401
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d,
    AdaptiveMaxPool3d, AlphaDropout, AvgPool1d, AvgPool2d, AvgPool3d, ChannelShuffle,
    ConstantPad1d, ConstantPad2d, ConstantPad3d, CosineSimilarity, Dropout, Dropout1d, Dropout2d,
    Dropout3d, FeatureAlphaDropout, Fold, LocalResponseNorm, LPPool1d, LPPool2d, MaxPool1d,
    MaxPool2d, MaxPool3d, MaxUnpool1d, MaxUnpool2d, MaxUnpool3d, PairwiseDistance, PixelShuffle,
    PixelUnshuffle, ReflectionPad1d, ReflectionPad2d, ReflectionPad3d, ReplicationPad1d,
    ReplicationPad2d, ReplicationPad3d, Unfold, Upsample, UpsamplingBilinear2d, UpsamplingNearest2d,
    ZeroPad2d)
from weft.nn.recurrent import (  # noqa: F401
    GRU, LSTM, RNN, GRUCell, LSTMCell, RNNBase, RNNCell, RNNCellBase)
from weft.nn.sync_batch_norm import SyncBatchNorm  # noqa: F401
from weft.nn.transformer import (  # noqa: F401
    Transformer, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder,
    TransformerEncoderLayer)
from weft.nn import modules, parallel, utils  # noqa: F401
