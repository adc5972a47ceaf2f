#!/usr/bin/env python3
"""Methods of training by eight processes over sockets, and the same recipe and seed in `weft sim`:
the same SHA-256 of the state at the end.

usage: methods_agree_test.py [NAME ...] [--draw=N]
Without names: the whole table. --draw=N: N methods that the commit draws, one of them of gossip and
one of loose exchange.
"""
import pathlib
import sys

from both_worlds import exact_rounds_agree, gossip_agrees, mix_agrees
from harness import ROOT, expect, main

sys.path.insert(0, str(pathlib.Path(ROOT) / "tools"))
import turns  # noqa: E402

PEERS = 8
# A small model and few rounds. Eight processes share the cores of a machine that may be busy, so
# none counts as lost for being slow, and heartbeats are too few to count in the bytes.
SMALL = {"model.hidden_units": 16, "data.synthetic_samples": 512, "run.steps": 8,
         "run.global_batch": 64, "group.heartbeat_interval_ms": 10000,
         "group.suspicion_timeout_ms": 60000, "group.quorum_timeout_s": 30,
         "group.compute_timeout_s": 60}
LOCAL = {"run.steps": 24, "local.steps": 4}
# Two of eight may lie: n - f = 6 are enough for every rule here.
ROBUST = {"aggregate.liars": 2}


def wire(codec):
    return {"group.wire": f'"{codec}"'}


def rule(text):
    return {**ROBUST, "aggregate.rule": f'"{text}"'}


def topology(text, **settings):
    return {"gossip.topology": f'"{text}"', **settings}


# Rounds whose members agree on the sum.
EXACT = {
    "sgd": {},
    "adamw": {"optimizer.name": '"adamw"', "optimizer.learning_rate": 0.01},
    "warmup_linear_scaling": {"optimizer.base_batch": 32, "schedule.warmup_steps": 4},
    "bf16": wire("bf16"),
    "f16": wire("f16"),
    "int8": wire("int8"),
    "topk": wire("topk:ratio=0.05"),
    "randomk": wire("randomk:ratio=0.05"),
    "qsgd": wire("qsgd"),
    "sign_majority": {**wire("sign"), "optimizer.learning_rate": 0.001},
    "ef_sign": wire("ef_sign"),
    "sparseloco": wire("sparseloco"),
    "dct": wire("dct"),
    "fedzip": wire("fedzip"),
    "diloco": LOCAL,
    "diloco_adamw": {**LOCAL, "optimizer.name": '"adamw"', "optimizer.learning_rate": 0.01},
    "diloco_int8": {**LOCAL, **wire("int8")},
    "diloco_sparseloco": {**LOCAL, **wire("sparseloco")},
    "local_sgd": {**LOCAL, "local.outer": '"plain"', "local.outer_rate": 1},
    "median": rule("median"),
    "trimmed_mean": rule("trimmed_mean"),
    "nnm_trimmed_mean": rule("nnm trimmed_mean"),
    "krum": rule("krum"),
    "centered_clip": rule("centered_clip"),
    "geometric_median": rule("geometric_median"),
}

# Each member mixes its parameters with its neighbours'.
GOSSIP = {
    "gossip_ring": topology("ring"),
    "gossip_random_regular": topology("random_regular"),
    "gossip_one_peer_exponential": topology("one_peer_exponential"),
    "gossip_complete": topology("complete"),
    "gossip_star": topology("star"),
    "gossip_torus_adam": topology("torus", **{"optimizer.name": '"adam"'}),
}

# Methods of loose exchange whose members wait for each other, so that nothing is left to chance.
SPLIT = {**LOCAL, "run.global_batch": 16, "data.partition": '"dirichlet:alpha=1"'}


def mix(name, **settings):
    return {**SPLIT, "mix.method": f'"{name}"', **settings}


MIX = {
    "mix_fedavg": mix("fedavg"),
    "mix_fedavg_int8": mix("fedavg", **wire("int8")),
    "mix_fedavg_drawn": mix("fedavg", **{"mix.plan": '"star:fraction=0.5"'}),
    "mix_fedprox": mix("fedprox", **{"mix.local": '"prox:mu=0.1"'}),
    "mix_fedadam": mix("fedadam"),
    "mix_local_sgd_adam": mix("local_sgd", **{"optimizer.name": '"adam"',
                                             "optimizer.learning_rate": 0.01}),
    "mix_diloco": mix("diloco"),
    "mix_dpsgd": mix("dpsgd"),
    "mix_dpsgd_apart": mix("dpsgd", **{"mix.start": '"own"'}),
    "mix_dfedsam": mix("dfedsam"),
    "mix_dfedsam_mgs": mix("dfedsam_mgs"),
    "mix_fedamd": mix("fedamd"),
    "mix_spsa_byte": mix("spsa_byte"),
    "mix_dpsgd_outputs": mix("dpsgd", **{"mix.part": '"outputs"'}),
    "mix_sybilwall": mix("sybilwall"),
    "mix_bristle": mix("bristle", **{"mix.part": '"outputs"'}),
    "mix_dimat": mix("dimat"),
    "mix_variance_corrected": mix("variance_corrected"),
    # As its timeout is, members that are late would be left out.
    "mix_modest": mix("modest", **{"mix.plan": '"sampled:size=4"', "mix.trigger": '"round:timeout=60"'}),
}

# States by method: two methods with one state would say that a setting does not count.
seen = {}


def is_its_own(name, states):
    for other, others in seen.items():
        expect(not states & others, f"expected another state than that of {other}: {states}")
    seen[name] = states


def exact(name):
    def test():
        state, note = exact_rounds_agree({**SMALL, **EXACT[name]}, PEERS)
        is_its_own(name, {state})
        return note
    return test


def gossip(name):
    def test():
        states, note = gossip_agrees({**SMALL, **GOSSIP[name]}, PEERS)
        is_its_own(name, states)
        return note
    return test


def mixing(name):
    def test():
        states, note = mix_agrees({**SMALL, **MIX[name]}, PEERS)
        is_its_own(name, states)
        return note
    return test


TESTS = {**{name: exact(name) for name in EXACT}, **{name: gossip(name) for name in GOSSIP},
         **{name: mixing(name) for name in MIX}}


def drawn(names, count):
    commit = turns.git("rev-parse", "HEAD").strip()
    return sorted(names, key=lambda name: turns.drawn(commit, name))[:count]


def chosen():
    counts = [int(word.split("=")[1]) for word in sys.argv[1:] if word.startswith("--draw=")]
    if not counts:
        return TESTS
    names = drawn(EXACT, max(1, counts[0] - 2)) + drawn(GOSSIP, 1) + drawn(MIX, 1)
    return {name: TESTS[name] for name in names}


if __name__ == "__main__":
    sys.exit(main(chosen()))
