"""Values that PyTorch gives and that this package once gave otherwise without a word. The numbers
were computed with PyTorch 1.13, or stand in a closed form beside them."""
import math
import unittest

import numpy as np

import weft
from weft import nn
from weft.nn import functional as F
from weft.optim import lr_scheduler
from weft.utils.data import DataLoader, Dataset, TensorDataset
from oracle import assert_close


def optimizer(rate=1.0):
    return weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=rate)


def rates(which, *schedules, steps):
    seen = [which.param_groups[0]["lr"]]
    for _ in range(steps):
        for schedule in schedules:
            schedule.step()
        seen.append(which.param_groups[0]["lr"])
    return seen


class Schedules(unittest.TestCase):
    def test_two_compose(self):
        one = optimizer()
        got = rates(one, lr_scheduler.ExponentialLR(one, 0.9),
                    lr_scheduler.MultiStepLR(one, [2], 0.1), steps=3)
        assert_close(got, [1, .9, .081, .0729], 1e-12, 0)
        one = optimizer()
        got = rates(one, lr_scheduler.LinearLR(one, 0.1, 1.0, 3),
                    lr_scheduler.CosineAnnealingLR(one, 5), steps=5)
        cosine = [(1 + math.cos(math.pi * i / 5)) / 2 for i in range(6)]
        assert_close(got, np.multiply([.1, .4, .7, 1, 1, 1], cosine), 1e-12, 1e-15)

    def test_a_rate_set_by_hand_is_kept(self):
        one = optimizer()
        schedule = lr_scheduler.StepLR(one, 2, 0.5)
        schedule.step()
        one.param_groups[0]["lr"] = 0.5
        self.assertEqual(rates(one, schedule, steps=3), [.5, .25, .25, .125])

    def test_a_cosine_comes_up_again(self):
        one = optimizer()
        got = rates(one, lr_scheduler.CosineAnnealingLR(one, 3, eta_min=0.1), steps=6)
        want = [0.1 + 0.9 * (1 + math.cos(math.pi * i / 3)) / 2 for i in range(7)]
        assert_close(got, want, 1e-12, 0)

    def test_a_schedule_of_ones_own(self):
        class Half(lr_scheduler.LRScheduler):
            def get_lr(self):
                return [base * 0.5 ** self.last_epoch for base in self.base_lrs]

        one = optimizer()
        self.assertEqual(rates(one, Half(one), steps=2), [1, .5, .25])
        with self.assertRaisesRegex(NotImplementedError, "neither get_lr"):
            lr_scheduler.LRScheduler(one)
        with self.assertRaisesRegex(ValueError, "expected 1 functions"):
            lr_scheduler.LambdaLR(one, [abs, abs])


class Samples(unittest.TestCase):
    def test_a_derived_dataset_says_what_a_sample_is(self):
        class Augmented(TensorDataset):
            def __getitem__(self, index):
                return tuple(each * 100 for each in super().__getitem__(index))

        (batch,), = DataLoader(Augmented(weft.ones(4, 2)), batch_size=4)
        self.assertEqual(batch.tolist(), [[100.0] * 2] * 4)

        class WithLength(TensorDataset):
            def __len__(self):
                return 2

        (batch,), = DataLoader(WithLength(weft.ones(4, 2)), batch_size=4)
        self.assertEqual(list(batch.shape), [2, 2])

    def test_a_dataset_may_have_an_attribute_named_batch(self):
        class Own(Dataset):
            batch = 7

            def __getitem__(self, index):
                return float(index)

            def __len__(self):
                return 3

        only, = DataLoader(Own(), batch_size=3)
        self.assertEqual(only.tolist(), [0, 1, 2])


class Randomness(unittest.TestCase):
    def test_a_seed_repeats_dropout(self):
        x = weft.ones(1000)
        masks = []
        for _ in range(2):
            weft.manual_seed(3)
            masks.append([F.dropout(x).tolist() for _ in range(2)])
        self.assertEqual(masks[0], masks[1])
        self.assertNotEqual(masks[0][0], masks[0][1])
        state = weft.default_generator.get_state()
        one = F.dropout(x).tolist()
        weft.default_generator.set_state(state)
        self.assertEqual(F.dropout(x).tolist(), one)

    def test_a_checkpoint_draws_the_same_mask_again(self):
        x = weft.ones(1000, requires_grad=True)
        weft.manual_seed(5)
        y = weft.autograd.checkpoint(lambda t: F.dropout(t * t, 0.5), x)
        after = weft.default_generator.get_state()
        y.sum().backward()
        assert_close(x.grad, 2 * np.array(y.tolist()), 0, 0)
        self.assertEqual(weft.default_generator.get_state(), after)

    def test_nothing_is_drawn_where_there_is_nothing(self):
        for weights in ([0., 0.], [1., -1.], [math.inf, 1.], [math.nan, 1.]):
            with self.assertRaisesRegex(ValueError, "multinomial. expected weights"):
                weft.multinomial(weft.tensor(weights), 1)


