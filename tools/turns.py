"""Which files a check that may run out of time looks at first, and which it has seen already."""
import hashlib
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*"(weft/[^"]+)"', re.MULTILINE)


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False).stdout


def changed_files():
    """The files that differ from the last commit or, where none does, that it has changed."""
    new = git("ls-files", "-o", "--exclude-standard").splitlines()
    names = git("diff", "--name-only", "HEAD").splitlines() + new
    names = names or git("diff", "--name-only", "HEAD~1").splitlines()
    return {ROOT / name for name in names}


def folder_of(path):
    """The folder of src/weft that a file is in, parts and all; elsewhere the folder at the top."""
    parts = path.relative_to(ROOT).parts
    return parts[:3] if parts[:2] == ("src", "weft") else parts[:1]


def drawn(commit, text):
    """Digits that a commit draws for a text: the same for everybody who checks that commit."""
    return hashlib.sha256((commit + text).encode()).hexdigest()


def by_turn(batches):
    """Lists of files: those with changed files first, then in an order drawn from the commit."""
    changed = changed_files()
    commit = git("rev-parse", "HEAD")

    def turn(batch):
        return (not changed & set(batch), drawn(commit, str(batch[0])))
    return sorted(batches, key=turn)


def fingerprint(path, *others):
    """Hash of a source, of all headers of ours below it, and of the files `others`."""
    return fingerprint_of_all([path], *others)


def fingerprint_of_all(paths, *others):
    """Hash of several sources, of all headers of ours below any, and of the files `others`."""
    digest = hashlib.sha256(b"".join(other.read_bytes() for other in others))
    seen, waiting = set(), list(paths)
    while waiting:
        current = waiting.pop()
        if current in seen or not current.exists():
            continue
        seen.add(current)
        text = current.read_text(errors="replace")
        waiting += [ROOT / "src" / name for name in INCLUDE.findall(text)]
    for current in sorted(seen):
        digest.update(str(current).encode() + b"\0" + current.read_bytes())
    return digest.hexdigest()
