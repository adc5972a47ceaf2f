"""Optimizers and schedules of the learning rate, with PyTorch's names and state_dicts."""
from weft.optim import lr_scheduler  # noqa: F401
from weft.optim.optimizer import Optimizer  # noqa: F401
from weft.optim.optimizers import (  # noqa: F401
    SGD, Adadelta, Adafactor, Adagrad, Adam, AdamW, Lion, Muon, RMSprop)
