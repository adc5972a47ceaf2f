#!/usr/bin/env python3
"""hostile_peer can make a frame of every type that the protocol has, and of no other."""
import subprocess
import sys

from attacker import PROGRAM
from types_of_frames import frame_types


def main():
    made = subprocess.run([PROGRAM, "--types"], check=True, capture_output=True,
                          text=True).stdout.split()
    known = frame_types()
    missing, strange = sorted(set(known) - set(made)), sorted(set(made) - set(known))
    twice = sorted({name for name in made if made.count(name) > 1})
    ok = not missing and not strange and not twice and len(known) > 40
    print(f"{len(known)} types; not tried {missing}, unknown {strange}, twice {twice}")
    print(f"{int(ok)} passed, {int(not ok)} failed")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