class Losses(unittest.TestCase):
    def test_probabilities_with_weights_and_smoothing(self):
        x = np.array([[1, -2, .5], [0, 3, -1]], np.float64)
        shares = np.array([[.2, .3, .5], [.6, .1, .3]])
        weight = np.array([1, 2, 4.])
        logs = x - np.log(np.exp(x).sum(1, keepdims=True))
        for smoothing in (0.0, 0.3):
            for weighed in (False, True):
                smooth = shares * (1 - smoothing) + smoothing / 3
                want = -(logs * smooth * (weight if weighed else 1)).sum(1)
                for reduction, value in (("none", want), ("sum", want.sum()),
                                         ("mean", want.mean())):
                    got = F.cross_entropy(
                        weft.tensor(x), weft.tensor(shares), reduction=reduction,
                        weight=weft.tensor(weight) if weighed else None,
                        label_smoothing=smoothing)
                    assert_close(got, value, 1e-12, 0)

    def test_probabilities_have_their_classes_on_axis_1(self):
        rng = np.random.default_rng(1)
        x, shares = rng.normal(size=(2, 3, 4)), rng.random((2, 3, 4))
        logs = x - np.log(np.exp(x).sum(1, keepdims=True))
        got = F.cross_entropy(weft.tensor(x), weft.tensor(shares), reduction="none")
        assert_close(got, -(logs * shares).sum(1), 1e-12, 0)
        with self.assertRaisesRegex(ValueError, "a weight for each of 3 classes"):
            F.cross_entropy(weft.tensor(x), weft.tensor(shares), weight=weft.ones(4))

    def test_a_batch_of_padding_has_no_gradient(self):
        for loss in (F.nll_loss, F.cross_entropy):
            x = weft.zeros(2, 3, requires_grad=True)
            loss(x, weft.tensor([-100, -100])).backward()
            self.assertEqual(x.grad.tolist(), [[0.0] * 3] * 2)


    def test_a_cosine_takes_each_length_to_be_at_least_eps(self):
        a, b = weft.tensor([0.3, 0.4]), weft.tensor([0.1, 0.5])
        assert_close(F.cosine_similarity(a, b, dim=0, eps=3.0), np.float32(0.23 / 9), 1e-6, 0)
        assert_close(F.cosine_similarity(a, b, dim=0, eps=0.505),
                     np.float32(0.23 / 0.505 / math.sqrt(0.26)), 1e-6, 0)
        zero = weft.zeros(2, requires_grad=True)
        F.cosine_similarity(zero, b, dim=0, eps=0.5).backward()
        assert_close(zero.grad, b.numpy() / 0.5 / math.sqrt(0.26), 1e-6, 0)

    def test_weights_that_would_learn_are_refused(self):
        """They are constants here, as in PyTorch; without an error they would just not learn."""
        weight, x, target = weft.ones(3, requires_grad=True), weft.ones(2, 3), weft.ones(2, 3)
        for loss in (lambda w: F.cross_entropy(x, weft.tensor([0, 1]), weight=w),
                     lambda w: F.nll_loss(x, weft.tensor([0, 1]), weight=w),
                     lambda w: F.binary_cross_entropy(x * 0.5, target, weight=w),
                     lambda w: F.binary_cross_entropy_with_logits(x, target, weight=w),
                     lambda w: F.binary_cross_entropy_with_logits(x, target, pos_weight=w)):
            with self.assertRaisesRegex(ValueError, "weight that takes no gradient"):
                loss(weight)
            loss(weight.detach())
            with weft.no_grad():
                loss(weight)

    def test_sure_probabilities_have_finite_slopes_with_a_graph_as_without(self):
        x = weft.tensor([0.0, 1.0, 0.5, 1e-20], requires_grad=True)
        target = weft.tensor([1.0, 0.0, 1.0, 0.5], requires_grad=True)
        for create in (False, True):
            loss = F.binary_cross_entropy(x, target, reduction="sum")
            slopes = weft.autograd.grad(loss, [x, target], create_graph=create)
            assert_close(slopes[0], np.float32([-1e12, 1e12, -2, -5e11]), 1e-6, 0)
            assert_close(slopes[1], np.float32([100, -100, 0, -math.log(1e-20)]), 1e-6, 1e-6)

    def test_probabilities_of_no_classes_are_refused(self):
        with self.assertRaisesRegex(ValueError, "expected classes, got none"):
            F.cross_entropy(weft.ones(4, 0), weft.ones(4, 0))


