"""What imports return."""

from __future__ import annotations

from dataclasses import dataclass

from memhop.api.results.base import Result
from memhop.api.results.dreams import Stayed


@dataclass(frozen=True, slots=True)
class ImportProblem(Result):
    """Why one item was rejected, and where it stands in the source, such as "line 12"."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport(Result):
    """What an import did, or would do.

    Attributes:
        number: By which `imports` knows it. None: it wrote nothing, or was a dry run.
        format: Of the source; "memhop" is an export of a memory.
        read: Items of the source: created + updated + unchanged + skipped + rejected.
        created, updated: Written.
        unchanged: There already, and say the same.
        skipped: Left out with nothing wrong: the memory's version is the newer one, or it is no memory at all.
        rejected: Broken, or in conflict with what is there.
        problems: The first 100 of the rejected ones.
        rejects_path: The file that all of them were copied to. None: there were none, it was a dry run, or it could not
            be written, which `remarks` say then.
        remarks: What was left out or altered, and how many times.
    """

    number: int | None
    format: str
    read: int
    created: int
    updated: int
    unchanged: int
    skipped: int
    rejected: int
    problems: tuple[ImportProblem, ...]
    rejects_path: str | None
    remarks: dict[str, int]
    dry_run: bool


@dataclass(frozen=True, slots=True)
class ImportEntry(Result):
    """One import of the past. `source` is the name of the file or folder; `at` is when it began.

    `state`: running (or killed), done, stopped by an error, or undone.
    """

    number: int
    format: str
    source: str
    at: int
    state: str
    created: int
    updated: int
    unchanged: int
    skipped: int
    rejected: int


@dataclass(frozen=True, slots=True)
class ImportChanges(Result):
    """What an import wrote. Ids by the kind of record, up to 1,000 of each, of records that are still there.

    `gone` counts those that are not, `changed` those that are no longer as the import left them.
    """

    entry: ImportEntry
    created: dict[str, tuple[str, ...]]
    updated: dict[str, tuple[str, ...]]
    gone: int
    changed: int


@dataclass(frozen=True, slots=True)
class ImportUndone(Result):
    """What undoing an import did.

    Attributes:
        removed: Records that it had created, and what was made of them.
        reverted: That it had updated, and that are what they were before.
        stayed: What was not taken back, and why; the first 1,000 of `stayed_in_all`.
    """

    number: int
    removed: int
    reverted: int
    stayed: tuple[Stayed, ...]
    stayed_in_all: int
