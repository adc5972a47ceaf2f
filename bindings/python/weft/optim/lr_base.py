"""LRScheduler: what schedules of the learning rate share, and the base of one's own."""

class LRScheduler:
    """Sets the rates of the optimizer's groups by get_lr(), which a class derived gives.

    Schedules of one optimizer compose, as in PyTorch: each multiplies the rates in use by what
    changes from the epoch before, and so keeps what others or a person have set. LambdaLR alone
    gives the rate itself."""

    def __init__(self, optimizer, last_epoch=-1, verbose=False):
        optimizer_of(optimizer, type(self).__name__)
        self.optimizer, self.verbose = optimizer, verbose
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch != -1 and "initial_lr" not in group:
                raise KeyError(f"[{type(self).__name__}] expected \"initial_lr\" in group {i} to go "
                               f"on from epoch {last_epoch}: load the optimizer's state before")
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self):
        self.step()

    def ratio(self, epoch):
        """What the rates are multiplied by on the way to `epoch`."""
        raise NotImplementedError(f"{type(self).__name__} has neither get_lr() nor ratio()")

    def get_lr(self):
        """The rate of each group at last_epoch, made of those in use."""
        ratio = self.ratio(self.last_epoch)
        return [group["lr"] * ratio for group in self.optimizer.param_groups]

    def step(self, epoch=None):
        """Goes on to the next epoch, or to the one that is given."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        rates = self.get_lr() if epoch is None else self._rates_at_epoch()
        for i, (group, rate) in enumerate(zip(self.optimizer.param_groups, rates)):
            group["lr"] = rate
            if self.verbose:
                print(f"epoch {self.last_epoch}: learning rate of group {i} is {rate:.4e}")
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def closed_factor(self, epoch):
        """What the first rates are multiplied by at `epoch`; None where a schedule has no such
        number."""
        del epoch
        return None

    def _rates_at_epoch(self):
        factor = self.closed_factor(self.last_epoch)
        return self.get_lr() if factor is None else [base * factor for base in self.base_lrs]

    def get_last_lr(self):
        """The rates that the last step() has set."""
        return list(self._last_lr)

    # What state_dict() leaves out.
    _unsaved: tuple[str, ...] = ("optimizer", "verbose")

    def state_dict(self):
        """What load_state_dict() takes; the rates in use are in the optimizer's."""
        return {key: list(value) if isinstance(value, list) else value
                for key, value in vars(self).items()
                if key not in self._unsaved and not callable(value)}

    def load_state_dict(self, state_dict):
        """Goes on where state_dict() was called. Load the optimizer's state as well."""
        if "last_epoch" not in state_dict:
            raise KeyError(f"[{type(self).__name__}.load_state_dict] expected \"last_epoch\", got "
                           f"{sorted(state_dict)}")
        vars(self).update({key: list(value) if isinstance(value, list) else value
                           for key, value in state_dict.items() if key not in self._unsaved})


def optimizer_of(optimizer, name):
    """Refuses what is no optimizer."""
    if not hasattr(optimizer, "param_groups"):
        raise TypeError(f"{name}(): argument 'optimizer' must be an Optimizer, got "
                        f"{type(optimizer).__name__}")
