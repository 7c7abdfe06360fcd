"""`DB.export`: what a memory holds, as JSON lines. Equal bytes, equal memories.

    {"format":"memhop-export","version":1}
    {"id":"0b1e…","kind":"scene","record":{"created_at":1780000000000,"name":"…","project":"default",…}}
    …

One line for each live record of the layers L0 to L7, by kind (in the order of their numbers) and id. `record` has
every field of it, defaults included, and those of newer builds as they are; keys are sorted, ids are 16 hex digits
(null: none), times Unix milliseconds. What is no part of a layer is left out: vectors, which their model makes again,
and the journal of dreams with what models were asked for. So nothing in it depends on when or how it was written.
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from memhop.api import results
from memhop.api.reports import kind_name
from memhop.common.config import check_path
from memhop.common.errors import Corrupt, InvalidRequest, StorageError
from memhop.common.ids import to_hex
from memhop.core.backup import claimed
from memhop.core.disk import FileDisk, hint_of, reason, write_all
from memhop.core.side_files import beside
from memhop.repo import codec
from memhop.repo.plain import plain
from memhop.repo.record import Kind

if TYPE_CHECKING:
    from memhop.core.snapshot import Snapshot
    from memhop.repo.store import Store

FORMAT = "memhop-export"
VERSION = 1
TEMPORARY = ".exporting"
_HEAD = json.dumps({"format": FORMAT, "version": VERSION}, separators=(",", ":")).encode() + b"\n"
_OWN = (".lock", ".new", ".compact", ".restore", ".preview")  # suffixes of files that belong to a memory
_CHUNK = 1024 * 1024
_EXPORTED = [kind for kind in Kind if kind < Kind.SPACE]


class _Lines:
    """The lines of one moment. `records` and `damaged` count as they are taken."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.records = self.damaged = 0
        self._snapshot = snapshot

    def __iter__(self) -> Iterator[bytes]:
        yield _HEAD
        offsets = {int(kind): array("Q") for kind in _EXPORTED}
        for _, kind, offset in self._snapshot.live():
            if kind in offsets:
                offsets[kind].append(offset)
        for kind in _EXPORTED:
            for offset in offsets[kind]:
                if line := self._line(offset):
                    yield line

    def _line(self, offset: int) -> bytes:
        try:
            kind, id_, payload = self._snapshot.read(offset)
            record = plain(codec.decode(kind, id_, payload, offset))
        except Corrupt:
            self.damaged += 1
            return b""
        self.records += 1
        line = {"id": to_hex(id_), "kind": kind_name(kind), "record": codec.unknown_fields(kind, payload) | record}
        return msgspec.json.encode(line, order="deterministic") + b"\n"


def export(store: Store, path: object, *, overwrite: bool) -> results.Exported:
    """See `DB.export`."""
    lines = _Lines(store.file.snapshot())
    digest, size = hashlib.sha256(), 0
    if path is None:
        for line in lines:
            digest.update(line)
            size += len(line)
        return results.Exported(None, lines.records, size, digest.hexdigest(), lines.damaged)
    target = _checked(store, check_path(path, field="path"), overwrite=overwrite)
    disk = FileDisk()
    try:
        with claimed(disk, beside(target, TEMPORARY), wait=60.0) as file:
            waiting = bytearray()
            for line in lines:
                waiting += line
                if len(waiting) >= _CHUNK:
                    digest.update(waiting)
                    write_all(file, waiting, size)
                    size += len(waiting)
                    waiting = bytearray()
            digest.update(waiting)
            write_all(file, waiting, size)
            size += len(waiting)
            file.fsync()
            disk.rename(beside(target, TEMPORARY), target, replace=overwrite)
        disk.sync_directory(target.parent)
    except FileExistsError:
        raise _taken(target) from None
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(f"cannot export to {target}: {reason(error)}", hint=hint_of(error)) from error
    return results.Exported(str(target), lines.records, size, digest.hexdigest(), lines.damaged)


def _checked(store: Store, target: Path, *, overwrite: bool) -> Path:
    """Refuse what must not be replaced: the memory, what lies beside it, and any file that is no export."""
    own = store.file.path
    if target in (own, *(beside(own, suffix) for suffix in _OWN)):
        raise InvalidRequest(f"{target} belongs to the memory itself", field="path", allowed="another file")
    if target.is_dir():
        raise InvalidRequest(f"{target} is a folder", field="path", allowed="a file in it")
    if not os.path.lexists(target):
        return target
    if not overwrite:
        raise _taken(target)
    try:
        with target.open("rb") as file:
            known = file.read(len(_HEAD)).startswith(_HEAD[: _HEAD.index(b",")])
    except OSError as error:
        raise StorageError(f"cannot read {target}: {reason(error)}", hint=hint_of(error)) from error
    if not known:
        raise InvalidRequest(f"{target} is no export", field="path", allowed="a new name, or an earlier export")
    return target


def _taken(target: Path) -> InvalidRequest:
    return InvalidRequest(f"{target} exists", field="path", allowed="a new name, or an earlier export with overwrite")
