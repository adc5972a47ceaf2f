"""Fetches the files of a known dataset, of which the catalogue has sizes and SHA-256."""
import hashlib
import os
import shutil
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
from typing import Any, Callable, List, NamedTuple, Tuple

from weft import _core

_CHUNK = 1 << 18
_SECONDS = 30  # without a byte


class File(NamedTuple):
    """One file as its makers offer it; sha256 of what is transferred, in hexadecimal."""

    url: str
    size: int
    sha256: str


def offered(name: str) -> List[File]:
    """The files of the dataset `name` of the catalogue."""
    return [File(*file) for file in _core._dataset_downloads(name)]


def download_files(name: str, folder: str) -> None:
    """Fetches what `folder` lacks, checks it, and unpacks archives. Fails: UnavailableError if the
    network does not give it; CorruptError if it gives something else. Neither leaves a file."""
    for file in offered(name):
        archive = file.url.endswith(".tar.gz")
        path = os.path.join(folder, file.url.rsplit("/", 1)[1])
        if os.path.isfile(path) and not archive:
            continue
        os.makedirs(folder, exist_ok=True)
        fetch(file, path, unpack if archive else _keep)


def fetch(file: File, path: str, keep: Callable[[str, str], None]) -> None:
    """Fetches `file` into a temporary one beside `path`, then keep(temporary file, path)."""
    handle, part = tempfile.mkstemp(prefix=".download-", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as out:
            _transfer(file, out)
        os.chmod(part, 0o644)
        keep(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)


def _keep(part: str, path: str) -> None:
    os.replace(part, path)


def unpack(part: str, path: str) -> None:
    """Unpacks the regular files of an archive beside `path`, each in a folder of the archive. What
    is there is left as it is until all are unpacked."""
    folder = os.path.dirname(path)
    with tempfile.TemporaryDirectory(prefix=".unpack-", dir=folder) as unpacked, \
            tarfile.open(part, "r:gz") as archive:
        found: List[Tuple[List[str], str]] = []
        for member in archive:
            names = member.name.split("/")
            if member.isfile() and len(names) == 2 and ".." not in names and "" not in names:
                found.append((names, os.path.join(unpacked, str(len(found)))))
                source = archive.extractfile(member)
                assert source is not None
                with source, open(found[-1][1], "wb") as out:
                    shutil.copyfileobj(source, out, _CHUNK)
        for names, temporary in found:
            os.makedirs(os.path.join(folder, names[0]), exist_ok=True)
            os.replace(temporary, os.path.join(folder, *names))


def _transfer(file: File, out: Any) -> None:
    digest, received = hashlib.sha256(), 0
    progress = _Progress(file)
    try:
        with urllib.request.urlopen(file.url, timeout=_SECONDS) as answer:
            while chunk := answer.read(_CHUNK):
                received += len(chunk)
                if received > file.size:
                    break
                digest.update(chunk)
                out.write(chunk)
                progress.show(received)
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise _core.UnavailableError(
            f"[download] {file.url}: {reason}. Fetch it where there is a network, and put it into "
            "the dataset's folder") from None
    finally:
        progress.end()
    if received != file.size or digest.hexdigest() != file.sha256:
        got = f"{received} bytes" if received != file.size else f"SHA-256 {digest.hexdigest()}"
        raise _core.CorruptError(f"[download] {file.url}: expected {file.size} bytes with SHA-256 "
                                 f"{file.sha256}, got {got}")


class _Progress:
    """One line on stderr, redrawn at each percent on a terminal, else written once."""

    def __init__(self, file: File) -> None:
        self._file, self._percent, self._terminal = file, -1, sys.stderr.isatty()
        if not self._terminal:
            print(f"fetching {file.url} ({file.size / 1e6:.1f} MB)", file=sys.stderr)

    def show(self, received: int) -> None:
        percent = 100 * received // self._file.size
        if self._terminal and percent != self._percent:
            self._percent = percent
            print(f"\rfetching {self._file.url}: {percent} % of {self._file.size / 1e6:.1f} MB",
                  end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._terminal and self._percent >= 0:
            print(file=sys.stderr)
