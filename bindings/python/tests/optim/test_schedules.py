"""Schedules of the learning rate beside PyTorch's, alone and several at once, over 30 steps; and the
optimizers that are written in Python, LBFGS and averages of models."""
import copy
import unittest

import numpy as np

import weft
from oracle import array, assert_close, needs_torch, torch

# A schedule, as a call in lr_scheduler with the optimizer o and the namespace s.
SCHEDULES = [
    "s.StepLR(o, 4, 0.5)", "s.MultiStepLR(o, [3, 3, 9], 0.3)", "s.ExponentialLR(o, 0.9)",
    "s.LambdaLR(o, lambda n: 0.9 ** n)", "s.LambdaLR(o, [lambda n: 1 / (n + 1), lambda n: n])",
    "s.MultiplicativeLR(o, lambda n: 0.95)", "s.ConstantLR(o, 0.4, 6)",
    "s.LinearLR(o, 0.2, 0.8, 7)", "s.PolynomialLR(o, 12, 2.0)",
    "s.CosineAnnealingLR(o, 8, 0.01)", "s.CosineAnnealingWarmRestarts(o, 4, 2, 0.01)",
    "s.CyclicLR(o, 0.01, 0.4, 5, 3, cycle_momentum=C)",
    "s.CyclicLR(o, 0.01, [0.4, 0.2], 5, mode='triangular2', cycle_momentum=C)",
    "s.CyclicLR(o, 0.01, 0.4, 5, mode='exp_range', gamma=0.9, cycle_momentum=C)",
    "s.OneCycleLR(o, 0.5, 31)", "s.OneCycleLR(o, [0.5, 0.2], epochs=4, steps_per_epoch=8, "
    "anneal_strategy='linear', three_phase=True)",
    "s.SequentialLR(o, [s.LinearLR(o, 0.1, 1.0, 5), s.CosineAnnealingLR(o, 20)], [5])",
    "s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9), s.StepLR(o, 2)], [4, 9])",
    "s.ChainedScheduler([s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)])",
]
SEVERAL = [("s.ExponentialLR(o, 0.9)", "s.MultiStepLR(o, [2, 7], 0.1)"),
           ("s.LinearLR(o, 0.1, 1.0, 5)", "s.CosineAnnealingLR(o, 20)"),
           ("s.StepLR(o, 3)", "s.ConstantLR(o, 0.5, 4)", "s.PolynomialLR(o, 20)")]
OPTIMIZERS = {
    "Adamax": [{}, {"weight_decay": 0.1, "maximize": True}],
    "RAdam": [{"lr": 0.05}, {"weight_decay": 0.1}], "Rprop": [{}, {"etas": (0.4, 1.3)}],
    "ASGD": [{"t0": 5}, {"weight_decay": 0.1}],
}


def optimizer(namespace, kind="SGD"):
    p, q = (namespace.ones(2, requires_grad=True) for _ in range(2))
    settings = {"momentum": 0.9} if kind == "SGD" else {}
    return getattr(namespace.optim, kind)([{"params": [p]}, {"params": [q], "lr": 0.2}], lr=0.1,
                                          **settings)


def rates(namespace, texts, steps=30, kind="SGD"):
    """Rates and momenta after each step, and those that get_last_lr() gives."""
    o = optimizer(namespace, kind)
    names = {"o": o, "s": namespace.optim.lr_scheduler, "C": kind == "SGD"}
    schedulers = [eval(text, names) for text in texts]
    rows = []
    for _ in range(steps):
        rows.append([float(group["lr"]) for group in o.param_groups]
                    + [group["momentum"] if kind == "SGD" else group["betas"][0]
                       for group in o.param_groups]
                    + [float(rate) for rate in schedulers[-1].get_last_lr()])
        o.step()
        for scheduler in schedulers:
            scheduler.step()
    return rows


