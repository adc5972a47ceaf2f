"""Optimizer: what all optimizers share, and the base of one's own; as PyTorch's."""
import collections
import copy

from weft import _core
from weft.autograd import enable_grad

_optimizer_step = _core._optimizer_step  # looked up once: a step of a small model is microseconds


def _mistake(text):
    return _core.InvalidArgumentError(text)


class Optimizer:
    """Groups of parameters with settings of their own, and state.

    A class of one's own gives its settings as `defaults` and moves the parameters in step(), under
    weft.no_grad(); self.state[parameter] is a dict that it may fill, and state_dict() writes."""

    def __init__(self, params, defaults):
        if not isinstance(defaults, dict):
            raise TypeError(f"{type(self).__name__}(): argument 'defaults' must be a dict, got "
                            f"{type(defaults).__name__}")
        self.defaults = defaults
        self.state = collections.defaultdict(dict)
        self.param_groups = []
        is_model = hasattr(params, "parameters")
        if is_model or isinstance(params, _core.Tensor) or not hasattr(params, "__iter__"):
            advice = ("put it into a list" if isinstance(params, _core.Tensor) else
                      "pass model.parameters()" if is_model else
                      "pass model.parameters() or a list of tensors")
            raise TypeError(f"[{type(self).__name__}] expected parameters or groups of them, got "
                            f"{type(params).__name__}: {advice}")
        groups = list(params)
        if not groups:
            raise _mistake(f"[{type(self).__name__}] expected parameters, got an empty list of them")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {value}" for key, value in sorted(group.items())
                      if key != "params"]
        return "\n".join(lines + [")"])

    def add_param_group(self, param_group):
        """Adds parameters with settings of their own: {"params": [...], "lr": ...}."""
        if not isinstance(param_group, dict):
            raise TypeError(f"[{type(self).__name__}] expected a group as a dict, got "
                            f"{type(param_group).__name__}")
        if "params" not in param_group:
            raise _mistake(f"[{type(self).__name__}] a group has no \"params\"")
        given = param_group["params"]
        if isinstance(given, (set, frozenset)):
            raise TypeError(f"[{type(self).__name__}] expected parameters in an order, got a set")
        group = {**self.defaults, **param_group}
        group["params"] = [given] if isinstance(given, _core.Tensor) else list(given)
        known = {id(p) for other in self.param_groups for p in other["params"]}
        for parameter in group["params"]:
            if not isinstance(parameter, _core.Tensor):
                raise TypeError(f"[{type(self).__name__}] an optimizer expects tensors, got "
                                f"{type(parameter).__name__}")
            if not parameter.is_leaf:
                raise _mistake(f"[{type(self).__name__}] expected parameters, each a leaf, got the "
                               "result of an operation: pass the tensor itself, or .detach() it")
            if id(parameter) in known:
                raise _mistake(f"[{type(self).__name__}] expected each parameter once, got one that is "
                               "there twice, in one group or in two")
            known.add(id(parameter))
        self._check(group)
        self.param_groups.append(group)

    def _check(self, group):
        """Refuses settings that are out of range, and parameters that cannot be moved."""

    def zero_grad(self, set_to_none=True):
        """Forgets the gradients, or sets them to 0."""
        for group in self.param_groups:
            _core._zero_grad(group["params"], set_to_none)

    def step(self, closure=None):
        """One step. `closure`, if given, computes the loss again and returns it."""
        raise NotImplementedError(f"{type(self).__name__} has no step()")

    def state_dict(self):
        """{"state": {number of the parameter: its state}, "param_groups": [...]}, not copied."""
        numbers, groups = {}, []
        for group in self.param_groups:
            for parameter in group["params"]:
                numbers.setdefault(id(parameter), len(numbers))
            groups.append({**{key: value for key, value in group.items() if key != "params"},
                           "params": [numbers[id(p)] for p in group["params"]]})
        state = {numbers.get(id(key), key) if isinstance(key, _core.Tensor) else key: value
                 for key, value in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict):
        """Takes settings and a copy of the state of an optimizer of equal groups.

        Nothing is changed where something does not fit."""
        where = f"[{type(self).__name__}.load_state_dict]"
        groups = self._saved_groups(where, state_dict)
        parameters = {}
        merged = []
        for group, saved in zip(self.param_groups, groups):
            parameters.update(zip(saved["params"], group["params"]))
            settings = {key: value for key, value in saved.items() if key != "params"}
            merged.append({**group, **copy.deepcopy(settings), "params": group["params"]})
            self._check(merged[-1])
        places = {number: group for group, saved in zip(merged, groups)
                  for number in saved["params"]}
        state = collections.defaultdict(dict)
        for number, own in state_dict["state"].items():
            if number not in parameters:
                state[number] = copy.deepcopy(own)
                continue
            p = parameters[number]
            place = f"{where} parameter {number} (shape {list(p.shape)})"
            state[p] = self._loaded(place, places[number], p, own)
        for group, settings in zip(self.param_groups, merged):
            group.update(settings)
        self.state = state

    def _saved_groups(self, where, state_dict):
        """The groups of the state_dict, which are as many and as long as these here."""
        if not isinstance(state_dict, dict):
            raise TypeError(f"{where} expected what state_dict() gives, got "
                            f"{type(state_dict).__name__}")
        missing = [f'"{key}"' for key in ("state", "param_groups") if key not in state_dict]
        if missing:
            raise _mistake(f"{where} expected what state_dict() gives, which has \"state\" and "
                           f"\"param_groups\": {' and '.join(missing)} missing")
        groups = state_dict["param_groups"]
        if not all(isinstance(group, dict) and isinstance(group.get("params"), (list, tuple))
                   for group in groups) or not isinstance(state_dict["state"], dict):
            raise _mistake(f"{where} expected \"state\" as a dict, and \"param_groups\" as a list "
                           "of dicts with \"params\"")
        lengths = [len(group["params"]) for group in self.param_groups]
        given = [len(group["params"]) for group in groups]
        if lengths != given:
            raise _mistake(f"{where} expected groups of {lengths} parameters, got {given}")
        return groups

    def _loaded(self, place, group, parameter, own):
        """A copy of the saved state of one parameter, as it is kept from now on."""
        del place, group
        return _copied(own, parameter)


