"""Schedules that multiply the learning rate epoch by epoch."""
import math

from weft.optim.lr_base import LRScheduler


class LambdaLR(LRScheduler):
    """The first rate times lr_lambda(epoch); one function, or one for each group."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1, verbose=False):
        count = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else (
            [lr_lambda] * count)
        if len(self.lr_lambdas) != count:
            raise ValueError(f"[{type(self).__name__}] expected {count} functions as lr_lambda, one "
                             f"for each group, got {len(self.lr_lambdas)}")
        for each in self.lr_lambdas:
            if not callable(each):
                raise TypeError(f"{type(self).__name__}(): argument 'lr_lambda' must be a function, "
                                f"got {type(each).__name__}")
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self):
        return [base * factor(self.last_epoch)
                for base, factor in zip(self.base_lrs, self.lr_lambdas)]


class StepLR(LRScheduler):
    """Times gamma after every step_size epochs."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1, verbose=False):
        if step_size < 1:
            raise ValueError(f"[StepLR] expected step_size of at least 1, got {step_size}")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch, verbose)

    def ratio(self, epoch):
        return self.gamma if epoch > 0 and epoch % self.step_size == 0 else 1.0

    def closed_factor(self, epoch):
        return self.gamma ** (epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """Times gamma at each of the milestones."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1, verbose=False):
        if not hasattr(milestones, "__iter__"):
            raise TypeError(f"MultiStepLR(): argument 'milestones' must be a list, got "
                            f"{type(milestones).__name__}")
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch, verbose)

    def ratio(self, epoch):
        return self.gamma ** self.milestones.count(epoch)

    def closed_factor(self, epoch):
        return self.gamma ** sum(each <= epoch for each in self.milestones)


class ExponentialLR(LRScheduler):
    """Times gamma after every epoch."""

    def __init__(self, optimizer, gamma, last_epoch=-1, verbose=False):
        if not hasattr(gamma, "__float__"):
            raise TypeError(f"ExponentialLR(): argument 'gamma' must be float, got "
                            f"{type(gamma).__name__}")
        self.gamma = gamma
        super().__init__(optimizer, last_epoch, verbose)

    def ratio(self, epoch):
        return self.gamma if epoch > 0 else 1.0

    def closed_factor(self, epoch):
        return self.gamma ** epoch


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the first rate down to eta_min in T_max epochs, and up again."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1, verbose=False):
        if not T_max > 0:
            raise ValueError(f"[CosineAnnealingLR] expected T_max above 0, got {T_max}")
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch, verbose)

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

    def _rates_at_epoch(self):
        height = self._height(self.last_epoch)
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]


class LinearLR(LRScheduler):
    """Times start_factor first, and up or down to end_factor, linearly, in total_iters epochs."""

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5,
                 last_epoch=-1, verbose=False):
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ValueError(f"[LinearLR] expected start_factor in (0, 1] and end_factor in "
                             f"[0, 1], got {start_factor} and {end_factor}")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch, verbose)

    def _factor(self, epoch):
        return (self.start_factor
                + (self.end_factor - self.start_factor) * min(1.0, epoch / self.total_iters))

    def ratio(self, epoch):
        if epoch == 0:
            return self.start_factor
        return 1.0 if epoch > self.total_iters else self._factor(epoch) / self._factor(epoch - 1)

    def closed_factor(self, epoch):
        return self._factor(epoch)


class ConstantLR(LRScheduler):
    """Times factor for total_iters epochs, then the first rate."""

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1, verbose=False):
        if not 0 < factor <= 1:
            raise ValueError(f"[ConstantLR] expected a factor in (0, 1], got {factor}")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch, verbose)

    def ratio(self, epoch):
        if epoch == 0:
            return self.factor
        return 1.0 / self.factor if epoch == self.total_iters else 1.0

    def closed_factor(self, epoch):
        return 1.0 if epoch >= self.total_iters else self.factor


class PolynomialLR(LRScheduler):
    """Down to 0 in total_iters epochs as (1 - epoch / total_iters)^power."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1, verbose=False):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch, verbose)

    def ratio(self, epoch):
        if epoch == 0 or epoch > self.total_iters:
            return 1.0
        return self.closed_factor(epoch) / self.closed_factor(epoch - 1)

    def closed_factor(self, epoch):
        return (1.0 - min(epoch, self.total_iters) / self.total_iters) ** self.power


class MultiplicativeLR(LambdaLR):
    """Times lr_lambda(epoch) after every epoch; one function, or one for each group."""

    def get_lr(self):
        rates = [group["lr"] for group in self.optimizer.param_groups]
        if self.last_epoch == 0:
            return rates
        return [rate * factor(self.last_epoch) for rate, factor in zip(rates, self.lr_lambdas)]
