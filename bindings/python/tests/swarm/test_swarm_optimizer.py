"""SwarmOptimizer beside one process that does the same alone, and beside the formulas of DiLoCo."""
import importlib.util
import unittest

import numpy

import weft
import weft.nn
import weft.optim
from weft.swarm import SwarmOptimizer
from test_swarm import LOCAL, Thread, pause

HAS_TORCH = importlib.util.find_spec("torch") is not None


class Parameter(numpy.ndarray):
    """An array with a place for its gradient."""
    grad = None


def parameter(values):
    return numpy.array(values, numpy.float32).view(Parameter)


class Momentum:
    """Plain SGD with momentum over arrays, as an optimizer of PyTorch looks from outside."""

    def __init__(self, parameters, lr=0.1):
        self.param_groups = [{"params": list(parameters), "lr": lr}]
        self.momenta = [numpy.zeros(p.shape, numpy.float32) for p in parameters]

    def step(self):
        for p, momentum in zip(self.param_groups[0]["params"], self.momenta):
            momentum *= numpy.float32(0.9)
            momentum += p.grad
            p -= numpy.float32(self.param_groups[0]["lr"]) * momentum

    def zero_grad(self):
        for p in self.param_groups[0]["params"]:
            p.grad = None

    def state_dict(self):
        return {"momenta": self.momenta, "lr": self.param_groups[0]["lr"]}

    def load_state_dict(self, tree):
        self.momenta = [numpy.array(momentum) for momentum in tree["momenta"]]
        self.param_groups[0]["lr"] = tree["lr"]


class Halving:
    """A schedule: half the rate after each step."""

    def __init__(self, optimizer):
        self.optimizer, self.steps = optimizer, 0

    def step(self):
        self.steps += 1
        self.optimizer.param_groups[0]["lr"] = 0.1 * 0.5 ** self.steps

    def state_dict(self):
        return {"steps": self.steps, "optimizer": lambda: None}

    def load_state_dict(self, tree):
        self.steps = tree["steps"]


class Hooked(Parameter):
    """A parameter whose hooks get its gradient, as PyTorch's do."""
    hooks = ()

    def register_hook(self, hook):
        self.hooks = (*self.hooks, hook)
        return self

    def remove(self):
        self.hooks = ()


class Loss:
    """|p - goal|^2 / 2 of several parameters, whose backward() comes to the last one first."""

    def __init__(self, parameters, goal):
        self.parameters, self.goal = parameters, goal

    def backward(self):
        for p in reversed(self.parameters):
            gradient = numpy.asarray(p) - self.goal
            for hook in p.hooks:
                hook(gradient)
            p.grad = gradient if p.grad is None else p.grad + gradient


def pull(index):
    """The point that member `index` wants to be at."""
    return numpy.float32([1, -2, 3]) * (index + 1)


def train(index, rounds, ticket=None, seen=None, **options):
    """A member's final (parameters, momenta): it minimises |p - pull(index)|^2 / 2."""
    held = parameter([0, 0, 0] if ticket is None else [9, 9, 9])
    inner = Momentum([held])
    schedule = Halving(inner) if options.pop("scheduled", False) else None
    optimizer = SwarmOptimizer(inner, ticket, scheduler=schedule, **LOCAL, **options)
    if seen is not None:
        seen(optimizer)
    with optimizer:
        while optimizer.round < rounds:
            optimizer.zero_grad()
            held.grad = numpy.asarray(held) - pull(index)
            optimizer.step()
    return numpy.array(held), inner.momenta[0]


def together(rounds, **options):
    others = []

    def started(optimizer):
        others.append(Thread(lambda ticket: train(1, rounds, ticket,
                                                  scheduled=options.get("scheduled", False)),
                             optimizer.ticket))
    mine = train(0, rounds, seen=started, start_members=2, **options)
    return mine, others[0].result()


