"""The bytes by which an erased record would be known in a file, taken from every version of it that the log held.

    its text           as UTF-8, and as JSON writes it (with \\uXXXX, and with the short escapes alone). A long text in
                       up to 32 pieces of 48 bytes, evenly spread, so that a torn file is found out which holds a
                       part of it that is longer than a 31st of the whole and 96 bytes
    telling values     external id, idempotency key, source, tags, keys and texts of the metadata; the same with the
                       summary of its topic, the name of its scene, and the texts of cards drawn from it
    vectors, token ids each row, as the float32 and integers that slabs hold; of context slabs the codes

UTF-16 is not among them: nothing that MemHop writes holds text in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from memhop.repo.codec import SLAB_KINDS
from memhop.repo.l2_context import Scene, Topic
from memhop.repo.l4_archive import Message, dated
from memhop.repo.l4_note import Note
from memhop.repo.l5_capability import Capability
from memhop.repo.record import Kind, Record
from memhop.repo.traces import Traces

PIECE = 48  # bytes of a text that are looked for at a time
PIECES = 32  # of one text
LEAST_TEXT = 6  # bytes; a shorter text stands in any file by chance
LEAST_VALUE = 12  # bytes; a shorter tag is a word like any other
LONGEST_ROW = 16 * 1024  # bytes of a vector or token row


def needles_of(found: Traces) -> list[bytes]:
    """The bytes to look for, each once: pieces of texts, telling values, rows."""
    texts: dict[bytes, None] = {}
    for version in found.versions:
        for piece in _telling(version):
            for written in (piece, json.dumps(piece)[1:-1], json.dumps(piece, ensure_ascii=False)[1:-1]):
                texts[written.encode("utf-8")] = None
    rows = {row: None for kind in map(Kind, sorted(SLAB_KINDS)) for row in rows_of(found, kind)}
    return [*texts, *(row[:LONGEST_ROW] for row in rows if len(row) >= LEAST_VALUE)]


def _telling(version: Record) -> Iterator[str]:
    """Texts of a version that are its own and long enough to be known by."""
    if isinstance(version, Note | Message):
        yield from _pieces(version.text, LEAST_TEXT)
        yield from _pieces(version.external_id, LEAST_VALUE)
    if isinstance(version, Note):
        for value in (version.idempotency_key, version.source, *version.tags, *_strings(version.metadata)):
            yield from _pieces(value, LEAST_VALUE)
    elif isinstance(version, Capability):
        for text in (version.summary, version.trigger):
            yield from _pieces(text, LEAST_VALUE)
    elif isinstance(version, Topic):
        yield from _pieces(version.summary, LEAST_VALUE)
    elif isinstance(version, Scene) and version.name != dated(version.created_at):
        yield from _pieces(version.name, LEAST_VALUE)


def _strings(value: Any) -> Iterator[str]:
    """Every key and text of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)


def _pieces(text: str, least: int) -> Iterator[str]:
    """The text, or if it is longer than a piece, up to PIECES pieces cut at character borders, the ends among them."""
    data = text.encode("utf-8")
    if len(data) < least:
        return
    count = min(PIECES, -(-len(data) // PIECE))
    for number in range(count):
        start = number * (len(data) - PIECE) // (count - 1) if count > 1 else 0
        yield data[_border(data, start) : _border(data, start + PIECE)].decode("utf-8")


def _border(data: bytes, at: int) -> int:
    """The beginning of the character that covers byte `at`."""
    while 0 < at < len(data) and data[at] & 0xC0 == 0x80:
        at -= 1
    return at


def rows_of(found: Traces, kind: Kind) -> dict[bytes, None]:
    """Different rows, in order: joined slabs repeat those they were joined from."""
    return dict.fromkeys(row for rows in found.slabs if rows.kind is kind for row in rows.rows)
