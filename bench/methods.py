#!/usr/bin/env python3
"""Small forms of published experiments with methods of loose exchange, each with its control arms.

    bench/methods.py [NAME ...] [--seeds 3] [--jobs 2] [--weft build/release/weft] [--out DIR]

Each arm runs in `weft sim`, once for each seed; a run that DIR holds already is not run again. Prints
a Markdown table for each experiment: what a reference run of the same set-up gave (NumPy, images of
14x14, one to three seeds), and the mean and the spread of Weft's seeds on images of 28x28. The data
are Debian's dataset-fashion-mnist.
"""
import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECIPE = ROOT / "recipes" / "mnist_mlp.toml"

# What every arm has in common.
COMMON = {
    "data.name": "fashion-mnist", "model.hidden_units": 64, "data.train_samples_max": 20000,
    "optimizer.name": "sgd", "optimizer.momentum": 0, "group.exchange": "mix",
}


def arm(name, expected, peers=None, flags=(), **settings):
    """`expected`: what the reference run gave, as text."""
    return {"name": name, "expected": expected, "peers": peers, "flags": list(flags),
            "settings": {key.replace("__", "."): value for key, value in settings.items()}}


def experiment(title, claim, peers, rounds, arms, metric="accuracy", at=None, at_rounds=None,
               **settings):
    """`metric`: "accuracy" of the result on the test set; "members": the mean of the members' own;
    "attack": with the share of the attacked samples that it succeeds with;
    "parts": that and the connected parts of what is left of the graph;
    `at`: accuracy at these virtual seconds; `at_rounds`: after these rounds."""
    return {"title": title, "claim": claim, "peers": peers, "rounds": rounds, "arms": arms,
            "metric": metric, "at": at, "at_rounds": at_rounds,
            "settings": {key.replace("__", "."): value for key, value in settings.items()}}


# A step of the reference takes a second; here a sample takes 1/32 of one.
def seconds_a_step(*seconds, batch=32):
    return ["--speed", ",".join(f"{batch / each:g}" for each in seconds)]


QUICK_LINKS = ["--mbit", "0", "--ms", "0"]


def sybils(count):
    """Ten honest members, and so many that are one person's, to whom class 1 is class 7."""
    return {"peers": 10 + count,
            "flags": ["--attack", "label_swap:from=1:to=7", "--byzantine", str(count)]}


LIARS = ["--attack", "sign_flip:scale=4", "--byzantine", "2"]


def gossip_liars(attack, count):
    return ["--attack", attack, "--byzantine", str(count)]


def walled(count):
    """Twelve honest members in a random graph, and so many in it that are one person's."""
    return {"peers": 12 + count,
            "flags": gossip_liars("label_swap:from=1:to=7", count) if count else []}


