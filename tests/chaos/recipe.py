"""The run that is disturbed: small, quick, and paced, so that eight peers fit on two cores."""
import pathlib
import random
import subprocess

from members import environment

COLUMNS, CLASSES, ROWS, HIDDEN = 32, 4, 6000, 512
TEXT = """
[model]
name = "mlp"
hidden_units = {hidden}

[data]
{data}

[optimizer]
name = "sgd"
learning_rate = 0.02
momentum = 0.9

[schedule]
name = "cosine"
final_fraction = 0.05

[run]
name = "chaos"
steps = {steps}
global_batch = {batch}
seed = 1
label_smoothing = 0.1
round_seconds_min = {pace}

[checkpoint]
every_steps = 50
keep = 2

[group]
audit = {audit}
discovery = "off"
start_members = {members}
start_timeout_s = 60.0
heartbeat_interval_ms = 250
suspicion_timeout_ms = {suspicion_ms}
quorum_timeout_s = 3.0
on_quorum_lost = "wait"
joins_at_once = 4
bucket_bytes = 65536
segment_bytes = 16384
"""


def write_table(path):
    """Classes that overlap, so that the accuracy is far from 1 and gradients never vanish."""
    rng = random.Random(17)
    centres = [[rng.gauss(0, 0.4) for _ in range(COLUMNS)] for _ in range(CLASSES)]
    lines = [",".join([f"x{i}" for i in range(COLUMNS)] + ["class"])]
    for _ in range(ROWS):
        kind = rng.randrange(CLASSES)
        lines.append(",".join([f"{rng.gauss(c, 1.0):.4f}" for c in centres[kind]] + [f"c{kind}"]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


class ChaosRecipe:
    """Writes the recipe, and the table that it learns, into `folder`."""

    pace = 0.1
    suspicion = 2.0
    global_batch = 96

    def __init__(self, folder, data, steps, members):
        self.folder = pathlib.Path(folder)
        self.steps = steps
        self.data = f'name = "{data}"'
        # A joiner lets no recipe of others choose its files.
        self.join_flags = []
        self.hidden = 32
        self.vector_bytes = 4 * 26000
        if data == "rows":
            table = self.folder / "table.csv"
            write_table(table)
            self.join_flags = ["--data", str(table)]
            self.data = f'name = "rows"\npath = "{table}"'
            self.hidden = HIDDEN
            self.vector_bytes = 4 * HIDDEN * (COLUMNS + CLASSES + 1)
        self.path = self.folder / "recipe.toml"
        self._write(self.path, members, self.pace, "true")

    def _write(self, path, members, pace, audit):
        path.write_text(TEXT.format(hidden=self.hidden, data=self.data, steps=self.steps,
                                    batch=self.global_batch, pace=pace, members=members,
                                    audit=audit, suspicion_ms=int(1000 * self.suspicion)),
                        encoding="utf-8")

    def start_alone(self, program):
        """The undisturbed run of as many steps, by one peer that never waits."""
        path = self.folder / "alone.toml"
        self._write(path, 1, 0.0, "false")
        with open(self.folder / "alone.txt", "wb") as output:
            return subprocess.Popen(
                [program, "run", str(path), "--listen", "127.0.0.1:0", "--threads", "1", "--out",
                 str(self.folder / "alone")], stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, env=environment())
