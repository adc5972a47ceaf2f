#!/usr/bin/env python3
"""How much of an exchange SwarmOptimizer hides behind backward(), beside the loop of the program.

usage (as root): PYTHONPATH=build/release/python bench/swarm_overlap.py WEFT [--rates 200,400,1000]
                                                                      [--runs 3] [--steps 20]

Two members in network namespaces, each with one thread and a line that tc tbf shapes both ways, train
the zoo's char_gpt with equal batches and SGD. Seconds a step, medians over the runs:

alone       one process of Python without a swarm, the other core as busy as with a second member
plain       loss.backward(), then SwarmOptimizer.step()
overlapped  SwarmOptimizer.backward(loss), during which gradients travel, then step()
program     `weft run` and `weft join`, which exchange during backward, too
line        what the line needs for the gradients: their bytes by its rate

The arms are run in turn. Prints one JSON object a rate, then a table.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import netlab

ROOT = pathlib.Path(__file__).resolve().parents[1]
MODEL = {"layers": 6, "heads": 4, "embedding_width": 192, "context": 64, "vocabulary": 16}
BATCH = 32  # texts a member
DEADLINE_S = 240
WARM_STEPS = 4

# One member; prints its ticket, then seconds a step.
MEMBER = """
import json, sys, time
import weft
from weft.swarm import SwarmOptimizer

how = json.loads(sys.argv[1])
weft.set_num_threads(1)
model = weft.models.create("char_gpt", **how["model"])
weft.manual_seed(how["rank"])
size = (how["batch"], how["model"]["context"])
texts = weft.randint(0, how["model"]["vocabulary"], size)
targets = weft.randint(0, how["model"]["vocabulary"], size).reshape(-1)
optimizer = weft.optim.SGD(model.parameters(), lr=1e-3)
if how["arm"] != "alone":
    optimizer = SwarmOptimizer(optimizer, how["ticket"], listen=how["listen"],
                               **({} if how["ticket"] else {"start_members": 2}))
    print(json.dumps({"ticket": optimizer.ticket}), flush=True)
begun = None
for step in range(how["warm"] + how["steps"]):
    if step == how["warm"]:
        begun = time.perf_counter()
    optimizer.zero_grad()
    logits = model(texts)
    loss = weft.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets)
    if how["arm"] == "overlapped":
        optimizer.backward(loss)
    else:
        loss.backward()
    optimizer.step()
seconds = (time.perf_counter() - begun) / how["steps"]
parameters = sum(p.numel() for p in model.parameters())
print(json.dumps({"seconds": seconds, "parameters": parameters}), flush=True)
if how["arm"] != "alone":
    optimizer.leave()
"""


def start_member(lab, rank, **how):
    how = {"model": MODEL, "batch": BATCH, "warm": WARM_STEPS, "rank": rank, "ticket": None,
           "listen": f"{lab.address(rank)}:0", **how}
    return subprocess.Popen(netlab.inside(lab.names[rank], sys.executable, "-c", MEMBER,
                                          json.dumps(how)), stdout=subprocess.PIPE, text=True)


def of_python(lab, arm, steps):
    """(seconds a step, parameters) of the slower one of two members."""
    members = [start_member(lab, 0, arm=arm, steps=steps)]
    try:
        ticket = None
        if arm != "alone":
            ticket = json.loads(members[0].stdout.readline())["ticket"]
        members.append(start_member(lab, 1, arm=arm, steps=steps, ticket=ticket))
        texts = [member.communicate(timeout=DEADLINE_S)[0] for member in members]
    finally:
        for member in members:
            member.kill()
    found = [json.loads(text.splitlines()[-1]) for text in texts]
    return max(each["seconds"] for each in found), found[0]["parameters"]


def of_program(weft, lab, steps):
    settings = {"model.name": '"char_gpt"', "data.name": '"markov"',
                **{f"model.{key}": value for key, value in MODEL.items()
                   if key not in ("vocabulary", "context")},
                "data.context": MODEL["context"], "optimizer.name": '"sgd"',
                "optimizer.learning_rate": 1e-3, "optimizer.momentum": 0.0,
                "optimizer.weight_decay": 0.0, "optimizer.clip_norm": 0.0,
                "schedule.name": '"constant"', "run.global_batch": 2 * BATCH, "run.steps": 100000}
    with tempfile.TemporaryDirectory() as folder:
        peers = netlab.start_group(weft, lab, str(ROOT / "recipes/text_char_gpt.toml"), settings, folder)
        try:
            begun, _ = peers[0].wait_round(WARM_STEPS, DEADLINE_S)
            ended, _ = peers[0].wait_round(WARM_STEPS + steps, DEADLINE_S)
            return (ended - begun) / steps
        finally:
            for peer in peers:
                peer.stop()


def measure(weft, rate, runs, steps):
    seconds = {"alone": [], "plain": [], "overlapped": [], "program": []}
    parameters = 0
    with netlab.Lan([rate] * 2, both_ways=True) as lab:
        for _ in range(runs):
            for arm in ("alone", "plain", "overlapped"):
                took, parameters = of_python(lab, arm, steps)
                seconds[arm].append(took)
            seconds["program"].append(of_program(weft, lab, steps))
    found = {arm: round(statistics.median(each), 4) for arm, each in seconds.items()}
    return {"mbit": rate, "parameters": parameters, **found,
            "line": round(4 * parameters * 8 / (rate * 1e6), 4)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weft")
    parser.add_argument("--rates", default="200,400,1000")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("swarm_overlap.py: network namespaces need root")
    rows = []
    for rate in map(int, arguments.rates.split(",")):
        rows.append(measure(arguments.weft, rate, arguments.runs, arguments.steps))
        print(json.dumps(rows[-1]), flush=True)
    names = list(rows[0])
    print("\n| " + " | ".join(names) + " |\n|" + "---|" * len(names))
    for row in rows:
        print("| " + " | ".join(str(row[name]) for name in names) + " |")


if __name__ == "__main__":
    main()
