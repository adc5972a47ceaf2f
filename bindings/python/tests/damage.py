"""What a reader does with damaged files: beginnings of a good one, and copies with other bytes."""
import numpy as np

_BYTES_CHANGED = 3


def read_damaged(case, path, read, *, says, cut_errors, errors, step=1, copies):
    """Puts damaged forms of the file `path` in its place and calls read() for each: every `step`-th
    beginning has to raise one of `cut_errors` with `says` in its text. Of `copies` with three
    other bytes each is read or raises one of `errors`; how many do is returned."""
    with open(path, "rb") as file:
        good = file.read()

    def put(content):
        with open(path, "wb") as file:
            file.write(content)

    for cut in range(step - 1, len(good), step):
        put(good[:cut])
        with case.subTest(cut), case.assertRaises(cut_errors) as caught:
            read()
        case.assertIn(says, str(caught.exception))
    random, refused = np.random.default_rng(0), 0
    for _ in range(copies):
        bad = bytearray(good)
        for place in random.integers(0, len(good), _BYTES_CHANGED):
            bad[place] = random.integers(256)
        put(bad)
        try:
            read()
        except errors:
            refused += 1
    return refused
