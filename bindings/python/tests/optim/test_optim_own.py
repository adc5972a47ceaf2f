"""Optimizers of one's own as in PyTorch; groups, states, and what load_state_dict() refuses."""
import copy
import unittest

import weft
from oracle import array, assert_close, needs_torch, torch, values


def own_class(library):
    """The same text for both libraries."""

    class Wandering(library.optim.Optimizer):
        """A mean of gradients, a count and a history, under settings of its own."""

        def __init__(self, params, pace=0.1, memory=0.5):
            super().__init__(params, {"pace": pace, "memory": memory})

        @library.no_grad()
        def step(self, closure=None):
            loss = None
            if closure is not None:
                with library.enable_grad():
                    loss = closure()
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    if len(state) == 0:
                        state["count"] = 0
                        state["mean"] = library.zeros_like(p)
                        state["seen"] = {"norms": []}
                    state["count"] += 1
                    state["mean"].mul_(group["memory"]).add_(p.grad)
                    state["seen"]["norms"].append(float((p.grad ** 2).sum()))
                    p.add_(state["mean"] * (-group["pace"] / state["count"]))
            return loss

    return Wandering


def run(library, optimizer, parameters, steps):
    losses = []
    for step in steps:
        def closure():
            optimizer.zero_grad()
            loss = sum(((p - step * 0.1) ** 2).sum() for p in parameters)
            loss.backward()
            return loss
        losses.append(float(optimizer.step(closure)))
    return losses


def start(library):
    return [library.tensor(array(3, 2), requires_grad=True),
            library.tensor(array(4, seed=1), requires_grad=True)]


class OnesOwn(unittest.TestCase):
    @needs_torch
    def test_beside_pytorch(self):
        seen = []
        for library in (weft, torch):
            parameters = start(library)
            optimizer = own_class(library)([{"params": parameters[:1]},
                                            {"params": parameters[1], "pace": 0.02}])
            losses = run(library, optimizer, parameters, range(5))
            optimizer.param_groups[0]["pace"] = 0.05
            late = library.tensor(array(2, seed=2), requires_grad=True)
            optimizer.param_groups[0]["params"].append(late)
            parameters.append(late)
            other = library.tensor(array(2, 2, seed=3), requires_grad=True)
            optimizer.add_param_group({"params": [other], "memory": 0.9})
            parameters.append(other)
            losses += run(library, optimizer, parameters, range(5))
            seen.append((losses, parameters, optimizer))
        (losses, ours, optimizer), (want, theirs, reference) = seen
        assert_close(losses, want, 1e-5, 1e-6)
        for p, q in zip(ours, theirs):
            assert_close(p, q, 1e-5, 1e-6)
            own, wanted = optimizer.state[p], reference.state[q]
            self.assertEqual(set(own), set(wanted))
            self.assertEqual(own["count"], wanted["count"])
            assert_close(own["mean"], wanted["mean"], 1e-5, 1e-6)
            assert_close(own["seen"]["norms"], wanted["seen"]["norms"], 1e-5, 1e-6)
        state, wanted = optimizer.state_dict(), reference.state_dict()
        self.assertEqual([g["params"] for g in state["param_groups"]],
                         [g["params"] for g in wanted["param_groups"]])
        self.assertEqual(list(state["state"]), list(wanted["state"]))

    def test_what_is_written_into_the_state_stays(self):
        p = weft.ones(2, requires_grad=True)
        optimizer = own_class(weft)([p])
        optimizer.state[p]["mark"] = 3
        self.assertEqual(optimizer.state[p]["mark"], 3)
        self.assertIs(optimizer.state[p], optimizer.state[p])
        optimizer.state["of nobody"] = [1]
        state = optimizer.state_dict()
        self.assertEqual(state["state"], {0: {"mark": 3}, "of nobody": [1]})

    def test_the_state_goes_round(self):
        parameters = start(weft)
        optimizer = own_class(weft)(parameters, pace=0.2)
        run(weft, optimizer, parameters, range(4))
        optimizer.state[parameters[0]]["seen"]["marks"] = {1}
        saved = copy.deepcopy(optimizer.state_dict())
        mean = values(saved["state"][0]["mean"]).copy()
        again = [p.detach().clone().requires_grad_() for p in parameters]
        other = own_class(weft)(again, pace=0.9)
        other.load_state_dict(saved)
        self.assertEqual(other.param_groups[0]["pace"], 0.2)
        self.assertEqual(run(weft, other, again, range(3)),
                         run(weft, optimizer, parameters, range(3)))
        # A copy was taken, so what was saved has not moved.
        self.assertEqual(saved["state"][0]["count"], 4)
        self.assertEqual(len(saved["state"][0]["seen"]["norms"]), 4)
        assert_close(saved["state"][0]["mean"], mean, 0, 0)
        other.state[again[0]]["seen"]["marks"].add(2)
        self.assertEqual(saved["state"][0]["seen"]["marks"], {1})
        for p, q in zip(again, parameters):
            assert_close(p, q, 0, 0)

    def test_a_schedule_moves_what_is_named_lr(self):
        class Plain(weft.optim.Optimizer):
            def __init__(self, params, lr):
                super().__init__(params, {"lr": lr})

            @weft.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        p.add_(p.grad * -group["lr"])

        p = weft.ones(1, requires_grad=True)
        optimizer = Plain([p], lr=1.0)
        schedule = weft.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        for _ in range(3):
            optimizer.zero_grad()
            p.sum().backward()
            optimizer.step()
            schedule.step()
        assert_close(p, [1 - 1 - 0.5 - 0.25])

    def test_a_step_has_to_be_there(self):
        with self.assertRaises(NotImplementedError):
            weft.optim.Optimizer([weft.ones(1, requires_grad=True)], {}).step()

    def test_zero_grad(self):
        p = weft.ones(2, requires_grad=True)
        optimizer = own_class(weft)([p])
        p.sum().backward()
        optimizer.zero_grad(set_to_none=False)
        assert_close(p.grad, [0, 0], 0, 0)
        optimizer.zero_grad()
        self.assertIsNone(p.grad)


