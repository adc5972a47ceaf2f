"""Every optimizer against its formula, in float32 and float64, and beside PyTorch's."""
import functools
import unittest

import numpy as np

import optimizer_formulas
import weft
from oracle import array, assert_close, needs_torch, torch, values

STEPS = 200
SHAPES = [(7,), (5, 3), (3, 5), (3, 2, 3, 3), (0, 4), ()]
# With these every setting is another than its default somewhere.
SETTINGS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.05, "weight_decay": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    ("Adam", {"lr": 0.01}),
    ("Adam", {"lr": 0.01, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.01, "amsgrad": True, "maximize": True}),
    ("AdamW", {"lr": 0.01}),
    ("AdamW", {"lr": 0.01, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.5,
               "amsgrad": True, "maximize": True}),
    ("Adagrad", {}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1,
                 "initial_accumulator_value": 0.5, "eps": 1e-3, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.8, "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"lr": 0.02, "alpha": 0.9, "eps": 1e-2, "weight_decay": 0.1, "momentum": 0.5}),
    ("RMSprop", {"alpha": 0.9, "eps": 1e-2, "centered": True, "maximize": True}),
    ("RMSprop", {"alpha": 0.9, "eps": 1e-2, "centered": True, "momentum": 0.5}),
    ("Adafactor", {"lr": 0.1}),
    ("Adafactor", {"lr": 0.1, "beta2_decay": -0.5, "eps": (0.9, 0.5), "d": 1.5,
                   "weight_decay": 0.1, "maximize": True}),
    ("Lion", {"lr": 0.01}),
    ("Lion", {"lr": 0.01, "betas": (0.8, 0.95), "weight_decay": 0.3, "maximize": True}),
    ("Muon", {}),
    ("Muon", {"lr": 0.01, "momentum": 0.8, "nesterov": False, "weight_decay": 0.3,
              "ns_coefficients": (2.0, -1.5, 0.5), "ns_steps": 4, "eps": 5.0,
              "adjust_lr_fn": "match_rms_adamw", "maximize": True}),
]


def shapes_of(name):
    return [shape for shape in SHAPES if name != "Muon" or len(shape) >= 2]


def gradient(i, shape, step):
    """The gradient of parameter i in a step; None now and then, and always for the last."""
    if i == 1 and step % 3 == 1 or i == len(SHAPES):
        return None
    return drawn(tuple(shape), 1000 * i + step)


@functools.cache
def drawn(shape, seed):
    values_of_seed = array(*shape, seed=seed)
    values_of_seed.setflags(write=False)
    return values_of_seed


def groups_of(parameters, settings):
    """Two groups; the second has a rate and a decay of its own."""
    half = len(parameters) // 2
    own = {"lr": settings.get("lr", 0.02) * 0.5, "weight_decay": 0.05}
    return [{"params": parameters[:half]}, {"params": parameters[half:], **own}]


def made(library, name, settings, dtype, starts=None, state=None):
    shapes = [*shapes_of(name), (2, 2)]
    starts = starts or [array(*shape, seed=i) for i, shape in enumerate(shapes)]
    parameters = [library.tensor(start, dtype=getattr(library, dtype), requires_grad=True)
                  for start in starts]
    optimizer = getattr(library.optim, name)(groups_of(parameters, settings), **settings)
    if state is not None:
        optimizer.load_state_dict(state)
    return parameters, optimizer


def move(library, name, parameters, optimizer, steps):
    for step in steps:
        for i, p in enumerate(parameters):
            number = i if i < len(shapes_of(name)) else len(SHAPES)
            g = gradient(number, p.shape, step)
            p.grad = None if g is None else library.tensor(g, dtype=p.dtype)
        optimizer.step()


def trained(library, name, settings, dtype):
    parameters, optimizer = made(library, name, settings, dtype)
    move(library, name, parameters, optimizer, range(STEPS))
    return parameters, optimizer


