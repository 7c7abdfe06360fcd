"""Small files that only the user who runs the server may read: written whole or not at all, refused when others can
read them.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from memhop.common.errors import ConfigError, StorageError

MODE = 0o600
FOLDER_MODE = 0o700


def check_folder(root: Path) -> Path:
    """The folder of all this, made if it is not there.

    Raises:
        ConfigError: it is no folder, or everybody may put files into it. StorageError: it cannot be made.
    """
    try:
        root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        status = root.stat()
    except FileExistsError:
        raise ConfigError(f"{root} is no folder", field="root", allowed="a folder") from None
    except OSError as error:
        raise StorageError(f"cannot use {root}: {error.strerror}", field="root") from error
    if status.st_mode & stat.S_IWOTH:
        raise ConfigError(f"everybody may write to {root}", field="root", hint=f"chmod 700 {root}")
    return root.resolve()


def read(path: Path, *, most: int) -> tuple[bytes, tuple[int, ...]] | None:
    """What is in a file, and a signature that changes with it. None: there is none.

    Args:
        most: Bytes it may have.

    Raises:
        ConfigError: a symbolic link, no file, not ours, readable by others, or too large.
        StorageError: the disk failed.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return None
    except OSError as error:
        if path.is_symlink():
            raise ConfigError(f"{path} is a symbolic link", hint="put the file itself there") from None
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(f"{path} is no file")
        if status.st_mode & 0o077:
            raise ConfigError(f"others than its owner can read or write {path}", hint=f"chmod 600 {path}")
        if status.st_uid not in (os.geteuid(), 0):
            raise ConfigError(f"{path} belongs to somebody else", hint=f"chown it to user {os.geteuid()}")
        if status.st_size > most:
            raise ConfigError(f"{path} has {status.st_size:,} bytes", allowed=f"at most {most:,} bytes")
        data = bytearray()
        while len(data) <= most and (part := os.read(descriptor, most + 1 - len(data))):
            data += part
        return bytes(data[:most]), _signature(status)
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    finally:
        os.close(descriptor)


def signature(path: Path) -> tuple[int, ...] | None:
    """That of the file that is there now. None: there is none. Cost: some microseconds. Raises StorageError."""
    try:
        return _signature(os.lstat(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"cannot look at {path}: {error.strerror}") from error


def replace(path: Path, data: bytes) -> None:
    """Put a new file in the place of the old one. After a crash there is the one or the other. Raises StorageError."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(fresh, path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
        folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise StorageError(
            f"cannot write {path}: {error.strerror}", hint="check its folder, and the space left"
        ) from error


def _signature(status: os.stat_result) -> tuple[int, ...]:
    """Inode numbers are given again, so that times and size belong to it, and the rights, which are checked, too."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode
