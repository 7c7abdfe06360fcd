"""Immutable arrays in the file: sections, mapped and used in place, and the laying out of new ones.

A section is a flat array of one typecode. Its place and checksum stand in the manifest; the bytes are checked when
they are touched for the first time and never copied. Core's own three sections are the record index of a
segment: ids ascending, with the offset of the newest frame of each and its kind (0: a tombstone).
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from memhop.common.errors import Corrupt, InvalidRequest, StorageError
from memhop.core.format import HEAD, MAX_SEGMENT, SECTION_ALIGNMENT, align
from memhop.core.frame import encode_segment_head, seed_of

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from numpy.typing import NDArray

    Values = ReadableBuffer | NDArray[Any]  # before Python 3.12 an array does not look like a buffer to a type checker
    SectionData = tuple[str, Values]  # typecode, values

ITEM_SIZES = {"B": 1, "H": 2, "I": 4, "Q": 8, "i": 4, "q": 8, "f": 4, "d": 8}
MAX_SEGMENTS = 256  # live at once
MAX_SECTIONS = 256  # of one segment, core's three included
MAX_NAME = 64
CORE_PREFIX = "core."
IDS, OFFSETS, KINDS = "core.ids", "core.offsets", "core.kinds"
INDEX_TYPES = {IDS: "Q", OFFSETS: "Q", KINDS: "B"}  # every segment has these
TOMBSTONE_KIND = 0
_NUMPY_FROM = 20_000  # rows; below, loading numpy costs more than it saves
_LOADED_FROM = 1_000  # rows, where it is loaded

assert all(array(code).itemsize == size for code, size in ITEM_SIZES.items())


class Section(NamedTuple):
    """Where an array lies: `items` items of `typecode` from byte `offset` on, and the CRC-32 of those bytes."""

    name: str
    typecode: str
    offset: int
    items: int
    crc: int

    @property
    def bytes(self) -> int:
        """Length in bytes."""
        return self.items * ITEM_SIZES[self.typecode]


class SegmentInfo(NamedTuple):
    """What a manifest says of a segment. `bytes` is the size of its frame at `offset`."""

    number: int
    first_commit: int
    last_commit: int
    records: int
    offset: int
    bytes: int
    sections: tuple[Section, ...]


class Segment:
    """A live segment: the commits first_commit..last_commit as arrays. Safe from several threads.

    Attributes:
        number: Unique in the file, ascending with age of the newest commit covered.
        records: Rows of the record index, tombstones included.
        bytes: Of its frame.
    """

    def __init__(self, info: SegmentInfo, mapping: memoryview) -> None:
        self.info = info
        self.number = info.number
        self.first_commit = info.first_commit
        self.last_commit = info.last_commit
        self.records = info.records
        self.bytes = info.bytes
        self._mapping = mapping
        self._sections = {section.name: section for section in info.sections}
        self._views: dict[str, memoryview] = {}
        self._index: tuple[memoryview, memoryview, memoryview] | None = None

    def names(self) -> Iterable[str]:
        """The names of all sections, core's own included."""
        return self._sections.keys()

    def view(self, name: str) -> memoryview:
        """The array `name`, in place, cast to its typecode. Valid until released, also after close.

        Raises:
            KeyError: the segment has no such section.
            Corrupt: its checksum fails.

        Cost: the first touch reads the whole section (1 ms per MB), later ones nothing.
        """
        view = self._views.get(name)
        if view is None:
            section = self._sections[name]
            raw = self._mapping[section.offset : section.offset + section.bytes]
            crc = zlib.crc32(raw)
            if len(raw) != section.bytes or crc != section.crc:
                raise Corrupt(f"section {name}", offset=section.offset, expected=section.crc, found=crc)
            view = self._views[name] = raw.cast(cast("Literal['B']", section.typecode))
        return view

    def index(self) -> tuple[memoryview, memoryview, memoryview]:
        """The record index: ids, offsets, kinds. Raises Corrupt as `view` does, also if the lengths disagree."""
        if self._index is None:
            arrays = self.view(IDS), self.view(OFFSETS), self.view(KINDS)
            if not len(arrays[0]) == len(arrays[1]) == len(arrays[2]) == self.records:
                raise Corrupt("record index", offset=self.info.offset)
            self._index = arrays
        return self._index


class IndexArrays(NamedTuple):
    """A record index that is not in the file yet."""

    ids: Values
    offsets: Values
    kinds: Values
    rows: int

    def sections(self) -> dict[str, SectionData]:
        """As input for `lay_out`."""
        arrays = {IDS: self.ids, OFFSETS: self.offsets, KINDS: self.kinds}
        return {name: (INDEX_TYPES[name], array) for name, array in arrays.items()}


