"""Swarm: one peer's part in a group that sums arrays round by round; no member is special.

Each call of all_reduce() is one round of the group: it waits for the part of every member and puts
the same bits into everyone's arrays. A member that is lost is left out and the round run again. A
newcomer gets the state from members and the results of rounds that it missed.

Threads: one thread at a time calls all_reduce(), applied() and leave(); the network has a thread of
its own. Failures: weft.TimeoutError past a deadline, weft.UnavailableError where this peer was
removed or not let in, weft.CorruptError where its state differs from the others', Finished.
"""
import atexit
import contextlib
import json
import math
import time
import weakref

import weft

from . import state as state_bytes
from .state import as_numpy, dtype_name

RECIPE_FORMAT = 1
FETCH_SECONDS = 20.0
WAIT_SECONDS = 0.2
EXIT_SECONDS = 3.0
# Settings of the group, with their types: the founder's apply, and joiners fetch them.
GROUP_OPTIONS = {"wire": str, "rounds": int, "start_members": int, "start_timeout": float,
                 "suspicion_timeout": float, "lone_survivor": bool}
# Settings of one peer.
PEER_OPTIONS = ("listen", "advertise", "map_port", "identity")
_open_swarms = weakref.WeakSet()


class Finished(weft.Error):
    """The last of the group's `rounds` is done."""


class Arrays:
    """A state that is a list or a dict of arrays, written in place when a state is loaded."""

    def __init__(self, arrays):
        items = arrays.items() if isinstance(arrays, dict) else enumerate(arrays)
        self._arrays = {str(name): array for name, array in items}

    def arrays(self):
        return self._arrays

    def save(self):
        return dict(self._arrays)

    def load(self, tree):
        check_arrays(tree, self._arrays)
        for name, array in self._arrays.items():
            write(array, tree[name])


def check_arrays(tree, expected):
    """ValueError unless `tree` has the arrays of `expected` by name, type and shape."""
    if not isinstance(tree, dict) or set(tree) != set(expected):
        raise ValueError(f"state: expected the arrays {sorted(expected)[:8]}")
    for name, array in expected.items():
        given = tree[name]
        if not hasattr(given, "shape") or tuple(given.shape) != tuple(array.shape):
            raise ValueError(f"state: expected the shape {tuple(array.shape)} of {name}, got "
                             f"{getattr(given, 'shape', None)}")
        if dtype_name(given) != dtype_name(array):
            raise ValueError(f"state: expected {dtype_name(array)} for {name}, got "
                             f"{dtype_name(given)}")


def write(array, values):
    """`values` into the memory of `array`."""
    if state_bytes.is_torch(array):
        import torch
        with torch.no_grad():
            array.copy_(values if state_bytes.is_torch(values) else torch.as_tensor(values))
        return
    as_numpy(array)[...] = as_numpy(values)


def check_weight(weight):
    """InvalidArgumentError unless a member's part may have it."""
    if not 0 <= weight < math.inf:
        raise weft.InvalidArgumentError(f"expected a weight of at least 0, got {weight}")


def memories(named):
    """The arrays of a dict as pieces of memory, copied where they are none."""
    import numpy
    return [numpy.ascontiguousarray(as_numpy(array)) for array in named.values()]


def exchanged(arrays):
    """`arrays`, one or a list, as what the native part reads and writes in place."""
    views = []
    for array in arrays if isinstance(arrays, (list, tuple)) else [arrays]:
        if state_bytes.is_torch(array) and array.device.type != "cpu":
            raise ValueError(f"all_reduce: expected a tensor on the CPU, got one on {array.device}")
        views.append(array.detach().numpy() if hasattr(array, "detach") else array)
    return views


def layout_of(state):
    """What must be the same at all members for their states to be exchanged."""
    return json.dumps([[name, dtype_name(array), list(array.shape)]
                       for name, array in state.arrays().items()])


