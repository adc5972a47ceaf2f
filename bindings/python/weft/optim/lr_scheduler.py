"""Schedules of the learning rate: call step() after each epoch, or each optimizer step."""
import math


class LRScheduler:
    """Sets the rate of each group to its first rate times factor(epoch), by a class derived."""

    def __init__(self, optimizer, last_epoch=-1):
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def rates(self):
        """The rate of each group at last_epoch."""
        factor = self.factor(self.last_epoch)
        return [base * factor for base in self.base_lrs]

    def step(self):
        """Goes on to the next epoch."""
        self.last_epoch += 1
        for group, rate in zip(self.optimizer.param_groups, self.rates()):
            group["lr"] = rate

    def get_last_lr(self):
        """The rates in use."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self):
        """What load_state_dict() takes."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state_dict):
        """Goes on where state_dict() was called."""
        self.last_epoch = state_dict["last_epoch"]
        self.base_lrs = list(state_dict["base_lrs"])
        for group, rate in zip(self.optimizer.param_groups, self.rates()):
            group["lr"] = rate


class LambdaLR(LRScheduler):
    """Times lr_lambda(epoch)."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.factor = lr_lambda
        super().__init__(optimizer, last_epoch)


class StepLR(LRScheduler):
    """Times gamma after every step_size epochs."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch):
        """gamma^(epoch // step_size)."""
        return self.gamma ** (epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """Times gamma at each of the milestones."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch):
        """gamma^(milestones passed)."""
        return self.gamma ** sum(1 for milestone in self.milestones if milestone <= epoch)


class ExponentialLR(LRScheduler):
    """Times gamma after every epoch."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch):
        """gamma^epoch."""
        return self.gamma ** epoch


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the first rate down to eta_min in T_max epochs."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.period, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def rates(self):
        share = (1 + math.cos(math.pi * self.last_epoch / self.period)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class LinearLR(LRScheduler):
    """From start_factor to end_factor, linearly, in total_iters epochs."""

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5,
                 last_epoch=-1):
        self.start, self.end, self.total = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch):
        """On the line between the factors."""
        return self.start + (self.end - self.start) * min(1.0, epoch / self.total)
