"""Writes in place, views and aliases: what was wrong or refused once, by name. Random ones are in
test_in_place_programs.py; the rules in docs/autograd.md."""
import unittest

import numpy as np

import weft
from oracle import array, assert_close
from weft.nn import functional as F


def leaf(*values):
    return weft.tensor(values, requires_grad=True)


class Assignment(unittest.TestCase):
    def test_is_a_write_that_the_gradient_follows(self):
        x = leaf(1.0, 2.0, 3.0)
        y = x * 2
        y[0] = y[0] * 10
        y[1] += 1
        y[[2]] *= 5
        self.assertEqual(y.tolist(), [20, 5, 30])
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [20, 2, 10])

    def test_reaches_aliases(self):
        w, base = leaf(3.0, 4.0), weft.zeros(3)
        alias, turned = base[:], base.view(3, 1).t()
        base[0] = w[0] * 2
        turned[0, 2] = w[1]
        self.assertEqual(alias.tolist(), [6, 0, 4])
        (alias * alias).sum().backward()
        self.assertEqual(w.grad.tolist(), [24, 8])

    def test_under_history_reaches_detached_aliases(self):
        y = leaf(1.0, 2.0) * 1.0
        alias = y.detach()
        y[0] = 5.0
        y[weft.tensor([False, True])] = 7.0
        self.assertEqual(alias.tolist(), [5, 7])

    def test_of_itself_cuts_where_history_was_cut(self):
        x = leaf(1.0, 2.0)
        y = x * 3
        y[0] = y.detach()[0]
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [0, 3])

    def test_fills_a_buffer_part_by_part(self):
        w, out = leaf(1.0, 2.0, 3.0), weft.zeros(3)
        for i in range(3):
            out[i] += w[i] * w[i]
            out[i] = out[i] * 2
        out.sum().backward()
        self.assertEqual(w.grad.tolist(), [4, 8, 12])

    def test_where_others_would_not_know_is_refused(self):
        w, base = leaf(1.0), weft.zeros(2)
        alias = base.detach()
        with self.assertRaisesRegex(ValueError, "no other tensor shows"):
            base[0] = w[0]
        self.assertEqual(alias.tolist(), [0, 0])


class Views(unittest.TestCase):
    def test_are_written_and_their_base_follows(self):
        x = leaf(1.0, 2.0)
        y = x * 2
        part = y[0]
        part.mul_(10)
        (y * 1).sum().backward()
        self.assertEqual(x.grad.tolist(), [20, 2])

    def test_of_convolutions_show_writes(self):
        weight = weft.from_numpy(array(4, 3, 3, 3)).requires_grad_()
        for take in (lambda y: y[0], lambda y: y.view(-1), lambda y: y.detach(),
                     lambda y: y.contiguous(), lambda y: y.float()):
            y = F.conv2d(weft.from_numpy(array(2, 3, 5, 5)), weight)
            view = take(y)
            y.mul_(0.0)
            self.assertEqual(view.abs().sum().item(), 0)

    def test_unrecorded_writes_to_a_convolution_keep_its_history(self):
        weight = weft.from_numpy(array(4, 3, 3, 3)).requires_grad_()
        y = F.conv2d(weft.from_numpy(array(2, 3, 5, 5)), weight)
        with weft.no_grad():
            y.mul_(2.0)
        self.assertTrue(y.requires_grad)
        y = F.conv2d(weft.from_numpy(array(2, 3, 5, 5)), weight)
        with weft.no_grad():
            y[0] = 5.0
        self.assertEqual(y[0].min().item(), 5)

    def test_flip_and_to_copy(self):
        x = weft.tensor([1.0, 2.0])
        flipped, copied = x.flip(0), x.to(weft.float32, copy=True)
        x.zero_()
        self.assertEqual(flipped.tolist(), [2, 1])
        self.assertEqual(copied.tolist(), [1, 2])

    def test_flatten_of_one_axis_is_the_tensor(self):
        x = leaf(1.0, 2.0)
        y = x * 1
        with weft.no_grad():
            same = y.flatten()
            turned = y.t()
        self.assertFalse(turned.requires_grad)
        (same * 3).sum().backward()
        self.assertEqual(x.grad.tolist(), [3, 3])

    def test_windows_that_overlap_follow(self):
        x = leaf(1.0, 2.0, 3.0)
        y = x * 1
        windows = y.unfold(0, 2, 1)
        y[1] = y[1] * 10
        (windows * windows.detach()).sum().backward()
        self.assertEqual(windows.tolist(), [[1, 20], [20, 3]])
        self.assertEqual(x.grad.tolist(), [1, 400, 3])


class Functions(unittest.TestCase):
    def test_in_place_keep_what_their_gradient_needs(self):
        x = weft.from_numpy(np.array([0.3, 0.6])).requires_grad_()
        for name in ("exp", "tanh", "sigmoid", "sqrt", "neg", "relu"):
            x.grad = None
            getattr(x * 2, name + "_")().sum().backward()
            got, x.grad = x.grad, None
            getattr(x * 2, name)().sum().backward()
            assert_close(got, x.grad, 1e-12, 0)

    def test_a_factor_that_is_not_needed_may_change(self):
        x, plain = leaf(1.0, 2.0), weft.tensor([3.0, 4.0])
        y = x * 2
        plain.mul_(y)
        y.add_(1.0)
        plain.sum().backward()
        self.assertEqual(x.grad.tolist(), [6, 8])

    def test_a_tensor_is_copied_or_multiplied_with_its_own_view(self):
        x = leaf(2.0, 3.0)
        y = x * 1
        part = y[:1]
        part.mul_(3.0)
        y.copy_(part)
        y.mul_(y)
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [72, 0])

    def test_no_gradient_comes_from_what_was_not_chosen(self):
        a, b = leaf(1.0, 0.0, 2.0), leaf(0.0, 1.0, 2.0)
        for function, mine, other in ((weft.maximum, a, b), (weft.minimum, b, a)):
            a.grad = b.grad = None
            function(a, b).backward(weft.tensor([float("nan"), float("inf"), 4.0]))
            np.testing.assert_array_equal(mine.grad.numpy(), [np.nan, 0, 2])
            np.testing.assert_array_equal(other.grad.numpy(), [0, np.inf, 2])
