"""One append as bytes: checking the writes, encoding their frames and the commit frame that closes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from memhop.common.errors import InvalidRequest
from memhop.core.commit import Chain, CommitRecord
from memhop.core.format import (
    ALIGNMENT,
    COMMIT,
    COMMIT_FRAME_SIZE,
    DELETED,
    FIELDS_OFFSET,
    FIRST_RECORD_KIND,
    LAST_RECORD_KIND,
    MAX_BATCH,
    MAX_ID,
    MAX_NUMBER,
    MAX_PAYLOAD,
    PURGED,
    Point,
    frame_size,
)
from memhop.core.frame import FrameRef, encode, encode_head, seed_of

_FLAGS = (0, DELETED, DELETED | PURGED)
_PADDING = tuple(bytes(-length % ALIGNMENT) for length in range(ALIGNMENT))


class Write(NamedTuple):
    """One frame to append: a record, or with flags DELETED (and PURGED) a tombstone without payload."""

    kind: int
    id: int
    payload: bytes = b""
    flags: int = 0


class Encoder:
    """Encodes one batch frame by frame. `take` hands out what has been encoded so far, for streaming."""

    def __init__(self, salt: int, previous: Point, start: int) -> None:
        self._salt = salt
        self._previous = previous
        self._chain = Chain(previous.digest)
        self._start = start
        self._offset = start
        self._buffer = bytearray()

    def add(self, write: Write) -> FrameRef:
        """Encode one frame; says where it will stand."""
        kind, id_, payload, flags = write
        head = encode_head(kind, flags, id_, payload, seed=seed_of(self._salt, self._offset))
        self._chain.add(head[FIELDS_OFFSET:], payload)
        self._buffer += head
        self._buffer += payload
        self._buffer += _PADDING[len(payload) % ALIGNMENT]
        ref = FrameRef(kind, id_, flags, self._offset, len(payload))
        self._offset = ref.end
        return ref

    @property
    def buffered(self) -> int:
        """Bytes that `take` would return."""
        return len(self._buffer)

    def take(self) -> bytearray:
        """The bytes encoded since the last call, to be written behind those before."""
        taken, self._buffer = self._buffer, bytearray()
        return taken

    def close(self, number: int, time_ms: int, durable: int) -> Point:
        """Add the commit frame; `durable` is the newest commit known to be on disk.

        A clock that runs beyond what a commit may state is held there, for the commit would be none when it is read.
        """
        time_ms = max(-MAX_NUMBER, min(time_ms, MAX_NUMBER))
        digest = self._chain.close(number, time_ms)
        record = CommitRecord(
            number,
            time_ms,
            durable,
            self._offset - self._start,
            self._chain.frames,
            self._previous.digest,
            digest,
        )
        self._buffer += encode(COMMIT, 0, 0, record.encode(), seed=seed_of(self._salt, self._offset))
        self._offset += COMMIT_FRAME_SIZE
        return Point(number, time_ms, self._offset, digest)


def check_writes(writes: Sequence[Write]) -> None:
    """Raises InvalidRequest for what cannot be stored, whatever is in the file."""
    if not writes:
        raise InvalidRequest("an empty batch", field="writes", allowed="at least one Write")
    total = 0
    for kind, id_, payload, flags in writes:
        if not FIRST_RECORD_KIND <= kind <= LAST_RECORD_KIND:
            raise InvalidRequest(f"{kind}", field="kind", allowed=f"{FIRST_RECORD_KIND}..{LAST_RECORD_KIND}")
        if not 0 < id_ <= MAX_ID:
            raise InvalidRequest(f"{id_}", field="id", allowed="1..2**64-1")
        if flags not in _FLAGS:
            raise InvalidRequest(f"{flags}", field="flags", allowed="0, DELETED, DELETED | PURGED")
        if flags and payload:
            raise InvalidRequest("a tombstone with a payload", field="payload", allowed="none with DELETED")
        if not isinstance(payload, bytes):
            raise InvalidRequest(f"a {type(payload).__name__}", field="payload", allowed="bytes")
        if len(payload) > MAX_PAYLOAD:
            raise InvalidRequest(f"{len(payload)} bytes", field="payload", allowed=f"at most {MAX_PAYLOAD}")
        total += frame_size(len(payload))
    if total > MAX_BATCH:
        raise InvalidRequest(f"{total} bytes in one batch", field="writes", allowed=f"at most {MAX_BATCH}")


def check_kinds(writes: Iterable[Write], locate: Callable[[int], tuple[int, int] | None]) -> None:
    """Raises InvalidRequest where a write would change the kind of a live id."""
    seen: dict[int, int] = {}
    for kind, id_, _, flags in writes:
        known = seen.get(id_, -1)
        if known < 0:
            row = locate(id_)
            known = row[0] if row else 0
        if known and known != kind:
            raise InvalidRequest(
                f"id {id_:016x} is a live record of kind {known}, not {kind}", field="kind", allowed=f"{known}"
            )
        seen[id_] = 0 if flags & DELETED else kind
