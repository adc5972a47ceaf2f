"""Experts for parts of the data, and the router that says which of them a noisy sample needs."""
from typing import Any, Optional, Sequence

import weft
from weft import _core, nn
from weft.diffusion.flow import Velocity, noised


class Experts(nn.Module):
    """The velocity of all experts together: sum_k w_k(x, t) u_k(x, t), where w is softmax of
    router(x, t) [N, K]. With top_k, only that many experts with the largest weights count, and their
    weights are scaled to the sum 1; an expert computes the samples that need it, no others. 0: all.

    The router is trained on noisy samples with router_loss(); the experts may come from anywhere, as
    long as they were trained for the same noise and on samples of the same scale."""

    def __init__(self, experts: Sequence[nn.Module], router: nn.Module, top_k: int = 2) -> None:
        super().__init__()
        experts = list(experts)
        if not experts:
            raise _core.InvalidArgumentError("[Experts] expected at least one expert, got none")
        if not isinstance(top_k, int) or not 0 <= top_k <= len(experts):
            raise _core.InvalidArgumentError(
                f"[Experts] expected top_k from 0 to {len(experts)}, got {top_k!r}")
        self.experts = nn.ModuleList(experts)
        self.router = router
        self.top_k = top_k

    def weights(self, x: weft.Tensor, t: weft.Tensor) -> weft.Tensor:
        """[N, K], each row with the sum 1; 0 for experts that do not count."""
        logits = self.router(x, t)
        if tuple(logits.shape) != (len(x), len(self.experts)):
            raise _core.InvalidArgumentError(
                f"[Experts] expected router(x, t) of shape {[len(x), len(self.experts)]}, got "
                f"{list(logits.shape)}")
        if 0 < self.top_k < len(self.experts):
            best = logits.topk(self.top_k, dim=1).indices
            counts = weft.zeros_like(logits).scatter(1, best, 1.0)
            logits = logits.masked_fill(counts == 0, float("-inf"))
        return logits.softmax(dim=1)

    def forward(self, x: weft.Tensor, t: weft.Tensor) -> weft.Tensor:
        weights = self.weights(x, t)
        total = weft.zeros_like(x)
        for k, expert in enumerate(self.experts):
            rows = weights[:, k].nonzero().reshape(-1)
            if len(rows) == 0:
                continue
            share = weights[rows, k].reshape(-1, *[1] * (x.dim() - 1))
            total = total.index_add(0, rows, share * expert(x[rows], t[rows]))
        return total

    def extra_repr(self) -> str:
        return f"top_k={self.top_k}"


def router_loss(router: Velocity, x: weft.Tensor, clusters: weft.Tensor,
                generator: Optional[Any] = None) -> weft.Tensor:
    """The cross entropy of router(x_t, t) [N, K] with the clusters [N] of samples x [N, ...], each
    with noise and a t of its own. Draw batches from all clusters as often as they come in the data:
    the share of a cluster is a part of its weight."""
    between, t, _ = noised(x, None, generator)
    return nn.functional.cross_entropy(router(between, t), clusters)
