"""What goes wrong and when, drawn from a seed.

The seed fixes kinds, order, times and lengths. Whom a fault may hit depends on who is well at that
moment, because the schedule keeps a majority alive: it hits the first in the drawn order for whom
that holds, or waits.
"""
import random

# kind: how often in a deck. Each deck is shuffled, so that a short run sees every kind.
DECK = {
    "kill": 3,        # SIGKILL; back after a while, by a new or an old ticket
    "kill_two": 1,    # both at once
    "stop": 3,        # SIGSTOP for 1 to 10 s
    "cut": 2,         # the cable is pulled
    "deaf": 1,        # hears nothing, is heard
    "mute": 1,        # is not heard, hears
    "forget": 1,      # connections that stand go silent; new ones work
    "pair": 1,        # two good members cannot reach each other
    "minority": 1,    # two members are cut off from the others together
    "loss": 1,        # 5 % of packets
    "rate": 1,        # a slow line
    "leave": 1,       # says goodbye, and joins again
    "unread": 2,      # nobody reads what it says, as after Ctrl-S
    "full": 1,        # no room for its checkpoints
}
VICTIMS = {"kill_two": 2, "pair": 2, "minority": 2}
# These leave everybody able to take part.
MILD = ("loss", "rate", "unread", "full")
SECONDS = {
    "kill": (1.0, 8.0), "kill_two": (1.0, 8.0), "leave": (1.0, 5.0), "stop": (1.0, 10.0),
    "cut": (0.5, 10.0), "deaf": (0.5, 10.0), "mute": (0.5, 10.0), "forget": (5.0, 10.0),
    "pair": (2.0, 15.0), "minority": (1.0, 10.0), "loss": (5.0, 20.0), "rate": (5.0, 20.0),
    "unread": (10.0, 30.0), "full": (5.0, 20.0),
    "halves": (6.0, 12.0),
}
# Rates of the slow network connection, in Mbit/s.
RATES = (2, 5, 10)
# Newcomers come so many seconds before the last round, or after it.
LATEST = (3.0, -1.0)


class Fault:
    """One entry: what, when (seconds from the start), how long, and whom it would like to hit."""

    def __init__(self, kind, at, seconds, order, draw):
        self.kind = kind
        self.at = at
        self.seconds = seconds
        self.order = order
        # In [0, 1): for what else has to be chosen.
        self.draw = draw
        self.victims = VICTIMS.get(kind, 1)


def make_schedule(seed, seconds, every, peers, quorum_losses=0):
    """The faults of a run, sorted by time; the first after about `every` / 2."""
    rng = random.Random(seed)
    faults, deck, at = [], [], rng.uniform(0.3, 0.7) * every
    first_victims = rng.sample(range(peers), peers)
    while at < seconds:
        if not deck:
            deck = [kind for kind, count in DECK.items() for _ in range(count)]
            rng.shuffle(deck)
        kind = deck.pop()
        order = rng.sample(range(peers), peers)
        # Everybody is hit early once, whoever founded the run included.
        if first_victims:
            order = [first_victims.pop()] + order
        faults.append(Fault(kind, at, rng.uniform(*SECONDS[kind]), order, rng.random()))
        at += min(rng.expovariate(1.0 / every), 3.0 * every)
    # Deliberately without a majority: two halves that cannot reach each other.
    for number in range(quorum_losses):
        at = seconds * (number + 1) / (quorum_losses + 1)
        order = rng.sample(range(peers), peers)
        faults.append(Fault("halves", at, rng.uniform(*SECONDS["halves"]), order, rng.random()))
    return sorted(faults, key=lambda fault: fault.at)


def late_joins(seed, count):
    """Seconds before the last round at which one more peer asks to join."""
    rng = random.Random(seed + 2)
    return sorted((rng.uniform(*LATEST) for _ in range(count)), reverse=True)
