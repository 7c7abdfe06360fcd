"""Making a new file: written under a temporary name, then given its own. Never touches an existing file."""

from __future__ import annotations

from pathlib import Path

from memhop.core.disk import Disk, DiskFile, quietly, write_all
from memhop.core.format import HEADER_OFFSETS, LOG_START, MAX_NUMBER, Point
from memhop.core.header import FIRST_BATCH, Header, Identity, first_digest
from memhop.core.side_files import beside
from memhop.core.views import write_genesis, write_header


def new_identity(disk: Disk, *, now_ms: int) -> Identity:
    """A fresh UUID and salt, generation 1, and an empty history."""
    uuid = disk.entropy(16)
    salt = int.from_bytes(disk.entropy(4), "little")
    created_ms = max(0, min(now_ms, MAX_NUMBER))
    return Identity(uuid, salt, 1, created_ms, Point(0, 0, FIRST_BATCH, first_digest(uuid)))


def first_header(identity: Identity) -> Header:
    """The header of a file that holds its genesis frame alone."""
    base = identity.base
    return Header(identity.uuid, identity.salt, identity.generation, identity.created_ms, 1, base, 0, base, base.end)


def write_empty(file: DiskFile, identity: Identity) -> None:
    """Header A, a blank header B and the genesis frame. Not synced."""
    write_all(file, bytes(LOG_START - HEADER_OFFSETS[1]), HEADER_OFFSETS[1])
    write_genesis(file, identity)
    write_header(file, 0, first_header(identity))


def create(disk: Disk, path: Path, *, now_ms: int) -> None:
    """Put an empty .meh file at `path`. Needs the lock.

    Raises:
        FileExistsError: something is there already.
        OSError: as the disk does; nothing is left at `path` then.
    """
    temporary = beside(path, ".new")
    file = disk.open(temporary, create=True)
    try:
        write_empty(file, new_identity(disk, now_ms=now_ms))
        file.fsync()
        disk.rename(temporary, path, replace=False)
        disk.sync_directory(path.parent)
    except OSError:
        quietly(lambda: disk.remove(temporary))
        raise
    finally:
        file.close()
