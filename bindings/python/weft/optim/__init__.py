"""Optimizers and schedules of the learning rate, with PyTorch's names and state_dicts."""
from weft.optim import lr_scheduler  # noqa: F401
from weft.optim.optimizers import SGD, Adam, AdamW, Optimizer  # noqa: F401
