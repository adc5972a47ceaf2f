"""What tests and benches in network namespaces share. Python 3 standard library only."""
import contextlib
import os
import subprocess


def sh(*command, check=True, text=None):
    """What became of the command, which got `text` to read; RuntimeError if it should not fail."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, input=text)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr}")
    return done


def forbidden(programs, trials):
    """Why this machine cannot run what needs `programs` and, in a namespace, the `trials`; empty if
    it can. A program is the command that tells its version, a trial (command, its input)."""
    for command in programs:
        with contextlib.suppress(OSError):
            if sh(*command, check=False).returncode == 0:
                continue
        return f"{command[0]} is missing"
    name = f"weft-probe-{os.getpid()}"
    made = sh("ip", "netns", "add", name, check=False)
    if made.returncode != 0:
        return "no network namespaces: " + made.stderr.strip()
    try:
        for command, text in trials:
            tried = sh("ip", "netns", "exec", name, *command, check=False, text=text)
            if tried.returncode != 0:
                return f"no {command[0]} in a namespace: {tried.stderr.strip()[:200]}"
        return ""
    finally:
        sh("ip", "netns", "del", name, check=False)
