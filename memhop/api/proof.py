"""Erasing with proof: erase, compact, and look for what was erased in the raw bytes of every file within reach.

What is looked for: see `needles`. Terms are not searched for but looked up: each one that no other record holds must
have left the vocabulary. Where it is looked for: the memory, whatever lies beside it under its name, and what else the
caller names. What is compressed or encrypted there is not seen.

What is found in the memory itself is set against the frames of its log: the same words, or the same vector, in another
record are that record's own and no failure. In every other file each find counts.

Memory is bounded by the chunk read, the longest row and the number of needles. Cost: the log is walked twice and
written once; searching takes about 0.3 ms per needle and MB, with 32 needles for one long version in plain letters.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from memhop.api import results
from memhop.api.erasure import Erasure, check_erasable
from memhop.api.needles import LEAST_TEXT, needles_of, rows_of
from memhop.common.errors import Corrupt, InvalidRequest, MemhopError
from memhop.common.ids import to_hex
from memhop.core.side_files import beside
from memhop.repo import codec
from memhop.repo.l4_archive import Message
from memhop.repo.l4_note import Note
from memhop.repo.record import Kind
from memhop.repo.traces import Traces, remaining_terms, traces, unit_of_row
from memhop.repo.vectors import Space

if TYPE_CHECKING:
    from memhop.repo.store import Store

MOST_NEEDLES = 512  # of all versions together
MOST_FOUND = 1_000  # places in one file; a search stops there
MOST_NAMED = 5  # ids in one line of a receipt
_CHUNK = 1024 * 1024
_TRIES = 3  # to search a file that other processes compact
_BEYOND = (
    "copies elsewhere: backups, exports and snapshots in places that were not searched",
    "blocks of the disk that held the file before, until something else is written there",
    "a process that had the file open reads the old one until it moves over or closes it",
)


def erase_and_prove(store: Store, id_: int, also: Iterable[str | os.PathLike[str]]) -> results.Receipt:
    """Erase a note or message, compact, search. Raises NotFound and InvalidRequest before anything is erased."""
    further = _further_files(also)
    with store.file.writing(), store.lock:  # no other process or thread writes until it is known what is left
        with store.writing() as batch:
            kind = check_erasable(store, id_)
            erasure = Erasure(store, batch)
            erasure.erase([id_])
            before = traces(store, erasure.gone.keys() | erasure.blanked)
            erased_at = store.clock.now_ms()
        bytes_before = store.file.file_bytes
        remarks = erasure.remarks()
        compacted = True
        try:
            store.compact()
        except MemhopError as error:
            compacted = False
            remarks.append(f"the file could not be compacted, so that the bytes are still in it: {error.message}")
        left = traces(store, erasure.gone.keys(), before.owners)
        terms, stale = remaining_terms(store, before.terms())
        commit, digest, bytes_after = store.file.commit_number, store.file.head_digest.hex(), store.file.file_bytes
    if stale:
        remarks.append(f"{stale} terms that no other record holds are still in the vocabulary")
    needles = needles_of(before)
    if len(needles) > MOST_NEEDLES:
        remarks.append(f"{MOST_NEEDLES} of {len(needles)} pieces were searched for, evenly spread")
        needles = _spread(needles, MOST_NEEDLES)
    remarks += _unsearchable(before, id_)
    known = _Known(erasure.gone.keys() if compacted else erasure.gone.keys() | erasure.blanked, before.owners)
    searched = [_search_memory(store, needles, known, indexes_are_new=compacted)]
    if known.others:
        remarks.append(f"the same words or vectors stand in other records, which stay: {_some(known.others)}")
    for path in (*_files_beside(store.file.path), *further):
        try:
            found = sum(1 for _ in islice(_places(path, needles), MOST_FOUND))
            searched.append((str(path), path.stat().st_size, found))
        except OSError as error:
            remarks.append(f"{path} could not be searched: {error.strerror or error}")
            continue
        if found:
            remarks.append(f"{path} holds what was erased, in {found:,} places: delete it")
    remarks += _seen_by_models(store, before)
    return results.Receipt(
        id=to_hex(id_),
        kind=kind.name.lower(),
        erased_at=erased_at,
        commit=commit,
        head_digest=digest,
        bytes_before=bytes_before,
        bytes_after=bytes_after,
        reached=_reached(id_, erasure, before, terms),
        searched=tuple(searched),
        not_reached=(*remarks, *_BEYOND),
        complete=compacted
        and not (stale or left.versions or left.unreadable or left.slabs or any(found for _, _, found in searched)),
    )


def _reached(id_: int, erasure: Erasure, before: Traces, terms: int) -> tuple[tuple[str, int], ...]:
    counts = [
        ("versions", sum(1 for version in before.versions if version.id == id_) + before.unreadable.count(id_)),
        ("vectors", len(rows_of(before, Kind.VECTOR_SLAB))),
        ("token rows", len(rows_of(before, Kind.TOKEN_SLAB)) + len(rows_of(before, Kind.CONTEXT_SLAB))),
        ("terms", terms),
        *sorted(erasure.reached.items()),
    ]
    return tuple((what, count) for what, count in counts if count)


def _unsearchable(found: Traces, id_: int) -> Iterator[str]:
    """What of the record could not be turned into bytes to look for."""
    if damaged := found.unreadable.count(id_):
        yield f"{damaged} damaged versions, of which nobody knows the words; they were erased, and not searched for"
    texts = [version.text for version in found.versions if version.id == id_ and isinstance(version, Note | Message)]
    if any(len(text.encode("utf-8")) < LEAST_TEXT for text in texts):
        yield f"a text of less than {LEAST_TEXT} bytes stands in any file by chance, and was not searched for"


def _seen_by_models(store: Store, found: Traces) -> Iterator[str]:
    spaces = {rows.space for rows in found.slabs}
    models = sorted({space.model for space in store.scan(Space) if space.id in spaces})
    if models:
        yield f"the models that embedded its words have seen them: {', '.join(models)}"


def _spread(items: list[bytes], most: int) -> list[bytes]:
    return [items[number * len(items) // most] for number in range(most)]


class _Known:
    """Whose bytes a find in the memory is.

    Attributes:
        ids: Records whose frames must not hold anything any more; owners: those of their rows.
        others: Filled with the records that rightly hold the same.
    """

    def __init__(self, ids: Collection[int], owners: Collection[int]) -> None:
        self.ids = ids
        self.owners = owners
        self.others: set[int] = set()

    def explains(self, store: Store, kind: int, id_: int, frame: int, at: int) -> bool:
        """Whether a find at byte `at`, in the record frame at `frame`, belongs to another record."""
        if id_ in self.ids:
            return False
        if kind in codec.SLAB_KINDS:
            try:
                owner, id_ = unit_of_row(store, kind, frame, at)
            except Corrupt:
                return False
            if owner in self.owners:
                return False
        if id_:
            self.others.add(id_)
        return True


def _search_memory(store: Store, needles: list[bytes], known: _Known, *, indexes_are_new: bool) -> tuple[str, int, int]:
    """Look into the file of the memory. Only finds that no other record explains are counted.

    Args:
        indexes_are_new: The indexes were made after the erasure: what their vocabulary holds is of other records.
    """
    path, left = store.file.path, 0
    for _ in range(_TRIES):
        generation = store.file.generation
        left = _unexplained(store, list(_places(path, needles)), known, indexes_are_new=indexes_are_new)
        store.refresh()
        if store.file.generation == generation:  # else another process has compacted, and offsets mean nothing
            break
    return str(path), path.stat().st_size, left


def _unexplained(store: Store, hits: list[int], known: _Known, *, indexes_are_new: bool) -> int:
    vocabulary = [
        range(section.offset, section.offset + section.bytes)
        for segment in (store.file.segments() if indexes_are_new else ())
        for section in segment.info.sections
        if section.name == "bm25.text"
    ]
    hits = [at for at in hits if not any(at in span for span in vocabulary)]
    left = len(hits)
    waiting = iter(hits)
    at = next(waiting, None)
    for ref in store.file.frames() if hits else ():
        while at is not None and at < ref.end:
            if (
                at >= ref.offset
                and ref.kind >= Kind.PROFILE
                and known.explains(store, ref.kind, ref.id, ref.offset, at)
            ):
                left -= 1
            at = next(waiting, None)
    return left


def _places(path: Path, needles: list[bytes]) -> Iterator[int]:
    """Offsets in a file where one of the needles begins, ascending, each once. May raise OSError."""
    overlap = max(map(len, needles), default=1) - 1
    base, held = 0, b""
    with path.open("rb") as file:
        while needles:
            fresh = file.read(_CHUNK)
            data = held + fresh
            limit = len(data) - overlap if fresh else len(data)
            found: set[int] = set()
            for needle in needles:
                at = data.find(needle)
                while 0 <= at < limit:
                    found.add(base + at)
                    at = data.find(needle, at + len(needle))
            yield from sorted(found)
            if not fresh:
                return
            held, base = data[max(limit, 0) :], base + max(limit, 0)


def _files_beside(path: Path) -> Iterator[Path]:
    """Whatever lies beside the memory under its name: torn tails, leftovers, copies, the folder of backups."""
    for entry in sorted(path.parent.iterdir()):
        if entry.name.startswith(beside(path, ".").name):
            yield from _files_of(entry)


def _further_files(also: Iterable[str | os.PathLike[str]]) -> list[Path]:
    allowed = "a list of paths that exist"
    if isinstance(also, str | bytes | os.PathLike) or not isinstance(also, Iterable):
        raise InvalidRequest(f"a {type(also).__name__} is no list of paths", field="also", allowed=allowed)
    found: list[Path] = []
    for item in also:
        if not isinstance(item, str | os.PathLike) or "\0" in str(item):
            raise InvalidRequest("it is not a path", field="also", allowed=allowed)
        path = Path(item).expanduser()
        if not path.exists():
            raise InvalidRequest(f"there is no {path}", field="also", allowed=allowed)
        found += _files_of(path)
    return found


def _files_of(path: Path) -> Iterator[Path]:
    """A file, or all files below a folder; other things, such as sockets, are none."""
    if path.is_file():
        yield path
    elif path.is_dir():
        for folder, folders, names in os.walk(path):
            folders.sort()
            yield from (file for name in sorted(names) if (file := Path(folder, name)).is_file())


def _some(ids: set[int]) -> str:
    named = ", ".join(to_hex(id_) for id_ in sorted(ids)[:MOST_NAMED])
    return f"{named} and {len(ids) - MOST_NAMED} more" if len(ids) > MOST_NAMED else named
