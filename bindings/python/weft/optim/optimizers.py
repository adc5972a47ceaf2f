"""Optimizers: one step is one pass over the memory of each parameter, in native code.

Parameters are contiguous float32 tensors. One without a gradient is left out of a step, and its
state too.
"""
from weft import _core
from weft.autograd import enable_grad


class Optimizer:
    """What all optimizers share: groups of parameters with settings of their own, and state.

    A class derived from it names its states in `states` (name -> whether it is there for these
    settings) and steps one group in `_step_group(group, states)`, whose `states` are lists beside
    group["params"]."""

    states: dict = {}

    def __init__(self, params, defaults):
        self.defaults = defaults
        self.param_groups = []
        self._states = []  # by group: {name: list beside its parameters}
        groups = list(params)
        if not groups:
            raise _core.InvalidArgumentError("[optimizer] expected parameters, got an empty list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group):
        """Adds parameters with settings of their own: {"params": [...], "lr": ...}."""
        group = {**self.defaults, **param_group}
        given = group["params"]
        group["params"] = [given] if isinstance(given, _core.Tensor) else list(given)
        known = {id(p) for other in self.param_groups for p in other["params"]}
        for parameter in group["params"]:
            if not isinstance(parameter, _core.Tensor):
                raise TypeError(f"an optimizer expects tensors, got {type(parameter)}")
            if not parameter.is_leaf:
                raise _core.InvalidArgumentError("[optimizer] expected leaves, got a result")
            if id(parameter) in known:
                raise _core.InvalidArgumentError("[optimizer] a parameter is in two groups")
        self._check(group)
        self.param_groups.append(group)
        count = len(group["params"])
        self._states.append({name: [0 if name == "step" else None] * count
                             for name, used in self.states.items() if used(group)})

    def _check(self, group):
        if not group["lr"] >= 0.0:
            raise _core.InvalidArgumentError(f"[optimizer] expected lr >= 0, got {group['lr']}")
        if not group["weight_decay"] >= 0.0:
            raise _core.InvalidArgumentError(
                f"[optimizer] expected weight_decay >= 0, got {group['weight_decay']}")

    def zero_grad(self, set_to_none=True):
        """Forgets the gradients, or sets them to 0."""
        for group in self.param_groups:
            _core._zero_grad(group["params"], set_to_none)

    def step(self, closure=None):
        """One step. `closure`, if given, computes the loss again and returns it."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group, states in zip(self.param_groups, self._states):
            self._step_group(group, states)
        return loss

    @property
    def state(self):
        """{parameter: {name: value}} of the parameters that have state."""
        found = {}
        for group, states in zip(self.param_groups, self._states):
            for i, parameter in enumerate(group["params"]):
                own = {name: values[i] for name, values in states.items()
                       if values[i] is not None and values[i] != 0}
                if own:
                    found[parameter] = own
        return found

    def state_dict(self):
        """{"state": {number of the parameter: {name: value}}, "param_groups": [...]}."""
        state, groups, first = {}, [], 0
        for group, states in zip(self.param_groups, self._states):
            count = len(group["params"])
            groups.append({**{key: value for key, value in group.items() if key != "params"},
                           "params": list(range(first, first + count))})
            for i in range(count):
                own = {name: values[i] for name, values in states.items()
                       if not (values[i] is None or (name == "step" and values[i] == 0))}
                if own:
                    state[first + i] = own
            first += count
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict):
        """Takes settings and a copy of the state of an optimizer of equal groups."""
        lengths = [len(group["params"]) for group in self.param_groups]
        given = [len(group["params"]) for group in state_dict["param_groups"]]
        if lengths != given:
            raise _core.InvalidArgumentError(
                f"[load_state_dict] expected groups of {lengths} parameters, got {given}")
        parts = zip(self.param_groups, self._states, state_dict["param_groups"])
        for group, states, saved in parts:
            group.update((key, value) for key, value in saved.items() if key != "params")
            for name in states:
                states[name] = [self._loaded(name, state_dict["state"].get(number, {}))
                                for number in saved["params"]]

    @staticmethod
    def _loaded(name, own):
        if name == "step":
            return int(own.get("step", 0))
        value = own.get(name)
        return None if value is None else _core.tensor(value)


class SGD(Optimizer):
    """Stochastic gradient descent: v = momentum v + (1 - dampening) g; p -= lr v."""

    states = {"momentum_buffer": lambda group: True}

    def __init__(self, params, lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0,
                 nesterov=False):
        if nesterov and (momentum <= 0 or dampening != 0):
            raise _core.InvalidArgumentError("[SGD] Nesterov needs momentum and no dampening")
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening,
                                  "weight_decay": weight_decay, "nesterov": nesterov})

    def _step_group(self, group, states):
        _core._sgd_step(group["params"], states["momentum_buffer"], group["lr"],
                        group["momentum"], group["dampening"], group["weight_decay"],
                        group["nesterov"])


class Adam(Optimizer):
    """Adam; weight_decay is part of the gradient."""

    states = {"step": lambda group: True, "exp_avg": lambda group: True,
              "exp_avg_sq": lambda group: True,
              "max_exp_avg_sq": lambda group: group["amsgrad"]}
    _decoupled = False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0,
                 amsgrad=False):
        super().__init__(params, {"lr": lr, "betas": tuple(betas), "eps": eps,
                                  "weight_decay": weight_decay, "amsgrad": amsgrad})

    def _check(self, group):
        super()._check(group)
        if not all(0.0 <= beta < 1.0 for beta in group["betas"]) or not group["eps"] >= 0.0:
            raise _core.InvalidArgumentError(
                f"[Adam] expected betas in [0, 1) and eps >= 0, got {group['betas']} and "
                f"{group['eps']}")

    def _step_group(self, group, states):
        _core._adam_step(group["params"], states["step"], states["exp_avg"],
                         states["exp_avg_sq"], states.get("max_exp_avg_sq", []), group["lr"],
                         group["betas"], group["eps"], group["weight_decay"], self._decoupled)


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters and is not part of the gradient."""

    _decoupled = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2,
                 amsgrad=False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad)
