"""How many files may stand in one folder of src/weft, or in one part of a folder."""
import collections

# What `ls` shows of files: tests, CMakeLists.txt and others, too. Parts count for themselves.
FILES_MAX = 30
# Folders that are still larger, with their number of files, which may only fall: whoever takes files
# out of one lowers its number.
LARGER = {}


def faults(root, paths, larger):
    """What is wrong with the folders that hold `paths`, "FOLDER:1: what" for each; `larger` has the
    exceptions."""
    source = root / "src" / "weft"
    sizes = collections.Counter(str(path.parent.relative_to(source)) for path in paths
                                if path.is_relative_to(source))
    found = []
    for folder in sorted({*sizes, *larger}):
        files, limit = sizes[folder], larger.get(folder, FILES_MAX)
        if files > limit:
            found.append(f"src/weft/{folder}:1: {files} files, limit {limit}: give it parts "
                         "(subfolders with lines in layers.txt)")
        elif folder in larger and files <= FILES_MAX:
            found.append(f"src/weft/{folder}:1: {files} files: take it out of LARGER in "
                         "tools/folder_sizes.py")
        elif folder in larger and files < limit:
            found.append(f"src/weft/{folder}:1: {files} files: lower its number from {limit} in "
                         "tools/folder_sizes.py, so that it does not grow again")
    return found