class Indexes(unittest.TestCase):
    def test_a_whole_number_picks_before_an_array_gathers(self):
        """NumPy takes the number for an array, too, and puts the gathered axis first."""
        a = np.arange(24.0).reshape(2, 3, 4)
        x, rows, mask = weft.tensor(a), [1, 3], [True, False, True, True]
        for key, want in (((0, slice(None), rows), a[0][:, rows]),
                          ((-1, slice(None, 2), mask), a[-1][:2, mask]),
                          ((weft.tensor(1), ..., rows), a[1][:, rows]),
                          ((0, None, [1, 2]), a[0][None, [1, 2]]),
                          ((slice(None), 1, rows), a[:, 1][:, rows])):
            made = tuple(weft.tensor(each) if isinstance(each, list) else each for each in key)
            assert_close(x[made], want, 0, 0)
            y = x * 1
            y[made] = weft.tensor(want + 100)
            assert_close(y[made], want + 100, 0, 0)
            self.assertEqual((y != x).sum().item(), want.size)

    def test_an_empty_axis_has_as_many_chunks_as_asked_for(self):
        self.assertEqual([part.shape for part in weft.zeros(3, 0).chunk(4, 1)], [(3, 0)] * 4)


class Slopes(unittest.TestCase):
    def test_0_to_a_negative_power_falls_without_end(self):
        exponent = weft.tensor([-2.0, 0.0, 2.0], requires_grad=True)
        (0.0 ** exponent).sum().backward()
        self.assertEqual(exponent.grad.tolist(), [-math.inf, 0, 0])

    def test_nothing_over_next_to_nothing_has_a_slope(self):
        for dtype, small in ((weft.float16, 1e-5), (weft.float32, 1e-39)):
            a = weft.tensor([0.0], dtype=dtype, requires_grad=True)
            b = weft.tensor([small], dtype=dtype, requires_grad=True)
            for create in (False, True):
                slope, = weft.autograd.grad((a / b).sum(), b, create_graph=create)
                self.assertEqual(slope.tolist(), [0.0])

    def test_attention_in_float64_takes_masks_of_bool(self):
        layer = nn.MultiheadAttention(4, 2, batch_first=True).double()
        x = weft.randn(2, 3, 4).double()
        mask = weft.tensor([[False, False, True], [False, True, False]])
        whole, _ = layer(x[:1], x[:1, :2], x[:1, :2])
        masked, shares = layer(x, x, x, key_padding_mask=mask)
        assert_close(masked[:1], whole, 1e-12, 1e-14)
        unseen, none = layer(x, x, x, key_padding_mask=mask, need_weights=False)
        self.assertIsNone(none)
        assert_close(unseen, masked, 1e-12, 1e-14)
        self.assertEqual(shares[1, :, 1].tolist(), [0, 0, 0])

    def test_a_query_without_keys_leaves_the_others_alone(self):
        x = weft.randn(2, 3, 4, generator=weft.Generator().manual_seed(1))
        hidden = weft.tensor([[False, False, True], [True, True, True]])
        layer = nn.MultiheadAttention(4, 2, dropout=0.5, batch_first=True)
        for training, need_weights in ((True, True), (True, False), (False, True), (False, False)):
            layer.train(training).zero_grad()
            y, shares = layer(x, x, x, key_padding_mask=hidden, need_weights=need_weights)
            y.square().sum().backward()
            self.assertEqual(y[1].tolist(), [[0.0] * 4] * 3)
            for p in layer.parameters():
                self.assertTrue(p.grad.isfinite().all().item())
            if not training:
                layer.zero_grad()
                alone, _ = layer(x[:1], x[:1], x[:1], key_padding_mask=hidden[:1])
                assert_close(y[:1], alone, 1e-6, 1e-7)
            if need_weights:
                self.assertEqual(shares[1].tolist(), [[0.0] * 3] * 3)

    def test_vectors_without_elements_attend_evenly(self):
        empty = weft.zeros(1, 1, 2, 0)
        self.assertEqual(F.attention_weights(empty, empty).tolist(), [[[[0.5, 0.5]] * 2]])


