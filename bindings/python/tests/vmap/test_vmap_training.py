"""Gradients of each sample, ensembles and derivatives of derivatives by vmap(): against loops, and
against functorch where it is installed."""
import unittest

import numpy as np

import weft
from weft import func, nn
from weft.nn import functional as F
from oracle import array, assert_close, load_into_torch, torch
from vmap_checks import by_loop

try:
    import functorch
except ImportError:
    functorch = None

needs_functorch = unittest.skipIf(functorch is None or torch is None, "functorch is not installed")
vmap, grad = func.vmap, func.grad


def _network(nn_):
    return nn_.Sequential(
        nn_.Conv2d(1, 4, 3, 1), nn_.ReLU(), nn_.Conv2d(4, 6, 3, 2), nn_.ReLU(), nn_.MaxPool2d(2),
        nn_.Flatten(1), nn_.Linear(24, 8), nn_.GroupNorm(2, 8), nn_.ReLU(), nn_.Linear(8, 5))


def _state(module):
    return ({name: each.detach() for name, each in module.named_parameters()},
            {name: each.detach() for name, each in module.named_buffers()})


class GradientsOfEachSample(unittest.TestCase):
    X, Y = array(6, 1, 11, 11), np.random.default_rng(1).integers(0, 5, 6)

    def setUp(self):
        weft.manual_seed(5)
        self.model = _network(nn)
        self.x, self.y = weft.tensor(self.X), weft.tensor(self.Y)

    def loss(self, params, buffers, x, y):
        found = func.functional_call(self.model, (params, buffers), (x.unsqueeze(0),))
        return F.cross_entropy(found, y.unsqueeze(0))

    def gradients(self, chunk_size=None):
        params, buffers = _state(self.model)
        return vmap(grad(self.loss), in_dims=(None, None, 0, 0), chunk_size=chunk_size)(
            params, buffers, self.x, self.y)

    def test_against_backward_by_sample(self):
        got, parts = self.gradients(), self.gradients(4)
        for i in range(6):
            self.model.zero_grad()
            F.cross_entropy(self.model(self.x[i:i + 1]), self.y[i:i + 1]).backward()
            for name, parameter in self.model.named_parameters():
                assert_close(got[name][i], parameter.grad, 1e-3, 1e-5)
                assert_close(parts[name][i], parameter.grad, 1e-3, 1e-5)

    @needs_functorch
    def test_against_functorch(self):
        theirs = _network(torch.nn)
        load_into_torch(theirs, self.model)
        call, params, buffers = functorch.make_functional_with_buffers(theirs)

        def loss(params, buffers, x, y):
            return torch.nn.functional.cross_entropy(call(params, buffers, x.unsqueeze(0)),
                                                     y.unsqueeze(0))

        want = functorch.vmap(functorch.grad(loss), in_dims=(None, None, 0, 0))(
            params, buffers, torch.tensor(self.X), torch.tensor(self.Y))
        for got, each in zip(self.gradients().values(), want):
            assert_close(got, each, 1e-3, 1e-5)

    def test_history_goes_on_to_parameters(self):
        """The sum of the squares of all gradients, differentiated by the parameters themselves."""
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
        x, params = weft.tensor(array(5, 3, dtype=np.float64)), dict(model.named_parameters())

        def loss(params, x):
            return func.functional_call(model, params, (x,)).square().sum()

        def total(found):
            return sum(each.square().sum() for each in found.values())

        total(vmap(grad(loss), (None, 0))(params, x)).backward()
        got = {name: each.grad.clone() for name, each in params.items()}
        model.zero_grad()
        sum(total(grad(loss)(params, row)) for row in x).backward()
        for name, each in params.items():
            assert_close(got[name], each.grad, 1e-9, 1e-10)

    def test_layers(self):
        """Whole modules within vmap(), with their parameters shared, and one set a sample."""
        for module, shape in (
                (nn.MultiheadAttention(4, 2, batch_first=True), (2, 3, 4)), (nn.LSTM(4, 3), (5, 2, 4)),
                (nn.GRU(4, 3, bidirectional=True), (5, 2, 4)), (nn.RNN(4, 3), (3, 1, 4)),
                (nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), (2, 3, 4)),
                (nn.Bilinear(4, 4, 2), (3, 4)), (nn.BatchNorm1d(4, track_running_stats=False), (5, 4)),
                (nn.Conv3d(2, 3, 2), (1, 2, 3, 3, 3)), (nn.PReLU(), (3,)), (nn.LocalResponseNorm(2), (2, 4, 3)),
                (nn.ConvTranspose2d(2, 3, 2, groups=1), (2, 2, 3, 3)), (nn.LayerNorm(4), (2, 4))):
            module = module.double()
            x = weft.tensor(array(3, *shape, dtype=np.float64))
            count = {nn.MultiheadAttention: 3, nn.Bilinear: 2}.get(type(module), 1)

            def call(params, x):
                found = func.functional_call(module, params, (x,) * count)
                return found[0] if isinstance(found, tuple) else found

            params = {name: each.detach() for name, each in module.named_parameters()}
            own = {name: weft.stack([each, each * 1.1, each - 0.1]) for name, each in params.items()}
            with self.subTest(module=type(module).__name__):
                assert_close(vmap(call, (None, 0))(params, x),
                             weft.stack([call(params, row) for row in x]), 1e-6, 1e-7)
                assert_close(vmap(call)(own, x) if own else vmap(call, (None, 0))(own, x), weft.stack([
                    call({name: each[i] for name, each in own.items()}, row)
                    for i, row in enumerate(x)]), 1e-6, 1e-7)


