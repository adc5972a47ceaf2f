"""Averages of models over a training: stochastic weight averaging, exponential averages."""
import copy
import math

from weft import _core
from weft.autograd import no_grad
from weft.nn import Module
from weft.nn.norm import BatchNorm2d
from weft.optim.lr_base import LRScheduler, optimizer_of


class AveragedModel(Module):
    """A copy of a model (as `module`) whose parameters are averages over update_parameters().

    avg_fn(average, value, count) makes others; equal weights without one. use_buffers averages
    buffers, too, which else are copied."""

    def __init__(self, model, device=None, avg_fn=None, use_buffers=False):
        super().__init__()
        del device
        self.module = copy.deepcopy(model)
        self.register_buffer("n_averaged", _core.tensor(0, dtype=_core.int64))
        self._average = avg_fn or (lambda average, value, count: average + (value - average)
                                   / (count + 1))
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model):
        """Takes the model's present values into the average."""
        count = self.n_averaged.item()
        averages, values = list(self.module.parameters()), list(model.parameters())
        kept, now = list(self.module.buffers()), list(model.buffers())
        if self.use_buffers:
            averages, values, kept, now = averages + kept, values + now, [], []
        for average, value in zip(averages, values):
            average, value = average.detach(), value.detach()
            average.copy_(value if count == 0 or not average.is_floating_point()
                          else self._average(average, value, self.n_averaged))
        for old, new in zip(kept, now):
            old.copy_(new)
        self.n_averaged.add_(1)


def get_ema_avg_fn(decay=0.999):
    """An avg_fn for exponential averages."""
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"[get_ema_avg_fn] expected a decay in [0, 1], got {decay}")
    return lambda average, value, count: average * decay + value * (1 - decay)


@no_grad()
def update_bn(loader, model, device=None):
    """Running statistics of all BatchNorm layers as means over the loader's batches."""
    del device
    momenta = {part: part.momentum for part in model.modules() if isinstance(part, BatchNorm2d)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for part in momenta:
        part.reset_running_stats()
        part.momentum = None
    for batch in loader:
        model(batch[0] if isinstance(batch, (list, tuple)) else batch)
    for part, momentum in momenta.items():
        part.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """From the present rate to swa_lr in anneal_epochs, by half a cosine or a line."""

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        optimizer_of(optimizer, "SWALR")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"[SWALR] expected anneal_strategy cos or linear, got "
                             f"{anneal_strategy!r}")
        count = len(optimizer.param_groups)
        rates = list(swa_lr) if isinstance(swa_lr, (list, tuple)) else [swa_lr] * count
        for group, rate in zip(optimizer.param_groups, rates):
            group["swa_lr"] = rate
        self.anneal_epochs, self._cosine = anneal_epochs, anneal_strategy == "cos"
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch):
        t = max(0, min(1, epoch / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._cosine else t

    def get_lr(self):
        step = self.last_epoch
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            first = group["lr"] if before == 1 else (
                (group["lr"] - before * group["swa_lr"]) / (1 - before))
            rates.append(group["swa_lr"] * now + first * (1 - now))
        return rates
