"""Losses as modules and functions beside PyTorch's: values and gradients, each reduction."""
import unittest

import numpy as np

import weft
from oracle import array, assert_close, load_into_torch, needs_torch, torch
from weft import nn

X, Y, Z = array(5, 4), array(5, 4, seed=1), array(5, 4, seed=2)
P = 1 / (1 + np.exp(-Y))
SIGN = np.where(array(5, 4, seed=3) > 0, 1.0, -1.0).astype(np.float32)
ROW_SIGN = np.array([1, -1, 1, 1, -1], np.float32)
CLASSES = np.array([0, 3, 1, 2, 3])
# The loss, as a call in the namespace nn -> (the function of x before it, its other arguments).
PLAIN = (lambda x: x)
LOSSES = {
    "MSELoss({r})": (PLAIN, [Y]),
    "L1Loss({r})": (PLAIN, [Y]),
    "SmoothL1Loss({r}, beta=0.7)": (PLAIN, [Y]),
    "HuberLoss({r}, delta=0.6)": (PLAIN, [Y]),
    "BCELoss({r})": (lambda x: x.sigmoid(), [P]),
    "BCEWithLogitsLoss({r})": (PLAIN, [P]),
    "KLDivLoss({r})": (lambda x: x.log_softmax(1), [P]),
    "KLDivLoss({r}, log_target=True)": (lambda x: x.log_softmax(1), [np.log(P)]),
    "PoissonNLLLoss({r}, full=True)": (PLAIN, [np.round(P * 5)]),
    "PoissonNLLLoss(log_input=False, {r})": (lambda x: x.exp(), [P]),
    "GaussianNLLLoss({r}, full=True)": (PLAIN, [Y, P]),
    "HingeEmbeddingLoss(0.7, {r})": (PLAIN, [SIGN]),
    "MarginRankingLoss(0.2, {r})": (PLAIN, [Y, SIGN]),
    "CosineEmbeddingLoss(0.1, {r})": (PLAIN, [Y, ROW_SIGN]),
    "TripletMarginLoss(0.5, {r})": (PLAIN, [Y, Z]),
    "TripletMarginLoss(swap=True, p=1, {r})": (PLAIN, [Y, Z]),
    "TripletMarginWithDistanceLoss({r})": (PLAIN, [Y, Z]),
    "MultiMarginLoss({r})": (PLAIN, [CLASSES]),
    "MultiMarginLoss(p=2, margin=0.5, {r})": (PLAIN, [CLASSES]),
    "MultiLabelMarginLoss({r})": (PLAIN, [np.array(
        [[3, 0, -1, 1], [1, -1, 0, 2], [0, 1, 2, 3], [-1, 0, 1, 2], [2, -1, -1, -1]])]),
    "MultiLabelSoftMarginLoss({r})": (PLAIN, [np.round(P)]),
    "SoftMarginLoss({r})": (PLAIN, [SIGN]),
    "CrossEntropyLoss({r}, label_smoothing=0.2, ignore_index=1)": (PLAIN, [CLASSES]),
    "NLLLoss({r})": (lambda x: x.log_softmax(1), [CLASSES]),
}


def results(text, before, others, reduction):
    call = text.format(r=f"reduction={reduction!r}")
    for namespace, library in ((weft, nn), (torch, torch.nn)):
        x = namespace.tensor(X, requires_grad=True)
        loss = eval(call, dict(vars(library)))(before(x), *map(namespace.tensor, others))
        (loss * loss).sum().backward()
        yield loss, x.grad


