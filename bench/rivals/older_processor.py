"""Makes a library believe that the processor has AVX2 and no AVX-512.

For libraries that ask the processor by the instruction cpuid and have no switch. In a copy, each
cpuid becomes ud2, which is as long and raises SIGILL; the program that loads the copy answers it
(older_processor.cpp). So a processor that has more can compare both sides with the code that they
have for most laptops.
"""

import pathlib
import re
import subprocess
import sys

CPUID, UD2 = b"\x0f\xa2", b"\x0f\x0b"


def output_of(*command):
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        sys.exit(f"{command[0]}: not found; run: sudo apt-get install binutils")


def code_section(library):
    """(first address, its place in the file) of the section .text."""
    found = re.search(r" \.text +PROGBITS +([0-9a-f]+) ([0-9a-f]+)",
                      output_of("readelf", "-SW", library))
    return int(found.group(1), 16), int(found.group(2), 16)


def without_avx512(library, folder):
    """The path of a copy of `library` in `folder` that asks by SIGILL."""
    first, place = code_section(library)
    data = bytearray(pathlib.Path(library).read_bytes())
    listing = output_of("objdump", "-d", "--no-show-raw-insn", "-j", ".text", library)
    for address in re.findall(r"^ *([0-9a-f]+):\s+cpuid", listing, re.MULTILINE):
        at = int(address, 16) - first + place
        if data[at:at + 2] != CPUID:
            sys.exit(f"{library}: expected cpuid at {address}, got {data[at:at + 2].hex()}")
        data[at:at + 2] = UD2
    copy = pathlib.Path(folder) / pathlib.Path(library).name
    copy.write_bytes(data)
    return str(copy)
