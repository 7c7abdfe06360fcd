"""`memhop.repair`: everything readable of a damaged memory, in a new file that is in order."""

from __future__ import annotations

import os
import time
from pathlib import Path

from memhop.api import reports, results
from memhop.common.clock import SystemClock
from memhop.common.errors import InvalidRequest, StorageError
from memhop.common.ids import to_hex
from memhop.core.meh_file import MehFile
from memhop.core.repair import RepairReport, staging
from memhop.core.repair import repair as save_records
from memhop.repo.checking import check
from memhop.repo.mending import Mended, mend, unusable
from memhop.repo.record import Kind
from memhop.repo.store import Store


def repair(source: str | os.PathLike[str], to: str | os.PathLike[str]) -> results.Repaired:
    """Write what is readable of a damaged memory into a new file, and say what was saved and what was lost.

    The source is only read: no lock is taken, nothing is written beside it. It may be in use; what is saved then are
    its commits of one moment. A torn tail is left out. References to what was lost are taken out of the records that
    had them, in one commit. The new file has the memory's identity and history digest chain, and is checked as
    `verify(deep=True)` does before it gets its name: a crash leaves no half of it.

    Args:
        source: The damaged file.
        to: The new file; its folder must exist, it must not.

    Returns:
        What was saved, by kind and id, and what was lost. A lost record is not replaced by an older version of itself;
        where not even the id of a lost one can be read, an older version may be among what was saved.

    Raises:
        BadFormat: neither a header nor the first frame of the source can be read, or a newer version wrote it.
        Locked: another process has `to` open, or repairs into it.
        StorageError: `source` is missing, `to` exists, the disk failed, or what was written does not verify. There is
            no new file then.
        InvalidRequest: an argument is not a path.

    Cost: reads the source twice (three times if records were lost) and the new file three times, and builds all
        indexes twice, in memory.
    """
    started = time.monotonic()
    old, new = _path(source, "source"), _path(to, "to")
    with staging(new) as stage:
        report = save_records(old, stage, usable=unusable)
        saved, mended, verified = _put_in_order(stage)
    return results.Repaired(
        path=str(new),
        saved=saved,
        lost=tuple(_lost(report)),
        mended=tuple(map(_mended, mended)),
        damage=tuple(reports.problem(found.offset, found.what, found.kind, found.id) for found in report.damage),
        tail_bytes=report.tail_bytes,
        commits=verified.commits,
        records=verified.records,
        head_digest=verified.head_digest,
        seconds=round(time.monotonic() - started, 3),
    )


def _put_in_order(path: Path) -> tuple[dict[str, tuple[str, ...]], tuple[Mended, ...], results.Verified]:
    """Mend references in the new file, check all of it, and list what it holds."""
    with MehFile.open(path, create=False, purpose="memhop repair") as file:
        store = Store(file, SystemClock())
        mended = mend(store)
        verified = reports.verified(file.verify(deep=True), check(store))
        if not verified.ok:
            first = verified.problems[0]
            raise StorageError(
                f"what was saved is not in order: {first.what} at byte {first.offset}",
                hint="please report this with a copy of the file",
            )
        saved: dict[str, list[str]] = {}
        for id_, kind, _ in file.live():
            saved.setdefault(reports.kind_name(kind), []).append(to_hex(id_))
    return {kind: tuple(ids) for kind, ids in sorted(saved.items())}, mended, verified


def _lost(report: RepairReport) -> list[results.Lost]:
    return [
        results.Lost(
            layer=reports.layer_of(damage.kind),
            kind=reports.kind_name(damage.kind) if damage.kind else None,
            id=to_hex(damage.id) if damage.id else None,
            what=damage.what,
            offset=damage.offset,
            bytes=damage.length,
            older_versions=report.older.get(damage.id, 0),
        )
        for damage in report.lost
    ]


def _mended(record: Mended) -> results.Mended:
    return results.Mended(
        layer=reports.layer_of(record.kind) or "",
        kind=Kind(record.kind).name.lower(),
        id=to_hex(record.id),
        gone=tuple((field, to_hex(target)) for field, target in record.gone),
        kept=record.kept,
    )


def _path(value: object, field: str) -> Path:
    if not isinstance(value, str | os.PathLike) or "\0" in str(value) or not str(value):
        raise InvalidRequest(f"a {type(value).__name__} that is no path", field=field, allowed="a str or Path")
    return Path(os.path.realpath(value))
