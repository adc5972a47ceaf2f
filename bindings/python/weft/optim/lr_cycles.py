"""Schedules that give the learning rate itself: warm restarts, cycles, one cycle."""
import math

from weft.optim.lr_base import LRScheduler, optimizer_of


def _each_group(value, optimizer, name):
    """One value for each group of the optimizer."""
    count = len(optimizer.param_groups)
    values = list(value) if isinstance(value, (list, tuple)) else [value] * count
    if len(values) != count:
        raise ValueError(f"expected {name} as one number or {count}, one for each group, got "
                         f"{len(values)}")
    return values


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine down to eta_min in T_0 epochs, again and again, each T_mult times as long
    (Loshchilov and Hutter, 2016). step() takes fractions of epochs, too."""

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0, last_epoch=-1, verbose=False):
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"[CosineAnnealingWarmRestarts] expected {name} as a whole number "
                                 f"of at least 1, got {value!r}")
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self):
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch=None):
        if epoch is None:
            epoch = max(self.last_epoch, -1) + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"[CosineAnnealingWarmRestarts] expected epoch >= 0, got {epoch}")
        else:
            self.T_cur, self.T_i = epoch, self.T_0
            while self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        super().step(math.floor(epoch))


_SHAPES = {"triangular": (lambda gamma: lambda cycle: 1.0, "cycle"),
           "triangular2": (lambda gamma: lambda cycle: 1.0 / 2.0 ** (cycle - 1), "cycle"),
           "exp_range": (lambda gamma: lambda step: gamma ** step, "iterations")}


def _momentum_key(optimizer, name):
    for key in ("betas", "momentum"):
        if key in optimizer.defaults:
            return key
    raise ValueError(f"[{name}] expected an optimizer with momentum or betas for "
                     "cycle_momentum=True: pass cycle_momentum=False")


def _set_momentum(group, key, value):
    group[key] = (value, *group["betas"][1:]) if key == "betas" else value


class CyclicLR(LRScheduler):
    """Up and down between base_lr and max_lr (Smith, 2015), and momentum the other way round."""

    _unsaved = (*LRScheduler._unsaved, "_scale")

    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None,
                 mode="triangular", gamma=1.0, scale_fn=None, scale_mode="cycle",
                 cycle_momentum=True, base_momentum=0.8, max_momentum=0.9, last_epoch=-1,
                 verbose=False):
        optimizer_of(optimizer, "CyclicLR")
        if scale_fn is None and mode not in _SHAPES:
            raise ValueError(f"[CyclicLR] expected the mode {', '.join(_SHAPES)}, got {mode!r}")
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        shape, kind = _SHAPES.get(mode, (None, None))
        self._scale = shape(gamma) if scale_fn is None else scale_fn
        self.scale_mode = kind if scale_fn is None else scale_mode
        self.max_lrs = _each_group(max_lr, optimizer, "max_lr")
        firsts = _each_group(base_lr, optimizer, "base_lr")
        self._key = _momentum_key(optimizer, "CyclicLR") if cycle_momentum else None
        self.base_momentums = _each_group(base_momentum, optimizer, "base_momentum")
        self.max_momentums = _each_group(max_momentum, optimizer, "max_momentum")
        if last_epoch == -1:
            for group, rate, momentum in zip(optimizer.param_groups, firsts, self.max_momentums):
                group["lr"] = rate
                if self._key is not None:
                    _set_momentum(group, self._key, momentum)
        super().__init__(optimizer, last_epoch, verbose)
        self.base_lrs = firsts

    def get_lr(self):
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1.0 + self.last_epoch / self.total_size - cycle
        up = place <= self.step_ratio
        height = place / self.step_ratio if up else (place - 1) / (self.step_ratio - 1)
        scale = self._scale(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self._key is not None:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums,
                                        self.max_momentums):
                _set_momentum(group, self._key, high - (high - low) * height * scale)
        return [low + (high - low) * height * scale
                for low, high in zip(self.base_lrs, self.max_lrs)]


def _cosine(start, end, share):
    return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)


def _line(start, end, share):
    return (end - start) * share + start


class OneCycleLR(LRScheduler):
    """Up to max_lr and down to almost nothing in total_steps, and momentum the other way round
    (Smith and Topin, 2017)."""

    _unsaved = (*LRScheduler._unsaved, "_anneal", "_phases")

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None,
                 pct_start=0.3, anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85,
                 max_momentum=0.95, div_factor=25.0, final_div_factor=1e4, three_phase=False,
                 last_epoch=-1, verbose=False):
        optimizer_of(optimizer, "OneCycleLR")
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("[OneCycleLR] expected total_steps, or epochs and "
                                 "steps_per_epoch")
            total_steps = epochs * steps_per_epoch
        if not isinstance(total_steps, int) or total_steps < 1:
            raise ValueError(f"[OneCycleLR] expected total_steps of at least 1, got {total_steps}")
        if not 0 <= pct_start <= 1:
            raise ValueError(f"[OneCycleLR] expected pct_start in [0, 1], got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"[OneCycleLR] expected anneal_strategy cos or linear, got "
                             f"{anneal_strategy!r}")
        self.total_steps = total_steps
        self._anneal = _cosine if anneal_strategy == "cos" else _line
        self._phases = self._phases_of(pct_start, three_phase)
        self._key = _momentum_key(optimizer, "OneCycleLR") if cycle_momentum else None
        if last_epoch == -1:
            rates = _each_group(max_lr, optimizer, "max_lr")
            lows = _each_group(base_momentum, optimizer, "base_momentum")
            highs = _each_group(max_momentum, optimizer, "max_momentum")
            for group, rate, low, high in zip(optimizer.param_groups, rates, lows, highs):
                group.update(initial_lr=rate / div_factor, max_lr=rate,
                             min_lr=rate / div_factor / final_div_factor)
                if self._key is not None:
                    _set_momentum(group, self._key, high)
                    group.update(max_momentum=high, base_momentum=low)
        super().__init__(optimizer, last_epoch, verbose)

    def _phases_of(self, share, three):
        """(last step, rate from, rate to, momentum from, momentum to) of each phase."""
        up = ("initial_lr", "max_lr", "max_momentum", "base_momentum")
        if not three:
            return [(share * self.total_steps - 1, *up),
                    (self.total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
        return [(share * self.total_steps - 1, *up),
                (2 * share * self.total_steps - 2, "max_lr", "initial_lr", "base_momentum",
                 "max_momentum"),
                (self.total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum")]

    def get_lr(self):
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"[OneCycleLR] expected at most {self.total_steps} steps, got one "
                             f"more: {step}")
        begin, rates = 0.0, []
        for end, *keys in self._phases:
            if step <= end or end == self._phases[-1][0]:
                share = (step - begin) / (end - begin)
                break
            begin = end
        for group in self.optimizer.param_groups:
            rates.append(self._anneal(group[keys[0]], group[keys[1]], share))
            if self._key is not None:
                _set_momentum(group, self._key, self._anneal(group[keys[2]], group[keys[3]],
                                                             share))
        return rates
