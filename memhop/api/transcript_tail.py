"""The end of a Claude Code transcript that is still being written, as messages for `db.archive.append_many`.

The messages have the names that an import of the whole transcript gives them, so that neither stores what the other
has: `session` is the client's, `external_id` its id of the message behind the name of the format.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memhop.common.errors import InvalidRequest
from memhop.readers import claude_code
from memhop.readers.injected import without_injected
from memhop.readers.item import MessageItem
from memhop.readers.source import Member, open_file, unreadable

if TYPE_CHECKING:
    from memhop.api.db import DB


def tail(path: Path, last_bytes: int) -> Iterator[dict[str, Any]]:
    """What was said in the last bytes of a transcript, oldest first. Lines that are none of it are passed over.

    Unless these are all there is, it begins with words of a user: what stands before may be the second half of an
    answer. A line that is still being written is no JSON yet, and left for the next time.

    Raises:
        StorageError: it cannot be read.

    Cost: holds `last_bytes`; 20 MB/s.
    """
    data, whole = _end_of(path, last_bytes)
    for item in claude_code.items_of(Member(path.name, lambda: io.BytesIO(data))):
        if isinstance(item, MessageItem) and (whole or item.role == "user"):
            whole = True
            yield _message(item)


def _end_of(path: Path, last_bytes: int) -> tuple[bytes, bool]:
    """The lines at the end, and whether they are all there are."""
    with open_file(path) as source:
        try:
            start = max(0, os.fstat(source.fileno()).st_size - last_bytes)
            source.seek(max(0, start - 1))
            if start:
                source.readline(last_bytes)  # the rest of a line, or the end of the one before
            data = source.read(last_bytes)
        except OSError as error:
            raise unreadable(path, error) from error
    return data, start == 0


def _message(item: MessageItem) -> dict[str, Any]:
    return {
        "text": item.text,
        "role": item.role,
        "session": item.session,
        "external_id": f"{claude_code.NAME}:{item.source_id}",
        "project": item.project,
        **({"at": item.at} if item.at else {}),
    }


def keep(db: DB, messages: Iterable[Mapping[str, Any]]) -> int:
    """Store the messages that are not there yet; what hosts put into them is cut out. Returns how many are new.

    One that is known by its `external_id` stays as it is, also where it says something else by now: an answer that was
    stored while its last lines were still to be written. One that is refused, such as a secret by a policy, is left
    out; the others are stored.

    Raises:
        StorageError: the file cannot be written.
    """
    new = [found for message in messages if (found := _new(db, message))]
    if not new:
        return 0
    try:
        return len(db.archive.append_many(new))
    except InvalidRequest:
        stored = 0
        for message in new:
            with suppress(InvalidRequest):
                stored += len(db.archive.append_many([message]))
        return stored


def _new(db: DB, message: Mapping[str, Any]) -> dict[str, Any] | None:
    text = without_injected(message["text"])
    try:
        known = db.archive.find(session=message["session"], external_id=message["external_id"])
    except InvalidRequest:
        return None
    return {**message, "text": text} if known is None and text.strip() else None
