"""Runs a script's tests by their names and prints a line for each, as ./test counts them.

Python 3 standard library only.
"""
import sys
import time

# Characters. The output of a whole run would hide the other lines.
REASON_MAX = 4000


def main(tests):
    """Runs the tests {name: function} named on the command line, all by default; one line each,
    then the count. What a test returns stands behind its name."""
    wanted = [word for word in sys.argv[1:] if not word.startswith("-")]
    unknown = [word for word in wanted if word not in tests]
    if unknown:
        print(f"no such test: {unknown}; there are {sorted(tests)}")
        return 2
    failed = 0
    chosen = {name: test for name, test in tests.items() if not wanted or name in wanted}
    for name, test in chosen.items():
        begin = time.monotonic()
        try:
            note = test() or ""
            print(f"ok      {name} ({time.monotonic() - begin:.1f} s) {note}", flush=True)
        except Exception as fault:  # one test's fault leaves the others to be run
            failed += 1
            reason = " ".join(f"{type(fault).__name__}: {fault}".split())
            if len(reason) > REASON_MAX:
                reason = f"{reason[:REASON_MAX // 2]} [...] {reason[-REASON_MAX // 2:]}"
            print(f"FAILED  {name} ({time.monotonic() - begin:.1f} s) {reason}", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0
