#!/usr/bin/env python3
"""All-reduce over a slow line: peers in network namespaces, each one's uplink shaped by tc tbf.

usage (as root): shaped_line.py WEFT [--peers 4] [--rate-mbit 100] [--bytes 16777216]
                 [--transports tls] [--python PYTHON]

The line's own time is 2 (n-1)/n * bytes / rate: what each uplink must carry. Prints one JSON object
a transport with the share of the line that was used, and the share of what the headers of Ethernet,
IPv4 and TCP leave of it; `gloo` among the transports runs PyTorch's.
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import netlab  # noqa: E402

LIMIT_SECONDS = 240
SUBNET = "10.77.0"


def sh(*command, check=True):
    subprocess.run(command, check=check, capture_output=not check)


@contextlib.contextmanager
def network(peers, rate_mbit):
    tag = f"w{os.getpid() % 100000}"
    names = [f"{tag}n{i}" for i in range(peers)]
    try:
        sh("ip", "link", "add", f"{tag}b", "type", "bridge")
        sh("ip", "link", "set", f"{tag}b", "up")
        for i, name in enumerate(names):
            inside = ["ip", "netns", "exec", name]
            sh("ip", "netns", "add", name)
            sh("ip", "link", "add", f"{tag}v{i}", "type", "veth", "peer", "name", "line", "netns",
               name)
            sh("ip", "link", "set", f"{tag}v{i}", "master", f"{tag}b", "up")
            sh(*inside, "ip", "addr", "add", f"{SUBNET}.{i + 1}/24", "dev", "line")
            sh(*inside, "ip", "link", "set", "line", "up")
            sh(*inside, "ip", "link", "set", "lo", "up")
            sh(*inside, "tc", "qdisc", "add", "dev", "line", "root", "tbf", "rate",
               f"{rate_mbit}mbit", "burst", "128kb", "latency", "100ms")
        yield names
    finally:
        for name in names:
            sh("ip", "netns", "del", name, check=False)
        sh("ip", "link", "del", f"{tag}b", check=False)


def command_of(arguments, transport, rank, folder):
    if transport == "gloo":
        return [arguments.python, str(HERE / "gloo_all_reduce.py"), str(rank),
                str(arguments.peers), f"{SUBNET}.1", "29600", "line", str(arguments.bytes),
                str(arguments.repetitions)]
    return [arguments.weft, "bench", "allreduce", "--peers", str(arguments.peers), "--bytes",
            str(arguments.bytes), "--transport", transport, "--repetitions",
            str(arguments.repetitions), "--rank", str(rank), "--meet", folder, "--listen",
            f"{SUBNET}.{rank + 1}:0", "--json"]


def measure(arguments, transport, names):
    with tempfile.TemporaryDirectory() as folder:
        ranks = [subprocess.Popen(
            ["ip", "netns", "exec", name, *command_of(arguments, transport, rank, folder)],
            stdout=subprocess.PIPE, text=True, start_new_session=True)
            for rank, name in enumerate(names)]
        try:
            outputs = [rank.communicate(timeout=LIMIT_SECONDS)[0] for rank in ranks]
        finally:
            for rank in ranks:
                if rank.poll() is None:
                    os.killpg(rank.pid, signal.SIGKILL)
    for line in outputs[0].splitlines():
        if line.startswith("{"):
            return json.loads(line)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weft")
    parser.add_argument("--peers", type=int, default=4)
    parser.add_argument("--rate-mbit", type=int, default=100)
    parser.add_argument("--bytes", type=int, default=16 << 20)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--transports", default="tls")
    parser.add_argument("--python", default=sys.executable, help="a Python that has torch")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("shaped_line.py: network namespaces need root")
    share = 2 * (arguments.peers - 1) / arguments.peers
    line_seconds = share * arguments.bytes * 8 / (arguments.rate_mbit * 1e6)
    failed = False
    with network(arguments.peers, arguments.rate_mbit) as names:
        for transport in arguments.transports.split(","):
            found = measure(arguments, transport, names)
            failed = failed or found is None
            if found is not None:
                print(json.dumps({
                    "transport": transport, "peers": arguments.peers, "bytes": arguments.bytes,
                    "rate_mbit": arguments.rate_mbit, "line_seconds": round(line_seconds, 4),
                    "median_seconds": found["median_seconds"],
                    "min_seconds": found["min_seconds"],
                    "share_of_line": round(line_seconds / found["median_seconds"], 4),
                    "share_of_goodput": round(
                        line_seconds / netlab.GOODPUT / found["median_seconds"], 4),
                }), flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
