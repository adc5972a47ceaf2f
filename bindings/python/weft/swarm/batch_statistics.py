"""BatchStatistics: what the SyncBatchNorm layers of a swarm's members exchange in each round.

A round of a SwarmOptimizer then has, before the gradients, two arrays for each forward pass through
such a layer: the sums over the batch, which the others' layers wait for in forward, and the sums
over its gradients, in backward. Each is an exchange of its own, in float32 whatever the group's
`wire` is, as long as it is small. If the group changes in the middle of a round, this member's step
goes on with the statistics of its own batch, and the round is run again with the parts as they are.
"""
import numpy

import weft

# Exchanges of a round, without the one of the gradients.
EXCHANGES_MAX = 249


class BatchStatistics:
    """The exchange of one member. open_round() -> whether a round is open that takes its parts."""

    def __init__(self, layers, forwards, open_round):
        if forwards < 1:
            raise weft.InvalidArgumentError(
                f"SwarmOptimizer: expected forwards >= 1, got {forwards}")
        self._layers = {id(layer): number for number, layer in enumerate(layers)}
        self._forwards, self._open_round = forwards, open_round
        widths = [layer.num_features for layer in layers] * forwards
        self._passes = len(widths)
        self.sizes = [2 * width + 1 for width in widths] + [2 * width for width in widths]
        if len(self.sizes) > EXCHANGES_MAX:
            raise weft.InvalidArgumentError(
                f"SwarmOptimizer: expected at most {EXCHANGES_MAX // 2} forward passes through "
                f"SyncBatchNorm layers a step, got {len(layers)} layers times forwards={forwards}; "
                "leave some of them BatchNorm layers")
        self.swarm, self.weight = None, None
        self.begin_step()

    def begin_step(self):
        """Nothing has been given yet."""
        self._calls = [0] * len(self._layers)
        self._parts = [None] * len(self.sizes)
        self._alone = False
        self.weight = None

    def zeros(self):
        """The parts of a member without a batch."""
        return [numpy.zeros(size, numpy.float32) for size in self.sizes]

    def fill(self):
        """Gives zeros for the passes that were not made."""
        for index, part in enumerate(self._parts):
            if part is None:
                self._give(index, numpy.zeros(self.sizes[index], numpy.float32), False)

    # --- The layers.

    def next_pass(self, layer):
        """The number of this forward pass among those of the step; None: it counts alone."""
        if self.swarm is None or not self._open_round():
            return None
        number = self._layers[id(layer)]
        before = self._calls[number]
        if before == self._forwards:
            raise weft.InvalidArgumentError(
                f"SyncBatchNorm: expected {self._forwards} forward passes in training mode for each "
                "step() of the SwarmOptimizer, got another; call step(), or eval() for a pass that "
                "is no part of the training, or begin the swarm with forwards= that many")
        self._calls[number] = before + 1
        return before * len(self._layers) + number

    def batch_sums(self, number, values):
        """The sums of `values` over the batches of all members; None: only this member's count."""
        return self._summed(number, values, False)

    def gradient_sums(self, number, values):
        """Those of the gradients, in units of this member's: a part with twice the weight counts
        twice."""
        weight = self.weight
        sums = self._summed(self._passes + number, values, weight is not None)
        if sums is None or weight in (None, 1):
            return sums
        return sums / numpy.float32(weight) if weight else None

    def _summed(self, index, values, weighted):
        if self._parts[index] is not None:
            raise weft.InvalidArgumentError(
                "SyncBatchNorm: expected one backward pass for each forward pass, got another")
        self._give(index, values, weighted)
        if self._alone:
            return None
        sums = numpy.empty_like(values)
        self._alone = not self.swarm.early_sums(index, sums)
        return None if self._alone else sums

    def _give(self, index, values, weighted):
        self._parts[index] = values
        self.swarm.contribute(index, values, weighted=weighted)
