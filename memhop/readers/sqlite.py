"""Reading rows of somebody else's SQLite file without a trace: no lock, no write, no side file.

A database that was closed is opened as immutable, in place. One with a write-ahead log or rollback journal beside it
has its newest rows there, which an immutable open does not see; it is copied with them to a temporary folder, and the
copy is read. Only plain tables are read, by name: views, triggers and virtual tables of a strange file could run
anything.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shutil import copyfileobj
from typing import Any, Final, NamedTuple

from memhop.common.errors import StorageError
from memhop.readers.source import open_file, unreadable

MAGIC: Final = b"SQLite format 3\x00"
_SIDE: Final = ("-wal", "-journal")
_TRIES: Final = 3
_MOST_BYTES: Final = 64 * 1024 * 1024  # of one value

Row = dict[str, Any]


class Broken(NamedTuple):
    """The table could not be read on: after how many rows, and why."""

    after: int
    reason: str


def columns(path: Path, table: str) -> frozenset[str]:
    """The columns of a plain table; empty if there is none, or if the file is no readable database."""
    try:
        with _Copy(path) as source, closing(_connect(source)) as connection:
            return _columns(connection, table)
    except (sqlite3.Error, StorageError):
        return frozenset()


def rows(path: Path, table: str, order: str) -> Iterator[Row | Broken]:
    """The rows of a plain table, ordered by a column. A text that is no UTF-8 has half surrogates in it.

    Raises:
        StorageError: the file cannot be read, or is being changed all the time.
    """
    with _Copy(path) as source:
        number = 0
        try:
            with closing(_connect(source)) as connection:
                known = sorted(_columns(connection, table))
                quoted = ", ".join(f'"{column}"' for column in known)
                for values in connection.execute(f'SELECT {quoted} FROM "{table}" ORDER BY "{order}"'):
                    number += 1
                    yield dict(zip(known, values, strict=True))
        except sqlite3.Error as error:
            yield Broken(number, f"the database is damaged: {error}")


def _columns(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    plain = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?"
    found = connection.execute(plain, (table,)).fetchone()
    if not found or not isinstance(found[0], str) or found[0].lstrip()[:14].upper().split()[:2] != ["CREATE", "TABLE"]:
        return frozenset()
    # Hidden and generated columns are left out: computing one may take for ever.
    listed = connection.execute(f'PRAGMA table_xinfo("{table}")').fetchall()
    return frozenset(row[1] for row in listed if row[6] == 0 and '"' not in row[1])


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_BYTES)
    for pragma in ("query_only = 1", "trusted_schema = 0", "cell_size_check = 1", "mmap_size = 0"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


class _Copy:
    """The path to read from: the file itself, or a copy into which what lies beside it was folded."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Path:
        with open_file(self._path):
            pass
        if not any(size for _, size in self._state()[1:]):
            return self._path
        self._folder = tempfile.TemporaryDirectory(prefix="memhop-")
        try:
            return self._fold(Path(self._folder.name) / "copy.db")
        except BaseException:
            self._folder.cleanup()
            raise

    def __exit__(self, *_: object) -> None:
        if self._folder:
            self._folder.cleanup()

    def _fold(self, target: Path) -> Path:
        for _ in range(_TRIES):
            before = self._state()
            for suffix in ("", *_SIDE):
                source = self._path.with_name(self._path.name + suffix)
                Path(f"{target}{suffix}").unlink(missing_ok=True)
                if suffix and not source.exists():
                    continue
                with open_file(source) as stream, open(f"{target}{suffix}", "wb") as copy:
                    copyfileobj(stream, copy)
            if self._state() == before:
                try:
                    with closing(sqlite3.connect(target)) as connection:  # recovery, then all in one file
                        connection.execute("PRAGMA journal_mode = DELETE").fetchall()
                except sqlite3.Error as error:
                    raise StorageError(f"cannot read {self._path}: {error}") from error
                return target
        raise StorageError(f"cannot read {self._path}: it is being written to", hint="close what writes to it")

    def _state(self) -> list[tuple[int, int]]:
        """Times and sizes of the file and of what lies beside it."""
        found = []
        for suffix in ("", *_SIDE):
            try:
                status = self._path.with_name(self._path.name + suffix).stat()
                found.append((status.st_mtime_ns, status.st_size))
            except FileNotFoundError:
                found.append((0, 0))
            except OSError as error:
                raise unreadable(self._path, error) from error
        return found
