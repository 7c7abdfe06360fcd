"""`DB.export`: what a memory holds, as JSON lines. Equal bytes, equal memories.

    {"format":"memhop-export","version":1}
    {"id":"0b1e…","kind":"scene","record":{"created_at":1780000000000,"name":"…","project":"default",…}}
    …

One line for each live record of the layers L0 to L7, by kind (in the order of their numbers) and id. `record` has
every field of it, defaults included, and those of newer builds as they are; keys are sorted, ids are 16 hex digits
(null: none), times Unix milliseconds. What is no part of a layer is left out: vectors, which their model makes again,
the journals of dreams, imports and upkeep, and what models were asked for. So nothing in it depends on when or how it
was written. Notes are in it with what they were before, whatever their tier, and facts with what was believed before.

The header of an export of one project names it: `"project":"…"`. What is in it then:

    notes, messages, scenes, topics      of the project
    revisions and usage counters         of those notes, of those scenes
    engrams and associations             of those scenes, and of none beside
    facts                                drawn from those notes, messages, scenes and topics, and from nothing else

No profile, graphs, cards and trajectories: they belong to no project. A reference to what was left out stays in its
record; taking the export in leaves it out.
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from memhop.api import results
from memhop.api.reports import kind_name
from memhop.common.config import check_path, check_project
from memhop.common.errors import Corrupt, InvalidRequest, StorageError
from memhop.common.ids import to_hex
from memhop.core.backup import claimed
from memhop.core.disk import FileDisk, hint_of, reason, write_all
from memhop.core.side_files import beside
from memhop.repo import codec
from memhop.repo.plain import plain
from memhop.repo.record import Kind, Record, project_key
from memhop.repo.references import references

if TYPE_CHECKING:
    from memhop.core.snapshot import Snapshot
    from memhop.repo.store import Store

FORMAT = "memhop-export"
VERSION = 1
TEMPORARY = ".exporting"
_BEGIN = json.dumps({"format": FORMAT}, separators=(",", ":")).encode()[:-1]  # of every header
_OWN = (".lock", ".new", ".compact", ".restore", ".preview")  # suffixes of files that belong to a memory
_CHUNK = 1024 * 1024
_EXPORTED = [kind for kind in Kind if kind < Kind.SPACE]
KINDS = tuple(map(kind_name, _EXPORTED))  # of records, in the order in which they stand in an export
_OF_A_PROJECT = (Kind.SCENE, Kind.TOPIC, Kind.MESSAGE, Kind.NOTE)
_BELONGS = (Kind.ENGRAM, Kind.HYPEREDGE, Kind.FACT, Kind.NOTE_REVISION, Kind.USAGE)  # to those, if to nothing else
_TELL_EVERY = 1_000


class _Lines:
    """The lines of one moment. `records` and `damaged` count as they are taken."""

    def __init__(self, snapshot: Snapshot, project: str | None, progress: Callable[[int, int], object] | None) -> None:
        self.records = self.damaged = 0
        self._snapshot = snapshot
        self._project = project
        self._members = array("Q")  # ids of what is of the project, ascending
        self._progress = progress or (lambda done, total: None)

    def __iter__(self) -> Iterator[bytes]:
        yield header(self._project)
        offsets = {int(kind): array("Q") for kind in _EXPORTED}
        for _, kind, offset in self._snapshot.live():
            if kind in offsets:
                offsets[kind].append(offset)
        if self._project is not None:
            self._members = array("Q", sorted(self._of_the_project(offsets)))
        total = sum(map(len, offsets.values()))
        done = 0
        for kind in _EXPORTED:
            for offset in offsets[kind]:
                if line := self._line(offset):
                    yield line
                done += 1
                if done % _TELL_EVERY == 0:
                    self._progress(done, total)
        self._progress(total, total)

    def _of_the_project(self, offsets: dict[int, array[int]]) -> Iterator[int]:
        assert self._project is not None
        wanted = project_key(self._project)
        for kind in _OF_A_PROJECT:
            for offset in offsets[kind]:
                record: Any = self._read(offset)[0]
                if record is not None and project_key(record.project) == wanted:
                    yield record.id

    def _read(self, offset: int) -> tuple[Record | None, dict[str, Any]]:
        """A record and fields of newer builds; None: it is damaged."""
        try:
            kind, id_, payload = self._snapshot.read(offset)
            return codec.decode(kind, id_, payload, offset), codec.unknown_fields(kind, payload)
        except Corrupt:
            return None, {}

    def _line(self, offset: int) -> bytes:
        record, unknown = self._read(offset)
        if record is None:
            self.damaged += 1
            return b""
        if self._project is not None and not self._belongs(record):
            return b""
        self.records += 1
        line = {"id": to_hex(record.id), "kind": kind_name(record.KIND), "record": unknown | plain(record)}
        return msgspec.json.encode(line, order="deterministic") + b"\n"

    def _belongs(self, record: Record) -> bool:
        if record.KIND in _OF_A_PROJECT:
            return self._is_member(record.id)
        named = [id_ for _, id_ in references(record)]
        return record.KIND in _BELONGS and bool(named) and all(map(self._is_member, named))

    def _is_member(self, id_: int) -> bool:
        index = bisect_left(self._members, id_)
        return index < len(self._members) and self._members[index] == id_


def header(project: str | None) -> bytes:
    """The first line."""
    said = {"format": FORMAT, "version": VERSION} | ({} if project is None else {"project": project})
    return json.dumps(said, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def export(
    store: Store,
    path: object,
    *,
    overwrite: bool,
    project: str | None,
    progress: Callable[[int, int], object] | None,
) -> results.Exported:
    """See `DB.export`."""
    name = None if project is None else check_project(project)
    if progress is not None and not callable(progress):
        raise InvalidRequest(f"a {type(progress).__name__} cannot be called", field="progress", allowed="a callable")
    stream: Any = path if hasattr(path, "write") else None
    target = None if path is None or stream is not None else check_path(path, field="path")
    if target is not None:
        _check(store, target, overwrite=overwrite)
    lines = _Lines(store.file.snapshot(), name, progress)
    digest, size = hashlib.sha256(), 0
    try:
        if target is None:
            for chunk in _chunks(lines):
                if stream is not None:
                    stream.write(chunk)
                digest.update(chunk)
                size += len(chunk)
        else:
            disk = FileDisk()
            with claimed(disk, beside(target, TEMPORARY), wait=60.0) as file:
                for chunk in _chunks(lines):
                    digest.update(chunk)
                    write_all(file, chunk, size)
                    size += len(chunk)
                file.fsync()
                disk.rename(beside(target, TEMPORARY), target, replace=overwrite)
            disk.sync_directory(target.parent)
    except FileExistsError:
        raise _taken(target) from None
    except OSError as error:
        if isinstance(error, StorageError) or stream is not None:
            raise
        raise StorageError(f"cannot export to {target}: {reason(error)}", hint=hint_of(error)) from error
    written = None if target is None else str(target)
    return results.Exported(written, lines.records, size, digest.hexdigest(), lines.damaged)


def _chunks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines, about a MiB at a time."""
    waiting = bytearray()
    for line in lines:
        waiting += line
        if len(waiting) >= _CHUNK:
            yield bytes(waiting)
            waiting.clear()
    yield bytes(waiting)


def _check(store: Store, target: Path, *, overwrite: bool) -> None:
    """Refuse what must not be replaced: the memory, what lies beside it, and any file that is no export."""
    own = store.file.path
    if target in (own, *(beside(own, suffix) for suffix in _OWN)):
        raise InvalidRequest(f"{target} belongs to the memory itself", field="path", allowed="another file")
    if target.is_dir():
        raise InvalidRequest(f"{target} is a folder", field="path", allowed="a file in it")
    if not os.path.lexists(target):
        return
    if not overwrite:
        raise _taken(target)
    try:
        with target.open("rb") as file:
            known = file.read(len(_BEGIN)) == _BEGIN
    except OSError as error:
        raise StorageError(f"cannot read {target}: {reason(error)}", hint=hint_of(error)) from error
    if not known:
        raise InvalidRequest(f"{target} is no export", field="path", allowed="a new name, or an earlier export")


def _taken(target: Path | None) -> InvalidRequest:
    return InvalidRequest(f"{target} exists", field="path", allowed="a new name, or an earlier export with overwrite")
