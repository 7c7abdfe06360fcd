"""Where foreign bytes come from: a file, a zip or a folder, each as named streams. Nothing is written or unpacked.

What a hostile source could do is bounded here. A packed stream may grow to `RATIO` times the size of its archive and
`FREE` more, all streams of it together; names of a zip are labels and never become paths; in a folder symbolic links
are neither opened nor descended, only regular files count, and there are at most `MOST_FILES` of them, `DEEPEST`
levels down.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from memhop.common.errors import InvalidRequest, StorageError

HEAD_BYTES: Final = 64 * 1024
MOST_FILES: Final = 100_000
DEEPEST: Final = 32
RATIO: Final = 200  # text packs 3 to 20 times; a bomb 1,000 times and more
FREE: Final = 64 * 1024 * 1024
Stream = io.BufferedIOBase  # a real file or one that is unpacked as it is read; `read1` gives what there is
_ZIP = b"PK\x03\x04"
_GZIP = b"\x1f\x8b\x08"
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
PACKED_FAULTS: Final = (
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)


class Bomb(ValueError):
    """A packed stream grew beyond what its archive may hold."""


class Member(NamedTuple):
    """One stream: `name` is a path within the source, with slashes, for matching and reports only."""

    name: str
    open: Callable[[], Stream]

    @property
    def base(self) -> str:
        """The last part of the name, in lower case."""
        return PurePosixPath(self.name).name.lower()


class _Budget:
    def __init__(self, size: int) -> None:
        self.left = FREE + RATIO * size

    def spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise Bomb(f"it unpacks to more than {RATIO} times its size")


class _Counted(io.RawIOBase):
    """A stream whose bytes are charged to a budget."""

    def __init__(self, inner: Any, budget: _Budget, *below: Stream) -> None:
        self._inner = inner
        self._streams = (inner, *below)
        self._budget = budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        data = self._inner.read1(len(view))  # `read` would lose what stands before a damaged place
        self._budget.spend(len(data))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        for stream in self._streams:
            stream.close()
        super().close()


def open_file(path: Path, *, follow: bool = True) -> Stream:
    """A regular file for reading; `follow` says whether it may be a symbolic link.

    Raises:
        StorageError: it is absent, may not be read, or is something else than a regular file.
    """
    flags = _FLAGS if follow else _FLAGS | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        raise unreadable(path, error) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StorageError(f"cannot read {path}: it is not a regular file")
    return os.fdopen(descriptor, "rb")


def unreadable(path: Path | str, error: OSError) -> StorageError:
    """The error to raise for one of the system's."""
    return StorageError(f"cannot read {path}: {error.strerror or error}")


def head_of(path: Path) -> bytes:
    """The first `HEAD_BYTES` of a file, b"" of a folder.

    Raises:
        StorageError: as `open_file`.
    """
    if path.is_dir():
        return b""
    with open_file(path) as file:
        try:
            return file.read(HEAD_BYTES)
        except OSError as error:
            raise unreadable(path, error) from error


def is_zip(head: bytes) -> bool:
    """Whether a file that begins so is a zip archive."""
    return head.startswith(_ZIP)


def is_packed(head: bytes) -> bool:
    """Whether a file that begins so is a zip archive or a gzip stream."""
    return head.startswith((_ZIP, _GZIP))


def members(path: Path) -> list[Member]:
    """The streams of a source in order of their names: the file itself, or what a zip or a folder holds.

    A gzip file is one stream, its content.

    Raises:
        StorageError: it cannot be read, or the zip is broken.
        InvalidRequest: more than `MOST_FILES`.
    """
    if path.is_dir():
        return [Member(name, lambda file=path / name: open_file(file, follow=False)) for name in _walk(path)]  # type: ignore[misc]
    head = head_of(path)
    if is_zip(head):
        return _zipped(path)
    if head.startswith(_GZIP):
        return [Member(path.name, lambda: _unzipped(open_file(path), _Budget(path.stat().st_size)))]
    return [Member(path.name, lambda: open_file(path))]


def _zipped(path: Path) -> list[Member]:
    try:
        archive = zipfile.ZipFile(path)
    except OSError as error:
        raise unreadable(path, error) from error
    except PACKED_FAULTS as error:
        raise StorageError(f"cannot read {path}: the zip is broken ({error})") from error
    infos = [info for info in archive.infolist() if not info.is_dir()]
    if len(infos) > MOST_FILES:
        raise _too_many(path)
    budget = _Budget(path.stat().st_size)
    infos.sort(key=lambda info: (info.filename, info.header_offset))
    return [Member(info.filename, lambda info=info: _unpacked(archive, info, budget)) for info in infos]  # type: ignore[misc]


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: _Budget) -> Stream:
    """A member of a zip; a gzip file within is unpacked too."""
    stream = io.BufferedReader(_Counted(archive.open(info), budget))
    return _unzipped(stream, budget) if stream.peek(3).startswith(_GZIP) else stream


def _unzipped(stream: Stream, budget: _Budget) -> Stream:
    return io.BufferedReader(_Counted(gzip.GzipFile(fileobj=stream), budget, stream))


def _walk(root: Path) -> list[str]:
    found: list[str] = []
    waiting = [(root, "", 0)]
    while waiting:
        folder, prefix, depth = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        if depth < DEEPEST:
                            waiting.append((Path(entry.path), f"{prefix}{entry.name}/", depth + 1))
                    elif entry.is_file(follow_symlinks=False):
                        found.append(prefix + entry.name)
        except OSError as error:
            raise unreadable(folder, error) from error
        if len(found) > MOST_FILES:
            raise _too_many(root)
    return sorted(found)


def _too_many(path: Path) -> InvalidRequest:
    return InvalidRequest(f"{path} holds more than {MOST_FILES:,} files", field="path", allowed="a smaller part of it")


def peek(member: Member) -> bytes:
    """The first `HEAD_BYTES` of a stream; b"" of one that is broken."""
    try:
        with member.open() as stream:
            return stream.read(HEAD_BYTES)
    except (StorageError, OSError, *PACKED_FAULTS):
        return b""