@needs_torch
class Schedules(unittest.TestCase):
    def test_each(self):
        for text in SCHEDULES:
            for kind in ("SGD", "Adam"):
                with self.subTest(text, kind=kind):
                    np.testing.assert_allclose(rates(weft, [text], kind=kind),
                                               rates(torch, [text], kind=kind),
                                               rtol=1e-9, atol=1e-12)

    def test_several_at_once(self):
        for texts in SEVERAL:
            with self.subTest(texts):
                np.testing.assert_allclose(rates(weft, texts), rates(torch, texts), rtol=1e-9,
                                           atol=1e-12)

    def test_plateaus(self):
        values = [5, 4, 4.1, 4.0, 4.2, 3.0, 3.1, 3.2, 3.0, 3.3, 2.9999, 3, 3, 3, 3]
        for settings in ({"patience": 1}, {"patience": 0, "cooldown": 2, "factor": 0.5},
                         {"mode": "max", "patience": 2, "threshold_mode": "abs"},
                         {"patience": 0, "min_lr": [0.05, 0.01]}):
            rows = []
            for namespace in (weft, torch):
                o = optimizer(namespace)
                scheduler = namespace.optim.lr_scheduler.ReduceLROnPlateau(o, **settings)
                rows.append([])
                for value in values:
                    scheduler.step(namespace.tensor(value))
                    rows[-1].append([group["lr"] for group in o.param_groups])
            np.testing.assert_allclose(*rows, rtol=1e-9)

    def test_fractions_of_epochs(self):
        rows = []
        for namespace in (weft, torch):
            o = optimizer(namespace)
            scheduler = namespace.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 3, 2)
            rows.append([])
            for i in range(40):
                scheduler.step(i / 4)
                rows[-1].append(o.param_groups[0]["lr"])
        np.testing.assert_allclose(*rows, rtol=1e-9)


class Own(unittest.TestCase):
    def test_a_state_goes_on(self):
        for text in SCHEDULES:
            if "lambda" in text:
                continue
            with self.subTest(text):
                whole = rates(weft, [text])
                names = {"o": optimizer(weft), "s": weft.optim.lr_scheduler, "C": True}
                first = eval(text, names)
                for _ in range(10):
                    first.step()
                saved = (first.state_dict(), copy.deepcopy(names["o"].state_dict()))
                names["o"] = optimizer(weft)
                second = eval(text, names)
                second.load_state_dict(saved[0])
                names["o"].load_state_dict(saved[1])
                for row in whole[10:]:
                    np.testing.assert_allclose(
                        [group["lr"] for group in names["o"].param_groups], row[:2], rtol=1e-9)
                    second.step()

    def test_a_schedule_of_ones_own(self):
        class Halves(weft.optim.lr_scheduler._LRScheduler):
            def get_lr(self):
                return [base / 2 ** self.last_epoch for base in self.base_lrs]

        scheduler = Halves(optimizer(weft))
        scheduler.step()
        self.assertEqual(scheduler.get_last_lr(), [0.05, 0.1])

    def test_refusals(self):
        s, o = weft.optim.lr_scheduler, optimizer(weft)
        for call, text in ((lambda: s.OneCycleLR(o, 0.1), "total_steps"),
                           (lambda: s.CyclicLR(o, 0.1, 0.2, mode="square"), "square"),
                           (lambda: s.ReduceLROnPlateau(o, factor=1.0), "factor"),
                           (lambda: s.SequentialLR(o, [s.StepLR(o, 2)], [3]), "milestones"),
                           (lambda: s.StepLR(o, 0), "step_size"),
                           (lambda: s.ChainedScheduler([]), "none")):
            with self.assertRaisesRegex(ValueError, text):
                call()
        with self.assertRaisesRegex(TypeError, "must be an Optimizer"):
            s.StepLR(weft.nn.Linear(2, 2), 3)