def _copied(value, parameter, name=None):
    """A copy whose floating tensors have the parameter's type, all but "step", as in PyTorch."""
    if isinstance(value, _core.Tensor):
        floating = value.dtype.is_floating_point and name != "step"
        return value.detach().to(parameter.dtype if floating else value.dtype).clone()
    if isinstance(value, dict):
        return {key: _copied(item, parameter, key) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_copied(item, parameter) for item in value)
    return copy.deepcopy(value)


def _of_any_library(value):
    """PyTorch's tensors as arrays, which are taken like Weft's own tensors."""
    if not isinstance(value, _core.Tensor) and hasattr(value, "detach"):
        return value.detach().cpu().numpy()
    return value


class NativeOptimizer(Optimizer):
    """Steps by the rule of the native module that has the name `rule`."""

    rule = ""

    # What each setting has to be, whichever optimizer has it.
    _RANGES = {
        **dict.fromkeys(("lr", "weight_decay", "eps", "lr_decay", "initial_accumulator_value",
                         "momentum"), (lambda x: x >= 0, "a number of at least 0")),
        **dict.fromkeys(("rho", "alpha"), (lambda x: 0 <= x <= 1, "a number in [0, 1]")),
        "betas": (lambda x: len(x) == 2 and all(0 <= beta < 1 for beta in x),
                  "two numbers in [0, 1)"),
        "d": (lambda x: x >= 1, "a number of at least 1"),
        "beta2_decay": (lambda x: x <= 0, "a number of at most 0"),
        "ns_steps": (lambda x: 0 <= x <= 100 and x == int(x), "a whole number in [0, 100]"),
        "ns_coefficients": (lambda x: len([float(c) for c in x]) == 3, "three numbers"),
        "adjust_lr_fn": (lambda x: x in (None, "original", "match_rms_adamw"),
                         "None, \"original\" or \"match_rms_adamw\""),
    }

    def __init__(self, params, hints, **settings):
        for name, value in hints.items():
            if name not in ("foreach", "fused", "capturable", "differentiable"):
                raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument "
                                f"'{name}'")
            # The first two only choose between ways to the same numbers.
            if name in ("capturable", "differentiable") and value:
                raise _mistake(f"[{type(self).__name__}] {name} is not to be had: leave it out")
        super().__init__(params, settings)

    def _check(self, group):
        for name, (holds, expected) in self._RANGES.items():
            if name not in group or name not in self.defaults:
                continue
            try:
                fits = holds(group[name])
            except (TypeError, ValueError):
                fits = False
            if not fits:
                raise _mistake(f"[{type(self).__name__}] expected {name} of {expected}, got "
                               f"{group[name]!r}")
        for i, parameter in enumerate(group["params"]):
            if parameter.requires_grad:
                _core._optimizer_check(self.rule, group, len(self.param_groups), i, parameter)

    def step(self, closure=None):
        """One step. `closure`, if given, computes the loss again and returns it."""
        loss = None
        if closure is not None:
            if not callable(closure):
                raise TypeError(f"step(): argument 'closure' must be a function, got "
                                f"{type(closure).__name__}")
            with enable_grad():
                loss = closure()
        _optimizer_step(self.rule, self.param_groups, self.state)
        return loss

    def _loaded(self, place, group, parameter, own):
        if not isinstance(own, dict):
            raise _mistake(f"{place}: expected its state as a dict, got {type(own).__name__}")
        own = {key: _of_any_library(value) for key, value in own.items()}
        try:
            return _core._optimizer_load(self.rule, group, place, parameter, own)
        except TypeError as error:
            raise _mistake(f"{place}: {error}") from None
