"""Optimizers and schedules of the learning rate, with PyTorch's names and state_dicts."""
from weft.optim import lr_scheduler  # noqa: F401
from weft.optim.lbfgs import LBFGS  # noqa: F401
from weft.optim.optimizer import Optimizer  # noqa: F401
from weft.optim.optimizers import (  # noqa: F401
    SGD, Adadelta, Adafactor, Adagrad, Adam, AdamW, Lion, Muon, RMSprop)
from weft.optim.python_rules import (  # noqa: F401
    ASGD, Adamax, NAdam, RAdam, Rprop, SparseAdam)


def __getattr__(name):
    if name == "swa_utils":  # it needs weft.nn, which a program of arrays alone does not
        import importlib

        return importlib.import_module("weft.optim.swa_utils")
    raise AttributeError(f"module 'weft.optim' has no attribute '{name}'")
