"""LSTM with projections (Sak et al., 2014): the hidden state is a product of a smaller width."""
from weft import _core
from weft.nn import functional as F


def projected_lstm(x, weights, state, lengths=None, reverse=False):
    """[T, N, input] to ([T, N, projection], last hidden state, last cell), step by step.

    weights: of the input [4 H, input], of the state [4 H, projection], of the projection
    [projection, H], and the two biases or none. Steps from a sequence's length on are padding, which
    changes no state."""
    of_input, of_state, projection = weights[0], weights[1], weights[-1]
    biases = weights[2:-1]
    parts = F.linear(x, of_input, biases[0] + biases[1] if biases else None)
    hidden, cell = state
    if hidden is None:
        hidden = _core.zeros(x.shape[1], projection.shape[0], dtype=x.dtype)
        cell = _core.zeros(x.shape[1], projection.shape[1], dtype=x.dtype)
    outputs = [None] * x.shape[0]
    for t in reversed(range(x.shape[0])) if reverse else range(x.shape[0]):
        gates = (parts[t] + F.linear(hidden, of_state)).chunk(4, 1)
        enter, forget, leave = (gates[i].sigmoid() for i in (0, 1, 3))
        now = forget * cell + enter * gates[2].tanh()
        out = F.linear(leave * now.tanh(), projection)
        if lengths is None:
            hidden, cell = out, now
        else:
            inside = (lengths > t).unsqueeze(1)
            hidden, cell = _core.where(inside, out, hidden), _core.where(inside, now, cell)
        outputs[t] = hidden
    return _core.stack(outputs), hidden, cell
