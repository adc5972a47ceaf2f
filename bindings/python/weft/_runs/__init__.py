"""weft.run() and weft.join(): a run by the program `weft`, from Python. docs/python.md explains
why it is a process of its own."""
import json
import os
import pathlib
import re
import tempfile

from weft import _core
from weft._runs import program as _program
from weft._runs.progress import progress_of

# By exit code (docs/commands.md).
_ERRORS = {1: _core.InternalError, 2: _core.InvalidArgumentError, 3: _core.UnavailableError,
           4: _core.CorruptError, 5: _core.AbortedError, 6: _core.AbortedError,
           7: _core.AnomalyError}
_INTERRUPTED = 130


class Run:
    """What a run has left behind: `out`, its folder; `summary`, its last event, a dict, empty if
    it did not come so far; `ticket`, with which others could join; `stopped`, whether the callback
    ended it."""

    def __init__(self, out):
        self.out = pathlib.Path(out)
        self.summary = {}
        self.ticket = None
        self.stopped = False
        self.has_begun = False  # whether there was an event

    def model(self):
        """The trained model, weft.models.load(out)."""
        from weft import models

        return models.load(self.out)

    def events(self, kind=None):
        """All events of the run from its log, or those of one kind."""
        with open(self.out / "events.jsonl", encoding="utf-8") as log:
            for line in log:
                event = json.loads(line)
                if kind is None or event.get("kind") == kind:
                    yield event

    def losses(self):
        """(step, loss) of each round, from its log."""
        return [(event["step"], event.get("loss")) for event in self.events("round")]

    def __repr__(self):
        return f"Run(out={str(self.out)!r}, summary={self.summary})"


def run(recipe, *, out=None, on_event=None, progress=False, settings=None, steps=None, seed=None,
        threads=None, peers=None, data=None, listen=None, resume=False, program=None):
    """Trains with a recipe, as `weft run` does, and returns a Run when that has ended.

    `recipe`: the path of one, or of your own photos, table or text; or a dict of its sections,
    {"model": {"name": "mlp"}, "run": {"steps": 100}}. `settings`: keys that replace the recipe's,
    {"optimizer.learning_rate": 0.1}; a dict of sections is understood, too. `out`: the run's
    folder, by default a new one in weft-runs. `peers`: so many local processes train together.

    on_event(event) is called with each event, a dict (docs/events.md): "round" has step and loss,
    "view_changed" the members. It may return False to end the run, which then has its state in a
    checkpoint; if it raises, the run ends in the same way and the exception goes on, as Ctrl-C
    does. progress=True shows a bar (with tqdm, if that is installed) on standard error.

    A run that fails raises a weft.Error with the program's own words; its `run` is a Run."""
    with tempfile.TemporaryDirectory(prefix="weft-recipe-") as folder:
        path, name = _recipe_file(recipe, folder)
        options = {"steps": steps, "seed": seed, "threads": threads, "peers": peers, "data": data,
                   "listen": listen}
        flags = [f"--set={key}={_plain(value)}" for key, value in _flat(settings or {}).items()]
        if resume:
            flags.append("--resume")
        return _follow("run", [path], name, out, options, flags, on_event, progress, program, {})


def join(ticket, *, out=None, on_event=None, progress=False, threads=None, data=None, listen=None,
         program=None):
    """Takes part in a run that others have begun, as `weft join --yes` does; otherwise like run().
    The ticket is not visible to other users of this machine."""
    if not isinstance(ticket, str) or not ticket.strip():
        raise TypeError(f"join() expects a ticket or a code, a text, got {ticket!r}")
    options = {"threads": threads, "data": data, "listen": listen}
    return _follow("join", [], "joined", out, options, ["--yes"], on_event, progress, program,
                   {"WEFT_TICKET": ticket})


def _follow(command, arguments, name, out, options, flags, on_event, progress, program,
            environment):
    found = _program.find(program)
    result = Run(_new_folder(name) if out is None else os.fspath(out))
    given = [f"--{name}={os.fspath(value) if name == 'data' else value}"
             for name, value in options.items() if value is not None]
    line = [found, command, *arguments, "--json", f"--out={result.out}", *given, *flags]
    with progress_of(progress) as show, _program.Child(line, environment) as child:
        for event in child.events():
            result.has_begun = True
            if event["kind"] == "summary":
                result.summary = event
            elif event["kind"] == "ticket" and result.ticket is None:
                result.ticket = event.get("ticket")
            show(event)
            if on_event is not None and not result.stopped and on_event(event) is False:
                result.stopped = True
                child.stop()
        _check(child, result, found)
    return result


def _check(child, result, program):
    code = child.exit_code()
    is_foreign = child.foreign and not result.has_begun
    if (code == 0 and not is_foreign) or (code == _INTERRUPTED and result.stopped):
        return
    text = _last_message(child.errors())
    if is_foreign and not text:
        text = (f"{program} does not print events, so it is not the program weft; it says "
                f"{child.foreign!r}")
        code = 3
    elif code < 0:
        text = f"the program was ended by signal {-code}" + (f": {text}" if text else "")
    kind = _core.AbortedError if code in (_INTERRUPTED, *range(-64, 0)) else _ERRORS.get(
        code, _core.InternalError)
    error = kind(text or f"{program} ended with exit code {code}")
    error.run = result
    error.exit_code = code
    raise error


def _last_message(text):
    """The program's last message, without its name; all of its lines."""
    parts = re.split(r"(?m)^weft: ", text)
    return parts[-1].strip()


def _new_folder(name):
    """A folder in weft-runs that no run has used."""
    root = pathlib.Path("weft-runs")
    root.mkdir(exist_ok=True)
    number = 1
    while True:
        folder = root / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir()
            return folder
        except FileExistsError:
            number += 1


def _recipe_file(recipe, folder):
    """(path, name of the run's folder)."""
    if isinstance(recipe, dict):
        path = os.path.join(folder, "recipe.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(_toml(recipe))
        name = str(recipe.get("run", {}).get("name", "") if isinstance(recipe.get("run"), dict)
                   else "")
        return path, re.sub(r"[^\w-]+", "-", name).strip("-") or "run"
    path = os.fspath(recipe)
    return path, re.sub(r"[^\w-]+", "-", pathlib.Path(path).stem).strip("-") or "run"


def _flat(settings):
    flat = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            flat.update({f"{key}.{name}": each for name, each in value.items()})
        else:
            flat[key] = value
    return flat


def _plain(value):
    """As --set takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _toml(recipe):
    lines = []
    for section, keys in recipe.items():
        if not isinstance(keys, dict):
            raise TypeError(f"run() expects a recipe of sections, such as {{'run': {{'steps': "
                            f"10}}}}, got {section!r}: {keys!r}")
        lines.append(f"[{section}]")
        for key, value in keys.items():
            if not isinstance(value, (bool, int, float, str)):
                raise TypeError(f"run() expects numbers, texts and truths in a recipe, got "
                                f"{section}.{key} = {value!r}")
            lines.append(f"{key} = {_toml_value(value)}")
    return "\n".join(lines) + "\n"


def _toml_value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for characters beyond 16 bits, which are left as they are.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
