"""Recurrent layers, packed sequences and transformers beside PyTorch's."""
import unittest

import numpy as np

import weft
from oracle import array, assert_close, load_into_torch, needs_torch, torch
from weft import nn

RECURRENT = ["LSTM(3, 4)", "LSTM(3, 4, 2, bidirectional=True)", "LSTM(3, 4, bias=False)",
             "GRU(3, 4, num_layers=2, batch_first=True)", "GRU(3, 4, bidirectional=True)",
             "RNN(3, 4, nonlinearity='relu')", "RNN(3, 4, 2, bidirectional=True)",
             "LSTM(3, 4, 2, proj_size=2, bidirectional=True)", "LSTM(3, 4, bias=False, proj_size=3)"]


def made(text, namespace):
    return eval(text, dict(vars(namespace)))


def pair(text):
    weft.manual_seed(1)
    ours, theirs = made(text, nn), made(text, torch.nn)
    load_into_torch(theirs, ours)
    return ours, theirs


def flat(result):
    """Tensors of a result, in order."""
    return [each for part in result for each in flat(part)] if isinstance(result, tuple) else [
        result]


@needs_torch
class Recurrent(unittest.TestCase):
    def compare(self, ours, theirs, ours_result, theirs_result):
        got, want = flat(ours_result), flat(theirs_result)
        self.assertEqual(len(got), len(want))
        for y, z in zip(got, want):
            assert_close(y, z, 1e-4, 1e-5)
        sum((y * y).sum() for y in got).backward()
        sum((z * z).sum() for z in want).backward()
        for (name, p), (_, q) in zip(ours.named_parameters(), theirs.named_parameters()):
            assert_close(p.grad, q.grad, 1e-3, 1e-4)

    def test_batches_single_sequences_and_states(self):
        for text in RECURRENT:
            with self.subTest(text):
                ours, theirs = pair(text)
                self.assertEqual(list(ours.state_dict()), list(theirs.state_dict()))
                x = array(5, 2, 3)
                self.compare(ours, theirs, ours(weft.tensor(x)), theirs(torch.tensor(x)))
                x = array(5, 3)
                self.compare(ours, theirs, ours(weft.tensor(x)), theirs(torch.tensor(x)))
                x, batch = array(5, 5, 3), 5
                h = array(theirs.num_layers * (1 + theirs.bidirectional), batch, 4, seed=1)
                short = h[..., :theirs.proj_size or 4]
                states = [(n.tensor(short), n.tensor(h * 2)) if "LSTM" in text else n.tensor(h)
                          for n in (weft, torch)]
                self.compare(ours, theirs, ours(weft.tensor(x), states[0]),
                             theirs(torch.tensor(x), states[1]))

    def test_packed_sequences(self):
        x = array(6, 3, 3)
        for text in RECURRENT:
            for lengths, sorted_ in (([6, 4, 1], True), ([2, 6, 3], False)):
                if "batch_first" in text:
                    continue
                with self.subTest(text, lengths=lengths):
                    ours, theirs = pair(text)
                    results = []
                    for module, n, library in ((ours, weft, nn), (theirs, torch, torch.nn)):
                        rnn = library.utils.rnn
                        packed = rnn.pack_padded_sequence(n.tensor(x), n.tensor(lengths),
                                                          enforce_sorted=sorted_)
                        y, last = module(packed)
                        padded, counts = rnn.pad_packed_sequence(y, padding_value=-1.0,
                                                                 total_length=7)
                        self.assertEqual(counts.tolist(), lengths)
                        results.append((y.data, padded, last))
                    self.compare(ours, theirs, *results)

    def test_cells(self):
        for text in ("LSTMCell(3, 4)", "GRUCell(3, 4, bias=False)", "RNNCell(3, 4)",
                     "RNNCell(3, 4, nonlinearity='relu')"):
            with self.subTest(text):
                ours, theirs = pair(text)
                self.compare(ours, theirs, ours(weft.tensor(array(2, 3))),
                             theirs(torch.tensor(array(2, 3))))
                h = array(2, 4, seed=2)
                states = [(n.tensor(h), n.tensor(h)) if "LSTM" in text else n.tensor(h)
                          for n in (weft, torch)]
                self.compare(ours, theirs, ours(weft.tensor(array(2, 3)), states[0]),
                             theirs(torch.tensor(array(2, 3)), states[1]))

    def test_padding(self):
        rows = [array(n, 2, seed=n) for n in (3, 1, 4)]
        for first in (True, False):
            got = nn.utils.rnn.pad_sequence([weft.tensor(r) for r in rows], first, 7.0)
            assert_close(got, torch.nn.utils.rnn.pad_sequence([torch.tensor(r) for r in rows],
                                                              first, 7.0))
        packed = nn.utils.rnn.pack_sequence([weft.tensor(r) for r in rows], enforce_sorted=False)
        for back, row in zip(nn.utils.rnn.unpack_sequence(packed), rows):
            assert_close(back, row)

    def test_refusals(self):
        x = weft.ones(4, 2, 3)
        for call, text in (
                (lambda: nn.utils.rnn.pack_padded_sequence(x, [2, 4]), "enforce_sorted=False"),
                (lambda: nn.utils.rnn.pack_padded_sequence(x, [5, 1]), "lengths from 1 to 4"),
                (lambda: nn.LSTM(2, 4)(x), r"\[T, 2\]"),
                (lambda: nn.LSTM(3, 4, proj_size=2)(x, (x, x)), r"state of shape \[1, .*, 2\]"),
                (lambda: nn.GRU(3, 4)(x, weft.ones(1, 1, 4)), "state of shape")):
            with self.assertRaisesRegex(ValueError, text):
                call()


