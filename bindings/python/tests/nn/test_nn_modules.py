"""Modules beside PyTorch's: hooks, states, surgery, containers, computed weights, first values."""
import copy
import pickle
import unittest

import numpy as np

import weft
from oracle import array, assert_close, load_into_torch, needs_torch, torch
from weft import nn


def net(n):
    return n.Sequential(n.Linear(3, 4), n.Tanh(), n.Linear(4, 2))


@needs_torch
class Hooks(unittest.TestCase):
    def seen(self, namespace, library):
        """What hooks of every kind see, as NumPy's arrays, in order."""
        weft.manual_seed(0)
        source = net(nn)
        model = net(library)
        model.load_state_dict({name: namespace.tensor(value.numpy())
                               for name, value in source.state_dict().items()})
        log = []

        def note(kind):
            def hook(module, *values):
                del module
                for value in values:
                    for each in value if isinstance(value, tuple) else (value,):
                        log.append((kind, None if each is None else each.detach().numpy().copy()))
            return hook

        handles = [model[2].register_forward_pre_hook(note("before")),
                   model[2].register_forward_hook(note("after")),
                   model[2].register_full_backward_hook(note("back")),
                   model[0].register_full_backward_hook(note("first"))]
        x = namespace.tensor(array(5, 3))
        (model(x) ** 2).sum().backward()
        gradient = model[0].weight.grad.numpy().copy()
        for handle in handles:
            handle.remove()
        count = len(log)
        model(x).sum().backward()
        self.assertEqual(len(log), count)
        return log, gradient

    def test_each_kind_sees_the_same(self):
        (ours, gradient), (theirs, wanted) = self.seen(weft, nn), self.seen(torch, torch.nn)
        self.assertEqual([kind for kind, _ in ours], [kind for kind, _ in theirs])
        for (kind, got), (_, want) in zip(ours, theirs):
            if want is None:
                self.assertIsNone(got, kind)
            else:
                assert_close(got, want, 1e-4, 1e-5)
        assert_close(gradient, wanted, 1e-4, 1e-5)

    def test_what_hooks_give_takes_the_place(self):
        for namespace, library in ((weft, nn), (torch, torch.nn)):
            model = library.Linear(3, 2)
            x = namespace.tensor(array(4, 3), requires_grad=True)
            plain = model(x).detach().numpy()
            model.register_forward_pre_hook(lambda module, given: (given[0] * 2,))
            model.register_forward_hook(lambda module, given, y: y - module.bias)
            assert_close(model(x), (plain - model.bias.detach().numpy()) * 2, 1e-5, 1e-5)
            model.register_full_backward_hook(lambda module, into, out: (into[0] * 0,))
            model(x).sum().backward()
            self.assertEqual(float(x.grad.abs().sum()), 0.0)


class SeveralTensors(unittest.TestCase):
    """Backward hooks of a module with several inputs and outputs."""

    @staticmethod
    def seen(namespace, library, used):
        class Both(library.Module):
            def forward(self, x, factor, y):
                return x * factor, (x * y).sum(1), y + 1

        module, log = Both(), []

        def note(module, into, out):
            log.append([None if each is None else float(each.sum()) for each in (*into, *out)])
            return tuple(None if each is None else each * 3 for each in into)

        module.register_full_backward_hook(note)
        module.register_full_backward_hook(lambda module, into, out: (
            into[0], None, None if into[2] is None else into[2] + 1))
        leaves = [namespace.tensor(array(4, 3, seed=seed), requires_grad=True) for seed in (1, 2)]
        outputs = module(leaves[0] * 2, 5.0, leaves[1] * 2)
        sum((outputs[i] ** 2).sum() for i in used).backward()
        return log, [None if leaf.grad is None else leaf.grad.numpy() for leaf in leaves]

    def test_all_gradients_may_be_replaced(self):
        x, y = array(4, 3, seed=1), array(4, 3, seed=2)
        log, gradients = self.seen(weft, nn, (0,))
        assert_close(gradients[0], 2 * 3 * 2 * 25 * 2 * x, 1e-4, 1e-4)
        assert_close(gradients[1], np.full_like(y, 2.0), 1e-6, 1e-6)
        self.assertEqual([log[0][1], *log[0][4:]], [None] * 3)
        _, gradients = self.seen(weft, nn, (2,))
        assert_close(gradients[1], 2 * (3 * 2 * (2 * y + 1) + 1), 1e-4, 1e-4)

    @needs_torch
    def test_pytorch(self):
        for used in ((0, 1, 2), (0,), (1, 2), (2,)):
            (mine, gradients), (theirs, wanted) = (self.seen(weft, nn, used),
                                                   self.seen(torch, torch.nn, used))
            self.assertEqual(len(mine), len(theirs))
            for row, other in zip(mine, theirs):
                self.assertEqual([each is None for each in row], [each is None for each in other])
                assert_close([each for each in row if each is not None],
                             [each for each in other if each is not None], 1e-4, 1e-4)
            for a, b in zip(gradients, wanted):
                self.assertEqual(a is None, b is None)
                if b is not None:
                    assert_close(a, b, 1e-4, 1e-4)

    def test_what_is_refused(self):
        for given, takes, what in (((1, 2, 3), True, "expected 1 gradients, .*inputs of Linear"),
                                   (weft.ones(2), False, "no input of Linear takes a gradient")):
            model = nn.Linear(3, 2)
            model.register_full_backward_hook(lambda *_, given=given: given)
            with self.assertRaisesRegex(weft.InvalidArgumentError, what):
                model(weft.ones(4, 3, requires_grad=takes)).sum().backward()


