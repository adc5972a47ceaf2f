"""What a comparison leaves behind: files for machines and for readers, and its misses."""
import json
import pathlib
import sys


def finish(options, report, text, missed):
    """Writes the report to options.json and the text to options.markdown, where these are given;
    prints what missed its bound, and with options.check exits with status 1 if anything did."""
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=2) + "\n")
    if options.markdown:
        pathlib.Path(options.markdown).write_text(text + "\n")
    for line in missed:
        print("missed:", line, file=sys.stderr)
    if options.check and missed:
        sys.exit(1)
