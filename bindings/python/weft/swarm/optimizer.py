"""SwarmOptimizer: a PyTorch optimizer whose steps are those of a whole swarm.

It works with anything that has `param_groups` (a list of dicts whose "params" have `.grad`),
step(), state_dict() and load_state_dict(); torch is imported only where the parameters are its.

With local_steps=1 each step() averages the gradients of all members and then steps, so all hold the
same parameters bit for bit. With more, members step alone; every local_steps-th step() averages how
far they have come and takes an outer step with Nesterov momentum from where they were last alike.
IMPLEMENTATION: A. Douillard et al., "DiLoCo: distributed low-communication training of language
models", 2023, algorithm 1; the inner optimizer's state stays with its member.

Threads and failures: those of weft.swarm.Swarm.
"""
import numpy

from .batch_statistics import BatchStatistics
from .group import check_arrays, check_weight, join, start, write
from .state import as_numpy, is_torch


def mean_of(sums, weight):
    """The mean as C++ gives it: zeros where nobody's part had a weight."""
    return sums / numpy.float32(weight) if weight != 0 else numpy.zeros_like(sums)


def as_float32(value):
    """(array, shared): float32 values of `value`, and whether they are its own memory."""
    if is_torch(value):
        tensor = value.detach()
        shared = (tensor.device.type == "cpu" and str(tensor.dtype) == "torch.float32"
                  and tensor.is_contiguous())
        return (tensor if shared else tensor.float().cpu().contiguous()).numpy(), shared
    array = as_numpy(value)
    if array.dtype == numpy.float32 and array.flags.c_contiguous and array.flags.writeable:
        return array, True
    return numpy.array(array, numpy.float32, order="C"), False


def put_float32(value, array):
    """`array` into the memory of `value`, in its type; whole numbers are rounded."""
    if is_torch(value):
        import torch
        given = torch.from_numpy(array).reshape(value.shape)
        write(value, given if value.is_floating_point() else given.round())
        return
    target = as_numpy(value)
    given = array.reshape(target.shape)
    target[...] = given if target.dtype.kind == "f" else numpy.rint(given)


def synchronised_layers(model):
    """Its weft.nn.SyncBatchNorm layers; a model of another framework has none."""
    from sys import modules
    if "weft.nn" not in modules or not isinstance(model, modules["weft.nn"].Module):
        return []
    kind = modules["weft.nn"].SyncBatchNorm
    return [layer for layer in model.modules() if isinstance(layer, kind)]


def share_statistics(layers, statistics):
    """Their forward passes go through `statistics`; None: they are those of BatchNorm."""
    from weft.nn import sync_batch_norm
    sync_batch_norm.share_statistics(layers, statistics)