EXPERIMENTS = {
    "topology": experiment(
        "D-PSGD: which graph (Lian et al. 2017)",
        "No loss where the members' data are alike; a ring loses with few labels a member.",
        16, 800, metric="members", run__global_batch=16, optimizer__learning_rate=0.05,
        mix__method="dpsgd", local__steps=1, arms=[
            # A server gives the same model as mixing on a complete graph, to the bit, for less work.
            arm("alike, all with all", "82.4 (merged)", mix__method="fedavg",
                data__partition="equal"),
            arm("alike, exponential", "82.3 (merged)", mix__plan="exponential",
                data__partition="equal"),
            arm("alike, ring", "82.2 (merged)", data__partition="equal"),
            arm("Dirichlet 0.1, all with all", "82.6", mix__method="fedavg",
                data__partition="dirichlet:alpha=0.1"),
            arm("Dirichlet 0.1, exponential", "81.2", mix__plan="exponential",
                data__partition="dirichlet:alpha=0.1"),
            arm("Dirichlet 0.1, ring", "70.6", data__partition="dirichlet:alpha=0.1"),
            arm("Dirichlet 0.1, nobody", "35.4", mix__plan="pairs:share=0",
                data__partition="dirichlet:alpha=0.1"),
        ]),
    "single_merge": experiment(
        "A single global merging (Zhu et al. 2026)",
        "Seldom mixes leave members poor and their mean good; dense rounds help most at the end.",
        16, 60, metric="both", run__global_batch=32, optimizer__learning_rate=0.05,
        mix__method="single_merge", local__steps=20, data__partition="dirichlet:alpha=0.1", arms=[
            arm("nobody mixes", "34 / 47", mix__plan="pairs:share=0"),
            arm("nobody mixes, own starts", "33 / 17", mix__plan="pairs:share=0", mix__start="own"),
            arm("pairs, 0.2", "46 / 65", mix__plan="pairs:share=0.2"),
            arm("and three dense rounds early", "48 / 67",
                mix__plan="pairs:share=0.2:dense_from=5:dense_rounds=3"),
            arm("and three in the middle", "49 / 70",
                mix__plan="pairs:share=0.2:dense_from=30:dense_rounds=3"),
            arm("and three at the end", "74 / 74",
                mix__plan="pairs:share=0.2:dense_from=57:dense_rounds=3"),
            arm("ring in every round", "66 / 76", mix__plan="ring"),
            arm("all with all in every round", "79 / 78", mix__method="fedavg"),
        ]),
    "variance": experiment(
        "Variance-corrected averaging (Tian et al. 2024)",
        "Models that begin apart do not learn when they are averaged; with the correction they do.",
        16, 150, run__global_batch=32, optimizer__learning_rate=0.03, local__steps=5,
        mix__method="dpsgd", mix__plan="exponential", model__name="lenet", data__partition="equal",
        arms=[
            arm("own starts, mean", "17 (deep MLP)", mix__start="own"),
            arm("own starts, corrected", "84.3 (deep MLP)", mix__start="own",
                mix__combine="variance"),
            arm("same start, mean", "82.8 (deep MLP)"),
            arm("same start, corrected", "no difference", mix__combine="variance"),
        ]),
    "sharpness": experiment(
        "DFedSAM and several mixes (Shi et al. 2023)",
        "Four mixes in a round help members on a ring; sharpness-aware steps do little for an MLP.",
        16, 80, metric="both", run__global_batch=32, optimizer__learning_rate=0.05, local__steps=10,
        data__train_samples_max=3200, data__partition="dirichlet:alpha=0.3", mix__method="dfedsam",
        arms=[
            arm("plain, one mix", "74.0 / 77.7", mix__local="sgd"),
            arm("plain, four mixes", "77.9 / 78.3", mix__local="sgd", mix__mixes=4),
            arm("sharpness 0.05, one mix", "74.2 / 77.8"),
            arm("sharpness 0.05, four mixes", "78.0 / 78.2", mix__mixes=4),
        ]),
    "straggler": experiment(
        "One of eight members is five times slower",
        "Backup workers and methods without rounds reach far more in the same time.",
        8, 5000, at=(150, 600), run__global_batch=32, optimizer__learning_rate=0.05,
        local__steps=1, data__partition="equal", run__evaluate_every_steps=10, arms=[
            arm("synchronous", "69.8 / 75.8", flags=seconds_a_step(*[1] * 7, 5) + QUICK_LINKS,
                mix__method="fedavg"),
            arm("one backup worker", "78.5 / 82.2",
                flags=seconds_a_step(*[1] * 7, 5) + QUICK_LINKS, mix__method="backup_workers",
                mix__trigger="round:part=0.875"),
            arm("AD-PSGD", "77.8 / 81.5", flags=seconds_a_step(*[1] * 7, 5) + QUICK_LINKS,
                mix__method="ad_psgd"),
            arm("asynchronous, 1 / (1 + s)", "77.5 / 81.8",
                flags=seconds_a_step(*[1] * 7, 5) + QUICK_LINKS, mix__method="async_sgd",
                mix__trigger="buffer:size=1:staleness=1", run__evaluate_every_steps=80),
        ]),
    "diloco": experiment(
        "DiLoCo's outer step (Douillard et al. 2023)",
        "Nesterov's momentum is worth one to two points over the plain mean of local models.",
        8, 24, run__global_batch=16, optimizer__name="adam", optimizer__learning_rate=0.001,
        local__steps=50, mix__method="fedavg", data__partition="equal", arms=[
            arm("one member alone", "80.2", peers=1),
            arm("each step (rounds of one step)", "84.8", local__steps=1, rounds=1200,
                mix__outer="plain"),
            arm("mean of local models", "83.5", mix__outer="plain"),
            arm("plain, rate 0.7", "82.7", mix__outer="plain:rate=0.7"),
            arm("Nesterov, 0.7 and 0.9", "84.8", mix__outer="nesterov"),
        ]),
    "matching": experiment(
        "DIMAT: units are matched before models are mixed (Saadati et al. 2024)",
        "One merge of two models that began apart loses 10 points, and hardly any once their units "
        "are matched; with one start matching changes nothing.",
        2, 1, metric="members", run__global_batch=32, optimizer__learning_rate=0.05,
        local__steps=2500, mix__method="dpsgd", mix__plan="complete", data__partition="equal",
        mix__start="own", arms=[
            arm("alike, nobody merges", "82.3 and 82.8", mix__plan="pairs:share=0"),
            arm("alike, plain mean", "72.0"),
            arm("alike, matched", "81.2", mix__combine="match"),
            arm("Dirichlet 0.3, nobody merges", "74.0 and 73.0", mix__plan="pairs:share=0",
                data__partition="dirichlet:alpha=0.3"),
            arm("Dirichlet 0.3, plain mean", "65.1", data__partition="dirichlet:alpha=0.3"),
            arm("Dirichlet 0.3, matched", "70.3", data__partition="dirichlet:alpha=0.3",
                mix__combine="match"),
            arm("same start, plain mean", "83.6", mix__start="same"),
            arm("same start, matched", "83.6", mix__start="same", mix__combine="match"),
            arm("same start, Dirichlet 0.3, plain mean", "71.4 or 72.6", mix__start="same",
                data__partition="dirichlet:alpha=0.3"),
            arm("same start, Dirichlet 0.3, matched", "71.4 or 72.6", mix__start="same",
                mix__combine="match", data__partition="dirichlet:alpha=0.3"),
        ]),
    "overlap": experiment(
        "DiLoCo whose exchanges overlap with local steps (Keiblinger et al. 2025)",
        "A round's delay costs half a point to one with plain steps, and everything with Nesterov's "
        "momentum of 0.9.",
        8, 24, run__global_batch=16, optimizer__name="adam", optimizer__learning_rate=0.001,
        local__steps=50, mix__method="overlapped_diloco", data__partition="equal", arms=[
            arm("no delay, Nesterov, 0.7 and 0.9", "84.8", mix__trigger="round",
                mix__outer="nesterov"),
            arm("delay, Nesterov, 0.7 and 0.9", "24.0", mix__outer="nesterov"),
            arm("no delay, plain, rate 0.7", "82.7", mix__trigger="round"),
            arm("delay, plain, rate 0.7", "81.8"),
            arm("no delay, Nesterov, 0.5 and 0.4", "82.7", mix__trigger="round",
                mix__outer="nesterov:rate=0.5:momentum=0.4"),
            arm("delay, Nesterov, 0.5 and 0.4", "82.0",
                mix__outer="nesterov:rate=0.5:momentum=0.4"),
        ]),
    "post_local": experiment(
        "Post-local SGD (Lin et al. 2020)",
        "Between an exchange in every step and local steps all the time, for the bytes of half.",
        8, 24, run__global_batch=16, optimizer__name="adam", optimizer__learning_rate=0.001,
        local__steps=50, mix__method="post_local_sgd", data__partition="equal", arms=[
            arm("each step", "84.8", local__steps=1, rounds=1200, mix__trigger="round"),
            arm("600 single steps, 12 rounds of 50", "not run", rounds=612,
                mix__trigger="round:single_until=600"),
            arm("24 rounds of 50 local steps", "83.5", mix__trigger="round"),
        ]),
    "disruption": experiment(
        "A disaster: members leave, or lose their data (Palmieri et al. 2024)",
        "Hubs that leave cost about five points, the same loss of data about one.",
        50, 60, metric="parts", run__global_batch=16, optimizer__learning_rate=0.1, local__steps=5,
        model__hidden_units=32, data__train_samples_max=3000, data__partition="equal",
        mix__method="dpsgd", mix__plan="barabasi_albert:edges=2", arms=[
            arm("nothing happens", "75.5"),
            arm("10 drawn lose their data", "74.7", flags=["--disrupt", "data=random:10@10"]),
            arm("10 hubs lose their data", "74.5", flags=["--disrupt", "data=hubs:10@10"]),
            arm("25 drawn lose their data", "73.3", flags=["--disrupt", "data=random:25@10"]),
            arm("10 drawn leave", "74.8", flags=["--disrupt", "leave=random:10@10"]),
            arm("10 hubs leave", "70.1 (18.7 parts, largest 11.7)",
                flags=["--disrupt", "leave=hubs:10@10"]),
            arm("25 drawn leave", "72.2 (5.7 parts)", flags=["--disrupt", "leave=random:25@10"]),
        ]),
    "spsa": experiment(
        "Just one byte: two losses in place of a gradient (E. Zelikman et al. 2023)",
        "One byte costs nothing against whole numbers; both need ten times the steps of gradients "
        "and more.",
        4, 500, at_rounds=(100, 500), run__global_batch=64, local__steps=1,
        model__name="linear", data__partition="equal", run__evaluate_every_steps=100, arms=[
            arm("gradients", "74.8 / 80.0", mix__method="local_sgd",
                optimizer__learning_rate=0.02),
            arm("one byte, 4 directions each", "60.4 / 71.0", mix__method="spsa_byte",
                mix__local="spsa:directions=4", mix__outer="plain:rate=0.002"),
            arm("one byte, 1 direction each", "not run", mix__method="spsa_byte",
                mix__local="spsa", mix__outer="plain:rate=0.0005"),
        ]),
    "anchors": experiment(
        "FedAMD: anchors and miners (Wu et al. 2023)",
        "At most two points better than FedAvg where p and rate suit each other, and unstable with "
        "few anchors and large rates.",
        20, 150, run__global_batch=64, local__steps=10, data__partition="labels:count=2",
        # A rate weighs by the number of pixels, so that this one takes the reference's images.
        data__transforms="resize:14x14",
        mix__method="fedamd", optimizer__learning_rate=0.03, arms=[
            arm("FedAvg, rate 0.03", "78.0", mix__method="fedavg", mix__plan="star:fraction=0.5"),
            arm("FedAvg, rate 0.1", "79.2", mix__method="fedavg", mix__plan="star:fraction=0.5",
                optimizer__learning_rate=0.1),
            arm("p = 0.2, rate 0.03", "68.0", mix__local="amd:p=0.2"),
            arm("p = 0.5, rate 0.03", "79.2"),
            arm("p = 0.8, rate 0.03", "79.6", mix__local="amd:p=0.8"),
            arm("p = 0.5, rate 0.01", "79.1", optimizer__learning_rate=0.01),
            arm("p = 0.5, rate 0.1", "diverges", optimizer__learning_rate=0.1),
        ]),
    "sampling": experiment(
        "MoDeST: 4 of 32 members a version (de Vos et al. 2023)",
        "As accurate as FedAvg with as many members, for an eighth or less of D-PSGD's bytes.",
        32, 60, metric="bytes", run__global_batch=20, optimizer__learning_rate=0.1, local__steps=5,
        data__partition="equal", arms=[
            arm("FedAvg, 4 of 32", "equal to MoDeST", mix__method="fedavg",
                mix__plan="star:fraction=0.125"),
            arm("MoDeST, 4 of 32", "1", mix__method="modest", mix__plan="sampled:size=4",
                mix__trigger="round:timeout=300"),
            arm("D-PSGD on a ring", "8 times MoDeST's bytes", mix__method="dpsgd"),
        ]),
    "sybils": experiment(
        "FoolsGold against one person's many identities (Fung et al. 2020)",
        "Two or more that are alike are found out; one alone is trusted, and the mean gives way.",
        10, 300, metric="attack", run__global_batch=16, optimizer__learning_rate=0.05,
        local__steps=1, data__partition="labels:count=2", arms=[
            arm("mean, one", "85.8 / 46 (Gaussian classes)", **sybils(1), mix__method="fedavg"),
            arm("mean, two", "81.4 / 90", **sybils(2), mix__method="fedavg"),
            arm("mean, five", "80.6 / 95", **sybils(5), mix__method="fedavg"),
            arm("mean, ten", "79.5 / 96", **sybils(10), mix__method="fedavg"),
            arm("FoolsGold, one", "81.1 / 89", **sybils(1), mix__method="foolsgold"),
            arm("FoolsGold, two", "90.5 / 3", **sybils(2), mix__method="foolsgold"),
            arm("FoolsGold, five", "90.6 / 2", **sybils(5), mix__method="foolsgold"),
            arm("FoolsGold, ten", "90.4 / 3", **sybils(10), mix__method="foolsgold"),
        ]),
    "bristle": experiment(
        "Bristle: output layers are judged by samples of one's own (Verbraeken et al. 2021)",
        "Lies in gossip do not count; the mean and rules for the honest majority give way where "
        "the members' classes differ.",
        16, 60, metric="members", run__global_batch=16, optimizer__learning_rate=0.1,
        local__steps=5, model__hidden_units=128, mix__method="dpsgd", mix__plan="complete",
        mix__part="outputs", optimizer__groups="fc1.* frozen",
        data__partition="dirichlet:alpha=0.5", arms=[
            arm("nobody lies, mean", "-"),
            arm("nobody lies, trimmed mean for 6", "-", mix__combine="nnm trimmed_mean",
                aggregate__liars=6),
            arm("nobody lies, Bristle", "-", mix__method="bristle"),
            arm("nobody lies, nobody mixes", "-", mix__plan="pairs:share=0"),
            arm("6 of 16 flip signs, mean", "-",
                flags=gossip_liars("sign_flip:scale=4", 6)),
            arm("6 of 16 flip signs, trimmed mean", "-", mix__combine="nnm trimmed_mean",
                aggregate__liars=6, flags=gossip_liars("sign_flip:scale=4", 6)),
            arm("6 of 16 flip signs, Bristle", "-", mix__method="bristle",
                flags=gossip_liars("sign_flip:scale=4", 6)),
            arm("10 of 16 flip signs, Bristle", "-", mix__method="bristle",
                flags=gossip_liars("sign_flip:scale=4", 10)),
            arm("6 of 16 flip labels, mean", "-", flags=gossip_liars("label_flip", 6)),
            arm("6 of 16 flip labels, trimmed mean", "-", mix__combine="nnm trimmed_mean",
                aggregate__liars=6, flags=gossip_liars("label_flip", 6)),
            arm("6 of 16 flip labels, Bristle", "-", mix__method="bristle",
                flags=gossip_liars("label_flip", 6)),
        ]),
    "sybilwall": experiment(
        "SybilWall: one person's identities all over a graph (Werthenbach and Pouwelse 2023)",
        "Those who stand at different members are found out by what neighbours tell; without that "
        "each of them is trusted where it stands alone.",
        12, 60, metric="attack", run__global_batch=16, optimizer__learning_rate=0.05,
        local__steps=5, mix__method="dpsgd", mix__plan="random_regular:degree=4",
        data__partition="dirichlet:alpha=0.3", arms=[
            arm("mean, none", "-", **walled(0)),
            arm("SybilWall, none", "-", **walled(0), mix__method="sybilwall"),
            arm("mean, two", "-", **walled(2)),
            arm("FoolsGold of neighbours, two", "-", **walled(2), mix__combine="foolsgold"),
            arm("SybilWall, two", "-", **walled(2), mix__method="sybilwall"),
            arm("mean, six", "-", **walled(6)),
            arm("FoolsGold of neighbours, six", "-", **walled(6), mix__combine="foolsgold"),
            arm("SybilWall, six", "-", **walled(6), mix__method="sybilwall"),
            arm("mean, twelve", "-", **walled(12)),
            arm("FoolsGold of neighbours, twelve", "-", **walled(12), mix__combine="foolsgold"),
            arm("SybilWall, twelve", "-", **walled(12), mix__method="sybilwall"),
        ]),
    "kardam": experiment(
        "Kardam: two of ten lie, without rounds (Damaskinos et al. 2018)",
        "Asynchronous steps break under liars that filtered ones withstand, for some speed.",
        10, 3000, run__global_batch=32, optimizer__learning_rate=0.05, local__steps=1,
        data__partition="equal", mix__method="async_sgd", mix__trigger="buffer:size=1:staleness=1",
        arms=[
            arm("nobody lies, no filter", "-", flags=seconds_a_step(1, 1.5)),
            arm("nobody lies, Kardam", "at least 70 % as fast", flags=seconds_a_step(1, 1.5),
                mix__combine="kardam", aggregate__liars=2),
            arm("two lie, no filter", "fails", flags=seconds_a_step(1, 1.5) + LIARS),
            arm("two lie, Kardam", "learns", flags=seconds_a_step(1, 1.5) + LIARS,
                mix__combine="kardam", aggregate__liars=2),
        ]),
}


