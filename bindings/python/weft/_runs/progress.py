"""The progress of a run on standard error: a bar by tqdm where it is installed, else plain lines."""
import contextlib
import sys
import time

_SECONDS_BETWEEN_LINES = 1.0


@contextlib.contextmanager
def progress_of(wanted):
    """A function that shows what each event changes."""
    if not wanted:
        yield lambda event: None
        return
    try:
        from tqdm import tqdm  # type: ignore[import]
    except ImportError:
        yield _Lines()
        return
    with tqdm(unit="step", dynamic_ncols=True, file=sys.stderr) as bar:
        yield _Bar(bar)


def _words(event):
    """What there is to say of a round."""
    words = {}
    if isinstance(event.get("loss"), (int, float)):
        words["loss"] = f"{event['loss']:.4g}"
    if isinstance(event.get("members"), int):
        words["members"] = event["members"]
    return words


class _Bar:
    def __init__(self, bar):
        self._bar = bar

    def __call__(self, event):
        if event["kind"] == "round" and isinstance(event.get("step"), int):
            self._bar.total = event.get("steps")
            self._bar.set_postfix(_words(event), refresh=False)
            self._bar.update(event["step"] - self._bar.n)
        elif "text" in event:
            self._bar.write(str(event["text"]), file=sys.stderr)


class _Lines:
    """At most one round a second: the first, the last and some in between."""

    def __init__(self):
        self._next = 0.0

    def __call__(self, event):
        if event["kind"] == "round":
            now = time.monotonic()
            last = event.get("round") == event.get("rounds")
            if now < self._next and not last:
                return
            self._next = now + _SECONDS_BETWEEN_LINES
            words = "".join(f", {name} {value}" for name, value in _words(event).items())
            print(f"step {event.get('step')} of {event.get('steps')}{words}", file=sys.stderr,
                  flush=True)
        elif "text" in event:
            print(event["text"], file=sys.stderr, flush=True)