class Ensembles(unittest.TestCase):
    def setUp(self):
        weft.manual_seed(2)
        self.models = [nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3))
                       for _ in range(4)]

    def test_predictions(self):
        models = [each.eval() for each in self.models]
        x = weft.tensor(array(7, 6))
        params, buffers = func.stack_module_state(models)
        self.assertEqual(params["0.weight"].requires_grad, True)

        def call(params, buffers, x):
            return func.functional_call(models[0], (params, buffers), (x,))

        got = vmap(call, in_dims=(0, 0, None))(params, buffers, x)
        assert_close(got, weft.stack([each(x) for each in models]), 1e-5, 1e-6)
        rows = weft.stack([x, -x, x + 1, x * 2])
        got = vmap(call)(params, buffers, rows)
        assert_close(got, weft.stack([each(row) for each, row in zip(models, rows)]), 1e-5, 1e-6)

    def test_training_moves_each_as_alone(self):
        x, y = weft.tensor(array(8, 6)), weft.arange(8) % 3
        params, buffers = func.stack_module_state(self.models)

        def loss(params, buffers):
            found = func.functional_call(self.models[0], (params, buffers), (x,))
            return F.cross_entropy(found, y)

        optimizer = weft.optim.SGD(params.values(), lr=0.3)
        for _ in range(3):
            optimizer.zero_grad()
            vmap(loss)(params, buffers).sum().backward()
            optimizer.step()
        for i, model in enumerate(self.models):
            own = weft.optim.SGD(model.parameters(), lr=0.3)
            for _ in range(3):
                own.zero_grad()
                F.cross_entropy(model(x), y).backward()
                own.step()
            for name, each in model.named_parameters():
                assert_close(params[name][i], each, 1e-4, 1e-5)
            assert_close(buffers["1.running_mean"][i], model[1].running_mean, 1e-4, 1e-5)

    def test_refusals(self):
        for models, text in (([], "got none"), ([nn.Linear(2, 2), nn.ReLU()], "Linear and ReLU"),
                             ([nn.ReLU(), nn.ReLU().eval()], "all train")):
            with self.assertRaisesRegex(weft.InvalidArgumentError, text):
                func.stack_module_state(models)