class Built(unittest.TestCase):
    """Those that Weft has itself."""

    def test_rates_and_parameters_may_change_at_any_time(self):
        for rule in weft._core._optimizer_rules():
            with self.subTest(rule):
                p, q = (weft.ones(2, 2, requires_grad=True) for _ in range(2))
                optimizer = getattr(weft.optim, rule)([p])
                p.sum().backward()
                optimizer.step()
                optimizer.param_groups[0]["params"].append(q)
                optimizer.param_groups[0]["lr"] = 0.0
                before = values(p).copy()
                q.sum().backward()
                optimizer.step()
                assert_close(p, before, 0, 0)
                assert_close(q, [[1, 1], [1, 1]], 0, 0)
                self.assertEqual(q in optimizer.state, rule != "SGD")
                optimizer.param_groups[0]["lr"] = 0.5
                optimizer.step()
                self.assertLess(q[0, 0].item(), 1.0)
                if rule != "SGD":
                    again = getattr(weft.optim, rule)(
                        [weft.ones(2, 2, requires_grad=True) for _ in range(2)])
                    again.load_state_dict(optimizer.state_dict())
                    self.assertEqual(set(again.state_dict()["state"]), {0, 1})

    def test_the_state_can_be_read_and_written(self):
        p = weft.ones(2, requires_grad=True)
        optimizer = weft.optim.Adam([p], lr=0.1)
        self.assertEqual(optimizer.state_dict()["state"], {})
        p.sum().backward()
        optimizer.step()
        self.assertEqual(optimizer.state[p]["step"], 1)
        optimizer.state[p]["exp_avg"].zero_()
        optimizer.state[p]["step"] = 5
        optimizer.step()
        assert_close(optimizer.state[p]["exp_avg"], [0.1, 0.1])
        self.assertEqual(optimizer.state[p]["step"], 6)
        optimizer.state[p]["exp_avg"] = weft.ones(3)
        before = values(p).copy()
        with self.assertRaisesRegex(ValueError, r"parameter 0 of group 0.*exp_avg.*\[2\].*\[3\]"):
            optimizer.step()
        assert_close(p, before, 0, 0)

    def test_what_is_no_list_of_parameters_is_refused_with_advice(self):
        net = weft.nn.Linear(2, 2)
        p = weft.ones(1, requires_grad=True)
        for bad, words in ((lambda: weft.optim.SGD(net), r"Linear: pass model\.parameters\(\)"),
                           (lambda: weft.optim.SGD(weft.nn.Sequential(net)), r"parameters\(\)"),
                           (lambda: weft.optim.Adam(p), "list"),
                           (lambda: weft.optim.SGD(3, lr=0.1), "int"),
                           (lambda: weft.optim.SGD([{"params": {p}}]), "set"),
                           (lambda: weft.optim.SGD([p], speed=3), "speed"),
                           (lambda: weft.optim.Adam([p, "x"]), "str"),
                           (lambda: weft.optim.Adam([p]).add_param_group([p]), "dict")):
            with self.assertRaisesRegex(TypeError, words):
                bad()
        for bad, words in ((lambda: weft.optim.SGD([p, p]), "twice"),
                           (lambda: weft.optim.SGD([{"lr": 1.0}]), "params"),
                           (lambda: weft.optim.Adam([p], differentiable=True), "differentiable"),
                           (lambda: weft.optim.RMSprop([p], alpha=-1), "alpha"),
                           (lambda: weft.optim.Adagrad([p], lr_decay=-1), "lr_decay"),
                           (lambda: weft.optim.Adam([p], lr="x"), "lr"),
                           (lambda: weft.optim.Adam([p], lr=float("nan")), "lr"),
                           (lambda: weft.optim.Adafactor([p], eps=1e-8), "eps"),
                           (lambda: weft.optim.Adafactor([p], d=0.5), "d of"),
                           (lambda: weft.optim.Muon([p], ns_steps=1.5), "ns_steps"),
                           (lambda: weft.optim.Muon([p], adjust_lr_fn="x"), "adjust_lr_fn"),
                           (lambda: weft.optim.Lion([p], betas=(0.9,)), "betas")):
            with self.assertRaisesRegex(ValueError, words):
                bad()
        self.assertIsInstance(weft.optim.Adam([p], foreach=True, fused=None), weft.optim.Adam)
        self.assertIn("lr: 0.5", repr(weft.optim.SGD([p], lr=0.5)))

    def trained(self, make, shapes=((5, 3), (4,))):
        parameters = [weft.tensor(array(*shape), requires_grad=True) for shape in shapes]
        optimizer = make(parameters)
        sum((p ** 2).sum() for p in parameters).backward()
        optimizer.step()
        return parameters, optimizer

    def test_a_state_that_does_not_fit_is_refused_when_it_is_loaded(self):
        adam = lambda p: weft.optim.Adam(p, lr=0.1)
        _, source = self.trained(adam)

        def changed(change):
            state = copy.deepcopy(source.state_dict())
            change(state)
            return state

        def put(number, key, value):
            return changed(lambda state: state["state"][number].__setitem__(key, value))

        cases = [
            ({}, '"state" and "param_groups" missing'),
            ({"state": {}}, '"param_groups" missing'),
            (changed(lambda s: s["param_groups"].append({"params": []})), "groups of"),
            (changed(lambda s: s.update(state=[])), '"state" as a dict'),
            (put(1, "exp_avg", weft.ones(3)),
             r"parameter 1 \(shape \[4\]\): expected the state exp_avg of shape \[4\], got \[3\]"),
            (put(0, "exp_avg_sq", weft.ones(3, 5)), r"parameter 0 \(shape \[5, 3\]\).*exp_avg_sq"),
            (changed(lambda s: s["state"][1].pop("exp_avg")), "parameter 1 .*exp_avg is missing"),
            (changed(lambda s: s["state"][1].pop("step")), "parameter 1 .*step is missing"),
            (put(0, "exp_avg", object()), "parameter 0 "),
            (put(0, "step", -1), "parameter 0 .*step"),
            (put(0, "step", "two"), "parameter 0 .*step"),
            (put(0, "sum", weft.ones(5, 3)), 'parameter 0 .*no state "sum"'),
            (changed(lambda s: s["state"].update({0: 5})), "parameter 0 .*dict"),
            (changed(lambda s: s["param_groups"][0].update(lr=-1.0)), "lr"),
        ]
        for state, words in cases:
            with self.subTest(words):
                parameters, optimizer = self.trained(adam)
                before = copy.deepcopy(optimizer.state_dict())
                with self.assertRaisesRegex(ValueError, words):
                    optimizer.load_state_dict(state)
                # Nothing of it was taken.
                after = optimizer.state_dict()
                self.assertEqual(after["param_groups"], before["param_groups"])
                for number, own in before["state"].items():
                    self.assertEqual(after["state"][number]["step"], own["step"])
                    assert_close(after["state"][number]["exp_avg"], own["exp_avg"], 0, 0)
        with self.assertRaisesRegex(TypeError, "state_dict"):
            source.load_state_dict(None)

    def test_the_state_of_another_model_or_optimizer_is_refused(self):
        for rule in weft._core._optimizer_rules():
            make = lambda p: getattr(weft.optim, rule)(
                p, **({"momentum": 0.5} if rule == "SGD" else {}))
            with self.subTest(rule):
                _, small = self.trained(make, ((5, 3), (4, 2)))
                _, wide = self.trained(make, ((5, 3), (4, 6)))
                with self.assertRaisesRegex(ValueError, r"parameter 1 \(shape \[4, 6\]\)"):
                    wide.load_state_dict(small.state_dict())
                if rule != "Adagrad":
                    _, other = self.trained(weft.optim.Adagrad, ((5, 3), (4, 6)))
                    state = {"state": wide.state_dict()["state"],
                             "param_groups": other.state_dict()["param_groups"]}
                    with self.assertRaisesRegex(ValueError, "parameter 0 .*no state"):
                        other.load_state_dict(state)

    def test_a_setting_that_was_not_saved_stays(self):
        parameters, optimizer = self.trained(lambda p: weft.optim.Adam(p, maximize=True))
        state = copy.deepcopy(optimizer.state_dict())
        del state["param_groups"][0]["maximize"], state["param_groups"][0]["eps"]
        state["param_groups"][0]["lr"] = 0.25
        optimizer.load_state_dict(state)
        self.assertEqual((optimizer.param_groups[0]["maximize"], optimizer.param_groups[0]["lr"]),
                         (True, 0.25))
        optimizer.step()

    def test_a_state_takes_the_type_of_its_parameter(self):
        _, source = self.trained(weft.optim.Adam)
        for dtype in (weft.float32, weft.float64):
            parameters = [weft.tensor(array(*shape), dtype=dtype, requires_grad=True)
                          for shape in ((5, 3), (4,))]
            optimizer = weft.optim.Adam(parameters)
            optimizer.load_state_dict(source.state_dict())
            self.assertIs(optimizer.state[parameters[0]]["exp_avg"].dtype, dtype)
            parameters[0].sum().backward()
            optimizer.step()
            self.assertEqual(optimizer.state[parameters[0]]["step"], 2)
