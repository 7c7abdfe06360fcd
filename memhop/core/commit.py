"""The commit frame's payload and the digest chain. Layout: core/format.py. No I/O, no state."""

from __future__ import annotations

from typing import NamedTuple

from memhop.core.format import COMMIT_PAYLOAD, COMMIT_TRAILER, DIGEST_SIZE, MAX_NUMBER

try:  # hashlib loads OpenSSL, several milliseconds that opening a file does not need
    from _blake2 import blake2b
except ImportError:  # pragma: no cover - a Python built without its own BLAKE2
    from hashlib import blake2b

__all__ = ["Chain", "CommitRecord", "blake2b", "decode_commit"]


class CommitRecord(NamedTuple):
    """The payload of a commit frame; fields as in core/format.py."""

    number: int
    time_ms: int
    durable: int
    length: int
    frames: int
    previous: bytes
    digest: bytes

    def encode(self) -> bytes:
        """The 104 bytes."""
        return COMMIT_PAYLOAD.pack(
            self.number,
            self.time_ms,
            self.durable,
            self.length,
            self.frames,
            0,
            self.previous,
            self.digest,
        )


def decode_commit(payload: memoryview) -> CommitRecord | None:
    """The record in a payload whose CRC was good, or None if it has another size or impossible numbers."""
    if len(payload) != COMMIT_PAYLOAD.size:
        return None
    number, time_ms, durable, length, frames, _, previous, digest = COMMIT_PAYLOAD.unpack(payload)
    if number > MAX_NUMBER or abs(time_ms) > MAX_NUMBER:
        return None
    return CommitRecord(number, time_ms, durable, length, frames, previous, digest)


class Chain:
    """The digest of one batch while its frames go by."""

    def __init__(self, previous: bytes) -> None:
        self._hash = blake2b(previous, digest_size=DIGEST_SIZE)
        self.frames = 0

    def add(self, fields: bytes | memoryview, payload: bytes | memoryview) -> None:
        """Take in a frame: bytes 10..23 of its head, and its payload."""
        self._hash.update(fields)
        self._hash.update(payload)
        self.frames += 1

    def close(self, number: int, time_ms: int) -> bytes:
        """The digest of the batch as commit `number`."""
        final = self._hash.copy()
        final.update(COMMIT_TRAILER.pack(number, time_ms, self.frames))
        return final.digest()
