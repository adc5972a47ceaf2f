"""Schedules of the learning rate: call step() after each epoch, or each optimizer step."""
import math


class LRScheduler:
    """Sets the rates of the optimizer's groups by get_lr(), which a class derived gives.

    Schedules of one optimizer compose, as in PyTorch: each multiplies the rates in use by what
    changes from the epoch before, and so keeps what others or a person have set. LambdaLR alone
    gives the rate itself."""

    def __init__(self, optimizer, last_epoch=-1):
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def ratio(self, epoch):
        """What the rates are multiplied by on the way to `epoch`."""
        raise NotImplementedError(f"{type(self).__name__} has neither get_lr() nor ratio()")

    def get_lr(self):
        """The rate of each group at last_epoch, made of those in use."""
        ratio = self.ratio(self.last_epoch)
        return [group["lr"] * ratio for group in self.optimizer.param_groups]

    def step(self, epoch=None):
        """Goes on to the next epoch."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        for group, rate in zip(self.optimizer.param_groups, self.get_lr()):
            group["lr"] = rate
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self):
        """The rates that the last step() has set."""
        return list(self._last_lr)

    def state_dict(self):
        """What load_state_dict() takes; the rates in use are in the optimizer's."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs),
                "_last_lr": list(self._last_lr)}

    def load_state_dict(self, state_dict):
        """Goes on where state_dict() was called. Load the optimizer's state as well."""
        self.last_epoch = state_dict["last_epoch"]
        self.base_lrs = list(state_dict["base_lrs"])
        self._last_lr = list(state_dict.get("_last_lr", self._last_lr))


class LambdaLR(LRScheduler):
    """The first rate times lr_lambda(epoch); one function, or one for each group."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        count = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else (
            [lr_lambda] * count)
        if len(self.lr_lambdas) != count:
            raise ValueError(f"[LambdaLR] expected {count} functions, one for each group, got "
                             f"{len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [base * factor(self.last_epoch)
                for base, factor in zip(self.base_lrs, self.lr_lambdas)]


class StepLR(LRScheduler):
    """Times gamma after every step_size epochs."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def ratio(self, epoch):
        return self.gamma if epoch > 0 and epoch % self.step_size == 0 else 1.0


class MultiStepLR(LRScheduler):
    """Times gamma at each of the milestones."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def ratio(self, epoch):
        return self.gamma ** self.milestones.count(epoch)


class ExponentialLR(LRScheduler):
    """Times gamma after every epoch."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def ratio(self, epoch):
        return self.gamma if epoch > 0 else 1.0


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the first rate down to eta_min in T_max epochs, and up again."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, epoch):
        return (1 + math.cos(math.pi * epoch / self.T_max)) / 2

    def get_lr(self):
        epoch, rates = self.last_epoch, [group["lr"] for group in self.optimizer.param_groups]
        if epoch == 0:
            return rates
        # From the bottom, which has no ratio, the first rate counts.
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            return [rate + (base - self.eta_min) * self._height(epoch)
                    for rate, base in zip(rates, self.base_lrs)]
        ratio = self._height(epoch) / self._height(epoch - 1)
        return [self.eta_min + (rate - self.eta_min) * ratio for rate in rates]


class LinearLR(LRScheduler):
    """Times start_factor first, and up or down to end_factor, linearly, in total_iters epochs."""

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5,
                 last_epoch=-1):
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ValueError(f"[LinearLR] expected factors in (0, 1], got {start_factor} and "
                             f"{end_factor}")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch):
        return (self.start_factor
                + (self.end_factor - self.start_factor) * min(1.0, epoch / self.total_iters))

    def ratio(self, epoch):
        if epoch == 0:
            return self.start_factor
        return 1.0 if epoch > self.total_iters else self._factor(epoch) / self._factor(epoch - 1)