def by_formula(name, settings, dtype):
    formula = getattr(optimizer_formulas, name.lower())
    _, optimizer = made(weft, name, settings, dtype)
    results = []
    groups = [(group, p) for group in optimizer.param_groups for p in group["params"]]
    for i, (group, start) in enumerate(groups):
        number = i if i < len(shapes_of(name)) else len(SHAPES)
        k = dict(group)
        if name == "Adafactor" and k["eps"][0] is None:
            k["eps"] = (float(np.finfo(dtype).eps), k["eps"][1])
        p, state, count = values(start).astype(np.float64), {}, 0
        for step in range(STEPS):
            g = gradient(number, p.shape, step)
            if g is not None:
                count += 1
                sign = -1.0 if k["maximize"] else 1.0
                p = formula(p, sign * g.astype(np.float64), state, count, k)
        results.append(p)
    return results


# Single precision over 200 steps; what is in double has to be so from beginning to end.
TOLERANCES = {"float32": (1e-4, 1e-4), "float64": (1e-10, 1e-12)}


def each_case():
    for dtype in ("float32", "float64"):
        for name, settings in SETTINGS:
            yield dtype, name, settings


class Formulas(unittest.TestCase):
    def test_each_follows_its_formula(self):
        for dtype, name, settings in each_case():
            with self.subTest(name, dtype=dtype, **settings):
                parameters, _ = trained(weft, name, settings, dtype)
                wanted = by_formula(name, settings, dtype)
                self.assertEqual(len(parameters), len(wanted))
                starts, _ = made(weft, name, settings, dtype)
                for i, (p, want, start) in enumerate(zip(parameters, wanted, starts)):
                    self.assertIs(p.dtype, getattr(weft, dtype))
                    assert_close(p, want, *TOLERANCES[dtype])
                    stays = p.numel() == 0 or i == len(parameters) - 1
                    self.assertEqual(np.array_equal(values(p), values(start)), stays)

    def test_each_goes_on_from_its_state_with_the_same_bits(self):
        for dtype, name, settings in each_case():
            with self.subTest(name, dtype=dtype, **settings):
                whole, _ = trained(weft, name, settings, dtype)
                parameters, optimizer = made(weft, name, settings, dtype)
                move(weft, name, parameters, optimizer, range(77))
                again, other = made(weft, name, {**settings, "lr": 7.0}, dtype,
                                    [values(p).copy() for p in parameters],
                                    optimizer.state_dict())
                # What was loaded is a copy: the first may go anywhere.
                move(weft, name, parameters, optimizer, range(5))
                move(weft, name, again, other, range(77, STEPS))
                for p, q in zip(again, whole):
                    assert_close(p, q, 0, 0)

    def test_every_optimizer_of_recipes_is_here_and_tested(self):
        rules = weft._core._optimizer_rules()
        self.assertEqual({rule.lower() for rule in rules}, set(weft._core._recipe_optimizers()))
        self.assertEqual({name for name, _ in SETTINGS}, set(rules))
        for rule in rules:
            self.assertEqual(getattr(weft.optim, rule).rule, rule)
            self.assertTrue(getattr(weft.optim, rule).__doc__)

    def test_every_setting_is_tried(self):
        for rule in weft._core._optimizer_rules():
            defaults = getattr(weft.optim, rule)([weft.ones(2, 2, requires_grad=True)]).defaults
            tried = {key for name, settings in SETTINGS if name == rule for key in settings}
            self.assertEqual(set(defaults), tried)


