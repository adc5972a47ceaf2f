"""PyTorch's other names of the files of weft.nn: torch.nn.modules.conv and its like."""
from weft.nn import (  # noqa: F401
    activation, containers as container, conv, loss, module, norm as batchnorm, pool as pooling,
    recurrent as rnn, transformer)
from weft.nn.module import Module  # noqa: F401
