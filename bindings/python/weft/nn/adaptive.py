"""AdaptiveLogSoftmaxWithLoss: a softmax over many classes of which a few are frequent."""
import collections

from weft import _core
from weft.nn import functional as F
from weft.nn.containers import ModuleList, Sequential
from weft.nn.functional_module import placed
from weft.nn.layers import Linear, expect, whole
from weft.nn.module import Module

ASMoutput = collections.namedtuple("ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Grave et al., 2017: classes come sorted by frequency. The head has logits of those below
    cutoffs[0] and of one cluster for the classes up to each later cutoff; the tail of a cluster
    computes only for samples of its classes, in fewer features from cluster to cluster.

    forward(input [N, in_features], target [N]) gives (output, loss): the log probability of each
    target [N], and minus their mean."""

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None,
                 dtype=None):
        super().__init__()
        name = type(self).__name__
        whole(name, in_features=in_features, n_classes=n_classes)
        cutoffs = list(cutoffs)
        for each in cutoffs:
            whole(name, **{"cutoffs[i]": each})
        expect(cutoffs and cutoffs == sorted(set(cutoffs)) and cutoffs[-1] < n_classes, name,
               f"cutoffs as whole numbers that rise from at least 1 to at most {n_classes - 1}, "
               "n_classes - 1", cutoffs)
        expect(div_value > 0, name, "div_value above 0", div_value)
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs, self.div_value, self.head_bias = [*cutoffs, n_classes], div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            width = int(in_features // div_value ** (i + 1))
            expect(width >= 1, name, f"in_features of at least {div_value ** self.n_clusters:g}, "
                   "div_value to the number of clusters", in_features)
            self.tail.append(Sequential(Linear(in_features, width, bias=False),
                                        Linear(width, high - low, bias=False)))
        placed(self, device, dtype)

    def reset_parameters(self):
        """New first values."""
        for layer in self.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, input, target):  # noqa: A002
        single = target.ndim == 0
        x, target = (input.unsqueeze(0), target.unsqueeze(0)) if single else (input, target)
        self._check(x)
        expect(target.ndim == 1 and target.shape[0] == x.shape[0], type(self).__name__,
               f"a target for each of {x.shape[0]} samples", f"shape {list(target.shape)}")
        low, high = (target.min().item(), target.max().item()) if target.numel() else (0, 0)
        expect(0 <= low and high < self.n_classes, type(self).__name__,
               f"targets in [0, {self.n_classes})", f"values from {low} to {high}")
        columns = target.clone()  # in the head: the class itself, or its cluster
        clusters = []
        for i, (start, end) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            rows = ((target >= start) & (target < end)).nonzero().squeeze(1)
            if rows.numel():
                columns[rows] = self.shortlist_size + i
                clusters.append((i, rows, (target[rows] - start).unsqueeze(1)))
        found = F.log_softmax(self.head(x), 1).gather(1, columns.unsqueeze(1)).squeeze(1)
        for i, rows, within in clusters:
            own = F.log_softmax(self.tail[i](x.index_select(0, rows)), 1)
            found = found.index_add(0, rows, own.gather(1, within).squeeze(1))
        return ASMoutput(found.squeeze(0) if single else found, -found.mean())

    def _check(self, input):  # noqa: A002
        expect(input.ndim == 2 and input.shape[1] == self.in_features, type(self).__name__,
               f"[N, {self.in_features}]", list(input.shape))

    def log_prob(self, input):  # noqa: A002
        """[N, n_classes]: the log probabilities of all classes."""
        self._check(input)
        head = F.log_softmax(self.head(input), 1)
        parts = [head[:, :self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            cluster = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(F.log_softmax(tail(input), 1) + cluster)
        return _core.cat(parts, 1)

    def predict(self, input):  # noqa: A002
        """[N]: the class of the highest probability."""
        return self.log_prob(input).argmax(1)