@needs_torch
class Losses(unittest.TestCase):
    def test_values_and_gradients(self):
        for text, (before, others) in LOSSES.items():
            for reduction in ("mean", "sum", "none"):
                with self.subTest(text, reduction=reduction):
                    (got, dx), (want, dt) = results(text, before, others, reduction)
                    assert_close(got, want, 1e-4, 1e-5)
                    assert_close(dx, dt, 1e-3, 1e-5)

    def test_weights(self):
        weight = np.array([0.5, 1.0, 2.0, 0.1], np.float32)
        for name, before, others in (
                ("CrossEntropyLoss", PLAIN, [CLASSES]),
                ("NLLLoss", lambda x: x.log_softmax(1), [CLASSES]),
                ("BCELoss", lambda x: x.sigmoid(), [P]), ("BCEWithLogitsLoss", PLAIN, [P]),
                ("MultiMarginLoss", PLAIN, [CLASSES]),
                ("MultiLabelSoftMarginLoss", PLAIN, [np.round(P)])):
            with self.subTest(name):
                losses = [getattr(library, name)(weight=namespace.tensor(weight))(
                    before(namespace.tensor(X)), *map(namespace.tensor, others))
                    for namespace, library in ((weft, nn), (torch, torch.nn))]
                assert_close(*losses, 1e-4, 1e-5)

    def test_ctc(self):
        x = array(12, 3, 5)
        targets, lengths = np.array([[1, 2, 2], [3, 1, 0], [4, 0, 0]]), [3, 2, 1]
        joined = np.array([1, 2, 2, 3, 1, 4])
        for given in (targets, joined):
            for reduction in ("mean", "sum", "none"):
                losses = []
                for namespace, library in ((weft, nn), (torch, torch.nn)):
                    p = namespace.tensor(x, requires_grad=True)
                    loss = library.CTCLoss(reduction=reduction)(
                        p.log_softmax(2), namespace.tensor(given), (12, 10, 11), tuple(lengths))
                    loss.sum().backward()
                    losses.append((loss, p.grad))
                assert_close(losses[0][0], losses[1][0], 1e-4, 1e-4)
                assert_close(losses[0][1], losses[1][1], 1e-3, 1e-4)
        with self.assertRaisesRegex(ValueError, "6 targets"):
            nn.CTCLoss()(weft.tensor(x).log_softmax(2), weft.tensor(joined[:-1]), (12, 10, 11),
                         (3, 2, 1))


class AdaptiveSoftmax(unittest.TestCase):
    X, TARGETS = array(7, 16), np.array([0, 11, 3, 4, 19, 1, 5])

    def test_probabilities_of_all_classes_sum_to_one(self):
        for targets in (self.TARGETS, self.TARGETS * 0, np.full(7, 19)):
            layer = nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 10], head_bias=True)
            x = weft.tensor(self.X)
            every = layer.log_prob(x)
            assert_close(every.exp().sum(1), np.ones(7), 1e-5)
            output, loss = layer(x, weft.tensor(targets))
            assert_close(output, every.detach().numpy()[np.arange(7), targets])
            self.assertAlmostEqual(loss.item(), -output.mean().item(), 6)
            self.assertEqual(layer.predict(x).tolist(), every.argmax(1).tolist())

    @needs_torch
    def test_values_gradients_and_names_are_pytorchs(self):
        for settings in (([4, 10], 2.0), ([15], 4.0, True), ([2, 5, 9], 1.5)):
            with self.subTest(settings):
                weft.manual_seed(1)
                ours, theirs = (n.AdaptiveLogSoftmaxWithLoss(16, 20, *settings)
                                for n in (nn, torch.nn))
                self.assertEqual(list(ours.state_dict()), list(theirs.state_dict()))
                load_into_torch(theirs, ours)
                x, t = weft.tensor(self.X, requires_grad=True), torch.tensor(
                    self.X, requires_grad=True)
                got, want = (module(value, n.tensor(self.TARGETS)) for module, value, n in (
                    (ours, x, weft), (theirs, t, torch)))
                assert_close(got.output, want.output, 1e-5, 1e-5)
                assert_close(got.loss, want.loss, 1e-5, 1e-5)
                assert_close(ours(x[0], weft.tensor(11)).output,
                             theirs(t[0], torch.tensor(11)).output, 1e-5, 1e-5)
                assert_close(ours.log_prob(x), theirs.log_prob(t), 1e-5, 1e-5)
                got.loss.backward()
                want.loss.backward()
                assert_close(x.grad, t.grad, 1e-4, 1e-5)
                for p, q in zip(ours.parameters(), theirs.parameters()):
                    assert_close(p.grad, q.grad, 1e-4, 1e-5)


class Refusals(unittest.TestCase):
    def test_old_arguments_become_the_reduction(self):
        with self.assertWarnsRegex(UserWarning, "reduction"):
            loss = nn.MSELoss(size_average=False)
        self.assertEqual(loss(weft.tensor([1.0, 2.0]), weft.zeros(2)).item(), 5.0)
        with self.assertRaisesRegex(TypeError, "write reduction="):
            nn.functional.mse_loss(weft.ones(2), weft.zeros(2), "sum")

    def test_errors_name_the_value(self):
        for call, text in ((lambda: nn.HuberLoss("median")(weft.ones(2), weft.ones(2)), "median"),
                           (lambda: nn.BCELoss()(weft.ones(2), weft.ones(3)), r"\[2\]"),
                           (lambda: nn.SoftMarginLoss(reduction="all")(weft.ones(2), weft.ones(2)),
                            "all")):
            with self.assertRaisesRegex(ValueError, text):
                call()
