"""RNN, LSTM and GRU over sequences, padded or packed, and their cells."""
from weft import _core
from weft.nn import functional as F
from weft.nn.functional_module import placed
from weft.nn.layers import expect, uniform, whole
from weft.nn.module import Module
from weft.nn.projected import projected_lstm
from weft.nn.utils.rnn import PackedSequence, pack_padded, padded_of

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """What RNN, LSTM and GRU share: names and shapes of weights, layers and directions.

    The native layers take time first; a packed sequence goes in as a padded one with lengths."""

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False,
                 dropout=0.0, bidirectional=False, proj_size=0, device=None, dtype=None):
        super().__init__()
        name = type(self).__name__
        expect(mode in _GATES, name, f"a mode of {', '.join(_GATES)}", mode)
        whole(name, hidden_size=hidden_size, num_layers=num_layers)
        whole(name, 0, input_size=input_size)
        expect(0.0 <= dropout <= 1.0, name, "dropout in [0, 1]", dropout)
        whole(name, 0, proj_size=proj_size)
        expect(proj_size == 0 or mode == "LSTM" and proj_size < hidden_size, name,
               f"a proj_size below hidden_size={hidden_size}, of an LSTM, or 0", proj_size)
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.proj_size = float(dropout), bidirectional, proj_size
        rows = _GATES[mode] * hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else self._width * self._directions
            for suffix in self._suffixes(layer):
                shapes = {"weight_ih": (rows, width), "weight_hh": (rows, self._width)}
                if bias:
                    shapes.update(bias_ih=(rows,), bias_hh=(rows,))
                if proj_size:
                    shapes.update(weight_hr=(proj_size, hidden_size))
                for part, shape in shapes.items():
                    setattr(self, part + suffix, uniform(shape, hidden_size))
        placed(self, device, dtype)

    @property
    def _directions(self):
        return 2 if self.bidirectional else 1

    @property
    def _width(self):
        """How wide the hidden state and the outputs of one direction are."""
        return self.proj_size or self.hidden_size

    def _suffixes(self, layer):
        return [f"_l{layer}", f"_l{layer}_reverse"][:self._directions]

    @property
    def all_weights(self):
        """The parameters of each layer and direction."""
        parts = (*("weight_ih", "weight_hh", "bias_ih", "bias_hh")[:4 if self.bias else 2],
                 *(("weight_hr",) if self.proj_size else ()))
        return [[getattr(self, part + suffix) for part in parts]
                for layer in range(self.num_layers) for suffix in self._suffixes(layer)]

    def flatten_parameters(self):
        """Does nothing: for programs that call it for the sake of a GPU."""

    def _first_state(self, hx, batch):
        """A list of (hidden, cell or None) for each layer and direction; hx may be None."""
        count = self.num_layers * self._directions
        if hx is None:
            return [(None, None)] * count
        parts = hx if self.mode == "LSTM" else (hx,)
        if not isinstance(parts, (tuple, list)) or len(parts) != (2 if self.mode == "LSTM" else 1):
            raise TypeError("LSTM expects its state as (hidden, cell)")
        for part, width in zip(parts, (self._width, self.hidden_size)):
            wanted = (count, batch, width)
            expect(tuple(part.shape) == wanted, type(self).__name__,
                   f"a state of shape {list(wanted)}", list(part.shape))
        return [tuple(part[i] for part in parts) + (None,) * (2 - len(parts))
                for i in range(count)]

    def _run(self, x, states, lengths):
        """(outputs [T, N, directions width], last states of each layer and direction)."""
        steps, last = x.shape[0], []
        for layer in range(self.num_layers):
            outputs = []
            for direction in range(self._directions):
                place = layer * self._directions + direction
                weights, reverse = self.all_weights[place], direction == 1
                if self.proj_size:
                    y, *states_now = projected_lstm(x, weights, states[place], lengths, reverse)
                    outputs.append(y)
                    last.append(states_now)
                    continue
                weights = weights + [None] * (4 - len(weights))
                result = _core._recurrent(self.mode, x, weights, list(states[place]), lengths,
                                          reverse)
                outputs.append(result.narrow(0, 0, steps))
                last.append([result[steps + i] for i in range(result.shape[0] - steps)])
            x = outputs[0] if len(outputs) == 1 else _core.cat(outputs, 2)
            if self.training and layer + 1 < self.num_layers:
                x = F.dropout(x, self.dropout)
        return x, [_core.stack(parts) for parts in zip(*last)]

    def forward(self, input, hx=None):  # noqa: A002
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        expect(input.ndim in (2, 3) and input.shape[-1] == self.input_size, type(self).__name__,
               f"[T, {self.input_size}] or a batch of such sequences", list(input.shape))
        single = input.ndim == 2
        if single:
            x = input.unsqueeze(1)
            if hx is not None:
                hx = (tuple(h.unsqueeze(1) for h in hx) if isinstance(hx, (tuple, list))
                      else hx.unsqueeze(1))
        else:
            x = input.transpose(0, 1) if self.batch_first else input
        y, last = self._run(x, self._first_state(hx, x.shape[1]), None)
        if single:
            y, last = y.squeeze(1), [part.squeeze(1) for part in last]
        elif self.batch_first:
            y = y.transpose(0, 1)
        return y, tuple(last) if self.mode == "LSTM" else last[0]

    def _forward_packed(self, packed, hx):
        x, lengths = padded_of(packed)
        order, back = packed.sorted_indices, packed.unsorted_indices
        if hx is not None and order is not None:
            hx = (tuple(h.index_select(1, order) for h in hx) if isinstance(hx, (tuple, list))
                  else hx.index_select(1, order))
        y, last = self._run(x, self._first_state(hx, x.shape[1]), lengths)
        if back is not None:
            last = [part.index_select(1, back) for part in last]
        result = PackedSequence(pack_padded(y, packed.batch_sizes), packed.batch_sizes, order, back)
        return result, tuple(last) if self.mode == "LSTM" else last[0]

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False),
                            ("dropout", 0.0), ("bidirectional", False)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text


