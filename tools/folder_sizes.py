"""How many files one folder of src/weft or of bindings may hold, or one part of a folder."""
import collections

# What `ls` shows of files: tests, CMakeLists.txt and others, too. Parts count for themselves.
FILES_MAX = 30
TREES = ("src/weft", "bindings")
# Folders that are still larger, such as "src/weft/op", with their number of files, which may only
# fall: a change that takes files out of one lowers its number.
LARGER = {}


def faults(root, paths, larger):
    """What is wrong with the folders that hold `paths`, "FOLDER:1: what" for each; `larger` has the
    exceptions."""
    names = (path.relative_to(root) for path in paths)
    sizes = collections.Counter(name.parent.as_posix() for name in names
                                if any(name.is_relative_to(tree) for tree in TREES))
    found = []
    for folder in sorted({*sizes, *larger}):
        files, limit = sizes[folder], larger.get(folder, FILES_MAX)
        if files > limit:
            parts = " with lines in layers.txt" if folder.startswith("src/") else ""
            found.append(f"{folder}:1: {files} files, limit {limit}: give it parts "
                         f"(subfolders{parts})")
        elif folder in larger and files <= FILES_MAX:
            found.append(f"{folder}:1: {files} files: take it out of LARGER in "
                         "tools/folder_sizes.py")
        elif folder in larger and files < limit:
            found.append(f"{folder}:1: {files} files: lower its number from {limit} in "
                         "tools/folder_sizes.py, so that it does not grow again")
    return found