def merge_indexes(
    older: Sequence[tuple[memoryview, memoryview, memoryview]],
    delta: Mapping[int, tuple[int, int]],
    *,
    drop_tombstones: bool,
) -> IndexArrays:
    """One record index out of several; of an id in more than one, the newest row counts.

    Args:
        older: (ids, offsets, kinds) of segments, oldest first.
        delta: id -> (kind, offset), newer than all of them.
        drop_tombstones: True if nothing older remains which they would hide.

    Cost: O(rows log rows); numpy above 20,000 rows, and above 1,000 where it is loaded already.
    """
    rows = sum(len(ids) for ids, _, _ in older) + len(delta)
    if rows >= (_LOADED_FROM if "numpy" in sys.modules else _NUMPY_FROM):
        return _merge_with_numpy(older, delta, drop_tombstones)
    merged: dict[int, tuple[int, int]] = {}
    for ids, offsets, kinds in older:
        merged.update(zip(ids, zip(kinds, offsets, strict=True), strict=True))
    merged.update(delta)
    kept = sorted((id_, row) for id_, row in merged.items() if row[0] or not drop_tombstones)
    return IndexArrays(
        array("Q", [id_ for id_, _ in kept]),
        array("Q", [offset for _, (_, offset) in kept]),
        array("B", [kind for _, (kind, _) in kept]),
        len(kept),
    )


def _merge_with_numpy(
    older: Sequence[tuple[memoryview, memoryview, memoryview]],
    delta: Mapping[int, tuple[int, int]],
    drop_tombstones: bool,
) -> IndexArrays:
    import numpy as np

    newest = (
        np.fromiter(delta.keys(), np.uint64, len(delta)),
        np.fromiter((offset for _, offset in delta.values()), np.uint64, len(delta)),
        np.fromiter((kind for kind, _ in delta.values()), np.uint8, len(delta)),
    )
    parts = [newest, *((np.asarray(i), np.asarray(o), np.asarray(k)) for i, o, k in reversed(older))]
    ids, offsets, kinds = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    unique, first = np.unique(ids, return_index=True)  # the first of equal ids: the newest, by the order above
    offsets, kinds = offsets[first], kinds[first]
    if drop_tombstones:
        alive = kinds != TOMBSTONE_KIND
        unique, offsets, kinds = unique[alive], offsets[alive], kinds[alive]
    return IndexArrays(unique, offsets, kinds, len(unique))


def check_sections(sections: Mapping[str, SectionData]) -> None:
    """Raises InvalidRequest where a caller's sections cannot be stored."""
    if len(sections) > MAX_SECTIONS - 3:
        raise InvalidRequest(f"{len(sections)} sections", field="sections", allowed=f"at most {MAX_SECTIONS - 3}")
    for name, (typecode, values) in sections.items():
        if not 0 < len(name) <= MAX_NAME or not name.isprintable() or name.startswith(CORE_PREFIX):
            raise InvalidRequest(
                f"section name {name[:80]!r}",
                field="sections",
                allowed=f"1..{MAX_NAME} printable characters, not starting with {CORE_PREFIX!r}",
            )
        if typecode not in ITEM_SIZES:
            raise InvalidRequest(f"typecode {typecode!r} of {name}", field="sections", allowed=" ".join(ITEM_SIZES))
        view = memoryview(cast("ReadableBuffer", values))
        if not view.c_contiguous or view.nbytes % ITEM_SIZES[typecode]:
            raise InvalidRequest(
                f"the buffer of {name}", field="sections", allowed=f"contiguous items of typecode {typecode}"
            )


def lay_out(
    sections: Mapping[str, SectionData], *, offset: int, salt: int
) -> tuple[tuple[Section, ...], list[bytes | memoryview], int]:
    """Place sections into a segment frame at `offset`.

    Returns:
        The directory, the pieces of the frame in file order (views of the caller's buffers, not copies), and the
        offset just past the frame.

    Raises:
        StorageError: more than 4 GiB.
    """
    position = start = align(offset + HEAD.size, SECTION_ALIGNMENT)
    placed: list[Section] = []
    pieces: list[bytes | memoryview] = [bytes(start - offset - HEAD.size)]
    for name in sorted(sections):
        typecode, values = sections[name]
        raw = _flat(values)
        placed.append(Section(name, typecode, position, len(raw) // ITEM_SIZES[typecode], zlib.crc32(raw)))
        following = align(position + len(raw), SECTION_ALIGNMENT)
        pieces += [raw, bytes(following - position - len(raw))]
        position = following
    length = position - offset - HEAD.size
    if length > MAX_SEGMENT:
        raise StorageError(f"a segment of {length} bytes is too large", hint="compact the file")
    pieces.insert(0, encode_segment_head(length, seed=seed_of(salt, offset)))
    return tuple(placed), pieces, position


def _flat(values: Values) -> memoryview:
    view = memoryview(cast("ReadableBuffer", values))
    return view.cast("B") if view.nbytes else memoryview(b"")  # cast refuses shapes with a zero
