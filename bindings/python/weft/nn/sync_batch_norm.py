"""SyncBatchNorm: batch normalisation over the batches of all members of a swarm."""
import weakref

from weft import _core, autograd
from weft.nn import functional as F
from weft.nn.norm import BatchNorm2d

# By layer: the weft.swarm.batch_statistics.BatchStatistics of the SwarmOptimizer that trains it.
_exchanges: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def share_statistics(layers, exchange):
    """From now on these layers use the batches of all members; None: their own."""
    for layer in layers:
        if exchange is None:
            _exchanges.pop(layer, None)
        else:
            _exchanges[layer] = exchange


def _by_channel(values, axes):
    """[C] as what broadcasts over an input of so many axes."""
    return values.reshape((1, -1) + (1,) * (axes - 2))


def _sums(*values):
    """The sums of each over all axes but that of the channels, one after the other, in float32."""
    axes = [axis for axis in range(values[0].ndim) if axis != 1]
    return _core.cat([each.sum(axes) for each in values])


class _Normalise(autograd.Function):
    """(x - mean) / sqrt(variance + eps) * weight + bias, where mean and variance are those of x and
    of the batches of others."""

    @staticmethod
    def forward(ctx, x, weight, bias, mean, variance, eps, gradient_sums, count):
        ctx.save_for_backward(x, weight)
        ctx.mean, ctx.scale = mean, (variance + eps).rsqrt()
        ctx.gradient_sums, ctx.count = gradient_sums, count
        scale, shift = (None if each is None else each.float() for each in (weight, bias))
        return F.batch_norm(x.float(), mean, variance, scale, shift, False, 0.0, eps).to(x.dtype)

    @staticmethod
    def backward(ctx, gradient):
        if _core.is_grad_enabled():
            raise NotImplementedError("SyncBatchNorm: the gradient has no derivative of its own; use "
                                      "BatchNorm, or backward() without create_graph=True")
        x, weight = ctx.saved_tensors
        axes = x.ndim
        upstream = gradient.float()
        normal = (x.float() - _by_channel(ctx.mean, axes)) * _by_channel(ctx.scale, axes)
        own = _sums(upstream, upstream * normal)
        bias_gradient, weight_gradient = own.chunk(2)
        pooled = ctx.gradient_sums(own)
        count = ctx.count
        if pooled is None:
            pooled, count = own, x.numel() // x.shape[1]
        first, second = (_by_channel(each / count, axes) for each in pooled.chunk(2))
        scale = ctx.scale if weight is None else ctx.scale * weight.float()
        back = (upstream - first - normal * second) * _by_channel(scale, axes)
        if weight is None:
            return back.to(x.dtype), None, None, None, None, None, None, None
        return (back.to(x.dtype), weight_gradient.to(weight.dtype), bias_gradient.to(weight.dtype),
                None, None, None, None, None)


class SyncBatchNorm(BatchNorm2d):
    """BatchNorm of [N, C, ...]. In a model that weft.swarm.SwarmOptimizer(..., model=model) trains
    step by step, mean and variance in training are those of the batches of all members, as if one
    machine had the whole batch: each forward and each backward pass waits for the others' sums. Of
    a process of its own, and with local_steps > 1, they are those of its own batch.

    Failures: those of weft.swarm.Swarm, and InvalidArgumentError for more passes than the swarm was
    begun with. The gradient has no derivative of its own.
    """

    _axes = tuple(range(2, 9))

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True,
                 track_running_stats=True, process_group=None, device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)
        self.process_group = process_group

    def forward(self, input):  # noqa: A002
        exchange = _exchanges.get(self) if self.training else None
        if exchange is None:
            return super().forward(input)
        self._check(input)
        number = exchange.next_pass(self)
        if number is None:
            return super().forward(input)
        with autograd.no_grad():
            mean, variance, count = self._pooled(input.detach(), exchange, number)
            self._track(mean, variance, count)
        return _Normalise.apply(
            input, self.weight, self.bias, mean, variance, self.eps,
            lambda own: _shared(exchange.gradient_sums, number, own), count)

    def _pooled(self, x, exchange, number):
        """(mean, variance, how many values) by channel, of the batches of all members."""
        # Far from 0 the squares would cancel, so they are those of the distance from a value that
        # all members have.
        shift = _core.zeros(self.num_features) if self.running_mean is None else (
            self.running_mean.float())
        distance = x.float() - _by_channel(shift, x.ndim)
        own = _core.cat([_sums(distance, distance * distance),
                         _core.tensor([float(x.numel() // x.shape[1])])])
        sums = _shared(exchange.batch_sums, number, own)
        sums = own if sums is None else sums
        count = sums[-1].item()
        if count <= 1:
            raise ValueError(f"SyncBatchNorm: expected more than 1 value per channel in all members' "
                             f"batches, got {count:.0f}")
        first, second = (each / count for each in sums[:-1].chunk(2))
        return shift + first, (second - first * first).clamp(min=0), count

    def _track(self, mean, variance, count):
        if self.running_mean is None:
            return
        self.num_batches_tracked.add_(1)
        momentum = self.momentum
        if momentum is None:
            momentum = 1.0 / self.num_batches_tracked.item()
        for kept, new in ((self.running_mean, mean),
                          (self.running_var, variance * (count / (count - 1)))):
            kept.mul_(1 - momentum).add_(new.to(kept.dtype), alpha=momentum)

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """The module with each BatchNorm replaced by a SyncBatchNorm of the same values."""
        if isinstance(module, BatchNorm2d) and not isinstance(module, cls):
            made = cls(module.num_features, module.eps, module.momentum, module.affine,
                       module.track_running_stats, process_group)
            made.training = module.training
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                setattr(made, name, getattr(module, name))
            return made
        for name, part in list(module.named_children()):
            module._modules[name] = cls.convert_sync_batchnorm(part, process_group)
        return module


def _shared(sums, number, own):
    """sums() of a tensor's values, as a tensor."""
    pooled = sums(number, own.numpy().copy())
    return None if pooled is None else _core.from_numpy(pooled)