class SwarmOptimizer:
    """A member of a swarm in place of `optimizer`; of a group of its own where `ticket` is None or
    empty. Its `ticket` lets others in.

    model: whose buffers are averaged, too (running statistics of batch norm), and whose
      weft.nn.SyncBatchNorm layers use the batches of all members.
    forwards: passes in training mode through each such layer between two calls of step(); of the
      group.
    scheduler: of `optimizer`'s learning rate; stepped here once a step, so that newcomers and
      members that catch up have the same one. Do not step it yourself.
    local_steps, outer_lr, outer_momentum: see above; of the group, so a joiner's are not looked at.
    options: of weft.swarm.start() or join(). Where the group exists already, options of the group
      are passed over.
    """

    def __init__(self, optimizer, ticket=None, *, model=None, scheduler=None, local_steps=1,
                 forwards=1, outer_lr=0.7, outer_momentum=0.9, **options):
        self.optimizer = optimizer
        self._scheduler = scheduler
        self._parameters = [parameter for group in optimizer.param_groups
                            for parameter in group["params"]
                            if getattr(parameter, "requires_grad", True)]
        self._buffers = list(model.buffers()) if model is not None else []
        self._layers = synchronised_layers(model)
        settings = {"local_steps": int(local_steps), "outer_lr": float(outer_lr),
                    "outer_momentum": float(outer_momentum), "forwards": int(forwards)}
        self._anchor = self._momentum = self._statistics = None
        self._steps_alone = 0
        self._open = None  # whether the round of this step is open; None: nobody has asked yet
        self._travelling = False  # backward() has given the gradients to it
        state = _State(self)
        if ticket:
            from .group import GROUP_OPTIONS
            own = {name: value for name, value in options.items() if name not in GROUP_OPTIONS}
            self.swarm = join(ticket, state, apply=self._apply, **own)
        else:
            self.swarm = start(state, apply=self._apply, settings=settings, **options)
        if self._statistics is not None:
            self._statistics.swarm = self.swarm
            share_statistics(self._layers, self._statistics)

    def _take(self, settings):
        """The group's settings, before the first state is loaded."""
        self.local_steps = int(settings["local_steps"])
        self._outer_lr = numpy.float32(settings["outer_lr"])
        self._outer_momentum = numpy.float32(settings["outer_momentum"])
        if self.local_steps < 1:
            raise ValueError(f"SwarmOptimizer: expected local_steps >= 1, got {self.local_steps}")
        if self.local_steps > 1:
            self._anchor = [as_float32(parameter)[0].copy() for parameter in self._parameters]
            self._momentum = [numpy.zeros_like(values) for values in self._anchor]
        elif self._layers:
            self._statistics = BatchStatistics(self._layers, int(settings.get("forwards", 1)),
                                               self._open_round)

    # --- As the optimizer itself.

    @property
    def param_groups(self):
        return self.optimizer.param_groups

    def __getattr__(self, name):
        if name == "optimizer":
            raise AttributeError(name)
        return getattr(self.optimizer, name)

    def zero_grad(self, *arguments, **options):
        self.optimizer.zero_grad(*arguments, **options)

    def step(self, closure=None, *, weight=1.0):
        """One step of the swarm with this member's gradients. weight: of this member's part, as the
        number of its samples. Gives what `closure` gives, which is called once."""
        loss = self._closure(closure)
        if self.local_steps == 1:
            self._step_together(weight)
        else:
            self._step_alone(weight)
        return loss

    def backward(self, loss, *, weight=1.0):
        """loss.backward(), during which each gradient travels as soon as it is complete, so that
        the next step() waits for the rest only. Gradients that earlier backward()s have left are
        added to. Between this and step() nothing may change them: clip before step() with the plain
        loss.backward(). With local_steps there is nothing to overlap, and it is the plain one."""
        hooked = [p for p in self._parameters if hasattr(p, "register_hook")]
        if self.local_steps > 1 or len(hooked) < len(self._parameters):
            loss.backward()
            return
        check_weight(weight)
        if not self._open_round():
            loss.backward()
            return
        self._weigh(weight)
        sizes, before = self._sizes(), self._apart()
        travelling = [numpy.empty(tuple(value.shape), numpy.float32)
                      for value in self._parameters + self._buffers]
        waiting = set(range(len(sizes)))

        def contribute(index, values):
            travelling[index][...] = values
            waiting.discard(index)
            self.swarm.contribute(before + index, travelling[index])

        def complete(index, parameter, gradient):
            sum_before = parameter.grad
            contribute(index, as_float32(gradient if sum_before is None
                                         else gradient + sum_before)[0])

        handles = [p.register_hook(lambda gradient, i=i, p=p: complete(i, p, gradient))
                   for i, p in enumerate(self._parameters)]
        try:
            loss.backward()
            for index in sorted(waiting):
                source = (self._gradients() + self._buffers)[index]
                contribute(index, as_float32(source)[0])
        except BaseException:
            self.swarm.close()  # others may hold pieces of a part that will not come again
            raise
        finally:
            for handle in handles:
                handle.remove()
        self._travelling = True

    def leave(self, timeout=10.0):
        """Leaves the swarm; the parameters stay as they are."""
        if self._statistics is not None:
            share_statistics(self._layers, None)
        self.swarm.leave(timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.leave()

    @property
    def ticket(self):
        return self.swarm.ticket

    @property
    def members(self):
        return self.swarm.members

    @property
    def round(self):
        return self.swarm.round

    @property
    def finished(self):
        return self.swarm.finished

    # --- Rounds.

    @staticmethod
    def _closure(closure):
        if closure is None:
            return None
        from sys import modules
        if "torch" not in modules:
            return closure()
        with modules["torch"].enable_grad():
            return closure()

    def _gradients(self):
        for parameter in self._parameters:
            if parameter.grad is None:
                parameter.grad = (parameter.new_zeros(tuple(parameter.shape))
                                  if hasattr(parameter, "new_zeros")
                                  else numpy.zeros_like(parameter))
        return [parameter.grad for parameter in self._parameters]

    def _sizes(self):
        return [int(numpy.prod(value.shape)) for value in self._parameters + self._buffers]

    def _apart(self):
        """The arrays of a round before the gradients."""
        return 0 if self._statistics is None else len(self._statistics.sizes)

    def _open_round(self):
        """Whether this step's round is open. It may open in the first layer that needs it."""
        if self._open is None:
            apart = [] if self._statistics is None else self._statistics.sizes
            self._open = self.swarm.open(apart + self._sizes(), weight=None, apart=len(apart))
        return self._open

    def _weigh(self, weight):
        self.swarm.weigh(weight)
        if self._statistics is not None:
            self._statistics.weight = weight

    def _step_together(self, weight):
        targets = self._gradients() + self._buffers
        if self._travelling:
            means = self._close_round()
            for value, mean in zip(targets, means):
                put_float32(value, mean)
        else:
            pairs = [as_float32(value) for value in targets]
            self._exchange([values for values, _ in pairs], weight)
            for value, (values, shared) in zip(targets, pairs):
                if not shared:
                    put_float32(value, values)
        self._step_optimizer()
        self.swarm.applied()

    def _exchange(self, arrays, weight):
        """The means of `arrays`, in place."""
        if self._open:
            self._weigh(weight)
            for index, values in enumerate(arrays, self._apart()):
                self.swarm.contribute(index, values)
            self._close_round()
            return
        apart = [] if self._statistics is None else self._statistics.zeros()
        self._begin_step()
        self.swarm.all_reduce(apart + arrays, weight=weight, apart=len(apart))

    def _close_round(self):
        """Waits for the round of this step; the means of the gradients and buffers."""
        apart = self._apart()
        if self._statistics is not None:
            self._statistics.fill()
        self._begin_step()
        return self.swarm.close_round()[apart:]

    def _begin_step(self):
        self._open, self._travelling = None, False
        if self._statistics is not None:
            self._statistics.begin_step()

    def _step_optimizer(self):
        self.optimizer.step()
        if self._scheduler is not None:
            self._scheduler.step()

    def _step_alone(self, weight):
        self._step_optimizer()
        self._steps_alone += 1
        if self._steps_alone < self.local_steps:
            return
        self._steps_alone = 0
        ways = [anchor - as_float32(parameter)[0]
                for anchor, parameter in zip(self._anchor, self._parameters)]
        buffers = [as_float32(buffer)[0].copy() for buffer in self._buffers]
        self.swarm.all_reduce(ways + buffers, weight=weight)
        self._step_outer(ways, buffers)
        self.swarm.applied()

    def _step_outer(self, ways, buffers):
        for parameter, anchor, momentum, way in zip(self._parameters, self._anchor, self._momentum,
                                                    ways):
            momentum *= self._outer_momentum
            momentum += way
            anchor -= self._outer_lr * (way + self._outer_momentum * momentum)
            put_float32(parameter, anchor)
        for buffer, values in zip(self._buffers, buffers):
            put_float32(buffer, values)

    def _apply(self, sums, weight):
        """The result of a round without a part of this member's own."""
        mean = mean_of(sums, weight)
        if self._statistics is not None:
            mean = mean[sum(self._statistics.sizes):]
        targets = (self._parameters if self.local_steps > 1 else self._gradients()) + self._buffers
        pieces, begin = [], 0
        for target in targets:
            size = int(numpy.prod(target.shape))
            pieces.append(mean[begin:begin + size].reshape(tuple(target.shape)))
            begin += size
        if begin != mean.size:
            raise ValueError(f"SwarmOptimizer: expected {begin} elements, got {mean.size}")
        if self.local_steps > 1:
            count = len(self._parameters)
            self._steps_alone = 0
            self._step_outer(pieces[:count], pieces[count:])
            return
        for target, values in zip(targets, pieces):
            put_float32(target, values)
        self._step_optimizer()


class _State:
    """What a SwarmOptimizer shares with its group, as weft.swarm.start() wants it."""

    def __init__(self, owner):
        self.owner = owner

    def begin(self, settings):
        self.owner._take(settings)

    def arrays(self):
        owner = self.owner
        named = {f"parameter {i}": value for i, value in enumerate(owner._parameters)}
        if owner._anchor is not None:
            named = {f"parameter {i}": value for i, value in enumerate(owner._anchor)}
            named.update((f"outer momentum {i}", value)
                         for i, value in enumerate(owner._momentum))
        named.update((f"buffer {i}", value) for i, value in enumerate(owner._buffers))
        return named

    def save(self):
        owner = self.owner
        tree = {"arrays": self.arrays(), "optimizer": owner.optimizer.state_dict()}
        if owner._scheduler is not None:
            tree["scheduler"] = {name: value
                                 for name, value in owner._scheduler.state_dict().items()
                                 if not callable(value)}
        return tree

    def load(self, tree):
        owner = self.owner
        named = self.arrays()
        check_arrays(tree["arrays"], named)
        for name, array in named.items():
            write(array, tree["arrays"][name])
        owner.optimizer.load_state_dict(tree["optimizer"])
        if owner._scheduler is not None:
            owner._scheduler.load_state_dict(tree["scheduler"])
        if owner._anchor is not None:
            owner._steps_alone = 0
            for parameter, anchor in zip(owner._parameters, owner._anchor):
                put_float32(parameter, anchor)
