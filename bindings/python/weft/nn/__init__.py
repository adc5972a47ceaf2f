"""Modules: layers, containers, losses; with PyTorch's names and state_dicts."""
from weft.nn import functional, init  # noqa: F401
from weft.nn.activation import (  # noqa: F401
    ELU, GELU, LeakyReLU, LogSoftmax, Mish, ReLU, Sigmoid, SiLU, Softmax, Softplus, Tanh)
from weft.nn.attention import MultiheadAttention  # noqa: F401
from weft.nn.containers import ModuleDict, ModuleList, Sequential  # noqa: F401
from weft.nn.layers import (  # noqa: F401
    AdaptiveAvgPool2d, AvgPool2d, BatchNorm1d, BatchNorm2d, Conv2d, Dropout, Embedding, Flatten,
    GroupNorm, Identity, LayerNorm, Linear, MaxPool2d)
from weft.nn.loss import (  # noqa: F401
    BCEWithLogitsLoss, CrossEntropyLoss, L1Loss, MSELoss, NLLLoss)
from weft.nn.module import Module  # noqa: F401
from weft.nn.parameter import Parameter  # noqa: F401
from weft.nn import utils  # noqa: F401
