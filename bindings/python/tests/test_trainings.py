"""Trainings (trainings/) beside PyTorch: losses and gradients of 50 steps within 1e-4, from equal
weights, data and masks. Where PyTorch is not installed they are compared with what it gave once,
recorded/trainings.json; after a change of a training, record.py writes that file anew."""
import unittest

import numpy as np

import records
import trainings
import weft
from oracle import needs_torch, torch

TOLERANCE = 1e-4
# A gradient is compared beside the whole gradient's norm, too: a bias that batch norm takes out
# again has a gradient of rounding errors alone.
SHARE_OF_WHOLE = 1e-3


def parted(got, want, scale):
    """Whether numbers differ by more than the tolerance of `scale`; two NaN are equal."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    both_nan = np.isnan(got) & np.isnan(want)
    return not (both_nan | (np.abs(got - want) <= TOLERANCE * scale)).all()


class Trainings(unittest.TestCase):
    def assert_same_losses(self, step, got, want):
        self.assertFalse(parted(got, want, np.maximum(np.abs(want), 1e-2)),
                         f"losses of step {step}: {got} where {want} was expected")

    @needs_torch
    def test_losses_and_gradients_are_those_of_pytorch(self):
        for name, training in trainings.all_trainings().items():
            with self.subTest(name):
                pairs = zip(training(weft), training(torch))
                steps = 0
                for step, ((losses, found), (wanted_losses, wanted)) in enumerate(pairs):
                    self.assert_same_losses(step, losses, wanted_losses)
                    self.assertEqual(found.keys(), wanted.keys())
                    whole = np.sqrt(sum(records.norm(each) ** 2 for each in wanted.values()))
                    for key, want in wanted.items():
                        scale = records.norm(want) + SHARE_OF_WHOLE * whole + 1e-30
                        off = records.norm(found[key].astype(np.float64) - want)
                        self.assertFalse(parted(off, 0, scale),
                                         f"gradient of {key} in step {step}: off by {off}")
                    steps += 1
                self.assertEqual(steps, trainings.STEPS)

    def test_losses_and_gradients_are_the_recorded_ones(self):
        recorded = records.read("trainings")
        for name, training in trainings.all_trainings().items():
            with self.subTest(name, record_anew_with=records.HOW):
                got, want = records.summary(training(weft)), recorded[name]
                self.assertEqual(len(want["losses"]), trainings.STEPS)
                for step, losses in enumerate(want["losses"]):
                    self.assert_same_losses(step, got["losses"][step], losses)
                self.assertEqual(got["norms"].keys(), want["norms"].keys())
                whole = np.sqrt(sum(np.square(each) for each in want["norms"].values()))
                for key, norms in want["norms"].items():
                    scale = np.array(norms) + SHARE_OF_WHOLE * whole + 1e-30
                    self.assertFalse(parted(got["norms"][key], norms, scale), key)
                    scale = scale[list(records.FULL_STEPS)][:, None]
                    self.assertFalse(parted(got["entries"][key], want["entries"][key], scale), key)

    def test_a_batch_of_padding_counts(self):
        """Else language_with_padding compares less than it says."""
        losses = np.array(records.read("trainings")["language_with_padding"]["losses"])[:, 0]
        self.assertEqual(np.flatnonzero(np.isnan(losses)).tolist(), list(range(6, 50, 7)))


class Checkpoints(unittest.TestCase):
    def test_real_dropout_gives_the_same_bits_with_and_without(self):
        from trainings.sequences import make_gpt, sentences

        found = []
        for checkpointed in (False, True):
            draws = np.random.RandomState(8)
            weft.manual_seed(9)
            model = trainings.give_weights(
                weft, make_gpt(weft, lambda x: weft.nn.functional.dropout(x, 0.3), checkpointed),
                draws)
            optimizer = weft.optim.AdamW(model.parameters(), lr=2e-3)
            bits = []
            for _ in range(5):
                words = weft.tensor(sentences(draws))
                logits = model(words[:, :-1]).flatten(0, 1)
                loss = weft.nn.functional.cross_entropy(logits, words[:, 1:].flatten())
                optimizer.zero_grad()
                loss.backward()
                bits.append((loss.item(), {name: gradient.tobytes() for name, gradient
                                           in trainings.gradients(model).items()}))
                optimizer.step()
            found.append((bits, weft.default_generator.get_state()))
        (plain, state), (again, same_state) = found
        self.assertEqual(state, same_state)
        self.assertEqual(len(plain[0][1]), len(list(model.parameters())))
        for (loss, gradients), (other_loss, others) in zip(plain, again):
            self.assertEqual(loss, other_loss)
            self.assertEqual([name for name in gradients if gradients[name] != others.get(name)],
                             [])


if __name__ == "__main__":
    unittest.main()
