"""Layers, losses, modules and their state, beside PyTorch's."""
import copy
import pickle
import unittest

import numpy as np

import weft
from oracle import array, assert_close, load_into_torch, needs_torch, torch
from weft import nn
from weft.nn import functional as F

# name -> (module of a library, shape of the input)
LAYERS = {
    "Linear": (lambda n: n.Linear(5, 3), (2, 4, 5)),
    "Linear without bias": (lambda n: n.Linear(5, 3, bias=False), (2, 5)),
    "Conv2d": (lambda n: n.Conv2d(3, 8, 3, stride=2, padding=1), (2, 3, 9, 9)),
    "Conv2d groups": (lambda n: n.Conv2d(4, 8, (3, 1), groups=2, bias=False, dilation=2),
                      (2, 4, 9, 9)),
    "BatchNorm2d": (lambda n: n.BatchNorm2d(3), (4, 3, 5, 5)),
    "BatchNorm1d": (lambda n: n.BatchNorm1d(3), (6, 3)),
    "LayerNorm": (lambda n: n.LayerNorm((4, 5)), (2, 4, 5)),
    "GroupNorm": (lambda n: n.GroupNorm(2, 4), (2, 4, 3)),
    "MaxPool2d": (lambda n: n.MaxPool2d(3, 2, 1), (2, 3, 9, 9)),
    "AvgPool2d": (lambda n: n.AvgPool2d(2), (2, 3, 8, 8)),
    "AdaptiveAvgPool2d": (lambda n: n.AdaptiveAvgPool2d((2, 3)), (2, 3, 8, 8)),
    "activations": (lambda n: n.Sequential(n.ReLU(), n.GELU(), n.SiLU(), n.Tanh(), n.Sigmoid(),
                                           n.LeakyReLU(0.1), n.Softplus(), n.Mish(), n.ELU()),
                    (3, 4)),
    "GELU tanh": (lambda n: n.GELU(approximate="tanh"), (3, 4)),
    "softmaxes": (lambda n: n.Sequential(n.Softmax(dim=1), n.LogSoftmax(dim=-1)), (3, 4)),
    "a network": (lambda n: n.Sequential(n.Conv2d(1, 4, 3), n.ReLU(), n.MaxPool2d(2), n.Flatten(),
                                         n.Linear(36, 6), n.ReLU(), n.Identity(), n.Dropout(0.0),
                                         n.Linear(6, 2)), (3, 1, 8, 8)),
}
# name -> loss(functional, logits [5, 4], labels [5], target [5, 4])
LOSSES = {
    "cross_entropy": lambda f, x, i, t: f.cross_entropy(x, i),
    "smoothed": lambda f, x, i, t: f.cross_entropy(x, i, label_smoothing=0.1, reduction="sum"),
    "ignored": lambda f, x, i, t: f.cross_entropy(x, i, ignore_index=1),
    "nll": lambda f, x, i, t: f.nll_loss(f.log_softmax(x, dim=1), i),
    "mse": lambda f, x, i, t: f.mse_loss(x, t),
    "l1": lambda f, x, i, t: f.l1_loss(x, t, reduction="sum"),
    "bce": lambda f, x, i, t: f.binary_cross_entropy_with_logits(x, t),
    "bce of probabilities": lambda f, x, i, t: f.binary_cross_entropy(x.sigmoid(), t),
    "soft": lambda f, x, i, t: f.cross_entropy(x, f.softmax(t, dim=1)),
    "kl": lambda f, x, i, t: f.kl_div(f.log_softmax(x, 1), f.softmax(t, 1), reduction="batchmean"),
    "cosine": lambda f, x, i, t: f.cosine_similarity(x, t).sum(),
    "normalize": lambda f, x, i, t: (f.normalize(x) * t).sum(),
    "pad": lambda f, x, i, t: (f.pad(x, (1, 2, 0, 1), value=3.0) ** 2).mean(),
    "plane": lambda f, x, i, t: f.cross_entropy(x.reshape(5, 2, 2), i[:, None].expand(-1, 2) % 2),
}


