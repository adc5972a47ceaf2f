"""weft.run() and weft.join(): runs by the program, from Python. Skipped where the program is not
built."""
import io
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import unittest
from contextlib import redirect_stderr
from unittest import mock

import weft
import weft._runs as _run
from weft._runs import program as _program
from weft._runs import progress as _run_progress

RECIPE = {"model": {"name": "mlp", "hidden_units": 8},
          "data": {"name": "synthetic", "synthetic_samples": 256},
          "optimizer": {"name": "sgd", "learning_rate": 0.05},
          "run": {"name": "from python", "steps": 12, "global_batch": 32, "seed": 3},
          "group": {"discovery": "off"}}
LONG = {"run.steps": 100000}
HERE = "127.0.0.1:0"
LIMIT_SECONDS = 120


def has_program():
    try:
        _program.find()
    except weft.UnavailableError:
        return False
    return True


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.folder = pathlib.Path(folder.name)

    def pretender(self, body):
        """A program that does what `body`, Python, says."""
        path = self.folder / "pretender"
        path.write_text(f"#!{sys.executable}\nimport json, os, signal, sys, time\n"
                        "def event(kind, **more):\n"
                        "    print(json.dumps({'kind': kind, **more}), flush=True)\n"
                        + textwrap.dedent(body))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path


