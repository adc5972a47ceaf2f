"""One run of a function with its history, from which derivatives are taken."""
import contextlib
import threading

from weft import _core
from weft._batched import levels
from weft._derivatives.trees import depends, leaves, mapped, tensors

Tensor = _core.Tensor
_local = threading.local()
MAY_KEEP = "may keep"


def refuse(name, expected, got):
    """The error of an argument that does not fit."""
    return _core.InvalidArgumentError(f"[func.{name}] expected {expected}, got {got}")


class Work:
    """What working() gives: `keeps`, whether results have to keep their history, as the arguments
    require gradients, or as another function of weft.func will differentiate them again. MAY_KEEP:
    only if all operations have second derivatives."""

    def __init__(self, args):
        self._recorded = _core.is_grad_enabled()
        self.keeps = self._recorded and (getattr(_local, "depth", 0) > 0 or depends(args))

    def reaches(self, outputs, inputs):
        """Sets `keeps` to MAY_KEEP where the outputs depend on tensors with gradients besides the
        inputs: those that the function finds elsewhere, as a model's parameters."""
        if self._recorded and not self.keeps and _core._depends_on_others(
                list(outputs), list(inputs)):
            self.keeps = MAY_KEEP


@contextlib.contextmanager
def working(args):
    """History is recorded within; gives a Work."""
    work, mode = Work(args), _core._GradMode(True)
    depth = _local.depth = getattr(_local, "depth", 0) + 1
    mode.enter()
    try:
        yield work
    finally:
        mode.leave()
        _local.depth = depth - 1


def leaf_of(name, tensor):
    """The tensor by which a function of `tensor` is differentiated."""
    if not tensor.is_floating_point():
        raise refuse(name, "arguments of a floating type", f"{tensor.dtype}: convert it with "
                     ".float(), or leave it out of argnums")
    own = tensor * 1 if tensor.requires_grad else tensor.detach().requires_grad_()
    return levels.per_sample(own)


def places_of(name, argnums, args):
    """The arguments by position that `argnums` names, counted from the front."""
    places = argnums if isinstance(argnums, tuple) else (argnums,)
    if not places:
        raise refuse(name, "argnums of at least one argument", "()")
    for place in places:
        if not hasattr(place, "__index__"):
            raise TypeError(f"{name}(): argument 'argnums' must be int or a tuple of those, got "
                            f"{type(place).__name__}")
        if not -len(args) <= place < len(args):
            raise refuse(name, f"argnums of {len(args)} arguments by position", place)
    return tuple(place % len(args) for place in places)


def slopes(outputs, inputs, seeds, keeps, retains=True):
    """The gradients of the sum of seed . output for each of the inputs; 0 where there is none.

    keeps: they have a history (see Work); retains: that of the outputs stays for further passes."""
    pairs = [(each, seed) for each, seed in zip(outputs, seeds) if each.requires_grad]
    if not pairs or not inputs:
        return [_core.zeros_like(each) for each in inputs]
    from weft import autograd

    outputs, seeds = map(list, zip(*pairs))

    def passed(creates):
        return autograd.grad(outputs, inputs, seeds, retain_graph=retains or creates,
                             create_graph=creates, allow_unused=True)

    try:
        found = passed(bool(keeps))
    except _core.InvalidArgumentError:
        if keeps is not MAY_KEEP:
            raise
        found = passed(False)
    return [_core.zeros_like(leaf) if each is None else each for each, leaf in zip(found, inputs)]


class Run:
    """func(*args, **keywords) with its history.

    output: what it gave, a tree of tensors; aux: what came beside it. outputs, leaves: the tensors
    of the output and of the differentiated arguments."""

    def __init__(self, name, func, args, places, keywords=None, has_aux=False):
        self._call = (name, func, args, places, keywords or {}, has_aux)
        self._levels, self._state = levels.active(), _core.default_generator.get_state()
        given = list(args)
        for place in dict.fromkeys(places):
            given[place] = mapped(lambda each: leaf_of(name, each), args[place])
        self.arguments = [given[place] for place in places]
        self.leaves = tensors([given[place] for place in dict.fromkeys(places)])
        with working(args) as work:
            self.output, self.aux = self._parts(func(*given, **self._call[4]))
            self.outputs = tensors(self.output)
            work.reaches(self.outputs, self.leaves)
        self.keeps = work.keeps

    def _parts(self, found):
        name, has_aux = self._call[0], self._call[-1]
        if has_aux and not (isinstance(found, tuple) and len(found) == 2):
            raise refuse(name, "a function that gives (output, aux), as has_aux=True", type(
                found).__name__ if not isinstance(found, tuple) else f"a tuple of {len(found)}")
        output, aux = found if has_aux else (found, None)
        made = leaves(output)
        for each in made:
            if not isinstance(each, Tensor):
                raise refuse(name, "a function that gives tensors, or tuples, lists and dicts of "
                             "them", type(each).__name__)
            if not each.is_floating_point():
                raise refuse(name, "a function that gives tensors of a floating type",
                             f"{each.dtype}: give it as aux, with has_aux=True")
        if not made:
            raise refuse(name, "a function that gives at least one tensor", repr(output))
        return output, aux

    def again(self):
        """The same run where vmap() is at work now: each sample has leaves and outputs of its
        own. Random numbers are those of the first time."""
        generator = _core.default_generator
        now = generator.get_state()
        generator.set_state(self._state)
        try:
            return Run(*self._call)
        finally:
            generator.set_state(now)

    def here(self):
        """This run, or one of its own for each sample of a vmap() that has begun since."""
        return self if self._levels == levels.active() else self.again()

    def has_drawn(self):
        """Whether random numbers have been drawn since the run began."""
        return _core.default_generator.get_state() != self._state

    def kept(self, value):
        """`value` with its history where that is of use to the caller, else without."""
        return value if self.keeps else mapped(lambda each: each.detach(), value)

    def pull(self, seeds, keeps=None):
        """The gradients of seed . output, one for each leaf."""
        with working(()):
            return slopes(self.outputs, self.leaves, seeds,
                          self.keeps or depends(seeds) if keeps is None else keeps)

    def push(self, tangents):
        """How the outputs change along the tangents, one for each leaf: the gradients of the
        outputs' seeds, on which the gradients of the leaves depend linearly."""
        with working(()):
            seeds = [levels.per_sample(_core.zeros_like(each).detach()).requires_grad_()
                     for each in self.outputs]
            first = slopes(self.outputs, self.leaves, seeds, True)
            return slopes(first, seeds, tangents, self.keeps or depends(tangents))