class Derivatives(unittest.TestCase):
    X, W = weft.tensor(array(4, 3, dtype=np.float64)), weft.tensor(array(3, 3, seed=2, dtype=np.float64))

    def function(self, w, x):
        return weft.tanh(w @ x) * x.cumsum(0)

    def test_whole_derivatives_within(self):
        for make in (lambda f: func.jacrev(f, 1), lambda f: func.jacrev(f, 0),
                     lambda f: func.hessian(lambda w, x: f(w, x).sum(), 1)):
            derivative = make(self.function)
            for dims in ((None, 0), (0, 0), (0, None)):
                w = self.W if dims[0] is None else weft.stack([self.W * i for i in range(1, 5)])
                x = self.X if dims[1] is not None else self.X[1]
                assert_close(vmap(derivative, dims)(w, x), by_loop(derivative, (w, x), dims)[0],
                             1e-8, 1e-9)

    def test_products_with_derivatives(self):
        w, x, v = self.W, self.X, self.X.flip(0)

        def back(w, x, v):
            return func.vjp(self.function, w, x)[1](v)

        def along(w, x, v):
            return func.jvp(lambda x: self.function(w, x), (x,), (v,))

        for function in (back, along):
            for dims in ((None, 0, 0), (None, None, 0), (None, 0, None)):
                given = [each if dim is not None or each is w else each[1]
                         for each, dim in zip((w, x, v), dims)]
                for got, want in zip(vmap(function, dims)(*given), by_loop(function, given, dims)):
                    assert_close(got, want, 1e-8, 1e-9)

    def test_the_jacobian_as_products_with_unit_vectors(self):
        x = self.X[0]
        _, back = func.vjp(lambda x: self.function(self.W, x), x)
        rows = vmap(back)(weft.eye(3, dtype=weft.float64))[0]
        assert_close(rows, func.jacrev(lambda x: self.function(self.W, x))(x), 1e-8, 1e-9)

    def test_derivatives_of_vmap(self):
        whole = vmap(self.function, (None, 0))
        def total(w):
            return whole(w, self.X).square().sum()
        def by_row(w):
            return sum(self.function(w, row).square().sum() for row in self.X)
        assert_close(grad(total)(self.W), grad(by_row)(self.W), 1e-8, 1e-9)
        assert_close(func.hessian(total)(self.W), func.hessian(by_row)(self.W), 1e-8, 1e-9)
        inner = vmap(grad(lambda x: self.function(self.W, x).sum()))
        assert_close(grad(lambda x: inner(x).square().sum())(self.X),
                     weft.stack([grad(lambda x: grad(lambda x: self.function(self.W, x).sum())(x)
                                      .square().sum())(row) for row in self.X]), 1e-8, 1e-9)

    def test_third_slopes_and_levels(self):
        third = grad(grad(grad(lambda x: x ** 5)))
        x = self.X
        assert_close(vmap(vmap(third))(x), 60 * x ** 2, 1e-9, 1e-9)
        mixed = vmap(vmap(grad(lambda a, b: (a * b).sin(), (0, 1)), (None, 0)), (0, None))
        got = mixed(x[:, 0].contiguous(), x[:, 1].contiguous())
        outer = x[:, :1] * x[:, 1]
        assert_close(got[0], outer.cos() * x[:, 1], 1e-9, 1e-9)
        assert_close(got[1], outer.cos() * x[:, :1], 1e-9, 1e-9)

    def test_slopes_of_an_outer_vmap_within_an_inner_function(self):
        def outer(x):
            inner = grad(lambda w: vmap(lambda row: (row * w).sum() ** 2)(self.W).sum())
            return inner(x)

        assert_close(vmap(outer)(self.X), by_loop(outer, (self.X,), (0,))[0], 1e-9, 1e-9)

    def test_autograd_grad_within(self):
        w = self.W.clone().requires_grad_()

        def own(x):
            x = x.detach().requires_grad_()
            return weft.autograd.grad(self.function(w.detach(), x).sum(), x)[0]

        def shared(x):
            return weft.autograd.grad(self.function(w, x).sum(), w)[0]

        def both(x):
            x = x.detach().requires_grad_()
            return weft.autograd.grad(self.function(w, x), (w, x), weft.ones(3, dtype=x.dtype))

        for function in (own, shared, both):
            for got, want in zip(func.vmap(function)(self.X) if function is both else
                                 [func.vmap(function)(self.X)], by_loop(function, (self.X,), (0,))):
                assert_close(got, want, 1e-9, 1e-9)
        output = self.function(w, self.X[0])
        rows = vmap(lambda v: weft.autograd.grad(output, w, v, retain_graph=True)[0])(
            weft.eye(3, dtype=w.dtype))
        want = [weft.autograd.grad(output[i], w, retain_graph=True)[0] for i in range(3)]
        assert_close(rows, weft.stack(want), 1e-9, 1e-9)
        self.assertFalse(self.X.requires_grad)
        with self.assertRaisesRegex(weft.InvalidArgumentError, "grad_outputs"):
            vmap(lambda x: weft.autograd.grad(x.requires_grad_() * 2, x)[0])(self.X)

    def test_functions_of_a_program(self):
        class Cube(weft.autograd.Function):
            @staticmethod
            def forward(ctx, x, w):
                ctx.save_for_backward(x, w)
                return x * x * x * w

            @staticmethod
            def backward(ctx, dy):
                x, w = ctx.saved_tensors
                return 3 * x * x * w * dy, (x * x * x * dy).sum()

        def slope(w, x):
            return grad(lambda w, x: Cube.apply(x, w).sum(), (0, 1))(w, x)

        w = weft.tensor(2.0, dtype=weft.float64)
        for got, want in zip(vmap(slope, (None, 0))(w, self.X),
                             by_loop(slope, (w, self.X), (None, 0))):
            assert_close(got, want, 1e-9, 1e-9)
        x = self.X.clone().requires_grad_()
        vmap(lambda x: Cube.apply(x, w))(x).sum().backward()
        assert_close(x.grad, 6 * self.X ** 2, 1e-9, 1e-9)

    def test_types_of_autocast(self):
        w, x = self.W.float(), self.X.float()
        with weft.autocast("cpu"):
            got = vmap(grad(lambda w, x: (F.linear(x, w) ** 2).sum()), (None, 0))(w, x)
        self.assertIs(got.dtype, weft.float32)
        want = vmap(grad(lambda w, x: (F.linear(x, w) ** 2).sum()), (None, 0))(w, x)
        assert_close(got, want, 0.05, 0.05)

    @needs_functorch
    def test_against_functorch(self):
        def function(T, x, y):
            return (T.sin(x) * y).cumsum(0) + (x @ y) * x

        a, b = array(4, 3, dtype=np.float64), array(5, 3, seed=1, dtype=np.float64)
        for make in (lambda L, f: L.vmap(L.vmap(f, (None, 0)), (0, None)),
                     lambda L, f: L.vmap(L.vmap(f, (0, None), -1), (None, 0), 1),
                     lambda L, f: L.vmap(L.vmap(L.jacrev(f), (None, 0)), (0, None)),
                     lambda L, f: L.grad(lambda x, y: L.vmap(L.vmap(f, (None, 0)), (0, None))(
                         x, y).sin().sum())):
            got = make(func, lambda x, y: function(weft, x, y))(weft.tensor(a), weft.tensor(b))
            want = make(functorch, lambda x, y: function(torch, x, y))(
                torch.tensor(a), torch.tensor(b))
            assert_close(got, want, 1e-9, 1e-9)


if __name__ == "__main__":
    unittest.main()
