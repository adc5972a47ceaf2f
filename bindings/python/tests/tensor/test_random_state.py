"""Seeds and states of generators: what repeats, bit for bit."""
import pathlib
import tempfile
import unittest

import weft
from weft import nn
from weft.nn import functional as F
from weft.utils.data import DataLoader, TensorDataset


class Training:
    """With every kind of draw: first values, shuffled batches, dropout, noise, coins, a checkpoint
    that is computed again."""

    def __init__(self):
        images = weft.randn(24, 6)
        self.data = TensorDataset(images, (images.sum(1) > 0).long())
        self.model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2))
        self.optimizer = weft.optim.AdamW(self.model.parameters(), lr=0.01)
        self.losses = []

    def epoch(self):
        for x, y in DataLoader(self.data, batch_size=7, shuffle=True):
            x = x + weft.randn(*x.shape) * 0.1
            x = x * weft.bernoulli(weft.full(tuple(x.shape), 0.9))
            hidden = weft.autograd.checkpoint(lambda t: F.dropout(self.model[0](t), 0.2), x)
            loss = F.cross_entropy(self.model[3](self.model[2](hidden)), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.losses.append(loss.item())

    def state(self):
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                "random": weft.get_rng_state()}

    def values(self):
        return self.losses, [p.tolist() for p in self.model.parameters()]


class Repeats(unittest.TestCase):
    def test_a_training_after_manual_seed(self):
        seen = []
        for seed in (7, 7, 8):
            weft.manual_seed(seed)
            training = Training()
            for _ in range(3):
                training.epoch()
            seen.append(training.values())
        self.assertEqual(seen[0], seen[1])
        self.assertNotEqual(seen[0][0], seen[2][0])

    def test_a_training_that_goes_on_from_a_file(self):
        weft.manual_seed(11)
        whole = Training()
        whole.epoch()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "state.safetensors"
            weft.save(whole.state(), path)
            done = len(whole.losses)
            whole.epoch()
            weft.manual_seed(11)
            resumed = Training()  # the data, which the seed makes
            weft.manual_seed(99)
            found = weft.load(path)
        resumed.model.load_state_dict(found["model"])
        resumed.optimizer.load_state_dict(found["optimizer"])
        weft.set_rng_state(found["random"])
        resumed.epoch()
        losses, values = whole.values()
        self.assertEqual(resumed.losses, losses[done:])
        self.assertEqual(resumed.values()[1], values)


class States(unittest.TestCase):
    def test_are_taken_and_set(self):
        for seed in (0, 5, 2**63, 2**64 - 1):
            self.assertIs(weft.manual_seed(seed), weft.default_generator)
            self.assertEqual(weft.initial_seed(), seed)
            weft.randn(3)
            state = weft.get_rng_state()
            first = [weft.randn(5).tolist(), weft.randperm(9).tolist(), weft.rand(2).tolist()]
            weft.set_rng_state(state)
            again = [weft.randn(5).tolist(), weft.randperm(9).tolist(), weft.rand(2).tolist()]
            self.assertEqual(first, again)
        weft.manual_seed(-1)
        self.assertEqual(weft.initial_seed(), 2**64 - 1)
        self.assertEqual(weft.Generator().manual_seed(-2).initial_seed(), 2**64 - 2)
        for wrong in (2**64, -2**63 - 1):
            with self.assertRaises(OverflowError):
                weft.manual_seed(wrong)
        for wrong in (None, 1.5, "1"):
            with self.assertRaises(TypeError):
                weft.manual_seed(wrong)
        for wrong in (weft.zeros(16), weft.zeros(3, dtype=weft.uint8)):
            with self.assertRaisesRegex(ValueError, "get_rng_state"):
                weft.set_rng_state(wrong)

    def test_seed_is_nobodys_choice(self):
        seeds = {weft.seed() for _ in range(4)}
        self.assertEqual(len(seeds), 4)
        self.assertIn(weft.initial_seed(), seeds)

    def test_the_zoos_dropout_draws_from_it(self):
        model = weft.models.create("mlp", hidden_units=16, dropout=True)
        x = weft.rand(2, 1, 28, 28, generator=weft.Generator(1))
        weft.manual_seed(3)
        first = [model(x).tolist() for _ in range(2)]
        self.assertNotEqual(*first)
        state = weft.get_rng_state()
        third = model(x).tolist()
        weft.manual_seed(3)
        self.assertEqual([model(x).tolist() for _ in range(2)], first)
        weft.set_rng_state(state)
        self.assertEqual(model(x).tolist(), third)
        state = weft.get_rng_state().tolist()
        model.eval()(x)
        self.assertEqual(weft.get_rng_state().tolist(), state)

    def test_generators_of_ones_own_stand_apart(self):
        weft.manual_seed(1)
        own = weft.Generator(2)
        want = weft.randn(4, generator=own).tolist()
        before = weft.get_rng_state().tolist()
        own.manual_seed(2)
        weft.randn(4, generator=own)
        self.assertEqual(weft.get_rng_state().tolist(), before)
        weft.manual_seed(1)
        self.assertEqual(weft.randn(4, generator=weft.Generator(2)).tolist(), want)
        state = own.get_state()
        one = weft.randperm(20, generator=own).tolist()
        own.set_state(state)
        self.assertEqual(weft.randperm(20, generator=own).tolist(), one)


class WithoutReplacement(unittest.TestCase):
    def test_shares_are_those_of_drawing_one_after_another(self):
        weft.manual_seed(2)
        drawn = weft.multinomial(weft.tensor([1.0, 2.0, 3.0]).expand(20000, 3), 2)
        self.assertEqual(int((drawn[:, 0] == drawn[:, 1]).sum()), 0)
        # First or, after one of the others, second: 1/6 + 2/6 * 1/4 + 3/6 * 1/3, and so on.
        for place, share in enumerate((5 / 12, 11 / 15, 17 / 20)):
            found = (drawn == place).any(1).float().mean().item()
            self.assertLess(abs(found - share), 0.015, (place, found))

    def test_what_cannot_be_drawn_is_refused(self):
        for weights in ([1.0, 0.0, 0.0], [1.0, -1.0, 1.0], [1.0, float("nan"), 1.0]):
            with self.assertRaisesRegex(ValueError, "multinomial"):
                weft.multinomial(weft.tensor(weights), 2)


if __name__ == "__main__":
    unittest.main()
