"""Where cards are imported from: a file, a folder, JSON text, or data.

A path may come from far away, so it is believed as little as a card. Only what is named is read, never what it points
to: symbolic links are refused, in the path's last part and inside a folder. Files are opened through the folder that
was looked at, without waiting (a pipe would hang), and looked at again once they are open: only regular files are read,
and no more of them than a card may have.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from memhop.common.config import LIMITS, check_file_path
from memhop.common.errors import InvalidRequest, StorageError
from memhop.repo.card import CARD_BYTES, parsed

CARD_FILE = "capability.json"
_ALLOWED = "a regular file, or a folder with such files; no symbolic links"
_ONLY_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Source(NamedTuple):
    """The data of one card, or why there is none. `digest`: SHA-256 of the bytes, as hex."""

    name: str
    data: Any
    digest: str
    error: InvalidRequest | None = None


def sources(source: object) -> tuple[bool, list[Source]]:
    """(whether it is a folder of several files, what is in it).

    Args:
        source: A path; JSON text, which begins with "{"; or a mapping. A folder is its `capability.json`, or without
            one all its files that end in `.json`, by name.

    Raises:
        InvalidRequest: it is none of these, or what a single card was to be read from does not do.
        StorageError: the file or folder is missing or cannot be read.
    """
    if isinstance(source, Mapping):
        return False, [_of_mapping(source)]
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("{"):
        return False, [_parsed("text", source.encode("utf-8", "surrogatepass"))]
    path = os.path.abspath(os.path.expanduser(check_file_path(source, field="source")))
    return _of_path(path)


def _of_mapping(data: Mapping[Any, Any]) -> Source:
    try:
        text = json.dumps(data, sort_keys=True, allow_nan=False, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"not JSON: {error!s:.80}", field="source", allowed="JSON values") from None
    return _parsed("data", text.encode("utf-8"))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} is no JSON value")


def _of_path(path: str) -> tuple[bool, list[Source]]:
    with _opened(path, os.path.basename(path)) as handle:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISDIR(mode):
            return False, [_parsed(os.path.basename(path), _read(handle, os.path.basename(path)))]
        names = _names(handle, path)
        if CARD_FILE in names:
            with _opened(CARD_FILE, CARD_FILE, folder=handle) as file:
                return False, [_parsed(CARD_FILE, _read(file, CARD_FILE))]
        return True, [_of_folder(handle, name) for name in names]


def _names(handle: int, path: str) -> list[str]:
    """Files of a folder that may be cards."""
    with os.scandir(handle) as found:
        names = sorted(entry.name for entry in found if entry.name.endswith(".json"))
    if not names:
        raise InvalidRequest(f"{path[-80:]!r} holds no card", field="source", allowed=f"{CARD_FILE} or other *.json")
    if len(names) > LIMITS.card_files:
        raise InvalidRequest(
            f"{len(names):,} files are too many", field="source", allowed=f"at most {LIMITS.card_files:,}"
        )
    return names


def _of_folder(folder: int, name: str) -> Source:
    shown = name.encode("utf-8", "backslashreplace").decode("utf-8")
    try:
        with _opened(name, shown, folder=folder) as file:
            return _parsed(shown, _read(file, shown))
    except InvalidRequest as error:
        return Source(shown, None, "", error)
    except StorageError as error:
        return Source(shown, None, "", InvalidRequest(error.message, field="source"))


@contextmanager
def _opened(path: str, shown: str, *, folder: int | None = None) -> Iterator[int]:
    try:
        handle = os.open(path, _ONLY_READ, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO):  # a link; a socket
            raise InvalidRequest(f"{shown[-80:]!r} is a link or no file", field="source", allowed=_ALLOWED) from None
        raise StorageError(f"{shown[-80:]!r} cannot be read: {error.strerror}", field="source") from None
    try:
        yield handle
    finally:
        os.close(handle)


def _read(handle: int, shown: str) -> bytes:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise InvalidRequest(f"{shown[-80:]!r} is no regular file", field="source", allowed=_ALLOWED)
    chunks, left = [], CARD_BYTES + 1  # the size that was stated may be another by now
    try:
        while left and (chunk := os.read(handle, left)):
            chunks.append(chunk)
            left -= len(chunk)
    except OSError as error:
        raise StorageError(f"{shown[-80:]!r} cannot be read: {error.strerror}", field="source") from None
    return b"".join(chunks)


def _parsed(name: str, data: bytes) -> Source:
    return Source(name, parsed(data), hashlib.sha256(data).hexdigest())