def command_of(options, chosen, each, seed):
    settings = {**COMMON, **chosen["settings"], **each["settings"]}
    rounds = settings.pop("rounds", chosen["rounds"])
    settings["run.seed"] = seed
    command = [str(options.weft), "sim", str(RECIPE), "--json", "--threads", "1", "--seed",
               str(seed), "--peers", str(each["peers"] or chosen["peers"]), "--rounds", str(rounds)]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    return command + each["flags"]


def run(options, name, chosen, each, seed):
    command = command_of(options, chosen, each, seed)
    key = hashlib.sha256("\0".join(command[1:]).encode()).hexdigest()[:16]
    kept = options.out / f"{name}-{key}.jsonl"
    if not kept.exists():
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\n{done.stdout[-500:]}{done.stderr}")
        kept.write_text(done.stdout)
    return [json.loads(line) for line in kept.read_text().splitlines()]


def accuracy_at(events, seconds):
    """Of the last measurement until then."""
    now, best = 0.0, 0.0
    for event in events:
        if event["kind"] == "round":
            now = event["virtual_seconds"]
        if event["kind"] == "validation" and now <= seconds:
            best = event["accuracy"]
    return best


def accuracy_after(events, rounds):
    """Of the measurement in the round after that."""
    measured = [event for event in events if event["kind"] == "validation"]
    later = [event["accuracy"] for event in measured if event["step"] >= rounds]
    return later[0] if later else events[-1]["test_accuracy"]


