"""Schedules made of others, and the one that follows a measured value."""
import bisect
import math

from weft.optim.lr_base import LRScheduler, optimizer_of


def _of_one_optimizer(name, schedulers):
    schedulers = list(schedulers)
    if not schedulers:
        raise ValueError(f"[{name}] expected schedulers, got none")
    if any(each.optimizer is not schedulers[0].optimizer for each in schedulers):
        raise ValueError(f"[{name}] expected schedulers of one optimizer, got several optimizers")
    return schedulers


class _Combined(LRScheduler):
    """State of several schedulers as one."""

    _unsaved = (*LRScheduler._unsaved, "_schedulers")

    def state_dict(self):
        return {**super().state_dict(),
                "_schedulers": [each.state_dict() for each in self._schedulers]}

    def load_state_dict(self, state_dict):
        saved = state_dict["_schedulers"]
        if len(saved) != len(self._schedulers):
            raise ValueError(f"[{type(self).__name__}.load_state_dict] expected "
                             f"{len(self._schedulers)} schedulers, got {len(saved)}")
        super().load_state_dict(state_dict)
        for scheduler, own in zip(self._schedulers, saved):
            scheduler.load_state_dict(own)


class SequentialLR(_Combined):
    """One schedule after another; each begins with its epoch 0 at its milestone."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1, verbose=False):
        optimizer_of(optimizer, "SequentialLR")
        self._schedulers = _of_one_optimizer("SequentialLR", schedulers)
        if self._schedulers[0].optimizer is not optimizer:
            raise ValueError("[SequentialLR] expected schedulers of the optimizer that is given, "
                             "got those of another")
        if len(milestones) != len(self._schedulers) - 1:
            raise ValueError(f"[SequentialLR] expected {len(self._schedulers) - 1} milestones, one "
                             f"less than schedulers, got {len(milestones)}")
        self.optimizer, self.verbose, self._milestones = optimizer, verbose, list(milestones)
        self.last_epoch = last_epoch + 1
        self.base_lrs = list(self._schedulers[0].base_lrs)
        # Each has made its first step when it was made.
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for scheduler in self._schedulers:
            scheduler.last_epoch -= 1
        self._schedulers[0]._initial_step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self, epoch=None):
        if epoch is not None:
            raise ValueError(f"[SequentialLR] expected step() without an epoch, got {epoch}")
        self.last_epoch += 1
        place = bisect.bisect_right(self._milestones, self.last_epoch)
        begins = place > 0 and self._milestones[place - 1] == self.last_epoch
        self._schedulers[place].step(*[0] if begins else [])
        self._last_lr = self._schedulers[place].get_last_lr()


class ChainedScheduler(_Combined):
    """Several schedules at once: each step is one of all of them."""

    def __init__(self, schedulers):
        self._schedulers = _of_one_optimizer("ChainedScheduler", schedulers)
        self.optimizer, self.verbose = self._schedulers[0].optimizer, False
        self.last_epoch = self._schedulers[-1].last_epoch
        self.base_lrs = list(self._schedulers[0].base_lrs)
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def step(self, epoch=None):
        if epoch is not None:
            raise ValueError(f"[ChainedScheduler] expected step() without an epoch, got {epoch}")
        for scheduler in self._schedulers:
            scheduler.step()
        self.last_epoch = self._schedulers[-1].last_epoch
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]


class ReduceLROnPlateau:
    """Times factor once a value has not become better for more than `patience` epochs: call
    step(value) after each."""

    _unsaved: tuple[str, ...] = ("optimizer", "verbose")

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4,
                 threshold_mode="rel", cooldown=0, min_lr=0, eps=1e-8, verbose=False):
        optimizer_of(optimizer, "ReduceLROnPlateau")
        if factor >= 1.0:
            raise ValueError(f"[ReduceLROnPlateau] expected a factor below 1, got {factor}")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(f"[ReduceLROnPlateau] expected the mode min or max and threshold_mode "
                             f"rel or abs, got {mode!r} and {threshold_mode!r}")
        count = len(optimizer.param_groups)
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * count
        if len(self.min_lrs) != count:
            raise ValueError(f"[ReduceLROnPlateau] expected {count} min_lr, one for each group, got "
                             f"{len(self.min_lrs)}")
        self.optimizer, self.verbose, self.mode, self.factor = optimizer, verbose, mode, factor
        self.patience, self.threshold, self.threshold_mode = patience, threshold, threshold_mode
        self.cooldown, self.eps, self.last_epoch = cooldown, eps, 0
        self._reset()

    def _reset(self):
        self.best = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter, self.num_bad_epochs = 0, 0

    @property
    def in_cooldown(self):
        """Whether epochs after a change do not count yet."""
        return self.cooldown_counter > 0

    def is_better(self, value, best):
        """Whether `value` is better than `best` by more than the threshold."""
        sign = -1.0 if self.mode == "min" else 1.0
        if self.threshold_mode == "abs":
            return value > best + self.threshold if sign > 0 else value < best - self.threshold
        bound = best * (1.0 + sign * self.threshold)
        return value > bound if sign > 0 else value < bound

    def step(self, metrics, epoch=None):
        """One epoch with that value."""
        value = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(value, self.best):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def _reduce(self):
        for i, (group, least) in enumerate(zip(self.optimizer.param_groups, self.min_lrs)):
            old, new = group["lr"], max(group["lr"] * self.factor, least)
            if old - new > self.eps:
                group["lr"] = new
                if self.verbose:
                    print(f"epoch {self.last_epoch}: learning rate of group {i} is {new:.4e}")

    def get_last_lr(self):
        """The rates after the last step()."""
        return list(self._last_lr)

    def state_dict(self):
        """What load_state_dict() takes."""
        return {key: value for key, value in vars(self).items() if key not in self._unsaved}

    def load_state_dict(self, state_dict):
        """Goes on where state_dict() was called."""
        vars(self).update({key: value for key, value in state_dict.items()
                           if key not in self._unsaved})