class WithNumpy(unittest.TestCase):
    def test_steps_are_those_of_one_process_with_the_mean_gradient(self):
        (mine, momenta), (theirs, their_momenta) = together(12)
        held, momentum = numpy.zeros(3), numpy.zeros(3)
        for _ in range(12):
            momentum = 0.9 * momentum + held - (pull(0) + pull(1)) / 2
            held = held - 0.1 * momentum
        numpy.testing.assert_allclose(mine, held, rtol=1e-5)
        numpy.testing.assert_array_equal(mine, theirs)
        numpy.testing.assert_array_equal(momenta, their_momenta)

    def test_gradients_that_travel_during_backward_give_the_same_steps(self):
        def member(index, rounds, ticket=None, others=None):
            held = [numpy.zeros(3, numpy.float32).view(Hooked) for _ in range(3)]
            inner = Momentum(held)
            optimizer = SwarmOptimizer(inner, ticket, **LOCAL,
                                       **({} if ticket else {"start_members": 2}))
            if others is not None:
                others.append(Thread(lambda: member(1, rounds, optimizer.ticket)))
            opened = 0
            with optimizer:
                while optimizer.round < rounds:
                    optimizer.zero_grad()
                    if optimizer.round % 3 == 2:  # gradients add up
                        Loss(held[1:], pull(index)).backward()
                    # The first parameter has no part in every other loss.
                    optimizer.backward(Loss(held[optimizer.round % 2:], pull(index)))
                    opened += optimizer._travelling
                    optimizer.step()
                    self.assertEqual([p.hooks for p in held], [()] * 3)
            return [numpy.array(p) for p in held], opened

        others, rounds = [], 12
        (mine, opened), (theirs, _) = member(0, rounds, others=others), others[0].result()
        self.assertGreater(opened, 0)
        goal = (pull(0) + pull(1)) / 2
        for number, (one, other) in enumerate(zip(mine, theirs)):
            held, momentum = numpy.zeros(3), numpy.zeros(3)
            for step in range(rounds):
                uses = (step % 3 == 2 and number > 0) + (number > 0 or step % 2 == 0)
                momentum = 0.9 * momentum + uses * (held - goal)
                held = held - 0.1 * momentum
            numpy.testing.assert_allclose(one, held, rtol=1e-5)
            numpy.testing.assert_array_equal(one, other)

    def test_a_backward_that_raises_in_a_round_leaves_the_group(self):
        class Broken(Loss):
            def backward(self):
                raise KeyError("mine")

        held = numpy.zeros(3, numpy.float32).view(Hooked)
        optimizer = SwarmOptimizer(Momentum([held]), **LOCAL)
        with self.assertRaisesRegex(KeyError, "mine"):
            optimizer.backward(Broken([held], 0))
        with self.assertRaisesRegex(weft.InvalidArgumentError, "has left"):
            optimizer.swarm.status()

    def test_a_schedule_is_stepped_once_a_step_at_all_members(self):
        (mine, _), (theirs, _) = together(6, scheduled=True)
        held, momentum = numpy.zeros(3), numpy.zeros(3)
        for step in range(6):
            momentum = 0.9 * momentum + held - (pull(0) + pull(1)) / 2
            held = held - 0.1 * 0.5 ** step * momentum
        numpy.testing.assert_allclose(mine, held, rtol=1e-5)
        numpy.testing.assert_array_equal(mine, theirs)

    def test_local_steps_are_those_of_diloco(self):
        (mine, _), (theirs, _) = together(5, local_steps=3, outer_lr=0.6, outer_momentum=0.8)
        anchor, outer = numpy.zeros(3), numpy.zeros(3)
        momenta = [numpy.zeros(3), numpy.zeros(3)]
        for _ in range(5):
            ways = []
            for index in range(2):
                held = anchor.copy()
                if outer.any() == 0 and index == 1:
                    momenta[1] = momenta[0].copy()  # the founder's, as it stands in its first round
                for _ in range(3):
                    momenta[index] = 0.9 * momenta[index] + held - pull(index)
                    held = held - 0.1 * momenta[index]
                ways.append(anchor - held)
            way = (ways[0] + ways[1]) / 2
            outer = 0.8 * outer + way
            anchor = anchor - 0.6 * (way + 0.8 * outer)
        numpy.testing.assert_allclose(mine, anchor, rtol=1e-5)
        numpy.testing.assert_array_equal(mine, theirs)

    def test_newcomers_get_the_optimizers_state_and_the_schedule(self):
        for options in ({"scheduled": True}, {"local_steps": 2}):
            with self.subTest(options):
                self.join_midway(**options)

    def join_midway(self, scheduled=False, **options):
        def loop(ticket):
            held = parameter([5, 5, 5])
            inner = Momentum([held])
            schedule = Halving(inner) if scheduled else None
            with SwarmOptimizer(inner, ticket, scheduler=schedule, **LOCAL) as optimizer:
                joined.append(optimizer.round)
                while not last or optimizer.round < last[0]:
                    held.grad = numpy.asarray(held) - pull(1)
                    optimizer.step()
                return numpy.array(held), inner, schedule

        joined, last = [], []
        held = parameter([0, 0, 0])
        inner = Momentum([held])
        schedule = Halving(inner) if scheduled else None
        with SwarmOptimizer(inner, scheduler=schedule, **LOCAL, **options) as optimizer:
            other = None
            while not last or optimizer.round < last[0]:
                held.grad = numpy.asarray(held) - pull(0)
                optimizer.step()
                if optimizer.round == 4 and other is None:
                    other = Thread(loop, optimizer.ticket)
                if not last and len(optimizer.members) == 2:
                    last.append(optimizer.round + 3)
                elif not last:
                    pause()
            theirs, their_inner, their_schedule = other.result()
            numpy.testing.assert_array_equal(theirs, held)
            self.assertGreaterEqual(joined[0], 4)
            if schedule is not None:
                numpy.testing.assert_array_equal(inner.momenta, their_inner.momenta)
                self.assertEqual(their_schedule.steps, schedule.steps)
                self.assertEqual(schedule.steps, last[0])

    def test_looks_like_the_optimizer_it_holds(self):
        inner = Momentum([parameter([0])])
        with SwarmOptimizer(inner, **LOCAL) as optimizer:
            self.assertIs(optimizer.param_groups, inner.param_groups)
            self.assertIs(optimizer.momenta, inner.momenta)
            inner.param_groups[0]["params"][0].grad = parameter([2])
            self.assertEqual(optimizer.step(lambda: 7), 7)
            self.assertEqual(optimizer.round, 1)
            with self.assertRaises(AttributeError):
                optimizer.pigeons

    def test_refuses_no_steps_at_all(self):
        with self.assertRaisesRegex(ValueError, "local_steps"):
            SwarmOptimizer(Momentum([parameter([0])]), local_steps=0, **LOCAL)