def start(state=(), *, apply=None, settings=None, timeout=600.0, **options):
    """Begins a group as its first member, and gives its Swarm, whose `ticket` lets others in.

    state: what all members hold alike: a list or dict of arrays (NumPy, PyTorch on the CPU), or an
      object with arrays() -> dict to compare, save() -> tree and load(tree), and begin(settings),
      called first, if it needs them.
    apply(sums, weight): brings the state on by the result of a round without a part of one's own;
      newcomers then catch up inside join(). Without it all_reduce() hands such results over.
    settings: words and numbers that joiners find in `Swarm.settings`.
    timeout: seconds that one all_reduce() may take. Who gives up in the middle of a round, or is
      interrupted there, is out of the group.
    Of the group: wire ("f32", "bf16", "f16", "int8"), rounds (0: no end), start_members (the first
      round waits for so many), start_timeout and suspicion_timeout (seconds), lone_survivor (of two
      members either may go on alone).
    Of this peer: listen ("HOST:PORT"), advertise (addresses told to others first), map_port,
      identity (path of this peer's key).
    """
    unknown = set(options) - set(GROUP_OPTIONS) - set(PEER_OPTIONS)
    if unknown:
        raise TypeError(f"start: no option is called {sorted(unknown)[0]}")
    group = {name: GROUP_OPTIONS[name](options.pop(name))
             for name in list(options) if name in GROUP_OPTIONS}
    recipe = json.dumps({"weft_swarm": RECIPE_FORMAT, "group": group, "settings": settings or {}})
    return Swarm(recipe, state, apply=apply, timeout=timeout, **options)


def join(ticket, state=(), *, apply=None, timeout=600.0, **options):
    """Joins the group of `ticket` as start() says, and gives a Swarm whose state is the group's."""
    unknown = set(options) - set(PEER_OPTIONS)
    if unknown:
        raise TypeError(f"join: no option of a joining peer is called {sorted(unknown)[0]}")
    from weft import _swarm
    recipe = _swarm.fetch_recipe(str(ticket), FETCH_SECONDS)
    return Swarm(recipe, state, ticket=str(ticket), apply=apply, timeout=timeout, **options)


