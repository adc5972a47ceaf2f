"""One chaos run: starts the peers, lets faults happen, watches, brings back, waits for the end."""
import heapq
import itertools
import os
import random
import signal
import statistics
import time

from bounds import Bounds
from members import EXIT_OK, EXIT_OVER, EXIT_UNAVAILABLE, Member
from schedule import MILD, RATES, late_joins
from sums import Sums

TICK = 0.03
# A tick that takes so much longer than it should is the machine's fault, and counted as such.
LATE = 0.1
# A fault that finds nobody it may hit is left out after so long.
PATIENCE = 30.0
# Rounds below the newest after which no input of a round can still come.
CHECK_BEHIND = 400
# A member is well if it is not further behind than this.
BEHIND = 30
# Whoever joins when the run ends knows how it ended within so many seconds.
TOLD = 15.0
# The last words of processes that are damage, not circumstance.
DAMAGE = ("differs", "corrupt", "internal", "check failed", "terminate called")


class Run:
    """Owns the members while `Network` owns their machines."""

    def __init__(self, network, options, recipe, folder, say):
        self.network, self.options, self.recipe, self.say = network, options, recipe, say
        everybody = [Member(i, network, options.weft, folder) for i in range(network.count)]
        self.members, self.latecomers = everybody[:options.peers], everybody[options.peers:]
        self._joins = late_joins(options.seed, len(self.latecomers))
        self._joining = list(self.latecomers)
        self.bounds = Bounds(recipe.suspicion, recipe.pace, recipe.vector_bytes, min(RATES))
        self.sums = Sums(recipe.global_batch, recipe.steps)
        self.rng = random.Random(options.seed + 1)
        self.violations = []
        self.begun = time.monotonic()
        self.newest, self.newest_at = 0, self.begun
        self.states, self.gaps, self.reruns = {}, [], set()
        self.rounds_disturbed = 0
        self.views, self.view_members = 0, set()
        self.counts, self.left_out, self.retries = {}, 0, []
        self.false_suspicions = 0
        self.quorum_lost, self.starved, self.late = 0, 0.0, 0.0
        self.slowest_back = 0.0
        self.log = open(os.path.join(folder, "faults.txt"), "w", encoding="utf-8")
        self._due, self._order = [], itertools.count()
        self._disturbed_at = self.begun
        self._halved = False
        self._credit_at_round, self._told_at, self._sampled_at = 0.0, 0.0, 0.0
        self._credit_at = {}

    # --- Small parts.

    def now(self):
        return time.monotonic() - self.begun

    def note(self, text):
        self.log.write(f"{self.now():8.2f}  round {self.newest:6d}  {text}\n")
        self.log.flush()

    def wrong(self, text):
        self.violations.append(f"at {self.now():.1f} s, round {self.newest}: {text}")
        self.note("WRONG " + text)
        self.say("WRONG: " + self.violations[-1])

    def later(self, seconds, action):
        heapq.heappush(self._due, (time.monotonic() + seconds, next(self._order), action))

    def credit(self):
        """What the machine itself took: threads that waited for a processor, late ticks."""
        return self.starved + self.late

    def well(self):
        return [m for m in self.members if m.alive() and m.hurts == 0 and m.trained
                and not m.leaving and m.summary is None and m.name in self.view_members
                and m.round >= self.newest - BEHIND]

    # --- Beginning and end.

    def start(self):
        founder = self.members[0]
        founder.start("run", str(self.recipe.path))
        self._until(lambda: founder.ticket, 60, "the founder's ticket")
        for member in self.members[1:]:
            member.start("join", founder.ticket, *self.recipe.join_flags)
        self._until(lambda: self.newest >= 3 and len(self.well()) == len(self.members), 120,
                    "rounds of all peers")
        self.begun = self._disturbed_at = self.newest_at = time.monotonic()

    def _until(self, ready, seconds, what):
        deadline = time.monotonic() + seconds
        while not ready():
            self._listen()
            for member in self.members:
                if member.process is not None and not member.alive():
                    raise RuntimeError(f"{what}: peer {member.number} ended: {member.words()}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"{what}: not seen in {seconds} s")
            time.sleep(TICK)  # tidy: allow sleep: logs of other processes are read each tick

    def disturb(self, faults, seconds):
        for fault in faults:
            self.later(fault.at, lambda fault=fault: self._try(fault, time.monotonic()))
        while self.now() < seconds and not self._over():
            self._tick()
        self.rounds_disturbed = len(self.gaps)

    def settle(self):
        """No new faults; those that last go on to their ends. All come to the last round."""
        pace = statistics.median(self.gaps) if self.gaps else self.recipe.pace
        deadline = (time.monotonic() + 2 * pace * (self.recipe.steps - self.newest)
                    + self.bounds.back + 30)
        self._settling = True
        while not all(m.summary is not None and not m.alive() for m in self.members):
            self._tick()
            self._join_late()
            if time.monotonic() > deadline + self.credit():
                missing = [m.number for m in self.members if m.summary is None or m.alive()]
                self.wrong(f"peers {missing} did not come to the end")
                break
        self._join_late()
        self._await_latecomers()
        self._listen()
        self.sums.check()

    _settling = False

    def _join_late(self):
        """Peers that ask to join just when the run ends."""
        left = self.recipe.pace * (self.recipe.steps - self.newest)
        if left <= 0:
            left = self.newest_at - time.monotonic()
        while self._joining and left <= self._joins[0]:
            if not any(member.alive() for member in self.members) and self._joins[0] > 0:
                break  # The last of them come when nobody is there any more.
            member = self._joining.pop(0)
            self.note(f"peer {member.number} joins {self._joins.pop(0):.1f} s before the end")
            member.too_late = not any(other.alive() for other in self.members)
            member.start("join", self._known_ticket(member), *self.recipe.join_flags)

    def _await_latecomers(self):
        while self._joining or any(m.alive() for m in self.latecomers):
            self._tick()
            self._join_late()
            for member in self.latecomers:
                age = time.monotonic() - max(member.born_at, self.newest_at)
                if member.alive() and age > TOLD + self.late:
                    self.wrong(f"peer {member.number} joined at the end and waits for "
                               f"{age:.1f} s: {member.words()}")
                    member.kill()

    def _over(self):
        return any(m.summary is not None and m.summary["status"] == "finished"
                   for m in self.members)

    def close(self):
        for member in self.members + self.latecomers:
            member.close()

    # --- The loop.

    def _tick(self):
        began = time.monotonic()
        while self._due and self._due[0][0] <= began:
            heapq.heappop(self._due)[2]()
        self._listen()
        self._look()
        time.sleep(TICK)  # tidy: allow sleep: its lateness measures the machine's own stalls
        # Actions take their time as well; only what nothing explains is the machine's.
        self.late += max(0.0, time.monotonic() - began - TICK - LATE)

    def _listen(self):
        for member in self.members + self.latecomers:
            self._listen_to(member)

    def _listen_to(self, member):
        for event in member.news():
            self._hear(member, event)

    def _hear(self, member, event):
        kind = event["kind"]
        if kind in ("audit_input", "audit_sum"):
            self.sums.hear(member.run_id, member.number, event)
        elif kind == "round":
            self._hear_round(member, event)
        elif kind == "view_changed" and event["number"] > self.views:
            self.views = event["number"]
            self.view_members = set(event["members"])
            self.note(f"view {self.views}: {len(self.view_members)} members, {event['reason']}")
        elif kind == "round_rerun":
            self.reruns.add(event["round"])
        elif kind == "state_mismatch":
            self.wrong(f"state_mismatch at peer {member.number}: {event['text']}")
        elif kind == "misconduct":
            # A member that hears nothing suspects the others, and takes it back: no fault of its.
            if "false suspicion" in event["text"]:
                self.false_suspicions += 1
            else:
                self.wrong(f"misconduct at peer {member.number}: {event['text']}")
        elif kind == "quorum_lost":
            self.note(f"peer {member.number}: quorum lost, {event.get('missing')}")
            if not self._halved:
                self.quorum_lost += 1
        if kind in ("failed", "state_loaded", "first_step"):
            self.note(f"peer {member.number}: {kind} {event.get('reason', '')}")

    def _hear_round(self, member, event):
        number, now = event["round"], time.monotonic()
        known = self.states.setdefault(number, event["state"])
        if known != event["state"]:
            self.wrong(f"peer {member.number} has state {event['state']} after round {number}, "
                       f"others {known}")
        if number > self.newest:
            # Several at once, as heard in one tick, share the time.
            self.gaps += [(now - self.newest_at) / (number - self.newest)] * (number - self.newest)
            self.newest, self.newest_at = number, now
            self._credit_at_round = self.credit()

    def _look(self):
        now = time.monotonic()
        if now - self._sampled_at >= 0.5:
            self._sampled_at = now
            self.starved = sum(m.waited_seconds() for m in self.members)
            self.sums.check(self.newest - CHECK_BEHIND)
            while len(self.violations) < 50 and self.sums.faults:
                self.wrong(self.sums.faults.pop(0))
        self._look_for_hang(now)
        for member in self.members:
            self._look_at(member, now)
        if now - self._told_at >= self.options.tell:
            self._told_at = now
            well = "".join("." if m in self.well() else "x" if not m.alive() else "!" if m.hurts
                           else "?" for m in self.members)
            self.say(f"{self.now():6.0f} s  round {self.newest}/{self.recipe.steps}  view "
                     f"{self.views}  peers {well}  faults {sum(self.counts.values())}  "
                     f"wrong {len(self.violations)}", progress=True)

    def _look_for_hang(self, now):
        if self._halved or self._over():
            return
        quiet = now - max(self.newest_at, self._disturbed_at)
        whole = now - self.newest_at
        credit = self.credit() - self._credit_at_round
        if quiet > self.bounds.round + credit or whole > self.bounds.round_whatever + credit:
            self.wrong(f"no round for {whole:.1f} s, {quiet:.1f} s after the last fault; the bound "
                       f"is {self.bounds.round:.1f} s, and the machine's part {credit:.1f} s")
            self.newest_at = self._disturbed_at = now
            self._credit_at_round = self.credit()

    def _look_at(self, member, now):
        if member.hurts > 0:
            member.moved_at = now
            self._credit_at[member.number] = self.credit()
        elif member.alive() and member.summary is None and not self._halved:
            credit = self.credit() - self._credit_at.get(member.number, 0.0)
            if now - member.moved_at > self.bounds.back + credit:
                self.wrong(f"peer {member.number} lives and is in reach, but takes part in no "
                           f"round for {now - member.moved_at:.1f} s: {member.words()}")
                member.kill()
        elif not member.alive() and member.hurts == 0 and not member.leaving:
            # Its last words may have come since all were read.
            self._listen_to(member)
            if member.summary is None or member.summary["status"] != "finished":
                self._ended(member)

    def _ended(self, member):
        """A process that nobody killed has ended before the run's end: it may try again."""
        code = member.process.returncode
        what = (f"peer {member.number} ended with exit code {code}: "
                f"{member.failure or member.words()}")
        words = what.lower()
        if code not in (3, 5, EXIT_OVER) or any(word in words for word in DAMAGE):
            self.wrong(what)
        self.retries.append(what)
        self.note(what)
        member.hurts += 1
        member.failures += 1
        if not self._over():
            self.later(min(8.0, 2.0 ** member.failures), lambda: self._return(member))

    # --- Faults.

    def _try(self, fault, since):
        if self._settling or self._over():
            return
        victims = self._victims(fault)
        if victims is None:
            if time.monotonic() - since > PATIENCE:
                self.left_out += 1
                self.note(f"{fault.kind} left out: too few are well")
            else:
                self.later(0.25, lambda: self._try(fault, since))
            return
        self.counts[fault.kind] = self.counts.get(fault.kind, 0) + 1
        self.note(f"{fault.kind} {[m.number for m in victims]} for {fault.seconds:.1f} s")
        self._disturbed_at = time.monotonic()
        getattr(self, "_do_" + fault.kind, self._do_lasting)(fault, victims)

    def _victims(self, fault):
        """Members to hit such that more than half of all, and of the view, stays well."""
        well = self.well()
        if fault.kind == "halves":
            return [self.members[i] for i in fault.order] if len(well) >= len(self.members) - 1 \
                else None
        chosen = [self.members[i] for i in fault.order if self.members[i] in well]
        chosen = list(dict.fromkeys(chosen))[:fault.victims]
        if len(chosen) < fault.victims:
            return None
        left = len(well) - (0 if fault.kind in MILD else len(chosen))
        if 2 * left <= len(self.members) or 2 * left <= len(self.view_members):
            return None
        return chosen

    def _hurt(self, members, seconds, undo):
        """They count as unwell until `undo` has been called."""
        for member in members:
            member.hurts += 1
        lives = [m.lives for m in members]

        def end():
            undo()
            for member, life in zip(members, lives):
                if member.lives == life:
                    member.hurts -= 1
            self._disturbed_at = time.monotonic()
            self.note(f"over: {[m.number for m in members]}")
        self.later(seconds, end)

    def _do_kill(self, fault, victims):
        for member in victims:
            member.kill()
            member.hurts += 1
            fresh = fault.draw < 0.6
            self.later(fault.seconds, lambda member=member: self._return(member, fresh))

    _do_kill_two = _do_kill

    def _do_leave(self, fault, victims):
        member = victims[0]
        member.leaving = True
        member.signal(signal.SIGINT)

        def gone(tries=40):
            if member.alive() and tries > 0:
                self.later(0.5, lambda: gone(tries - 1))
                return
            if member.alive():
                self.wrong(f"peer {member.number} was asked to leave and did not in 20 s")
                member.kill()
            member.hurts += 1
            self._return(member)
        self.later(fault.seconds, gone)

    def _do_stop(self, fault, victims):
        member = victims[0]
        process = member.process
        member.signal(signal.SIGSTOP)
        self._hurt(victims, fault.seconds,
                   lambda: member.process is process and member.signal(signal.SIGCONT))

    def _do_halves(self, fault, victims):
        side, other = victims[:len(victims) // 2], victims[len(victims) // 2:]
        self._halved = True
        undo = [self.network.separate(m.number, [o.number for o in other]) for m in side]

        def heal():
            for action in undo:
                action()
            self._halved = False
            self.newest_at = time.monotonic()
        self._hurt(victims, fault.seconds, heal)

    def _do_lasting(self, fault, victims):
        first = victims[0].number
        numbers = [m.number for m in victims]
        rest = [m.number for m in self.members if m not in victims]
        undo = {
            "cut": lambda: [self.network.cut(first)],
            "deaf": lambda: [self.network.deafen(first, True)],
            "mute": lambda: [self.network.deafen(first, False)],
            "forget": lambda: [self.network.forget(first, victims[0].process.pid)],
            "pair": lambda: [self.network.separate(first, numbers[1:])],
            "minority": lambda: [self.network.separate(n, rest) for n in numbers],
            "loss": lambda: [self.network.lose(first, 5)],
            "rate": lambda: [self.network.slow(first, RATES[int(fault.draw * len(RATES))])],
            "unread": lambda: [self._leave_unread(victims[0])],
            "full": lambda: [victims[0].fill_disk() or victims[0].empty_disk],
        }[fault.kind]()

        def end():
            for action in undo:
                action()
        if fault.kind in MILD:
            self.later(fault.seconds, end)
        elif fault.kind in ("pair", "forget"):
            # One of the pair may well be put out, for good reason; which one is not known.
            self._hurt(victims[-1:] if fault.kind == "pair" else victims, fault.seconds, end)
        else:
            self._hurt(victims, fault.seconds, end)

    def _leave_unread(self, member):
        member.output.hold()
        return member.output.go_on

    def _return(self, member, fresh=True):
        """`weft join` again, with the same key, in the same folder."""
        ticket = ""
        well = self.well()
        if fresh and well:
            ticket = self.rng.choice(well).ask_ticket()
        ticket = ticket or self._known_ticket(member)
        if member.alive():
            member.kill()
        member.hurts = 0
        member.start("join", ticket, *self.recipe.join_flags)
        self._credit_at[member.number] = self.credit()
        self._disturbed_at = time.monotonic()
        self.note(f"peer {member.number} is back, with {'a fresh' if fresh else 'an old'} ticket")

    def _known_ticket(self, member):
        """One that another member has told earlier, with the addresses of that time."""
        told = [m.ticket for m in self.members if m is not member and m.ticket]
        return self.rng.choice(told)

    # --- What is left to say.

    def verdict(self):
        """Checks what must hold at the end; the summaries' common values."""
        # Who came back too late for the final state was told so, and has none.
        ends = [m.summary for m in self.members
                if m.summary is not None and m.summary["status"] != "missed"]
        for member in self.members:
            code = member.process.poll()
            missed = code == EXIT_OVER and "the run ended at round" in member.words()
            if code != EXIT_OK and not missed:
                self.wrong(f"peer {member.number} ended with exit code {code}: {member.words()}")
        for member in self.latecomers:
            code = member.process.poll()
            if code == EXIT_OK and member.summary is not None:
                ends.append(member.summary)
            elif code != EXIT_OVER and not (code == EXIT_UNAVAILABLE and member.too_late):
                self.wrong(f"peer {member.number}, which joined at the end, ended with exit code "
                           f"{code}: {member.words()}")
        for field in ("state_hash", "steps", "test_accuracy", "test_loss"):
            # Who only took the final state has not measured the test set.
            values = {str(s.get(field)) for s in ends if s.get(field) is not None}
            if len(values) > 1:
                self.wrong(f"{field} differs at the end: {sorted(values)}")
        for fault in self.sums.faults:
            self.wrong(fault)
        unknown = self.sums.missing(self.recipe.steps)
        if unknown:
            self.wrong(f"no sum was logged for rounds {unknown[:10]}")
        return next((s for s in ends if s["status"] == "finished"), None)