class States(unittest.TestCase):
    def test_what_does_not_fit_is_reported(self):
        model = net(nn)
        state = model.state_dict()
        del state["0.bias"]
        state["new"] = weft.ones(1)
        with self.assertRaisesRegex(ValueError, "missing.*0.bias.*unexpected.*new"):
            model.load_state_dict(state)
        result = model.load_state_dict(state, strict=False)
        self.assertEqual((result.missing_keys, result.unexpected_keys), (["0.bias"], ["new"]))
        self.assertEqual(repr(model.load_state_dict(model.state_dict())),
                         "<All keys matched successfully>")
        before = model[0].weight.clone()
        with self.assertRaisesRegex(ValueError, r"2.weight: expected \(2, 4\), got \(4, 2\)"):
            model.load_state_dict({**model.state_dict(), "0.weight": before * 2,
                                   "2.weight": weft.ones(4, 2)})
        self.assertTrue(model[0].weight.equal(before))

    def test_prefixes_hooks_and_extra_state(self):
        class Counter(nn.Linear):
            count = 3

            def get_extra_state(self):
                return {"count": self.count}

            def set_extra_state(self, state):
                self.count = state["count"]

        model = nn.Sequential(Counter(2, 2))
        self.assertEqual(list(model.state_dict(prefix="a.")),
                         ["a.0.weight", "a.0.bias", "a.0._extra_state"])
        other = nn.Sequential(Counter(2, 2))
        model[0].count = 9
        other.load_state_dict(model.state_dict())
        self.assertEqual(other[0].count, 9)
        other._register_load_state_dict_pre_hook(
            lambda state, prefix, *rest: state.update(
                {name.replace("old", "0"): state.pop(name) for name in list(state)}))
        renamed = {name.replace("0.", "old."): value for name, value in model.state_dict().items()}
        self.assertEqual(other.load_state_dict(renamed).missing_keys, [])
        self.assertIs(model.state_dict(keep_vars=True)["0.weight"], model[0].weight)

    def test_parts_by_name(self):
        model = nn.ModuleDict({"a": net(nn), "b": nn.BatchNorm2d(3)})
        self.assertIs(model.get_submodule("a.2"), model["a"][2])
        self.assertIs(model.get_submodule(""), model)
        self.assertIs(model.get_parameter("a.0.bias"), model["a"][0].bias)
        self.assertIs(model.get_buffer("b.running_var"), model["b"].running_var)
        for call in (lambda: model.get_submodule("a.7"), lambda: model.get_parameter("a.0.b"),
                     lambda: model.get_buffer("a.0.weight")):
            with self.assertRaises(AttributeError):
                call()

    def test_surgery_is_seen_by_forward(self):
        model = net(nn)
        x = weft.ones(1, 3)
        model._modules["2"] = nn.Linear(4, 7)
        self.assertEqual(tuple(model(x).shape), (1, 7))
        model[0]._parameters["weight"] = nn.Parameter(weft.zeros(4, 3))
        self.assertTrue((model[0](x) == model[0].bias).all().item())
        norm = nn.BatchNorm1d(3).eval()
        norm._buffers["running_mean"] = weft.ones(3)
        self.assertLess(norm(x).abs().max().item(), 1e-6)
        self.assertEqual([name for name, _ in model.named_parameters()],
                         ["0.weight", "0.bias", "2.weight", "2.bias"])

    def test_copies_and_pickles_keep_hooks_and_values(self):
        model = net(nn)
        calls = []
        model.register_forward_hook(lambda *given: calls.append(given[0]))
        other = copy.deepcopy(model)
        other(weft.ones(1, 3))
        self.assertEqual(len(calls), 1)
        self.assertIs(calls[0], other)
        lstm = nn.LSTM(3, 4)
        again = pickle.loads(pickle.dumps(lstm))
        assert_close(again(weft.ones(2, 1, 3))[0], lstm(weft.ones(2, 1, 3))[0])
        self.assertIsNot(again.weight_ih_l0, lstm.weight_ih_l0)

    def test_types(self):
        model = nn.Linear(2, 2)
        for name, dtype in (("half", weft.float16), ("bfloat16", weft.bfloat16),
                            ("double", weft.float64)):
            self.assertIs(getattr(model, name)().weight.dtype, dtype)
        self.assertIs(nn.Linear(2, 2, dtype=weft.float64, device="cpu").bias.dtype, weft.float64)