def figures(chosen, events):
    end = events[-1]
    if chosen["at_rounds"]:
        return [100 * accuracy_after(events, at) for at in chosen["at_rounds"]]
    if chosen["at"]:
        return [100 * accuracy_at(events, at) for at in chosen["at"]]
    accuracy = 100 * end.get("test_accuracy", 0)
    if chosen["metric"] == "members":
        return [100 * end.get("members_accuracy", accuracy / 100)]
    if chosen["metric"] == "both":
        return [100 * end.get("members_accuracy", accuracy / 100), accuracy]
    if chosen["metric"] == "attack":
        return [accuracy, 100 * end.get("attack_rate", 0)]
    if chosen["metric"] == "parts":
        sizes = end.get("component_members", [chosen["peers"]])
        largest = end.get("component_accuracies", [end["members_accuracy"]])[0]
        return [100 * end["members_accuracy"], 100 * largest, len(sizes), sizes[0]]
    if chosen["metric"] == "bytes":
        return [accuracy, end["bytes_sent"] / 1e6]
    return [accuracy, end.get("test_loss", 0)]


COLUMNS = {"accuracy": "accuracy % / loss", "members": "members' accuracy %",
           "parts": "survivors' accuracy % / in the largest part / parts / members of the largest",
           "both": "members' / merged accuracy %", "bytes": "accuracy % / MB sent",
           "attack": "accuracy % / attack succeeds %"}