class RNN(RNNBase):
    """h' = tanh(W x + b + V h + c), or relu with nonlinearity="relu"."""

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True,
                 batch_first=False, dropout=0.0, bidirectional=False, device=None, dtype=None):
        expect(nonlinearity in ("tanh", "relu"), "RNN", "nonlinearity tanh or relu", nonlinearity)
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias,
                         batch_first, dropout, bidirectional, 0, device, dtype)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Hochreiter and Schmidhuber, 1997, with a forget gate; states are (hidden, cell)."""

    def __init__(self, *args, **settings):
        super().__init__("LSTM", *args, **settings)


class GRU(RNNBase):
    """Cho et al., 2014, in PyTorch's form."""

    def __init__(self, *args, **settings):
        super().__init__("GRU", *args, **settings)


class RNNCellBase(Module):
    """One step of a recurrent layer: [N, input_size] or [input_size]."""

    _mode = ""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = _GATES[self._mode] * hidden_size
        self.weight_ih = uniform((rows, input_size), hidden_size)
        self.weight_hh = uniform((rows, hidden_size), hidden_size)
        self.register_parameter("bias_ih", uniform((rows,), hidden_size) if bias else None)
        self.register_parameter("bias_hh", uniform((rows,), hidden_size) if bias else None)
        placed(self, device, dtype)

    def _step(self, input, states):  # noqa: A002
        expect(input.ndim in (1, 2) and input.shape[-1] == self.input_size, type(self).__name__,
               f"[N, {self.input_size}] or [{self.input_size}]", list(input.shape))
        single = input.ndim == 1
        x, states = (input, states) if not single else (
            input.unsqueeze(0), [None if s is None else s.unsqueeze(0) for s in states])
        weights = [self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh]
        result = _core._recurrent(self._mode, x.unsqueeze(0), weights, states)
        last = [result[i] for i in range(1, result.shape[0])]
        return [part.squeeze(0) for part in last] if single else last

    def forward(self, input, hx=None):  # noqa: A002
        return self._step(input, [hx, None])[0]

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(RNNCellBase):
    """One step of an RNN."""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None,
                 dtype=None):
        expect(nonlinearity in ("tanh", "relu"), "RNNCell", "nonlinearity tanh or relu",
               nonlinearity)
        self.__dict__["_mode"] = f"RNN_{nonlinearity.upper()}"
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity


class LSTMCell(RNNCellBase):
    """One step of an LSTM: gives (hidden, cell)."""

    _mode = "LSTM"

    def forward(self, input, hx=None):  # noqa: A002
        return tuple(self._step(input, [None, None] if hx is None else list(hx)))


class GRUCell(RNNCellBase):
    """One step of a GRU."""

    _mode = "GRU"