class BesidePyTorch(unittest.TestCase):
    @needs_torch
    def test_steps_and_states(self):
        compared = 0
        for dtype, name, settings in each_case():
            if not hasattr(torch.optim, name) or name in ("Adafactor", "Muon"):
                continue  # newer than the PyTorch of the distribution
            with self.subTest(name, dtype=dtype, **settings):
                ours, optimizer = trained(weft, name, settings, dtype)
                theirs, reference = trained(torch, name, settings, dtype)
                for p, q in zip(ours, theirs):
                    assert_close(p, q, *TOLERANCES[dtype])
                state, want = optimizer.state_dict(), reference.state_dict()
                for number, own in state["state"].items():
                    for key, value in own.items():
                        compared += 1
                        assert_close(float(value) if key == "step" else value,
                                     want["state"][number][key], *TOLERANCES[dtype])
        self.assertGreater(compared, 300)

    @needs_torch
    def test_a_state_of_pytorch_goes_on_here(self):
        for dtype, name, settings in each_case():
            if not hasattr(torch.optim, name) or name in ("Adafactor", "Muon"):
                continue
            with self.subTest(name, dtype=dtype, **settings):
                whole, _ = trained(torch, name, settings, dtype)
                theirs, reference = made(torch, name, settings, dtype)
                move(torch, name, theirs, reference, range(50))
                ours, optimizer = made(weft, name, settings, dtype,
                                       [values(p).copy() for p in theirs],
                                       reference.state_dict())
                move(weft, name, ours, optimizer, range(50, STEPS))
                for p, q in zip(ours, whole):
                    assert_close(p, q, *TOLERANCES[dtype])

    @needs_torch
    def test_defaults(self):
        for name in {name for name, _ in SETTINGS}:
            if not hasattr(torch.optim, name):
                continue
            ours = getattr(weft.optim, name)([weft.ones(2, 2, requires_grad=True)], lr=0.5)
            theirs = getattr(torch.optim, name)([torch.ones(2, 2, requires_grad=True)], lr=0.5)
            for key, value in ours.defaults.items():
                self.assertEqual(value, theirs.defaults[key], f"{name} {key}")


class DoublePrecision(unittest.TestCase):
    def test_an_mlp_in_double_trains_in_double(self):
        for name in ("SGD", "Adam", "AdamW"):
            weft.manual_seed(0)
            net = weft.nn.Sequential(weft.nn.Linear(3, 8), weft.nn.Tanh(), weft.nn.Linear(8, 1))
            net.double()
            x, y = (weft.tensor(array(16, n, dtype=np.float64)) for n in (3, 1))
            optimizer = getattr(weft.optim, name)(net.parameters(), lr=0.05)
            losses = []
            for _ in range(100):
                optimizer.zero_grad()
                loss = weft.nn.functional.mse_loss(net(x), y)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            self.assertLess(losses[-1], 0.7 * losses[0], name)

    def test_other_types_are_refused_with_advice(self):
        for dtype in (weft.float16, weft.bfloat16):
            p = weft.ones(2, dtype=dtype, requires_grad=True)
            for rule in weft._core._optimizer_rules():
                with self.assertRaisesRegex(TypeError, r"parameter 0 of group 0 .*model\.float"):
                    getattr(weft.optim, rule)([p])
        # One that comes later is refused before anything moves.
        a, b = weft.ones(2, requires_grad=True), weft.ones(2, requires_grad=True, dtype=weft.float16)
        optimizer = weft.optim.SGD([a], lr=1.0, momentum=0.9)
        optimizer.param_groups[0]["params"].append(b)
        (a.sum() + b.sum()).backward()
        with self.assertRaisesRegex(TypeError, "parameter 1 of group 0"):
            optimizer.step()
        assert_close(a, [1, 1], 0, 0)
        self.assertEqual(len(optimizer.state), 0)

    def test_parameters_of_any_strides(self):
        p = weft.tensor(array(3, 4)).t().requires_grad_()
        q = weft.tensor(array(3, 4).T.copy(), requires_grad=True)
        for parameter in (p, q):
            optimizer = weft.optim.Adam([parameter], lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                (parameter ** 3).sum().backward()
                optimizer.step()
        assert_close(p, q, 0, 0)
        with self.assertRaisesRegex(TypeError, "clone"):
            weft.optim.SGD([weft.ones(1).expand(3).requires_grad_()], lr=0.1)

    def test_muon_wants_matrices(self):
        with self.assertRaisesRegex(ValueError, "parameter 1 of group 0.*AdamW"):
            weft.optim.Muon([weft.ones(2, 2, requires_grad=True), weft.ones(2, requires_grad=True)])