def show(chosen, results):
    header = COLUMNS[chosen["metric"]]
    if chosen["at"]:
        header = "accuracy % after " + " / ".join(f"{at} s" for at in chosen["at"])
    if chosen["at_rounds"]:
        header = "accuracy % after " + " / ".join(f"{at:,}" for at in chosen["at_rounds"]) + " steps"
    print(f"\n### {chosen['title']}\n\nExpected: {chosen['claim']}\n")
    print(f"| arm | reference | Weft: {header} |\n|---|---|---|")
    for each, seeds in zip(chosen["arms"], results):
        texts = []
        for values in zip(*seeds):
            mean = statistics.fmean(values)
            spread = statistics.stdev(values) if len(values) > 1 else 0
            digits = 3 if mean < 10 else 1
            if mean > 1e4:
                texts.append("above 10,000")
                continue
            texts.append(f"{mean:.{digits}f} ± {spread:.{digits}f}")
        print(f"| {each['name']} | {each['expected']} | {' / '.join(texts)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(EXPERIMENTS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--weft", type=pathlib.Path, default=ROOT / "build" / "release" / "weft")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "methods")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in EXPERIMENTS]
    if unknown:
        raise SystemExit(f"expected some of {', '.join(EXPERIMENTS)}, got {unknown[0]}")
    options.out.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name in options.names or EXPERIMENTS:
            chosen = EXPERIMENTS[name]
            waiting = [[pool.submit(run, options, name, chosen, each, seed)
                        for seed in range(1, options.seeds + 1)] for each in chosen["arms"]]
            show(chosen, [[figures(chosen, one.result()) for one in seeds] for seeds in waiting])
    return 0


if __name__ == "__main__":
    sys.exit(main())
