"""How long a round and a return may take, from the timeouts of the recipe and of the program."""

# MembershipOptions and SwarmOptions, where no recipe key sets them (seconds).
RECONNECT, REDIAL, TAKEOVER, BAD_LINK, JOIN, STALL = 0.5, 1.0, 0.4, 10.0, 30.0, 20.0
# Members that may be out of reach at once, each of which may be the next proposer.
OUT_AT_ONCE = 3


class Bounds:
    """All in seconds, on a machine that always gives a thread its processor at once."""

    def __init__(self, suspicion, pace, vector_bytes, slowest_mbit):
        noticed = suspicion + RECONNECT + REDIAL
        agreed = TAKEOVER * (OUT_AT_ONCE + 1)
        # A connection that went silent while the others live: the pair rule, or the question who
        # owes data, whichever is later.
        routed = max(BAD_LINK, STALL / 2 + suspicion)
        sent = 2 * 2 * vector_bytes * 8 / (slowest_mbit * 1e6)
        # From the last fault that began or ended, or the last round, to the next round.
        self.round = noticed + agreed + routed + sent + pace
        # Faults may follow one another; however many, a round ends within this.
        self.round_whatever = 3 * self.round
        # A peer that lives, in reach of all, is back in the rounds.
        self.back = JOIN + 2 * self.round
