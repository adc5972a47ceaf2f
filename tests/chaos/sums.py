"""Whether each round's sum is the sum of what its members gave, from their events alone.

A member with `group.audit` logs a digest of its input (`audit_input`) before the others can have
all of it, and one of the result (`audit_sum`). Digests are linear, but for the hash, so those of
the inputs of exactly the members of the view must add up to that of the sum, up to the rounding of
f32 additions: n - 1 of them, each at most 2^-24 of the magnitudes added. And everybody who holds
the sum of a round, in whatever way it came, must hold the same bits.
"""

UNIT = 2.0 ** -24
# The digests themselves are sums of doubles.
SLACK = 1.0 + 2.0 ** -20


def numbers(text):
    return [float(word) for word in text.split()]


class Sums:
    """Takes events of all members and says what is wrong with them."""

    def __init__(self, global_batch, steps):
        self.global_batch = global_batch
        self.steps = steps
        self.faults = []
        self.checked = 0
        self.inputs_seen = 0
        self._inputs = {}  # (run, round) -> {view hash: {rank: (peer, digest)}}
        self._hashes = {}  # (run, round) -> (hash, peer): of the sum, for good
        self._trained = {}  # (run, round) -> {view hash: digest of the sum}

    def hear(self, run, peer, event):
        key = (run, event["round"])
        if event["kind"] == "audit_input":
            self.inputs_seen += 1
            view = self._inputs.setdefault(key, {}).setdefault(event["view_hash"], {})
            # A round that was aborted may be run again in the same view, by the same rank.
            view[event["rank"]] = (peer, event)
        elif event["kind"] == "audit_sum":
            known = self._hashes.setdefault(key, (event["hash"], peer))
            if known[0] != event["hash"]:
                self.faults.append(f"round {key[1]}: {peer} holds the sum {event['hash']}, "
                                   f"{known[1]} {known[0]}")
            if not event["caught_up"]:
                self._trained.setdefault(key, {}).setdefault(event["view_hash"], event)

    def check(self, before=None):
        """Checks and forgets what is known of the rounds below `before`; of all by default."""
        for key in sorted(k for k in self._trained if before is None or k[1] < before):
            for view, total in self._trained.pop(key).items():
                self.checked += 1
                given = self._inputs.get(key, {}).get(view, {})
                fault = self._wrong(key[1], given, total)
                if fault:
                    self.faults.append(f"round {key[1]}, view {total['view']}: {fault}")
        for key in [k for k in self._inputs if before is None or k[1] < before]:
            del self._inputs[key]

    def missing(self, last_round):
        """Rounds up to the last whose sum nobody has told."""
        told = {number for _, number in self._hashes}
        return [number for number in range(1, last_round + 1) if number not in told]

    def _wrong(self, number, given, total):
        if not given:
            return "a sum, but no input was logged"
        digests = [event for _, event in given.values()]
        members = digests[0]["members"]
        if set(given) != set(range(members)):
            return f"inputs of ranks {sorted(given)}, expected all of {members}"
        if {d["elements"] for d in digests} != {total["elements"]}:
            return "inputs and sum differ in length"
        samples = sum(d["samples"] for d in digests)
        if samples != total["samples"]:
            return f"the sum speaks for {total['samples']} samples, the inputs for {samples}"
        if number <= self.steps and samples != self.global_batch:
            return f"{samples} samples, expected the global batch of {self.global_batch}"
        roundings = (members - 1) * UNIT * SLACK
        allowed = roundings * sum(d["magnitude"] for d in digests)
        for name in ("projections", "values"):
            columns = list(zip(*(numbers(d[name]) for d in digests)))
            for column, seen in zip(columns, numbers(total[name])):
                wanted = sum(column)
                bound = allowed if name == "projections" else roundings * sum(map(abs, column))
                # Not "more than": a sum that is no number is wrong too.
                if not abs(seen - wanted) <= bound + 1e-30:
                    return (f"{name}: the inputs add up to {wanted!r}, the sum has {seen!r}, "
                            f"rounding explains {bound:.2e}")
        return ""