class WithWeft(unittest.TestCase):
    INPUTS = numpy.random.default_rng(2).standard_normal((10, 8, 5)).astype(numpy.float32)

    def member(self, part, ticket=None, ready=None, overlap=False, **options):
        """The parameters after ten steps on that part of each batch; alone where `part` is all."""
        weft.manual_seed(4)
        model = weft.nn.Linear(5, 3)
        unused = weft.nn.Linear(2, 2)  # without gradients
        inner = weft.optim.Adam([*model.parameters(), *unused.parameters()], lr=0.05)
        with SwarmOptimizer(inner, ticket, **LOCAL, **options) as optimizer:
            if ready:
                ready(optimizer)
            for inputs in self.INPUTS:
                optimizer.zero_grad()
                loss = (model(weft.from_numpy(inputs[part].copy())) ** 2).mean()
                optimizer.backward(loss) if overlap else loss.backward()
                optimizer.step()
        return [values.detach().numpy().copy() for values in model.parameters()]

    def test_two_halves_of_a_batch_are_the_whole(self):
        for overlap in (False, True):
            others = []
            mine = self.member(slice(0, 4), start_members=2, overlap=overlap,
                               ready=lambda optimizer: others.append(Thread(
                                   self.member, slice(4, 8), optimizer.ticket)))
            for one, other, whole in zip(mine, others[0].result(), self.member(slice(0, 8))):
                numpy.testing.assert_array_equal(one, other)
                numpy.testing.assert_allclose(one, whole, atol=2e-5)


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
class WithPytorch(unittest.TestCase):
    def setUp(self):
        import torch
        self.torch = torch
        torch.manual_seed(3)
        self.overlap = False
        self.inputs, self.targets = torch.randn(20, 8, 5), torch.randint(3, (20, 8))

    def model(self):
        layers = self.torch.nn
        return layers.Sequential(layers.Linear(5, 7), layers.Tanh(), layers.Linear(7, 3))

    def batch_step(self, model, optimizer, step, part):
        optimizer.zero_grad()
        loss = self.torch.nn.functional.cross_entropy(model(self.inputs[step][part]),
                                                      self.targets[step][part])
        optimizer.backward(loss) if self.overlap else loss.backward()
        optimizer.step()

    def make(self, model, name):
        optimizers = {"Adam": lambda: self.torch.optim.Adam(model.parameters(), lr=0.01),
                      "SGD": lambda: self.torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9,
                                                          nesterov=True, weight_decay=0.01)}
        return optimizers[name]()

    def member(self, model, name, part, ticket=None, **options):
        inner = self.make(model, name)
        ready = options.pop("ready", None)
        schedule = self.torch.optim.lr_scheduler.StepLR(inner, 7, 0.5)
        with SwarmOptimizer(inner, ticket, scheduler=schedule, **LOCAL, **options) as optimizer:
            if ready:
                ready(optimizer)
            for step in range(20):
                self.batch_step(model, optimizer, step, part)
        return [values.detach().numpy().copy() for values in model.parameters()]

    def test_two_halves_of_a_batch_are_the_whole(self):
        for name, overlap in (("SGD", False), ("Adam", False), ("SGD", True), ("Adam", True)):
            with self.subTest(name, overlap=overlap):
                self.overlap = overlap
                first, second, alone = self.model(), self.model(), self.model()
                alone.load_state_dict(first.state_dict())
                others = []
                mine = self.member(
                    first, name, slice(0, 4), start_members=2,
                    ready=lambda optimizer: others.append(Thread(
                        self.member, second, name, slice(4, 8), optimizer.ticket)))
                theirs = others[0].result()
                self.overlap = False
                inner = self.make(alone, name)
                schedule = self.torch.optim.lr_scheduler.StepLR(inner, 7, 0.5)
                for step in range(20):
                    self.batch_step(alone, inner, step, slice(0, 8))
                    schedule.step()
                for one, other, whole in zip(mine, theirs, alone.parameters()):
                    numpy.testing.assert_array_equal(one, other)
                    numpy.testing.assert_allclose(one, whole.detach().numpy(), atol=2e-5)


if __name__ == "__main__":
    unittest.main()
