"""A file of another program, changed: read, changed as text, written beside it and put in its place.

While it is changed, other calls of this module on files of its folder wait. That the program itself wrote in between
is seen, and the change is made anew. What was there before the first change stays beside it as a copy, until a later
change gives it back. Symbolic links are followed; the mode is kept.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from memhop.common.errors import InvalidRequest, StorageError

COPY_SUFFIX: Final = ".before-memhop"
_MOST_BYTES: Final = 16 * 1024 * 1024
_PATIENCE_S: Final = 10.0
_ATTEMPTS: Final = 5

Change = Callable[[str | None, str | None], str | None]  # (text, its copy) -> new text; None: no file


class Edited(NamedTuple):
    """What became of a file, or would. `old` or `new` None: there was, or is, none. `copy`: what was there before."""

    path: Path
    old: str | None
    new: str | None
    copy: Path | None = None

    @property
    def changed(self) -> bool:
        """Whether anything differs."""
        return self.old != self.new

    def diff(self) -> str:
        """The change as a unified diff, "" if there is none."""
        import difflib

        lines = difflib.unified_diff(
            (self.old or "").splitlines(), (self.new or "").splitlines(), str(self.path), str(self.path), lineterm=""
        )
        return "\n".join(lines)


def preview(path: Path, change: Change) -> Edited:
    """What `edit` would do. Raises InvalidRequest, StorageError."""
    target = _target(path)
    old = _read(target)
    return Edited(path, old, _checked(path, change, old, _read(_copy_of(target))))


def edit(path: Path, change: Change, *, copies: Callable[[str], bool] | None) -> Edited:
    """Change a file.

    Args:
        copies: Whether what the file holds is kept as a copy in the place of an older one. None: none is made.

    Raises:
        InvalidRequest: the text does not do, and nothing was changed. StorageError: it cannot be read or written, or
            another program changes it again and again.
    """
    target = _target(path)
    with _telling(path):
        target.parent.mkdir(parents=True, exist_ok=True)
    with _alone(target.parent):
        for _ in range(_ATTEMPTS):
            old = _read(target)
            copy = _copy_of(target)
            before = _read(copy)
            new = _checked(path, change, old, before)
            if new == old:
                return Edited(path, old, new)
            if old is not None and new is not None and copies is not None and (before is None or copies(old)):
                _write(copy, old, like=target)
            if _write(target, new, like=target, while_it_is=old):
                if before is not None and new == before:
                    copy.unlink(missing_ok=True)
                return Edited(path, old, new, copy if copy.exists() else None)
    raise StorageError(f"{path} is changed by another program again and again", hint="end that program, then try again")


def _checked(path: Path, change: Change, old: str | None, before: str | None) -> str | None:
    try:
        return change(old, before)
    except InvalidRequest as error:
        if error.field is None:
            error.field = str(path)
        raise


def _target(path: Path) -> Path:
    """The file itself, if the path is a link to it. Raises StorageError."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise StorageError(f"cannot follow {path}: {error}") from None


def _copy_of(target: Path) -> Path:
    return target.with_name(target.name + COPY_SUFFIX)


def _read(path: Path) -> str | None:
    """The text of a file with its line ends and its mark; None: there is none. Raises InvalidRequest, StorageError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from None
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise StorageError(f"cannot read {path}: it is not a regular file")
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise InvalidRequest("it is too large", field=str(path), allowed=f"at most {_MOST_BYTES:,} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"byte {error.start} is not UTF-8", field=str(path), allowed="UTF-8") from None


def _write(path: Path, text: str | None, *, like: Path, while_it_is: str | None = None) -> bool:
    """Put a text in the place of a file, or none. False: it is not what it was, and stays.

    Args:
        like: The file whose mode and owner the new one gets, if it is there.
        while_it_is: What the file must hold; looked at only where `path` is `like`.
    """
    made = None
    with _telling(path):
        try:
            if text is not None:
                descriptor, made = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
                with open(descriptor, "wb") as file:
                    file.write(text.encode("utf-8"))
                    _liken(descriptor, like)
                    file.flush()
                    os.fsync(descriptor)
            if path == like and _read(path) != while_it_is:
                return False
            if made is None:
                path.unlink(missing_ok=True)
            else:
                os.replace(made, path)
                made = None
        finally:
            if made is not None:
                os.unlink(made)
    return True


def _liken(descriptor: int, like: Path) -> None:
    """Give a new file the mode and owner of another one; without one, those that files have here."""
    try:
        model = like.stat()
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(descriptor, 0o666 & ~mask)
        return
    os.fchmod(descriptor, stat.S_IMODE(model.st_mode))
    if (model.st_uid, model.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(OSError):
            os.fchown(descriptor, model.st_uid, model.st_gid)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """No other call of this module changes a file of the folder meanwhile. The lock leaves nothing behind."""
    import fcntl

    until = time.monotonic() + _PATIENCE_S
    with _telling(folder):
        descriptor = os.open(folder, os.O_RDONLY)
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise StorageError(f"another process is changing files of {folder}") from None
                time.sleep(0.02)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    """Errors of the system as ours."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from None
