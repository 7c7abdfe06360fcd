"""The journal of imports: what each has made and changed, so that it can be taken back."""

from __future__ import annotations

from typing import ClassVar

from memhop.repo.record import Count, Id, Kind, Listing, Ms, Record, all_of, label


class Import(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One import. `number` counts from 1; `state` is running, done, stopped or undone."""

    KIND: ClassVar[Kind] = Kind.IMPORT
    number: Count
    format: str = ""
    source: str = ""  # the name of the file or folder, without its path
    at: Ms = 0
    state: str = "running"
    created: Count = 0
    updated: Count = 0
    skipped: Count = 0
    rejected: Count = 0

    def listings(self) -> list[Listing]:
        return [Listing(all_of(self.KIND), self.number)]


class ImportStep(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One commit of an import. `base` is the number of the commit in front of it."""

    KIND: ClassVar[Kind] = Kind.IMPORT_STEP
    batch: Id
    seq: Count
    base: Count
    created: tuple[Id, ...] = ()
    updated: tuple[Id, ...] = ()

    def listings(self) -> list[Listing]:
        return [Listing(steps_of(self.batch), self.seq)]


def steps_of(batch: int) -> int:
    """The group of an import's steps, in order."""
    return label("import-steps", batch)