class Convolutions(unittest.TestCase):
    def test_the_same_size_with_an_even_kernel(self):
        x = np.arange(2 * 5 * 6, dtype=np.float32).reshape(1, 2, 5, 6)
        layer = nn.Conv2d(2, 1, (4, 2), padding="same", bias=False)
        with weft.no_grad():
            layer.weight.fill_(1.0)
        padded = np.pad(x, ((0, 0), (0, 0), (1, 2), (0, 1)))
        want = [[padded[0, :, i:i + 4, j:j + 2].sum() for j in range(6)] for i in range(5)]
        assert_close(layer(weft.tensor(x)), np.array(want)[None, None], 1e-6, 0)
        with self.assertRaisesRegex(ValueError, "expected stride 1"):
            nn.Conv2d(1, 1, 3, stride=2, padding="same")

    def test_a_gradient_penalty_reaches_the_weights(self):
        """A critic whose first layer is a convolution, in float32 as in float64."""
        def gradients(dtype):
            rng = np.random.default_rng(2)
            x = weft.tensor(rng.normal(size=(2, 2, 5, 5)), dtype=dtype).requires_grad_()
            w = weft.tensor(rng.normal(size=(3, 2, 3, 3)), dtype=dtype).requires_grad_()
            score = F.conv2d(x, w)
            slope, = weft.autograd.grad((score * score * score).sum(), [x], create_graph=True)
            loss = score.mean() + ((slope * slope).sum() - 1)
            return weft.autograd.grad(loss, [w])[0].double()

        single, double = gradients(weft.float32), gradients(weft.float64)
        scale = abs(np.array(double.tolist())).max()
        assert_close(single / scale, double / scale, 0, 1e-5)


class WholeNumbers(unittest.TestCase):
    BIG = 2**53 + 1

    def test_beyond_2_to_the_53_keep_every_bit(self):
        big, x = self.BIG, weft.tensor([0, 2**60])
        self.assertEqual(weft.full((2,), big, dtype=weft.int64).tolist(), [big] * 2)
        self.assertEqual(weft.full((), -big).item(), -big)
        self.assertEqual(weft.full_like(x, big).tolist(), [big] * 2)
        self.assertEqual(x.masked_fill(x == 0, big).tolist(), [big, 2**60])
        self.assertEqual(x.clamp(min=5, max=big).tolist(), [5, big])
        self.assertEqual(x.clamp(max=weft.tensor([-1, big])).tolist(), [-1, big])
        self.assertEqual(weft.arange(big, big + 2).tolist(), [big, big + 1])
        self.assertEqual(weft.arange(big + 3, big, -2).tolist(), [big + 3, big + 1])
        self.assertEqual(weft.arange(-2**63, 2**63 - 1, 2**62).tolist(),
                         [-2**63, -2**62, 0, 2**62])
        self.assertEqual(weft.arange(3, 3).tolist(), [])
        for wrong in ((0, 5, -1), (5, 0), (0, 1, 0), (-2**63, 2**63 - 1)):
            with self.assertRaises(ValueError):
                weft.arange(*wrong)


    def test_a_number_does_not_widen_a_value_without_axes(self):
        for name in ("int8", "uint8", "int32"):
            x = weft.tensor(5, dtype=getattr(weft, name))
            for y, want in ((x % 3, 2), (x // 3, 1), (3 % x, 3), (3 // x, 0), (2 ** x, 32),
                            (weft.remainder(x, 3), 2), (weft.where(x > 3, x, 3), 5)):
                self.assertEqual((y.dtype.name, y.item()), (name, want))
            self.assertTrue((x < 2**40).item())


class Writes(unittest.TestCase):
    def test_a_gradient_is_never_dropped_by_an_alias(self):
        w = weft.tensor([[1., 2], [3, 4]], requires_grad=True)

        def flat(p, v):
            v += w.view(-1)

        all_added, row_added = [[4., 6], [8, 10]], [[4., 6], [0, 0]]
        for view, write, want in ((lambda p: p.view(-1), flat, all_added),
                                  (lambda p: p.t(), lambda p, v: v.mul_(w), [[2., 4], [6, 8]]),
                                  (lambda p: p[0], lambda p, v: v.copy_(w[0]), [[2., 4], [0, 0]]),
                                  (lambda p: p[0], lambda p, v: v.add_(w[0]), row_added),
                                  (lambda p: p.view(-1), lambda p, v: p.add_(w), all_added)):
            for read in (0, 1):
                p = weft.ones(2, 2)
                shown = view(p)
                write(p, shown)
                ((p, shown)[read] ** 2).sum().backward()
                self.assertEqual(w.grad.tolist(), want)
                w.grad = None
            p = weft.ones(2, 2)
            alias, shown = p.detach(), view(p)
            with self.assertRaisesRegex(ValueError, "memory that no other tensor shows"):
                write(p, shown)
            self.assertEqual(alias.tolist(), [[1.0, 1], [1, 1]])
        p = weft.zeros(2, 2)
        for row in range(2):
            p[row] = w[row] * 2
        p += w
        (p * p).sum().backward()
        self.assertEqual(w.grad.tolist(), [[18.0, 36], [54, 72]])


if __name__ == "__main__":
    unittest.main()
