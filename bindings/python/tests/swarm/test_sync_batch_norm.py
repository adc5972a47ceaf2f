"""SyncBatchNorm in a swarm beside one process that has the whole batch."""
import copy
import pickle
import unittest

import numpy

import weft
import weft.nn
import weft.optim
from weft.nn.sync_batch_norm import share_statistics
from weft.swarm import SwarmOptimizer
from test_swarm import LOCAL, Thread, pause

STEPS, BATCH = 8, 12
INPUTS = (numpy.random.default_rng(2).standard_normal((STEPS, BATCH, 3, 5, 5)) * 2 + 3).astype(
    numpy.float32)


def images():
    """Layers of both kinds, one with the mean of all batches and one without parameters."""
    weft.manual_seed(4)
    nn = weft.nn
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(36, 6),
        nn.BatchNorm1d(6, momentum=None), nn.Tanh(), nn.Linear(6, 5),
        nn.BatchNorm1d(5, affine=False), nn.Linear(5, 3))


def synchronised(make=images):
    return weft.nn.SyncBatchNorm.convert_sync_batchnorm(make())


def values(model):
    return [value.detach().numpy().copy() for value in model.state_dict().values()]


def loss_of(model, inputs):
    return (model(weft.from_numpy(inputs.copy())) ** 2).mean()


def sgd(model):
    return weft.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def alone(make=images, passes=1):
    """The values of a model that one process trains with whole batches."""
    model = make()
    optimizer = sgd(model)
    for inputs in INPUTS:
        optimizer.zero_grad()
        for _ in range(passes):
            loss_of(model, inputs).backward()
        optimizer.step()
    return values(model)


def member(part, ticket=None, ready=None, overlap=False, weighted=False, passes=1, **options):
    """The values of a member that trains with that part of each batch."""
    model = synchronised()
    with SwarmOptimizer(sgd(model), ticket, model=model, **LOCAL, **options) as optimizer:
        if ready is not None:
            ready(optimizer)
        for inputs in INPUTS:
            optimizer.zero_grad()
            weight = len(inputs[part]) if weighted else 1
            for _ in range(passes - 1):
                loss_of(model, inputs[part]).backward()
            loss = loss_of(model, inputs[part])
            if overlap:
                optimizer.backward(loss, weight=weight)
                optimizer.step()
            else:
                loss.backward()
                optimizer.step(weight=weight)
    return values(model)


def together(parts, **options):
    """What the members with these parts end with."""
    own = {name: options[name] for name in ("overlap", "weighted", "passes") if name in options}
    others = []

    def started(optimizer):
        others.extend(Thread(lambda part=part: member(part, optimizer.ticket, **own))
                      for part in parts[1:])
    first = member(parts[0], ready=started, start_members=len(parts), **options)
    return [first, *(other.result() for other in others)]


class BesideOneProcess(unittest.TestCase):
    def check(self, found, whole):
        for each in found[1:]:
            for one, other in zip(found[0], each):
                numpy.testing.assert_array_equal(one, other)
        for one, want in zip(found[0], whole):
            numpy.testing.assert_allclose(one, want, rtol=2e-5, atol=5e-6)

    def test_halves_of_a_batch_are_the_whole(self):
        for overlap in (False, True):
            with self.subTest(overlap=overlap):
                self.check(together([slice(0, 6), slice(6, 12)], overlap=overlap), alone())

    def test_so_are_three_parts(self):
        self.check(together([slice(0, 4), slice(4, 8), slice(8, 12)]), alone())

    def test_so_are_unequal_parts_with_their_weights(self):
        self.check(together([slice(0, 3), slice(3, 12)], overlap=True, weighted=True), alone())

    def test_a_sample_each_is_enough(self):
        # One value by channel has no variance of its own.
        def make():
            weft.manual_seed(1)
            return weft.nn.Sequential(weft.nn.Linear(3, 4), weft.nn.BatchNorm1d(4))

        def one(part, ticket=None, ready=None):
            model = synchronised(make)
            options = {"start_members": 2} if ready else {}
            with SwarmOptimizer(sgd(model), ticket, model=model, **LOCAL, **options) as optimizer:
                if ready:
                    ready(optimizer)
                loss_of(model, INPUTS[0, part, 0, 0, :3]).backward()
                optimizer.step()
            return values(model)
        others = []
        mine = one(slice(0, 1), ready=lambda optimizer: others.append(
            Thread(one, slice(1, 2), optimizer.ticket)))
        whole = make()
        optimizer = sgd(whole)
        loss_of(whole, INPUTS[0, :2, 0, 0, :3]).backward()
        optimizer.step()
        self.check([mine, others[0].result()], values(whole))

    def test_several_passes_a_step_as_of_a_discriminator(self):
        self.check(together([slice(0, 6), slice(6, 12)], passes=2, forwards=2), alone(passes=2))

    def test_a_swarm_of_one_is_batch_norm(self):
        self.check([member(slice(0, 12))], alone())


