"""docs/torch_differences.md: each row of its table of values is a test here, and what PyTorch gives
there is asked of PyTorch, where it is installed."""
import math
import pathlib
import re
import unittest

import numpy as np

import weft
from weft.nn import functional as F
from oracle import array, torch

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "torch_differences.md"
INF, NAN = math.inf, math.nan


def gradient(frame, function, values):
    """Of function(x).sum() for x, as a list."""
    x = frame.tensor(values, requires_grad=True)
    function(x).sum().backward()
    return x.grad.tolist()


def outcome(call, *frame):
    try:
        return call(*frame)
    except Exception as error:  # noqa: BLE001
        return type(error)


def memory_does_not_matter(frame, function, values):
    """Whether function(frame, x, view) has one gradient with view() permuting and with a copy."""
    found = []
    for view in (lambda x, *axes: x.permute(*axes), lambda x, *axes: x.permute(*axes).contiguous()):
        x = frame.tensor(values, requires_grad=True)
        y = function(frame, x, view)
        (y * frame.tensor(array(*y.shape, seed=1, dtype=values.dtype))).sum().backward()
        found.append(x.grad.numpy())
    return np.allclose(*found, rtol=1e-4, atol=1e-5)


class Differences(unittest.TestCase):
    def holds(self, call, ours, theirs):
        """`call(weft)` and `call(torch)` give these, numbers as repr() writes them."""
        self.assertEqual(repr(outcome(call, weft)), repr(ours))
        if torch is not None:
            self.assertEqual(repr(outcome(call, torch)), repr(theirs))

    def test_floats_beyond_an_integer_type(self):
        data = [-1.0, 300.0, NAN]
        self.assertEqual(weft.tensor(data).to(weft.uint8).tolist(), [0, 255, 0])
        self.assertEqual(weft.tensor(data + [INF, 1e30]).long().tolist(),
                         [-1, 300, 0, 2**63 - 1, 2**63 - 1])
        self.holds(lambda t: t.tensor(data[:2]).to(t.uint8).tolist(), [0, 255], [255, 44])

    def test_int8_with_uint8(self):
        def added(t):
            return str((t.tensor([1], dtype=t.int8) + t.tensor([2], dtype=t.uint8)).dtype)
        self.holds(added, "weft.int32", "torch.int16")

    def test_sign_of_nan(self):
        self.holds(lambda t: t.sign(t.tensor([NAN])).tolist(), [NAN], [0.0])

    def test_gradient_of_relu_at_nan(self):
        self.holds(lambda t: gradient(t, t.relu, [NAN, 1.0]), [0.0, 1.0], [1.0, 1.0])
        self.assertTrue(math.isnan(weft.relu(weft.tensor(NAN)).item()))

    def test_gradient_of_logsumexp_of_minus_infinities(self):
        self.holds(lambda t: gradient(t, lambda x: t.logsumexp(x, 0), [-INF, -INF]),
                   [0.0, 0.0], [NAN, NAN])

    def test_queries_without_keys(self):
        def attended(t):
            layer, x, hidden = t.nn.MultiheadAttention(2, 1), t.ones(1, 1, 2), t.tensor([[True]])
            return [layer(x, x, x, key_padding_mask=hidden, need_weights=need)[0].tolist()
                    for need in (True, False)]
        self.holds(attended, [[[[0.0, 0.0]]]] * 2, [[[[NAN, NAN]]]] * 2)

    def test_std_of_equal_values(self):
        def nothing(t):
            x = t.tensor([0.1] * 3, dtype=t.float64, requires_grad=True)
            spread = x.std(0)
            spread.backward()
            return [spread.item() == 0, x.grad.tolist() == [0] * 3]
        self.holds(nothing, [True] * 2, [False] * 2)

    def test_gradient_of_masked_select_of_a_view(self):
        def chosen(t):
            x = t.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
            parts = x.t().masked_select(t.tensor([[True, True], [True, False]]))
            (parts * t.tensor([10.0, 20.0, 30.0])).sum().backward()
            return parts.tolist(), x.grad.tolist()
        values = [1.0, 3.0, 2.0]
        self.holds(chosen, (values, [[10.0, 30.0], [20.0, 0.0]]),
                   (values, [[10.0, 20.0], [30.0, 0.0]]))

    def test_gradient_of_batch_norm_of_a_view(self):
        x = array(1, 3, 4, 5, dtype=np.float64)

        def normed(t, x, view):
            return t.nn.functional.batch_norm(view(x, 1, 3, 0, 2), None, None, training=True)
        self.holds(lambda t: memory_does_not_matter(t, normed, x), True, False)

    def test_gradient_of_gelu_that_arrives_transposed(self):
        def transposed(t, x, view):
            return view(t.nn.functional.gelu(x), 1, 0)
        self.assertTrue(memory_does_not_matter(weft, transposed, array(5, 7)))

    def test_median_along_an_expanded_axis(self):
        x = weft.tensor([3, 1, 2]).expand(2, 3)
        self.assertEqual(x.median(0)[0].tolist(), [3, 1, 2])

    def test_a_mask_beside_a_whole_number(self):
        x, mask = [[[0, 1], [2, 3]], [[4, 5], [6, 7]]], [[True, False], [True, True]]
        self.holds(lambda t: t.tensor(x)[t.tensor(mask), 1].tolist(), [1, 5, 7], [2, 6, 7])
        self.assertEqual(np.array(x)[np.array(mask), 1].tolist(), [1, 5, 7])

    def test_a_random_order_of_nothing(self):
        def order(t):
            return [each for each in t.utils.data.DataLoader(t.zeros(0, 2), shuffle=True)]
        self.holds(order, [], ValueError)

    def test_whole_targets_of_binary_cross_entropy(self):
        def loss(t):
            found = t.nn.functional.binary_cross_entropy(t.tensor([0.5]), t.tensor([1]))
            return round(found.item(), 4)
        self.holds(loss, 0.6931, RuntimeError)

    def test_sgd_without_a_rate(self):
        def rate(t):
            return t.optim.SGD([t.ones(1, requires_grad=True)]).param_groups[0]["lr"]
        self.holds(rate, 0.001, ValueError)

    def test_bool_operands_of_minus(self):
        self.holds(lambda t: (t.tensor([1]) - t.tensor([True])).tolist(), [0], RuntimeError)

    def test_products_of_two_types(self):
        def product(t):
            return (t.ones(1, 2) @ t.ones(2, 1, dtype=t.int64)).tolist()
        self.holds(product, [[2.0]], RuntimeError)

    def test_targets_of_int32(self):
        def loss(t):
            f = F if t is weft else torch.nn.functional
            return round(f.cross_entropy(t.zeros(1, 2), t.tensor([0], dtype=t.int32)).item(), 4)
        self.holds(loss, 0.6931, RuntimeError)

    def test_lists_of_lists_as_an_index(self):
        x = [[1, 2], [3, 4]]
        self.assertEqual(weft.tensor(x)[[[0, 1], [1, 0]]].tolist(),
                         np.array(x)[[[0, 1], [1, 0]]].tolist())

    def test_negative_steps(self):
        self.holds(lambda t: t.arange(3)[::-1].tolist(), [2, 1, 0], ValueError)

    def test_uint8_as_an_index(self):
        def picked(t):
            return t.arange(3)[t.tensor([1, 0, 1], dtype=t.uint8)].tolist()
        with np.testing.suppress_warnings() as quiet:
            quiet.filter(UserWarning)
            self.holds(picked, IndexError, [0, 2])

    def test_nan_as_a_bound(self):
        self.holds(lambda t: t.ones(1).clamp(0.0, NAN).tolist(), weft.InvalidArgumentError, [NAN])

    def test_equal_values_in_sort(self):
        x = weft.tensor([2.0, 1.0] * 100)
        self.assertEqual(x.sort()[1].tolist(), [*range(1, 200, 2), *range(0, 200, 2)])

    def test_equal_positions_in_scatter(self):
        index = weft.zeros(1000, dtype=weft.int64)
        got = weft.zeros(1).scatter(0, index, weft.arange(1000).float())
        self.assertEqual(got.tolist(), [999.0])

    def test_views_of_strided_memory(self):
        self.holds(lambda t: t.ones(2, 3).t().view(6).tolist(), [1.0] * 6, RuntimeError)

    def test_the_seed_of_a_new_generator(self):
        self.holds(lambda t: t.Generator().initial_seed(), 0, 67280421310721)

    def test_classes_of_errors(self):
        def kind(t, call):
            return next(each.__name__ for each in outcome(call, t).__mro__
                        if each.__module__ == "builtins")
        for call, theirs in ((lambda t: t.ones(2).sum(3), IndexError),
                             (lambda t: t.ones(2) @ t.ones(3), RuntimeError),
                             (lambda t: t.ones(2)[t.tensor([5])], IndexError)):
            self.holds(call, weft.InvalidArgumentError, theirs)
            self.assertTrue(issubclass(weft.InvalidArgumentError, (RuntimeError, ValueError)))

    def test_what_detect_anomaly_looks_at(self):
        def forward(t):
            with t.autograd.detect_anomaly():
                return t.log(t.zeros(1)).tolist()
        with np.testing.suppress_warnings() as quiet:
            quiet.filter(UserWarning)
            self.holds(forward, weft.AnomalyError, [-INF])


class Page(unittest.TestCase):
    def test_the_table_has_each_test(self):
        named = re.findall(r"\| `(test_\w+)` \|$", PAGE.read_text(), re.MULTILINE)
        tests = [name for name in vars(Differences) if name.startswith("test_")]
        self.assertEqual(sorted(named), sorted(tests))


if __name__ == "__main__":
    unittest.main()
