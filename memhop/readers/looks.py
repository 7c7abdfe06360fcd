"""Judging a source by its content: whether the streams that matter look like a format."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from memhop.common.errors import InvalidRequest, StorageError
from memhop.readers.shape import Shape, shapes
from memhop.readers.source import Member, head_of, is_packed, is_zip, members, peek

_MOST_PEEKS = 8


def parts(path: Path, pattern: re.Pattern[str]) -> list[Member]:
    """The streams of a format: the file itself; of a zip or folder those whose last part of the name fits.

    Raises:
        StorageError, InvalidRequest: as `members`.
    """
    found = members(path)
    if path.is_dir() or is_zip(head_of(path)):
        return [member for member in found if pattern.fullmatch(member.base)]
    return found


def looks_like(path: Path, head: bytes, pattern: re.Pattern[str], fits: Callable[[Shape], bool]) -> bool:
    """Whether one of the first streams that matter has a record of this shape. False for what cannot be read."""
    if head and not is_packed(head):
        return any(map(fits, shapes(head)))
    try:
        candidates = parts(path, pattern)[:_MOST_PEEKS]
    except (StorageError, InvalidRequest):
        return False
    return any(fits(shape) for member in candidates for shape in shapes(peek(member)))


def require(path: Path, matches: Callable[[Path, bytes], bool], expected: str) -> None:
    """Check that a source is of a format before it is read.

    Raises:
        InvalidRequest: it is not.
        StorageError: it cannot be read.
    """
    head = head_of(path)
    if not matches(path, head):
        members(path)  # what cannot be read says so instead
        raise InvalidRequest(f"{path.name} is something else", field="path", allowed=expected)