@needs_torch
class AgainstTorch(unittest.TestCase):
    def test_layers_values_gradients_and_state(self):
        for name, (make, shape) in LAYERS.items():
            with self.subTest(name):
                weft.manual_seed(1)
                ours, theirs = make(nn), make(torch.nn)
                load_into_torch(theirs, ours)
                a = array(*shape)
                x = weft.tensor(a, requires_grad=True)
                t = torch.tensor(a, requires_grad=True)
                for training in (True, False):
                    y, z = ours.train(training)(x), theirs.train(training)(t)
                    assert_close(y, z, 1e-4, 1e-5)
                    (y * y * y).sum().backward()
                    (z * z * z).sum().backward()
                assert_close(x.grad, t.grad, 1e-3, 1e-3)
                grads = dict(theirs.named_parameters())
                for key, parameter in ours.named_parameters():
                    assert_close(parameter.grad, grads[key].grad, 1e-3, 1e-3)
                state = theirs.state_dict()
                self.assertEqual(list(ours.state_dict()), list(state))
                for key, value in ours.state_dict().items():
                    assert_close(value, state[key], 1e-5, 1e-6)

    def test_first_values_are_spread_as_torchs(self):
        torch.manual_seed(0)
        weft.manual_seed(0)
        for make in (lambda n: n.Linear(300, 200), lambda n: n.Conv2d(30, 40, 5)):
            ours, theirs = make(nn), make(torch.nn)
            for (_, p), (_, q) in zip(ours.named_parameters(), theirs.named_parameters()):
                self.assertAlmostEqual(p.abs().max().item(), q.abs().max().item(), delta=0.01)
                self.assertAlmostEqual(p.std().item(), q.std().item(), delta=0.01)

    def test_losses(self):
        a, b = array(5, 4), np.random.default_rng(1).random((5, 4), np.float32)
        labels = np.array([0, 1, 3, 2, 1])
        for name, loss in LOSSES.items():
            with self.subTest(name):
                x, t = weft.tensor(a, requires_grad=True), torch.tensor(a, requires_grad=True)
                got = loss(F, x, weft.tensor(labels), weft.tensor(b))
                want = loss(torch.nn.functional, t, torch.tensor(labels), torch.tensor(b))
                assert_close(got, want, 1e-5, 1e-6)
                got.backward()
                want.backward()
                assert_close(x.grad, t.grad, 1e-4, 1e-6)

    def test_embedding(self):
        ours, theirs = nn.Embedding(10, 4, padding_idx=2), torch.nn.Embedding(10, 4, padding_idx=2)
        load_into_torch(theirs, ours)
        tokens = np.array([[1, 2, 3], [3, 3, 9]])
        y, z = ours(weft.tensor(tokens)), theirs(torch.tensor(tokens))
        assert_close(y, z)
        (y * y).sum().backward()
        (z * z).sum().backward()
        assert_close(ours.weight.grad, theirs.weight.grad)

    def test_attention(self):
        weft.manual_seed(3)
        for first in (True, False):
            ours = nn.MultiheadAttention(8, 2, batch_first=first)
            theirs = torch.nn.MultiheadAttention(8, 2, batch_first=first)
            load_into_torch(theirs, ours)
            a, b = array(3, 5, 8), array(3, 5, 8, seed=1)
            tokens = 5 if first else 3
            later = np.triu(np.ones((tokens, tokens), bool), 1)
            for mask in (None, later):
                given = [None if mask is None else lib.tensor(mask) for lib in (weft, torch)]
                y, w = ours(weft.tensor(a), weft.tensor(b), weft.tensor(b), attn_mask=given[0])
                z, v = theirs(torch.tensor(a), torch.tensor(b), torch.tensor(b),
                              attn_mask=given[1])
                assert_close(y, z, 1e-4, 1e-5)
                assert_close(w, v, 1e-4, 1e-5)
                fused, none = ours(weft.tensor(a), weft.tensor(b), weft.tensor(b),
                                   attn_mask=given[0], need_weights=False)
                self.assertIsNone(none)
                assert_close(fused, z, 1e-4, 1e-5)
            padding = np.zeros((8 - tokens, tokens), bool)
            padding[1, -1] = True
            y, _ = ours(*[weft.tensor(a)] * 3, key_padding_mask=weft.tensor(padding))
            z, _ = theirs(*[torch.tensor(a)] * 3, key_padding_mask=torch.tensor(padding))
            assert_close(y, z, 1e-4, 1e-5)