@needs_torch
class Containers(unittest.TestCase):
    def changed(self, library):
        """What the list and dict interfaces leave, as text."""
        Linear, ReLU, Tanh = library.Linear, library.ReLU, library.Tanh
        many = library.Sequential(Linear(1, 2), ReLU(), Linear(2, 3))
        many[1] = Tanh()
        del many[0]
        many.append(ReLU())
        many.extend([Linear(3, 4)])
        parts = library.ModuleList([Linear(1, 1), Linear(2, 2)])
        parts.insert(1, ReLU())
        parts[0] = Tanh()
        parts += [Linear(5, 5)]
        last = parts.pop(2)
        parts[-1] = Linear(6, 6)
        named = library.ModuleDict({"a": Linear(1, 1), "b": ReLU()})
        named.update({"c": Tanh()})
        named["a"] = Linear(9, 9)
        gone = named.pop("b")
        lines = [many, many[1:], parts, parts[:2], last, named, gone, list(named.keys()),
                 list(named.values()), "b" in named, len(named), len(parts),
                 [name for name, _ in many.named_children()]]
        return "\n".join(map(str, lines))

    def test_lists_and_dicts_of_modules(self):
        self.assertEqual(self.changed(nn), self.changed(torch.nn))

    def test_lists_and_dicts_of_parameters(self):
        for namespace, library in ((weft, nn), (torch, torch.nn)):
            many = library.ParameterList([library.Parameter(namespace.ones(2)) for _ in range(2)])
            many.append(library.Parameter(namespace.zeros(3)))
            many[0] = library.Parameter(namespace.ones(4))
            named = library.ParameterDict({"w": library.Parameter(namespace.ones(2, 2))})
            named["b"] = library.Parameter(namespace.zeros(2))
            named.pop("w")
            self.assertEqual([tuple(p.shape) for p in many], [(4,), (2,), (3,)])
            self.assertEqual(list(many.state_dict()), ["0", "1", "2"])
            self.assertEqual((list(named.keys()), len(list(named.parameters()))), (["b"], 1))
        with self.assertRaisesRegex(TypeError, "parameters or tensors"):
            nn.ParameterList([1.0])


