"""Optimizers and schedules beside PyTorch's; state that goes on."""
import unittest

import weft
from oracle import array, assert_close, needs_torch, torch

SETTINGS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.1}),
    ("Adam", {"lr": 0.05}),
    ("Adam", {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-6, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05, "amsgrad": True}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.1}),
]
SCHEDULES = [
    ("StepLR", {"step_size": 2, "gamma": 0.5}),
    ("MultiStepLR", {"milestones": [1, 4]}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("CosineAnnealingLR", {"T_max": 6, "eta_min": 0.01}),
    ("LambdaLR", {"lr_lambda": lambda epoch: 1 / (1 + epoch)}),
    ("LinearLR", {"start_factor": 0.25, "total_iters": 4}),
]


def trained(library, name, settings, steps=8):
    parameters = [library.tensor(array(5, 3), requires_grad=True),
                  library.tensor(array(4, seed=1), requires_grad=True)]
    unused = library.ones(2, requires_grad=True)
    optimizer = getattr(library.optim, name)([*parameters, unused], **settings)
    for step in range(steps):
        optimizer.zero_grad()
        loss = (parameters[0] ** 4).sum() + ((parameters[1] - step) ** 2).sum()
        loss.backward()
        optimizer.step()
    return [*parameters, unused], optimizer


class Steps(unittest.TestCase):
    @needs_torch
    def test_against_torch(self):
        for name, settings in SETTINGS:
            with self.subTest(name=name, **settings):
                ours, optimizer = trained(weft, name, settings)
                theirs, reference = trained(torch, name, settings)
                for p, q in zip(ours, theirs):
                    assert_close(p, q, 1e-4, 1e-5)
                state, want = optimizer.state_dict(), reference.state_dict()
                for number, own in state["state"].items():
                    for key, value in own.items():
                        if isinstance(value, weft.Tensor):
                            assert_close(value, want["state"][number][key], 1e-4, 1e-5)
                        else:
                            self.assertEqual(float(value), float(want["state"][number][key]))

    def test_sgd_in_closed_form(self):
        p = weft.tensor([1.0], requires_grad=True)
        optimizer = weft.optim.SGD([p], lr=0.1)
        for _ in range(10):
            optimizer.zero_grad()
            (p * p).sum().backward()
            optimizer.step()
        self.assertAlmostEqual(p.item(), 0.8 ** 10, places=6)

    def test_state_goes_on_where_it_was(self):
        for name, settings in SETTINGS[1:]:
            with self.subTest(name=name, **settings):
                whole, _ = trained(weft, name, settings, 8)
                parameters, optimizer = trained(weft, name, settings, 5)
                again = [p.detach().clone().requires_grad_() for p in parameters]
                other = getattr(weft.optim, name)(again, **settings)
                other.load_state_dict(optimizer.state_dict())
                for step in range(5, 8):
                    other.zero_grad()
                    ((again[0] ** 4).sum() + ((again[1] - step) ** 2).sum()).backward()
                    other.step()
                for p, q in zip(again, whole):
                    assert_close(p, q, 0, 0)

    def test_groups_closures_and_refusals(self):
        a, b = (weft.ones(2, requires_grad=True) for _ in range(2))
        optimizer = weft.optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1)
        (a.sum() + b.sum()).backward()

        def closure():
            return a.sum()

        self.assertAlmostEqual(optimizer.step(closure).item(), 2.0)
        assert_close(a, [0.9, 0.9])
        assert_close(b, [0.5, 0.5])
        for bad in (lambda: weft.optim.SGD([], lr=0.1), lambda: weft.optim.SGD([a], lr=-1.0),
                    lambda: weft.optim.Adam([a], betas=(1.0, 0.9)),
                    lambda: weft.optim.SGD([a], lr=1, nesterov=True),
                    lambda: weft.optim.SGD([a * 2], lr=1), lambda: optimizer.add_param_group(
                        {"params": [a]}),
                    lambda: optimizer.load_state_dict({"param_groups": [], "state": {}})):
            with self.assertRaises(ValueError):
                bad()
        for bad in (lambda: weft.optim.SGD([None], lr=0.1), lambda: weft.optim.SGD([3], lr=0.1)):
            with self.assertRaises(TypeError):
                bad()

    def test_a_step_is_a_write_that_old_graphs_notice(self):
        p = weft.ones(2, requires_grad=True)
        optimizer = weft.optim.SGD([p], lr=0.1)
        loss = (p * p).sum()
        loss.backward(retain_graph=True)
        optimizer.step()
        with self.assertRaises(RuntimeError):
            loss.backward()


class Schedules(unittest.TestCase):
    @needs_torch
    def test_against_torch(self):
        for name, settings in SCHEDULES:
            with self.subTest(name):
                rates = []
                for library in (weft, torch):
                    p = library.ones(1, requires_grad=True)
                    optimizer = library.optim.SGD([p], lr=0.1)
                    schedule = getattr(library.optim.lr_scheduler, name)(optimizer, **settings)
                    seen = []
                    for _ in range(8):
                        seen.append(optimizer.param_groups[0]["lr"])
                        optimizer.step()
                        schedule.step()
                    rates.append(seen)
                assert_close(*rates, 1e-9, 1e-12)

    def test_state_goes_on(self):
        p = weft.ones(1, requires_grad=True)
        one = weft.optim.lr_scheduler.StepLR(weft.optim.SGD([p], lr=1.0), 2)
        for _ in range(3):
            one.step()
        two = weft.optim.lr_scheduler.StepLR(weft.optim.SGD([p], lr=1.0), 2)
        two.load_state_dict(one.state_dict())
        self.assertEqual(two.get_last_lr(), one.get_last_lr())