def parse_recipe(text):
    """(group options, settings) of a recipe, which another machine has sent."""
    try:
        recipe = json.loads(text)
        group, settings = recipe["group"], recipe["settings"]
        known = recipe["weft_swarm"] == RECIPE_FORMAT and isinstance(settings, dict)
        group = {name: GROUP_OPTIONS[name](value) for name, value in group.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        known = False
    if not known:
        raise weft.CorruptError("join: the ticket is not of a swarm that Python has started, or of "
                                "a newer version; use `weft join` for runs of recipes")
    return group, settings


class Swarm:
    """See start() and join(). A context manager: leaving it leaves the group."""

    def __init__(self, recipe, state, *, ticket=None, apply=None, timeout=600.0, **options):
        from weft import _swarm
        group, self.settings = parse_recipe(recipe)
        self._native = _swarm
        self._state = state if hasattr(state, "save") else Arrays(state)
        if hasattr(state, "begin"):
            state.begin(self.settings)
        self._apply = apply
        self.timeout = float(timeout)
        self._last_round = group.get("rounds", 0)
        self._round = 0
        self._parts, self._opened = [], None  # of a round that open() has opened
        self._weight = 1.0  # in that round
        self._turn = None         # given by the group and not yet used
        self._unconfirmed = None  # a round whose result is handed over, not yet told as applied
        chosen = _swarm.Options()
        chosen.recipe, chosen.layout = recipe, layout_of(self._state)
        options["advertise"] = list(options.get("advertise", ()))
        for name, value in {**group, **options}.items():
            if value is not None:
                setattr(chosen, name, value)
        start_peer = _swarm.Peer.start
        self._peer = start_peer(chosen) if ticket is None else _swarm.Peer.join(chosen, ticket)
        _open_swarms.add(self)
        if ticket is not None:
            self._arrive()

    # --- What is known.

    @property
    def id(self):
        """This peer's name, 64 hexadecimal digits."""
        return self._peer.id

    @property
    def ticket(self):
        """A line that lets others in for a day."""
        return self._peer.ticket(86400.0)

    @property
    def members(self):
        """The ids of the members, by rank."""
        return self.status()["members"]

    @property
    def round(self):
        """The last round whose result this peer was given; 0: none yet."""
        return self._round

    @property
    def finished(self):
        """Whether the group's last round is done; never where it has no `rounds`."""
        return 0 < self._last_round <= self._round

    @property
    def behind(self):
        """Whether the next all_reduce() gives the result of a round that the others have done
        without this peer, so that a part of its own would count nothing: do not compute one. Waits
        until it is known what comes next, at most `timeout`. Always False with `apply`."""
        if self._apply is not None:
            return False
        self.applied()
        deadline = self._deadline(None)
        while True:
            turn = self._turn = self._next(deadline)
            if turn.kind in ("train", "apply"):
                return turn.kind == "apply"
            self._turn = None
            self._follow(turn)

    def status(self):
        """state, members, round, view_changes, rounds_rerun, bytes_sent, ... as a dict."""
        return self._peer.status()

    def events(self):
        """What has happened since the last call: sentences for people."""
        return self._peer.take_events()

    def state_hash(self, arrays=None):
        """The digits of the hash of `arrays` (a list or dict), or of the state."""
        named = self._state.arrays() if arrays is None else Arrays(arrays).arrays()
        return self._native.state_hash(list(named), memories(named))

    # --- Rounds.

    def all_reduce(self, arrays, *, op="mean", weight=1.0, apart=0, timeout=None):
        """The sum or mean over all members into `arrays`, one float32 array or a list of them, in
        place; gives them back.

        weight: of this member's part, as its number of samples; the mean is divided by all weights.
        apart: the first so many arrays are exchanges of their own; see open(). All members give the
        same number of elements in one round, and the same apart. Nobody else may write to the
        arrays meanwhile. Where this member came too late for a round it gets its result all the
        same; a part that was computed from a state that has been replaced since counts nothing.
        """
        if op not in ("mean", "sum"):
            raise ValueError(f'all_reduce: expected op "mean" or "sum", got {op!r}')
        views = exchanged(arrays)
        deadline = self._deadline(timeout)
        self.applied()
        while True:
            turn = self._next(deadline)
            if turn.kind == "train":
                if not self._train(turn, views, weight, apart, deadline):
                    continue
            elif turn.kind == "apply" and self._apply is None:
                pass
            else:
                self._follow(turn)
                weight = 0.0
                continue
            self._peer.read(views, op == "mean")
            self._round = self._unconfirmed = turn.round
            return arrays

    def open(self, sizes, *, weight=1.0, apart=0, timeout=None):
        """Opens the next round before its arrays, of so many elements each, are there: contribute()
        hands them over one by one, and each travels while the next is computed; close_round() waits
        for the rest. False where this member has no part in what comes next (it is behind): then
        use all_reduce().

        apart: the first so many arrays, at most 249, are exchanges of their own, whose sums
        early_sums() gives while the round goes on. weight: None where weigh() will say it.
        """
        if weight is not None:
            check_weight(weight)
        self.applied()
        deadline = self._deadline(timeout)
        turn = self._turn = self._next(deadline)
        if turn.kind != "train":
            return False
        self._turn = None
        self._peer.open_parts([int(size) for size in sizes], apart)
        self._parts = [None] * len(sizes)
        self._opened = (turn, apart)
        if weight is not None:
            self.weigh(weight)
        return True

    def weigh(self, weight):
        """The weight of this member's part in the open round, once."""
        self._peer.weigh(weight)
        self._weight = weight

    def contribute(self, index, array, *, weighted=True):
        """Array number `index` of the open round, float32, times the weight or as it is. Until
        close_round() nobody may write to it."""
        view, = exchanged(array)
        self._peer.contribute(index, view, weighted)
        self._parts[index] = array

    def early_sums(self, index, into, *, timeout=None):
        """Waits for every member's array number `index`, one of the first `apart`, and writes their
        sum to `into`. False where the round has ended without this member's other arrays: the
        group has changed, and close_round() will run it again. The sums are for what this member
        computes next, and no part of a state."""
        view, = exchanged(into)
        deadline = self._deadline(timeout)
        try:
            while not self._peer.early_sums(index, view, WAIT_SECONDS):
                if time.monotonic() > deadline:
                    raise weft.TimeoutError(
                        f"early_sums: not every member has given array {index} of this round in "
                        "time, and this peer has left the group; all members are to make the same "
                        "calls")
        except weft.AbortedError:
            return False
        except BaseException:
            self.close()
            raise
        return True

    def close_round(self, *, op="mean", timeout=None):
        """Waits for the open round and puts the sum or mean into the arrays that it was given, as
        all_reduce() does; gives them back."""
        if self._opened is None:
            raise weft.InvalidArgumentError("close_round: expected a round that open() has opened")
        (turn, apart), self._opened = self._opened, None
        arrays, self._parts = self._parts, []
        deadline = self._deadline(timeout)
        if not self._finish(turn, deadline):
            return self.all_reduce(arrays, op=op, weight=self._weight, apart=apart,
                                   timeout=timeout)
        self._peer.read(exchanged(arrays), op == "mean")
        self._round = self._unconfirmed = turn.round
        return arrays

    def applied(self):
        """The result of the last round is in the state: tell the others its hash. all_reduce() and
        leave() do so if nobody has."""
        if self._unconfirmed is None:
            return
        named = self._state.arrays()
        confirmed, self._unconfirmed = self._unconfirmed, None
        self._peer.applied(confirmed, list(named), memories(named))

    def leave(self, timeout=10.0):
        """Leaves the group, which agrees to go on without this peer. Once; later calls do
        nothing."""
        if self not in _open_swarms:
            return
        with contextlib.suppress(weft.Error):
            self.applied()
            if self.finished:
                self._see_others_finish(timeout)
            self._peer.leave(timeout)
        self.close()

    def close(self):
        """Ends at once, as a crash would: the others see the links go down."""
        self._peer.close()
        _open_swarms.discard(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.leave()

    # --- Inside.

    def _deadline(self, timeout):
        return time.monotonic() + (self.timeout if timeout is None else timeout)

    def _next(self, deadline):
        """The next turn that brings the state on; snapshots are given out on the way."""
        if self._turn is not None:
            turn, self._turn = self._turn, None
            return turn
        while True:
            turn = self._peer.next()
            if turn.kind == "snapshot":
                self._peer.publish_state(turn.round, state_bytes.encode(self._state.save()))
            elif turn.kind == "finished":
                raise Finished(f"all_reduce: the group's last round was {self._last_round}")
            elif turn.kind != "wait":
                return turn
            if time.monotonic() > deadline:
                raise weft.TimeoutError(self._why_late())

    def _why_late(self):
        status = self.status()
        return (f"all_reduce: no round after round {self._round} in time; this peer is "
                f"\"{status['state']}\" among {len(status['members'])} members; give it more time "
                "by timeout=, or look at events()")

    def _train(self, turn, views, weight, apart, deadline):
        """Whether the round was committed; False: it is to be run again."""
        self._peer.begin(views, weight, apart)
        return self._finish(turn, deadline)

    def _finish(self, turn, deadline):
        """The same of a round that is open."""
        try:
            while time.monotonic() < deadline and not self._peer.round_ended(WAIT_SECONDS):
                pass
            self._peer.finish()
        except weft.AbortedError:
            return False
        except weft.TimeoutError:
            self.close()
            raise weft.TimeoutError(f"all_reduce: round {turn.round} did not end in time, and this "
                                    "peer has left the group; join again") from None
        except BaseException:
            self.close()  # others may hold pieces of a part that will not come again
            raise
        return True

    def _follow(self, turn):
        """Brings the state on without a part of one's own."""
        if turn.kind == "load state":
            try:
                self._state.load(state_bytes.decode(turn.state))
            except (ValueError, TypeError, LookupError, AttributeError, RuntimeError) as error:
                raise weft.CorruptError(
                    f"join: the members' state does not fit: {error}") from error
            self._round = turn.round
            return
        import numpy
        sums = numpy.empty(self._peer.elements, numpy.float32)
        self._apply(sums, self._peer.read([sums], False))
        self._round = self._unconfirmed = turn.round
        self.applied()

    def _arrive(self):
        """Joiner: until the state is the group's and this peer may take part."""
        deadline = self._deadline(None)
        try:
            while self._turn is None:
                turn = self._next(deadline)
                if turn.kind == "train" or (turn.kind == "apply" and self._apply is None):
                    self._turn = turn
                else:
                    self._follow(turn)
        except Finished:
            pass
        except BaseException:
            self.close()
            raise

    def _see_others_finish(self, timeout):
        with contextlib.suppress(Finished):
            self._turn = None
            self._next(time.monotonic() + timeout)


@atexit.register
def _leave_all():
    """A script that ends without leave() is no crash."""
    for swarm in list(_open_swarms):
        swarm.leave(EXIT_SECONDS)
