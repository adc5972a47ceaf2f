#!/usr/bin/env python3
"""What one link carries over a long fat line, by one connection and by several.

usage (as root): long_line.py BUILD [--rtt 100] [--mbit 400] [--window 4] [--seconds 30]

BUILD is the folder of the release build; it has bench/delay_line and bench/bulk_stream. Two network
namespaces with a line of --rtt milliseconds and --mbit between them; --window: how many MiB the
system lets a connection's buffers grow to in them (net.ipv4.tcp_rmem, tcp_wmem), 0 for as much as
this machine does. A stream of bulk frames over TLS, by 1 connection, by fixed numbers and by as
many as the link itself decides. Prints one JSON object each: megabits a second over the last third
of the time, and second by second.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import time

import netlab

ADDRESSES = ["10.78.0.1", "10.78.0.2"]


def set_up(lab, window_mib):
    for i, name in enumerate(lab.names):
        netlab.sh(*netlab.inside(name, "ip", "addr", "add", ADDRESSES[i], "peer",
                                 ADDRESSES[1 - i], "dev", "line"))
        netlab.sh(*netlab.inside(name, "ip", "link", "set", "line", "up", "txqueuelen", "10000"))
        if window_mib > 0:
            most = int(window_mib * (1 << 20))
            for which, usual in (("rmem", 131072), ("wmem", 16384)):
                netlab.sh(*netlab.inside(name, "sysctl", "-qw",
                                         f"net.ipv4.tcp_{which}=4096 {usual} {most}"))


def stream(bench, lab, connections, seconds):
    receive = subprocess.Popen(
        netlab.inside(lab.names[1], str(bench / "bulk_stream"), "receive",
                      f"{ADDRESSES[1]}:7433", str(seconds)), stdout=subprocess.PIPE, text=True)
    identity = receive.stdout.readline().strip()
    send = subprocess.Popen(
        netlab.inside(lab.names[0], str(bench / "bulk_stream"), "send", identity,
                      f"{ADDRESSES[1]}:7433", str(seconds + 5), str(connections)))
    try:
        text, _ = receive.communicate(timeout=seconds + 60)
    finally:
        for process in (send, receive):
            process.kill()
            process.wait()
    return [json.loads(line) for line in text.splitlines()]


def measure(bench, arguments, connections):
    with netlab.Lab(2) as lab:
        line = subprocess.Popen(
            [str(bench / "delay_line"), *lab.names, str(arguments.rtt / 2), str(arguments.mbit),
             str(arguments.queue)], stdout=subprocess.PIPE, text=True)
        try:
            if line.stdout.readline() != "ready\n":
                sys.exit("no line")
            set_up(lab, arguments.window)
            began = time.monotonic()
            seconds = stream(bench, lab, connections, arguments.seconds)
            took = time.monotonic() - began
        finally:
            line.terminate()
            line_said = line.communicate(timeout=10)[0].split("\n")
    last = seconds[-max(1, len(seconds) // 3):]
    return {"connections": connections or "auto", "rtt_ms": arguments.rtt,
            "line_mbit": arguments.mbit, "window_mib": arguments.window,
            "mbit": round(sum(s["mbit"] for s in last) / len(last), 1),
            "connections_at_end": last[-1]["connections"], "took_s": round(took, 1),
            "by_second": [[s["mbit"], s["connections"]] for s in seconds],
            "line": [text for text in line_said if text]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rtt", type=float, default=100)
    parser.add_argument("--mbit", type=float, default=400)
    parser.add_argument("--queue", type=float, default=100, help="ms that a packet may wait")
    parser.add_argument("--window", type=float, default=4)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--connections", type=int, nargs="*", default=[1, 2, 4, 8, 0])
    arguments = parser.parse_args()
    for connections in arguments.connections:
        print(json.dumps(measure(arguments.build.resolve() / "bench", arguments, connections)),
              flush=True)


if __name__ == "__main__":
    main()
