"""The arrows of layers.txt, which says in its first lines what they mean."""
import pathlib

NAME = "layers.txt"


def place_of(path):
    """(folder, part) of a path below the repository's root, or of what stands between the quotes of
    an include: ("op", "op/core") of weft/op/core/sample.h, ("op", "") of weft/op/ops.h, and ("", "")
    of what is in no folder of src/weft."""
    parts = pathlib.PurePosixPath(path).parts
    if parts[:1] == ("src",):
        parts = parts[1:]
    if len(parts) < 3 or parts[0] != "weft":
        return "", ""
    return parts[1], "/".join(parts[1:3]) if len(parts) > 3 else ""


class Layers:
    """The lines of layers.txt in its order; `faults` is [(line, what is wrong in it)]."""

    def __init__(self, root):
        self.uses = {}
        self.faults = []
        lines = (root / NAME).read_text().splitlines()
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.startswith("#"):
                self.add(number, line)
        for name in self.uses:
            if name.split("/")[0] not in self.uses:
                self.faults.append((len(lines), f"{name} is a part of a folder that has no line"))

    def add(self, number, line):
        name, _, used = line.partition(":")
        folder = name.split("/")[0]
        above = [other.split("/")[0] for other in self.uses]
        if folder in above and above[-1] != folder:
            self.faults.append((number, f"{name} does not stand beside the other lines of {folder}"))
        for other in used.split():
            if other not in self.uses:
                self.faults.append((number, f"{name} names {other}, which does not stand above it"))
            elif folder != name and not other.startswith(folder + "/"):
                self.faults.append((number, f"{name} names {other}: a part names parts of its own "
                                    "folder, whose line says what else it may include"))
        self.uses[name] = tuple(used.split())

    def folders(self):
        return [name for name in self.uses if "/" not in name]

    def may_use(self, folder, other):
        """Whether sources of `folder` may use the folder `other`, or a part of it."""
        return other == folder or any(name.split("/")[0] == other
                                      for name in self.uses.get(folder, ()))

    def fault(self, place, included, is_test):
        """What is wrong with an include from the (folder, part) `place` of a file in the place
        `included`, "" if nothing. Tests may also use what stands above them without being named."""
        (folder, part), (other, other_part) = place, included
        here, there = part or folder, other_part or other
        if other_part and other_part not in self.uses:
            return f"{other_part} has no line in {NAME}"
        if here not in self.uses or folder not in self.uses or here == there:
            return ""
        names = list(self.uses)
        if folder != other:
            allowed = other in self.uses[folder] or other_part in self.uses[folder]
        elif other_part:
            allowed = there in self.uses[here]
        else:
            allowed = names.index(there) < names.index(here)
        if allowed or is_test and names.index(there) < names.index(here):
            return ""
        return f"{here} may not include {there} ({NAME})"