class WhenTheGroupChanges(unittest.TestCase):
    def test_a_member_that_dies_between_its_passes_leaves_the_others_training(self):
        def dying(ticket):
            model = synchronised()
            with SwarmOptimizer(sgd(model), ticket, model=model, **LOCAL) as optimizer:
                for inputs in INPUTS[:3]:
                    loss_of(model, inputs[8:]).backward()
                    optimizer.step()
                model[:3](weft.from_numpy(INPUTS[0, 8:].copy()))  # the first layer's sums only
                optimizer.swarm.close()

        def living(part, ticket=None, ready=None, **options):
            model = synchronised()
            with SwarmOptimizer(sgd(model), ticket, model=model, **LOCAL, **options) as optimizer:
                if ready:
                    ready(optimizer)
                for step in range(10):
                    optimizer.zero_grad()
                    loss_of(model, INPUTS[step % STEPS, part]).backward()
                    optimizer.step()
                members = len(optimizer.members)
            return values(model), members

        others = []

        def started(optimizer):
            others.append(Thread(living, slice(4, 8), optimizer.ticket))
            others.append(Thread(dying, optimizer.ticket))
        mine, members = living(slice(0, 4), ready=started, start_members=3, suspicion_timeout=1.0)
        theirs, _ = others[0].result()
        others[1].result()
        self.assertLess(members, 3)
        for one, other in zip(mine, theirs):
            self.assertTrue(numpy.isfinite(one).all())
            numpy.testing.assert_array_equal(one, other)

    def test_newcomers_join_in_the_middle_of_steps(self):
        last = []

        def loop(part, ticket=None, ready=None):
            model = synchronised()
            with SwarmOptimizer(sgd(model), ticket, model=model, **LOCAL) as optimizer:
                while not last or optimizer.round < last[0]:
                    optimizer.zero_grad()
                    loss_of(model, INPUTS[optimizer.round % STEPS, part]).backward()
                    optimizer.step()
                    if ready:
                        ready(optimizer)
            return values(model)

        others = []

        def grow(optimizer):
            if optimizer.round in (3, 6):
                others.append(Thread(loop, slice(4 * len(others), 4 * len(others) + 6),
                                     optimizer.ticket))
            if len(optimizer.members) < 3:
                pause()
            elif not last:
                last.append(optimizer.round + 4)
        mine = loop(slice(0, 5), ready=grow)
        self.assertEqual(len(others), 2)
        for other in others:
            for one, theirs in zip(mine, other.result()):
                numpy.testing.assert_array_equal(one, theirs)


class Vanishing:
    """The exchange with a member of the same batch, which is gone when gradients are exchanged."""

    def next_pass(self, layer):
        return 0

    def batch_sums(self, number, values):
        return values * numpy.float32(2)

    def gradient_sums(self, number, values):
        return None


class HalfAStep(unittest.TestCase):
    def test_without_the_others_gradients_a_layer_takes_the_mean_of_its_own(self):
        layers = [weft.nn.SyncBatchNorm(3), weft.nn.BatchNorm2d(3)]
        share_statistics(layers[:1], Vanishing())
        gradients = []
        for layer in layers:
            inputs = weft.from_numpy(INPUTS[0].copy()).requires_grad_()
            (layer(inputs) ** 3).sum().backward()
            gradients.append(inputs.grad.numpy())
        numpy.testing.assert_allclose(*gradients, rtol=1e-3, atol=1e-4)


