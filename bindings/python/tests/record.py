#!/usr/bin/env python3
"""Writes what PyTorch gives into recorded/, for machines that have no PyTorch.

usage: PYTHONPATH=build/release/python bindings/python/tests/record.py [PART ...]
  PART   trainings, cases, calls, ported, distributions or vision; without one, all of them

Run it after a change of trainings/, cases/, calls/, distributions/, vision/ or examples/ported, and
commit the files. All of them draw with NumPy's RandomState alone, so that the files change only
where the programs do.
"""
import pathlib
import sys

import torch

import calls
import cases
import records
import test_calls
import test_random_cases
import trainings
import weft


def record_trainings():
    content = {"torch": torch.__version__}
    content.update((name, records.summary(training(torch)))
                   for name, training in trainings.all_trainings().items())
    records.write("trainings", content)


def record_cases():
    """Those in which the two agree: what else there is the test beside PyTorch holds."""
    content = {"torch": torch.__version__}
    for key, part, how, numbers in test_random_cases.recorded_numbers():
        content[key] = {}
        for number in numbers:
            case = cases.draw(part, cases.all_parts()[part], test_random_cases.SEED, number)
            kind, _ = cases.compare(case, weft, torch, how)
            if kind == "same":
                content[key][number] = cases.summary(cases.attempt(how, torch, case))
    records.write("cases", content)


def record_ported():
    """Losses of the scripts in examples/ported with PyTorch's imports."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "package"))
    import test_ported

    content = {"torch": torch.__version__}
    for name in test_ported.scripts():
        text = test_ported.in_pytorch((test_ported.FOLDER / f"{name}.py").read_text())
        content[name] = [records.rounded(loss, 8) for loss in test_ported.losses(name, text)]
    records.write("ported", content)


def record_calls():
    records.write("calls", {text: calls.compact(result)
                            for text, result in test_calls.expected().items()})


def record_distributions():
    """What torch.distributions gives for the rows of distributions/distribution_tables.py."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "distributions"))
    import test_distributions

    records.write("distributions", {"torch": torch.__version__, **{
        text: calls.compact(result) for text, result in test_distributions.expected().items()}})


def record_vision():
    """What torchvision gives for the rows of vision/transform_tables.py; needs it and Pillow."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "vision"))
    import imaging
    import test_transforms

    rows, recorded = test_transforms.expected()
    if recorded:
        sys.exit("record.py: vision needs torchvision and Pillow")
    records.write("vision", {"torch": torch.__version__, "pillow": imaging.PIL.__version__,
                             **{row: imaging.compact(result) for row, result in rows.items()}})


def main(what):
    torch.set_num_threads(1)
    if not what or "trainings" in what:
        record_trainings()
    if not what or "cases" in what:
        record_cases()
    if not what or "ported" in what:
        record_ported()
    if not what or "calls" in what:
        record_calls()
    if not what or "distributions" in what:
        record_distributions()
    if not what or "vision" in what:
        record_vision()


if __name__ == "__main__":
    main(sys.argv[1:])
