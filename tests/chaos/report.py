"""The figures of a chaos run, as JSON and as text."""
import statistics

POINTS = 0.5
# A round that takes so many times the usual was held up by faults; less is the machine's jitter.
OUTAGE = 4


def figures(run, end, alone, disturbed_seconds):
    """What is told of a run; `alone`: the summary of the undisturbed run of as many steps."""
    usual = statistics.median(run.gaps) if run.gaps else 0.0
    disturbed = run.gaps[:run.rounds_disturbed]
    lost = sum(gap - usual for gap in disturbed if gap > OUTAGE * usual)
    whole = sum(run.gaps)
    at = max(range(len(run.gaps)), key=lambda i: run.gaps[i]) if run.gaps else 0
    result = {
        "seed": run.options.seed,
        "peers": len(run.members),
        "seconds_disturbed": round(disturbed_seconds, 1),
        "seconds": round(whole, 1),
        "rounds": run.newest,
        "faults": dict(sorted(run.counts.items())),
        "faults_in_all": sum(run.counts.values()),
        "faults_left_out": run.left_out,
        "view_changes": run.views,
        "rounds_rerun": len(run.reruns),
        "round_seconds_median": round(usual, 4),
        "worst_round_seconds": round(max(run.gaps, default=0.0), 2),
        "worst_round": run.newest - len(run.gaps) + at + 1,
        "round_bound_seconds": round(run.bounds.round, 1),
        "outages": sum(gap > OUTAGE * usual for gap in disturbed),
        "share_of_time_lost": round(lost / sum(disturbed), 4) if disturbed else 0.0,
        "machine_starved_seconds": round(run.credit(), 1),
        "sums_checked": run.sums.checked,
        "inputs_logged": run.sums.inputs_seen,
        "joins": sum(m.lives for m in run.members) - 1,
        "processes_that_tried_again": run.retries,
        "quorum_lost_events": run.quorum_lost,
        "suspicions_taken_back": run.false_suspicions,
        "test_accuracy": end and end.get("test_accuracy"),
        "test_loss": end and end.get("test_loss"),
        "undisturbed_accuracy": alone and alone.get("test_accuracy"),
        "undisturbed_loss": alone and alone.get("test_loss"),
        "state_hash": end and end.get("state_hash"),
        "wrong": run.violations,
    }
    return result


def compare(run, end, alone):
    """The end must be as good as that of the undisturbed run; it may be better by chance."""
    if end is None or alone is None:
        return
    worse = 100.0 * (alone["test_accuracy"] - end["test_accuracy"])
    if not worse <= POINTS:
        run.wrong(f"accuracy {100 * end['test_accuracy']:.2f} %, undisturbed "
                  f"{100 * alone['test_accuracy']:.2f} %: more than {POINTS} points worse")


def text(result):
    faults = ", ".join(f"{count} {kind}" for kind, count in result["faults"].items())
    lines = [
        f"{result['rounds']} rounds of {result['peers']} peers in {result['seconds']:.0f} s, "
        f"{result['faults_in_all']} faults in {result['seconds_disturbed']:.0f} s: {faults}",
        f"view changes {result['view_changes']}, rounds run again {result['rounds_rerun']}, joins "
        f"{result['joins']}, of them tried again {len(result['processes_that_tried_again'])}",
        f"a round usually {result['round_seconds_median']:.3f} s, the worst "
        f"{result['worst_round_seconds']:.2f} s (round {result['worst_round']}; the bound is "
        f"{result['round_bound_seconds']:.1f} s), {100 * result['share_of_time_lost']:.1f} % of "
        "the time lost",
        f"{result['sums_checked']} sums checked against {result['inputs_logged']} inputs",
    ]
    if result["test_accuracy"] is not None and result["undisturbed_accuracy"] is not None:
        lines.append(f"accuracy {100 * result['test_accuracy']:.2f} %, undisturbed "
                     f"{100 * result['undisturbed_accuracy']:.2f} %; state "
                     f"{result['state_hash'][:16]} at all peers")
    lines += [f"WRONG: {fault}" for fault in result["wrong"]]
    return "\n".join(lines)