@unittest.skipUnless(has_program(), "the program weft is not built")
class Runs(InFolder):
    def test_a_run_tells_what_happens_and_leaves_a_model(self):
        events = []
        done = weft.run(RECIPE, on_event=events.append, listen=HERE, threads=1)
        rounds = [event for event in events if event["kind"] == "round"]
        self.assertEqual([event["step"] for event in rounds], list(range(1, 13)))
        self.assertEqual(done.losses(), [(event["step"], event["loss"]) for event in rounds])
        self.assertEqual((done.summary["steps"], done.summary["status"]), (12, "finished"))
        self.assertEqual(str(done.out), os.path.join("weft-runs", "from-python"))
        self.assertTrue(done.ticket.startswith("weft"))
        images = weft.zeros(2, 1, 28, 28, dtype=weft.uint8)
        self.assertEqual(done.model().predict(images).shape, (2, 10))
        again = weft.run(RECIPE, settings={"run": {"steps": 2}}, listen=HERE, threads=1)
        self.assertEqual((str(again.out), again.summary["steps"]),
                         (os.path.join("weft-runs", "from-python-2"), 2))

    def test_a_callback_may_end_it(self):
        done = weft.run(RECIPE, out="short", settings=LONG, listen=HERE, threads=1,
                        on_event=lambda event: event["kind"] != "round" or event["step"] < 3)
        self.assertTrue(done.stopped)
        self.assertEqual(done.summary["status"], "left")
        self.assertTrue(list((done.out / "checkpoints").iterdir()))
        longer = weft.run(RECIPE, out="short", resume=True, listen=HERE, threads=1,
                          settings={"run.steps": done.summary["steps"] + 2})
        self.assertEqual(longer.summary["steps"], done.summary["steps"] + 2)

    def test_a_callback_that_raises_ends_it_and_the_state_is_kept(self):
        def refuse(event):
            if event["kind"] == "round":
                raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            weft.run(RECIPE, out="raised", settings=LONG, on_event=refuse, listen=HERE, threads=1)
        self.assertTrue(list(pathlib.Path("raised", "checkpoints").iterdir()))
        last = list(_run.Run("raised").events())[-1]
        self.assertEqual((last["kind"], last["status"]), ("summary", "left"))

    def test_ctrl_c_ends_it_and_the_state_is_kept(self):
        program = ("import sys, weft\n"
                   f"weft.run({RECIPE!r}, out='interrupted', settings={LONG!r}, threads=1,\n"
                   f"         listen={HERE!r}, on_event=lambda e: print(e['kind'], flush=True))\n")
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, env=os.environ)
        self.addCleanup(child.kill)
        for line in child.stdout:
            if line.strip() == "round":
                break
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=LIMIT_SECONDS)
        self.assertIn("KeyboardInterrupt", errors)
        self.assertTrue(list(pathlib.Path("interrupted", "checkpoints").iterdir()))

    def test_another_process_joins(self):
        found = {}

        def meet(event):
            if event["kind"] == "ticket":
                program = ("import sys, weft\n"
                           f"done = weft.join(sys.stdin.read(), out='second', threads=1,\n"
                           f"                 listen={HERE!r})\n"
                           "print(done.summary['status'], done.summary['state_hash'])\n")
                found["child"] = subprocess.Popen(
                    [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, text=True, env=os.environ)
                found["child"].stdin.write(event["ticket"])
                found["child"].stdin.close()
                found["child"].stdin = None
                self.addCleanup(found["child"].kill)
            if event["kind"] == "round" and event.get("members") == 2:
                found["both"] = True
                return False  # this one leaves, the other goes on alone

        done = weft.run(RECIPE, out="first", listen=HERE, threads=1, on_event=meet,
                        settings={"run.steps": 3000, "run.round_seconds_min": 0.02})
        self.assertTrue(found.get("both"), done.summary)
        said, errors = found["child"].communicate(timeout=LIMIT_SECONDS)
        self.assertEqual(found["child"].returncode, 0, errors)
        self.assertEqual(said.split()[0], "finished")

    def test_what_is_wrong_is_said_in_the_programs_words(self):
        with self.assertRaisesRegex(weft.InvalidArgumentError, 'did you mean "run.steps"') as caught:
            weft.run({"run": {"stepz": 3}}, out="none")
        self.assertEqual(caught.exception.exit_code, 2)
        self.assertEqual(str(caught.exception.run.out), "none")
        with self.assertRaisesRegex(weft.InvalidArgumentError, "no such.toml"):
            weft.run("no such.toml")
        with self.assertRaisesRegex(weft.InvalidArgumentError, "ticket"):
            weft.join("weft2-aaaa")


class Programs(InFolder):
    def test_a_missing_program(self):
        with mock.patch.dict(os.environ, {"WEFT_PROGRAM": "no/such/program"}):
            with self.assertRaisesRegex(weft.UnavailableError, "WEFT_PROGRAM"):
                weft.run(RECIPE)
        with mock.patch.dict(os.environ, {"PATH": str(self.folder)}), \
                mock.patch.object(_program, "__file__", str(self.folder / "a" / "b" / "c" / "d.py")):
            os.environ.pop("WEFT_PROGRAM", None)
            with self.assertRaisesRegex(weft.UnavailableError, "build it"):
                weft.run(RECIPE)

    def test_another_program_of_that_name(self):
        other = self.pretender("print('usage: something else')\n")
        with self.assertRaisesRegex(weft.UnavailableError, "something else"):
            weft.run(RECIPE, program=other)

    def test_each_exit_code_has_its_class(self):
        for code, kind in ((1, weft.InternalError), (2, weft.InvalidArgumentError),
                           (3, weft.UnavailableError), (4, weft.CorruptError),
                           (5, weft.AbortedError), (6, weft.AbortedError), (7, weft.AnomalyError),
                           (130, weft.AbortedError), (99, weft.InternalError)):
            with self.subTest(code):
                program = self.pretender(f"""
                    event('started')
                    print('weft: a warning', file=sys.stderr)
                    print('weft: the reason\\n  and more', file=sys.stderr)
                    sys.exit({code})
                    """)
                with self.assertRaises(kind) as caught:
                    weft.run(RECIPE, program=program)
                self.assertEqual(str(caught.exception), "the reason\n  and more")
        killed = self.pretender("os.kill(os.getpid(), signal.SIGKILL)\n")
        with self.assertRaisesRegex(weft.AbortedError, "signal 9"):
            weft.run(RECIPE, program=killed)

    def test_lines_that_come_in_pieces_and_lines_that_are_none(self):
        program = self.pretender("""
            line = json.dumps({'kind': 'round', 'step': 1, 'text': 'ü' * 70000}) + '\\n'
            for part in (line[:10], line[10:]):
                sys.stdout.buffer.write(part.encode()); sys.stdout.flush()
            print('[1, 2]'); print('{"kind": 3}'); print('no json'); print()
            sys.stderr.write('x' * 300000)
            event('summary', status='finished')
            """)
        seen = []
        done = weft.run(RECIPE, program=program, on_event=seen.append)
        self.assertEqual([event["kind"] for event in seen], ["round", "summary"])
        self.assertEqual((len(seen[0]["text"]), done.summary["status"]), (70000, "finished"))

    def test_a_program_that_does_not_end_is_killed(self):
        program = self.pretender("""
            signal.signal(signal.SIGINT, lambda *_: None)
            event('started', pid=os.getpid())
            while True: signal.pause()
            """)

        def refuse(event):
            self.pid = event["pid"]
            raise ValueError("enough")

        with mock.patch.object(_program, "END_SECONDS", 0.2), \
                mock.patch.object(_program, "END_AT_ONCE_SECONDS", 0.2), \
                self.assertRaisesRegex(ValueError, "enough"):
            weft.run(RECIPE, program=program, on_event=refuse)
        with self.assertRaises(ProcessLookupError):
            os.kill(self.pid, 0)

    def test_what_the_program_is_given(self):
        program = self.pretender("""
            if sys.argv[1] == 'run':
                event('ticket', ticket=open(sys.argv[2]).read())
            event('summary', arguments=sys.argv[3:], ticket=os.environ.get('WEFT_TICKET', ''))
            """)
        recipe = {"run": {"name": 'a "b" \\ ü\n', "steps": 3, "evaluate": False}, "data": {"x": 0.5}}
        done = weft.run(recipe, program=program, out="o", threads=2, peers=3, resume=True,
                        data=pathlib.Path("d"), settings={"run.evaluate": True, "a": {"b": 1e-3}})
        self.assertEqual(done.ticket, '[run]\nname = "a \\"b\\" \\\\ ü\\n"\nsteps = 3\n'
                                      'evaluate = false\n[data]\nx = 0.5\n')
        self.assertEqual(done.summary["arguments"],
                         ["--json", "--out=o", "--threads=2", "--peers=3", "--data=d",
                          "--set=run.evaluate=true", "--set=a.b=0.001", "--resume"])
        done = weft.join("the ticket", program=program, out="j")
        self.assertEqual(done.summary["ticket"], "the ticket")
        self.assertNotIn("the ticket", " ".join(done.summary["arguments"]))

    def test_wrong_arguments(self):
        for wrong in (lambda: weft.run({"steps": 3}), lambda: weft.run({"run": {"steps": [3]}}),
                      lambda: weft.run(3), lambda: weft.join(""), lambda: weft.join(None)):
            with self.assertRaises(TypeError):
                wrong()

    def test_progress(self):
        rounds = [{"kind": "round", "round": i, "rounds": 9, "step": i, "steps": 9, "loss": 1 / i,
                   "members": 2} for i in range(1, 10)]
        text = io.StringIO()
        with redirect_stderr(text), mock.patch.dict(sys.modules, {"tqdm": None}), \
                _run_progress.progress_of(True) as show:
            for event in [*rounds, {"kind": "peer_left", "text": "somebody left"}]:
                show(event)
        lines = text.getvalue().splitlines()
        self.assertEqual(lines[0], "step 1 of 9, loss 1, members 2")
        self.assertEqual(lines[-2:], ["step 9 of 9, loss 0.1111, members 2", "somebody left"])

        class Bar:
            """As much of tqdm as is used."""

            made = []

            def __init__(self, **_):
                self.n, self.total, self.said = 0, None, []
                self.made.append(self)

            def __enter__(self):
                return self

            def __exit__(self, *_):
                self.said.append("closed")

            def set_postfix(self, words, refresh):
                self.words = words

            def update(self, count):
                self.n += count

            def write(self, text, file):
                self.said.append(text)

        with mock.patch.dict(sys.modules, {"tqdm": mock.Mock(tqdm=Bar)}), \
                _run_progress.progress_of(True) as show:
            for event in [*rounds, {"kind": "peer_left", "text": "somebody left"}]:
                show(event)
        bar, = Bar.made
        self.assertEqual((bar.n, bar.total, bar.words, bar.said),
                         (9, 9, {"loss": "0.1111", "members": 2}, ["somebody left", "closed"]))


class Log(InFolder):
    def test_a_log_is_read_by_kind(self):
        with open("events.jsonl", "w", encoding="utf-8") as log:
            for event in ({"kind": "round", "step": 1, "loss": None}, {"kind": "summary"}):
                log.write(json.dumps(event) + "\n")
        left = _run.Run(self.folder)
        self.assertEqual([event["kind"] for event in left.events()], ["round", "summary"])
        self.assertEqual(left.losses(), [(1, None)])


if __name__ == "__main__":
    unittest.main()
