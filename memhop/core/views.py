"""Writing what is not a batch: the genesis frame, segments, manifests and headers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from memhop.core.disk import DiskFile, write_all
from memhop.core.format import GENESIS, HEADER_OFFSETS, LOG_START, MANIFEST
from memhop.core.frame import encode, seed_of
from memhop.core.header import Header, Identity, encode_genesis
from memhop.core.manifest import Manifest, encode_manifest
from memhop.core.segment import IndexArrays, SegmentInfo, lay_out

if TYPE_CHECKING:
    from memhop.core.segment import SectionData

_JOINED = 1024 * 1024  # small pieces are written together, up to this size


def write_genesis(file: DiskFile, identity: Identity) -> None:
    """The first frame of a new file."""
    write_all(file, encode(GENESIS, 0, 0, encode_genesis(identity), seed=0), LOG_START)


def write_segment(
    file: DiskFile,
    offset: int,
    *,
    salt: int,
    number: int,
    commits: tuple[int, int],
    index: IndexArrays,
    sections: Mapping[str, SectionData],
) -> SegmentInfo:
    """A segment frame at `offset`, holding core's sections and the caller's. `commits`: first and last covered."""
    placed, pieces, end = lay_out({**sections, **index.sections()}, offset=offset, salt=salt)
    _write_pieces(file, pieces, offset)
    return SegmentInfo(number, *commits, index.rows, offset, end - offset, placed)


def write_manifest(file: DiskFile, offset: int, *, salt: int, manifest: Manifest) -> int:
    """A manifest frame at `offset`. Returns the offset just past it."""
    frame = encode(MANIFEST, 0, 0, encode_manifest(manifest), seed=seed_of(salt, offset))
    write_all(file, frame, offset)
    return offset + len(frame)


def write_header(file: DiskFile, slot: int, header: Header) -> None:
    """Overwrite header A (0) or B (1). What it names must have been fsynced before."""
    write_all(file, header.encode(), HEADER_OFFSETS[slot])


def _write_pieces(file: DiskFile, pieces: Iterable[bytes | memoryview], offset: int) -> None:
    gathered = bytearray()
    for piece in pieces:
        if len(gathered) + len(piece) > _JOINED and gathered:
            write_all(file, gathered, offset)
            offset += len(gathered)
            gathered = bytearray()
        if len(piece) > _JOINED:
            write_all(file, piece, offset)
            offset += len(piece)
        else:
            gathered += piece
    write_all(file, gathered, offset)