class Modules(unittest.TestCase):
    def make(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Linear(2, 3)
                self.more = nn.ModuleList([nn.Linear(3, 3), nn.BatchNorm1d(3)])
                self.scale = nn.Parameter(weft.ones(1))
                self.register_buffer("seen", weft.zeros(1))
                self.plain = 3

            def forward(self, x):
                for part in self.more:
                    x = part(self.one(x) if x.shape[1] == 2 else x)
                return x * self.scale

        return Net()

    def test_registers_and_names(self):
        net = self.make()
        self.assertEqual([name for name, _ in net.named_parameters()],
                         ["scale", "one.weight", "one.bias", "more.0.weight", "more.0.bias",
                          "more.1.weight", "more.1.bias"])
        self.assertEqual([name for name, _ in net.named_buffers()],
                         ["seen", "more.1.running_mean", "more.1.running_var",
                          "more.1.num_batches_tracked"])
        self.assertEqual([name for name, _ in net.named_modules()],
                         ["", "one", "more", "more.0", "more.1"])
        net.two = net.one
        self.assertEqual(len(list(net.parameters())), 7)
        self.assertIn("two.weight", net.state_dict())
        del net.two
        net.scale = None
        self.assertEqual(len(list(net.parameters())), 6)
        with self.assertRaises(TypeError):
            net.scale = weft.ones(1)
        with self.assertRaises(AttributeError):
            net.nothing
        self.assertFalse(net.eval().more[1].training)
        self.assertTrue(net.train().more[1].training)
        self.assertIn("(one): Linear(in_features=2", repr(net))

    def test_what_is_put_into_a_registry_is_used(self):
        net = nn.Sequential(nn.Linear(2, 3))
        first = nn.Module()
        first.part, first.w = nn.Linear(2, 3), nn.Parameter(weft.ones(2))
        first.register_buffer("seen", weft.zeros(1))
        other, weight = nn.Linear(2, 7), nn.Parameter(weft.zeros(4))
        first._modules["part"] = other
        first._parameters["w"] = weight
        first._buffers.update(seen=None)
        self.assertIs(first.part, other)
        self.assertIs(first.w, weight)
        self.assertIsNone(first.seen)
        self.assertEqual([name for name, _ in first.named_parameters()],
                         ["w", "part.weight", "part.bias"])
        del first._modules["part"]
        self.assertFalse(hasattr(first, "part"))
        self.assertIs(first._parameters.pop("w"), weight)
        self.assertFalse(hasattr(first, "w"))
        net._modules["0"] = nn.Linear(2, 5)
        self.assertEqual(list(net(weft.ones(1, 2)).shape), [1, 5])

    def test_copies_are_deep_or_share(self):
        net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
        for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
            twin[0].weight = nn.Parameter(weft.zeros(3, 2))
            self.assertIs(twin[0]._parameters["weight"], twin[0].weight)
            self.assertNotEqual(net[0].weight.tolist(), twin[0].weight.tolist())
        one = nn.Linear(2, 3)
        same = copy.copy(one)
        same.weight = nn.Parameter(weft.zeros(3, 2))
        self.assertIs(one.weight, same.weight)
        self.assertIs(one._parameters["weight"], one.weight)

    def test_a_forgotten_init_says_so(self):
        class Net(nn.Module):
            def __init__(self):
                self.part = nn.Linear(1, 1)

        with self.assertRaisesRegex(AttributeError, "super"):
            Net()

    def test_state_dict_goes_in_whole_or_not_at_all(self):
        one, two = self.make(), self.make()
        two.load_state_dict(one.state_dict())
        x = weft.randn(4, 2)
        assert_close(one.eval()(x), two.eval()(x))
        state = one.state_dict()
        before = two.one.weight.tolist()
        state["one.weight"] = weft.zeros(3, 2)
        state["one.bias"] = weft.zeros(9)
        with self.assertRaisesRegex(RuntimeError, "one.bias"):
            two.load_state_dict(state)
        self.assertEqual(two.one.weight.tolist(), before)
        del state["one.bias"]
        with self.assertRaisesRegex(RuntimeError, "missing"):
            two.load_state_dict(state)
        self.assertEqual(two.load_state_dict(state, strict=False), (["one.bias"], []))
        self.assertEqual(two.one.weight.tolist(), [[0, 0]] * 3)

    def test_dropout_is_seeded_scaled_and_off_in_evaluation(self):
        layer = nn.Dropout(0.25)
        x = weft.ones(20000)
        y = layer(x)
        self.assertAlmostEqual(y.mean().item(), 1.0, delta=0.03)
        self.assertEqual(sorted(set(y.tolist())), [0.0, weft.tensor(4.0 / 3).item()])
        self.assertNotEqual(layer(x).tolist(), y.tolist())
        self.assertIs(layer.eval()(x), x)
        with self.assertRaises(ValueError):
            F.dropout(x, 1.5)

    def test_fused_relu_is_the_same(self):
        net = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 5), nn.ReLU())
        x = weft.randn(3, 4)
        want = x
        for part in net:
            want = part(want)
        assert_close(net(x), want)
        self.assertEqual(len(net[1:3]), 2)

    def test_clip_grad_norm(self):
        p = nn.Parameter(weft.ones(4))
        (p * 3).sum().backward()
        total = nn.utils.clip_grad_norm_([p], 1.5)
        self.assertAlmostEqual(total.item(), 6.0, places=5)
        self.assertAlmostEqual(p.grad.norm().item(), 1.5, places=4)

    def test_half_precision_of_a_module(self):
        net = nn.Linear(2, 2).to(weft.float64)
        self.assertIs(net.weight.dtype, weft.float64)
        self.assertTrue(net.weight.requires_grad)
        self.assertIs(net(weft.ones(1, 2, dtype=weft.float64)).dtype, weft.float64)


class Zoo(unittest.TestCase):
    def test_models_train_and_their_state_travels(self):
        net = weft.models.create("mlp", hidden_units=16, seed=4)
        optimizer = weft.optim.SGD(net.parameters(), lr=0.1)
        x, y = weft.randn(8, 1, 28, 28), weft.arange(8)
        losses = []
        for _ in range(20):
            loss = F.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], losses[0] / 2)
        from weft.zoo import create
        other = create("mlp", hidden_units=16, seed=5)
        other.load_state_dict(net.state_dict())
        assert_close(other(x), net(x))
        self.assertIn("cnn", weft.models.names())
        with self.assertRaises(weft.InvalidArgumentError):
            weft.models.create("no such model")
        with self.assertRaises(TypeError):
            weft.models.create("mlp", colour=3)