@needs_torch
class InPython(unittest.TestCase):
    def run_one(self, namespace, name, settings, steps=40):
        x, y = namespace.tensor(array(20, 4)), namespace.tensor(array(20, 1, seed=1))
        w = namespace.tensor(array(4, 1, seed=2), requires_grad=True)
        b = namespace.zeros(1, requires_grad=True)
        o = getattr(namespace.optim, name)([w, b], **settings)
        for _ in range(steps):
            o.zero_grad()
            ((x @ w + b - y) ** 2).mean().backward()
            o.step()
        return [w, b], o

    def test_values_after_40_steps(self):
        for name, runs in OPTIMIZERS.items():
            for settings in runs:
                with self.subTest(name, **settings):
                    got, o = self.run_one(weft, name, settings)
                    want, _ = self.run_one(torch, name, settings)
                    for p, q in zip(got, want):
                        assert_close(p, q, 2e-4, 2e-5)
                    again = getattr(weft.optim, name)(got, **settings)
                    again.load_state_dict(copy.deepcopy(o.state_dict()))
                    self.assertEqual(again.state[got[0]]["step"], 40)

    def test_nadam_against_its_formula(self):
        # PyTorch 1.13 multiplies the product of momenta by one of them twice.
        p = weft.tensor(np.array([1.0, -2.0]), requires_grad=True)
        o = weft.optim.NAdam([p], lr=0.1)
        x, m, v, product = np.array([1.0, -2.0]), 0.0, 0.0, 1.0
        for step in range(1, 30):
            o.zero_grad()
            (p ** 2).sum().backward()
            o.step()
            g = 2 * x
            now, then = (0.9 * (1 - 0.5 * 0.96 ** (n * 4e-3)) for n in (step, step + 1))
            product *= now
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            mean = then * m / (1 - product * then) + (1 - now) * g / (1 - product)
            x = x - 0.1 * mean / (np.sqrt(v / (1 - 0.999 ** step)) + 1e-8)
        np.testing.assert_allclose(p.detach().numpy(), x, rtol=1e-9)

    def test_rows_without_a_gradient_stay(self):
        table = weft.ones(4, 2, requires_grad=True)
        o = weft.optim.SparseAdam([table], lr=0.1)
        theirs = torch.ones(4, 2, requires_grad=True)
        reference = torch.optim.SparseAdam([theirs], lr=0.1)
        for rows in ([0, 2], [2], [2, 3]):
            o.zero_grad()
            (table[rows] ** 2).sum().backward()
            o.step()
            reference.zero_grad()
            where = torch.tensor(rows)
            theirs.grad = torch.sparse_coo_tensor(where[None], 2 * theirs.detach()[where], (4, 2))
            reference.step()
        assert_close(table, theirs, 1e-5, 1e-6)
        self.assertEqual(table[1].tolist(), [1.0, 1.0])

    def test_lbfgs(self):
        for settings in ({"lr": 0.5}, {"line_search_fn": "strong_wolfe", "history_size": 4},
                         {"lr": 0.1, "max_iter": 5}):
            results = []
            for namespace in (weft, torch):
                w = namespace.tensor(np.array([-1.2, 1.0]), requires_grad=True)
                o = namespace.optim.LBFGS([w], **settings)

                def closure(w=w, o=o):
                    o.zero_grad()
                    loss = 100 * (w[1] - w[0] ** 2) ** 2 + (1 - w[0]) ** 2
                    loss.backward()
                    return loss

                losses = [float(o.step(closure)) for _ in range(4)]
                results.append((losses, w.detach().numpy(), o.state[w]["func_evals"]))
            with self.subTest(settings):
                np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-6)
                np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-6)
                self.assertEqual(results[0][2], results[1][2])

    def test_averages_of_models(self):
        from weft.optim.swa_utils import SWALR, AveragedModel, update_bn

        weft.manual_seed(0)
        results = []
        first = weft.nn.Sequential(weft.nn.Linear(3, 4), weft.nn.BatchNorm1d(4))
        state = {name: value.numpy().copy() for name, value in first.state_dict().items()}
        for namespace, library in ((weft, (AveragedModel, update_bn, SWALR)), (
                torch, tuple(getattr(torch.optim.swa_utils, name)
                             for name in ("AveragedModel", "update_bn", "SWALR")))):
            averaged, update, schedule = library
            n = namespace.nn
            model = n.Sequential(n.Linear(3, 4), n.BatchNorm1d(4))
            model.load_state_dict({key: namespace.tensor(value) for key, value in state.items()})
            mean = averaged(model)
            decayed = averaged(model, avg_fn=lambda old, new, count: 0.9 * old + 0.1 * new)
            o = namespace.optim.SGD(model.parameters(), lr=0.1)
            scheduler = schedule(o, swa_lr=0.02, anneal_epochs=3)
            x = namespace.tensor(array(16, 3))
            rows = []
            for _ in range(6):
                o.zero_grad()
                (model(x) ** 4).mean().backward()
                o.step()
                scheduler.step()
                mean.update_parameters(model)
                decayed.update_parameters(model)
                rows.append(o.param_groups[0]["lr"])
            update([x[:8], x[8:]], mean)
            results.append((rows, mean.eval()(x), decayed, sorted(mean.state_dict()),
                            model[1].running_mean))
        np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-9)
        assert_close(results[0][1], results[1][1], 1e-4, 1e-5)
        # PyTorch copies buffers since 2.0; 1.13 leaves them as they were at first.
        for p, q in zip(results[0][2].parameters(), results[1][2].parameters()):
            assert_close(p, q, 1e-4, 1e-5)
        assert_close(results[0][2].module[1].running_mean, results[0][4])
        self.assertEqual(results[0][3], results[1][3])
