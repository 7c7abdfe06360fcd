"""`DB.import_`: what a file or folder says goes into the memory, in small commits, and can be taken back as one.

    export of a memory   -> api/import_records.py, by id
    any other format     -> memhop/readers reads it, api/import_items.py keeps it, by the ids of the source

Both write through api/import_journal.py. Whatever is read has one outcome, so that the counts add up. Nothing is ever
deleted because a source does not have it (any more).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memhop.api import results
from memhop.api.import_journal import Journal, Rejects, Tally
from memhop.api.import_lines import check_header, is_export
from memhop.api.preview import private_copy
from memhop.common.config import check_choice, check_flag, check_path, check_project
from memhop.common.errors import InvalidRequest
from memhop.readers import READERS, Reader, detect
from memhop.readers.source import head_of

if TYPE_CHECKING:
    from memhop.api.redaction import Guard
    from memhop.common.settings import Config
    from memhop.repo.store import Store

OWN = "memhop"  # the name of the format of exports
ON_CONFLICT = ("newer", "overwrite", "skip")
_NAME_CHARS = 200


class Wanted(NamedTuple):
    """Checked arguments of `import_`. `reader` None: an export of a memory."""

    path: Path
    format: str
    reader: Reader | None
    project: str | None
    on_conflict: str
    dry_run: bool
    rejects: Path | None
    progress: Callable[[int, int], None]


def import_(
    store: Store,
    config: Config,
    guard: Guard,
    path: object,
    *,
    format: str | None,
    project: str | None,
    on_conflict: str,
    dry_run: bool,
    rejects: object,
    progress: object,
) -> results.ImportReport:
    """See `DB.import_`."""
    source = check_path(path, field="path")
    if progress is not None and not callable(progress):
        raise InvalidRequest(f"a {type(progress).__name__} cannot be called", field="progress", allowed="a callable")
    name, reader = format_of(source, format)
    wanted = Wanted(
        path=source,
        format=name,
        reader=reader,
        project=None if project is None else check_project(guard.given(project, field="project")),
        on_conflict=check_choice(on_conflict, field="on_conflict", choices=ON_CONFLICT),
        dry_run=check_flag(dry_run, field="dry_run"),
        rejects=None if rejects is None else check_path(rejects, field="rejects"),
        progress=progress or _nothing,
    )
    if wanted.dry_run:
        with private_copy(store) as copy:
            return _run(copy, config, guard, wanted, Tally(None))
    with closing(Rejects(wanted.path, wanted.rejects)) as kept:
        tally = Tally(kept)
        return _run(store, config, guard, wanted, tally)


def _run(store: Store, config: Config, guard: Guard, wanted: Wanted, tally: Tally) -> results.ImportReport:
    journal = Journal(store, tally, wanted.format, wanted.path.name[:_NAME_CHARS])
    with journal.running():
        if wanted.reader is None:
            from memhop.api.import_records import RecordImport

            records = RecordImport(journal, guard, wanted.path, project=wanted.project, on_conflict=wanted.on_conflict)
            records.run(wanted.progress)
        else:
            from memhop.api.import_items import ItemImport

            items = ItemImport(
                journal,
                config,
                guard,
                wanted.reader,
                wanted.path,
                project=wanted.project,
                on_conflict=wanted.on_conflict,
            )
            items.run(wanted.progress)
    tally.close()
    return tally.report(None if wanted.dry_run else journal.number, wanted.format, dry_run=wanted.dry_run)


def format_of(path: Path, asked: str | None) -> tuple[str, Reader | None]:
    """The name of the format of a file or folder, and who reads it; None: it is an export of a memory.

    Raises:
        InvalidRequest: no such format, or nobody knows what the file is. StorageError: it cannot be read.
        BadFormat: an export of a newer version, or none although that was asked for.
    """
    known = (OWN, *(reader.NAME for reader in READERS))
    if asked is not None:
        check_choice(asked, field="format", choices=known)
    head = head_of(path)
    if asked == OWN or (asked is None and is_export(head)):
        if path.is_dir():
            raise InvalidRequest(f"{path} is a folder", field="path", allowed="an export")
        check_header(head.partition(b"\n")[0], path)
        return OWN, None
    reader = detect(path) if asked is None else next(reader for reader in READERS if asked == reader.NAME)
    if reader is None:
        raise InvalidRequest(f"{path} is of no known format", field="format", allowed=", ".join(known))
    return reader.NAME, reader


def _nothing(done: int, total: int) -> Any:
    """No progress is told."""