class OneMember(unittest.TestCase):
    def begin(self, model=None, **options):
        model = synchronised() if model is None else model
        return model, SwarmOptimizer(sgd(model), model=model, **LOCAL, **options)

    def test_a_second_pass_in_a_step_is_refused_with_the_remedy(self):
        model, optimizer = self.begin()
        with optimizer:
            loss_of(model, INPUTS[0]).backward()
            with self.assertRaisesRegex(weft.InvalidArgumentError, "forwards="):
                model(weft.from_numpy(INPUTS[0]))
            optimizer.step()
            loss_of(model, INPUTS[0]).backward()

    def test_a_second_backward_of_a_pass_is_refused(self):
        model, optimizer = self.begin()
        with optimizer:
            loss = loss_of(model, INPUTS[0])
            loss.backward(retain_graph=True)
            with self.assertRaisesRegex(weft.InvalidArgumentError, "one backward pass"):
                loss.backward()

    def test_no_derivative_of_the_gradient(self):
        model, optimizer = self.begin()
        with optimizer:
            loss = loss_of(model, INPUTS[0])
            with self.assertRaisesRegex(NotImplementedError, "create_graph"):
                weft.autograd.grad(loss, list(model.parameters()), create_graph=True)

    def test_layers_that_no_step_uses_and_steps_without_a_pass(self):
        model = weft.nn.ModuleList([synchronised(), weft.nn.SyncBatchNorm(7)])
        _, optimizer = self.begin(model)
        with optimizer:
            optimizer.step()
            loss_of(model[0], INPUTS[0]).backward()
            optimizer.step()
            self.assertEqual(optimizer.round, 2)
        self.assertEqual(model[1].running_mean.abs().sum().item(), 0)

    def test_eval_and_what_has_left_use_no_swarm(self):
        model, optimizer = self.begin()
        reference = images()
        reference.load_state_dict(model.state_dict())
        inputs = weft.from_numpy(INPUTS[0])
        with optimizer:
            model.eval(), reference.eval()
            for _ in range(3):
                numpy.testing.assert_array_equal(model(inputs).detach().numpy(),
                                                 reference(inputs).detach().numpy())
            self.assertIsNone(optimizer._open)
        model.train(), reference.train()
        for _ in range(2):
            numpy.testing.assert_array_equal(model(inputs).detach().numpy(),
                                             reference(inputs).detach().numpy())

    def test_members_that_step_alone_keep_their_own(self):
        model, optimizer = self.begin(local_steps=2)
        with optimizer:
            for _ in range(3):
                loss_of(model, INPUTS[0]).backward()
                optimizer.step()
            self.assertEqual(optimizer.round, 1)

    def test_a_channel_with_one_value_in_all_is_refused(self):
        model = weft.nn.Sequential(weft.nn.SyncBatchNorm(3))
        _, optimizer = self.begin(model)
        with optimizer, self.assertRaisesRegex(ValueError, "more than 1 value per channel"):
            model(weft.ones(1, 3))

    def test_too_many_layers_are_refused_before_anybody_joins(self):
        for layers, forwards, message in ((126, 1, "leave some"), (70, 2, "forwards=2"),
                                          (1, 0, "forwards >= 1")):
            model = weft.nn.Sequential(*(weft.nn.SyncBatchNorm(2) for _ in range(layers)))
            with self.assertRaisesRegex(weft.InvalidArgumentError, message):
                self.begin(model, forwards=forwards)
        model = weft.nn.Sequential(*(weft.nn.SyncBatchNorm(2) for _ in range(124)))
        _, optimizer = self.begin(model)
        with optimizer:
            loss_of(model, INPUTS[0, :, 0, 0, :2]).backward()
            optimizer.step()

    def test_copies_and_pickles_are_of_no_swarm(self):
        model, optimizer = self.begin()
        with optimizer:
            copied, pickled = copy.deepcopy(model), pickle.loads(pickle.dumps(model))
            for each in (copied, pickled):
                each(weft.from_numpy(INPUTS[0]))
            self.assertIsNone(optimizer._open)

    def test_half_precision_inputs(self):
        model = weft.nn.ModuleList([weft.nn.SyncBatchNorm(3, affine=False), weft.nn.Linear(2, 2)])
        _, optimizer = self.begin(model)
        with optimizer:
            inputs = weft.from_numpy(INPUTS[0]).bfloat16().requires_grad_()
            y = model[0](inputs)
            self.assertEqual(y.dtype, weft.bfloat16)
            y.float().square().sum().backward()
            self.assertEqual(inputs.grad.dtype, weft.bfloat16)
            numpy.testing.assert_allclose(model[0].running_mean.numpy(),
                                          0.1 * INPUTS[0].mean((0, 2, 3)), atol=2e-3)


if __name__ == "__main__":
    unittest.main()