@needs_torch
class ComputedWeights(unittest.TestCase):
    def compare(self, make, shape, steps=3):
        weft.manual_seed(1)
        ours, theirs = make(nn), make(torch.nn)
        load_into_torch(theirs, ours)
        self.assertEqual(set(ours.state_dict()), set(theirs.state_dict()))
        for step in range(steps):
            a = array(*shape, seed=step)
            y, z = ours(weft.tensor(a)), theirs(torch.tensor(a))
            assert_close(y, z, 1e-4, 1e-5)
            (y * y).sum().backward()
            (z * z).sum().backward()
        grads = dict(theirs.named_parameters())
        for name, p in ours.named_parameters():
            assert_close(p.grad, grads[name].grad, 1e-3, 1e-3)
        return ours

    def test_weight_norm(self):
        ours = self.compare(lambda n: n.utils.weight_norm(n.Linear(3, 4)), (2, 3))
        self.compare(lambda n: n.utils.weight_norm(n.Conv2d(2, 3, 3), dim=1), (2, 2, 5, 5))
        x = weft.ones(1, 3)
        before = ours(x)
        nn.utils.remove_weight_norm(ours)
        assert_close(ours(x), before, 1e-5, 1e-6)
        self.assertEqual(sorted(ours.state_dict()), ["bias", "weight"])
        with self.assertRaisesRegex(ValueError, "no computed weight"):
            nn.utils.remove_weight_norm(ours)

    def test_spectral_norm(self):
        self.compare(lambda n: n.utils.spectral_norm(n.Linear(3, 4)), (2, 3))
        self.compare(lambda n: n.utils.spectral_norm(n.ConvTranspose2d(2, 3, 3)), (2, 2, 5, 5))
        layer = nn.utils.spectral_norm(nn.Linear(6, 5), n_power_iterations=50)
        layer(weft.ones(1, 6))
        self.assertAlmostEqual(np.linalg.svd(layer.weight.detach().numpy())[1][0], 1.0, delta=1e-4)

    def test_parametrizations(self):
        ours = self.compare(lambda n: n.utils.parametrizations.spectral_norm(n.Linear(3, 4)),
                            (2, 3))
        parametrize = nn.utils.parametrize
        self.assertTrue(parametrize.is_parametrized(ours, "weight"))
        other = copy.deepcopy(ours)
        assert_close(other.eval()(weft.ones(1, 3)), ours.eval()(weft.ones(1, 3)))
        value = ours.weight.detach().clone()
        parametrize.remove_parametrizations(ours, "weight")
        self.assertIs(type(ours), nn.Linear)
        assert_close(ours.weight, value)

        class Symmetric(nn.Module):
            def forward(self, x):
                return x.triu() + x.triu(1).transpose(-1, -2)

        layer = nn.Linear(3, 3)
        parametrize.register_parametrization(layer, "weight", Symmetric())
        assert_close(layer.weight, layer.weight.t())
        layer(weft.ones(1, 3)).sum().backward()
        self.assertIsNotNone(layer.parametrizations.weight.original.grad)


class FirstValues(unittest.TestCase):
    def test_orthogonal_rows_and_columns(self):
        weft.manual_seed(0)
        for shape in ((4, 7), (7, 4), (3, 2, 5)):
            w = nn.init.orthogonal_(weft.empty(*shape), gain=2.0).numpy().reshape(shape[0], -1)
            small = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
            np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-5)

    def test_truncated_normal_values(self):
        weft.manual_seed(0)
        w = nn.init.trunc_normal_(weft.empty(200, 200), mean=1.0, std=0.5, a=0.5, b=2.0).numpy()
        self.assertTrue(w.min() >= 0.5 and w.max() <= 2.0)
        # Mean of a normal distribution cut at -1 and 2 standard deviations (closed form).
        self.assertAlmostEqual(w.mean(), 1.0 + 0.5 * (0.24197 - 0.05399) / (0.97725 - 0.15866),
                               delta=0.01)

    def test_diracs_sparse_and_gains(self):
        layer = nn.Conv1d(3, 3, 3, padding=1, bias=False)
        nn.init.dirac_(layer.weight)
        x = weft.tensor(array(1, 3, 6))
        assert_close(layer(x), x)
        w = nn.init.sparse_(weft.empty(10, 5), 0.3)
        self.assertEqual((w == 0).sum(0).tolist(), [3] * 5)
        assert_close(nn.init.eye_(weft.empty(2, 3)), np.eye(2, 3, dtype=np.float32))
        self.assertEqual(nn.init.calculate_gain("selu"), 0.75)
        with self.assertRaisesRegex(ValueError, "interval"):
            nn.init.trunc_normal_(weft.empty(2), a=50.0, b=60.0)