@needs_torch
class Attention(unittest.TestCase):
    def test_other_widths_learned_keys_and_zeros(self):
        for settings in ({"kdim": 5, "vdim": 7}, {"add_bias_kv": True}, {"add_zero_attn": True},
                         {"bias": False, "add_bias_kv": True, "add_zero_attn": True}):
            for single in (False, True):
                with self.subTest(settings, single=single):
                    weft.manual_seed(2)
                    ours, theirs = (n.MultiheadAttention(8, 2, **settings) for n in (nn, torch.nn))
                    load_into_torch(theirs, ours)
                    q, k, v = (array(n, 3, width) for n, width in (
                        (4, 8), (6, settings.get("kdim", 8)), (6, settings.get("vdim", 8))))
                    padding = np.zeros((3, 6), bool)
                    padding[0, 4:] = True
                    if single:
                        q, k, v, padding = q[:, 0], k[:, 0], v[:, 0], padding[0]
                    for average in (True, False):
                        got, want = (
                            module(*(n.tensor(x) for x in (q, k, v)),
                                   key_padding_mask=n.tensor(padding),
                                   average_attn_weights=average)
                            for module, n in ((ours, weft), (theirs, torch)))
                        assert_close(got[0], want[0], 1e-4, 1e-5)
                        assert_close(got[1], want[1], 1e-4, 1e-5)

    def test_transformer_layers_and_stacks(self):
        x, memory = array(5, 3, 8), array(6, 3, 8, seed=1)
        for settings in ({}, {"norm_first": True, "activation": "gelu"}, {"batch_first": True}):
            with self.subTest(settings):
                weft.manual_seed(3)
                models = [n.Transformer(8, 2, 2, 2, 16, 0.0, **settings) for n in (nn, torch.nn)]
                ours, theirs = models
                self.assertEqual(list(ours.state_dict()), list(theirs.state_dict()))
                load_into_torch(theirs, ours)
                results = []
                for model, n in ((ours, weft), (theirs, torch)):
                    source, target = n.tensor(memory), n.tensor(x)
                    if settings.get("batch_first"):
                        source, target = source.transpose(0, 1), target.transpose(0, 1)
                    mask = model.generate_square_subsequent_mask(5)
                    padding = n.tensor(np.arange(6)[None, :] >= np.array([6, 4, 5])[:, None])
                    y = model(source, target, tgt_mask=mask, src_key_padding_mask=padding,
                              memory_key_padding_mask=padding)
                    (y * y * y).sum().backward()
                    results.append(y)
                assert_close(*results, 1e-4, 1e-4)
                for (name, p), (_, q) in zip(ours.named_parameters(), theirs.named_parameters()):
                    assert_close(p.grad, q.grad, 1e-2, 5e-3)

    def test_an_encoder_alone(self):
        weft.manual_seed(4)
        models = [n.TransformerEncoder(n.TransformerEncoderLayer(8, 2, 16, 0.0), 2,
                                       n.LayerNorm(8)) for n in (nn, torch.nn)]
        load_into_torch(models[1], models[0])
        x = array(5, 3, 8)
        assert_close(models[0](weft.tensor(x)), models[1](torch.tensor(x)), 1e-4, 1e-5)
        with self.assertRaisesRegex(ValueError, "activation"):
            nn.TransformerEncoderLayer(8, 2, activation="swish")
