"""What forgetting and erasing return."""

from __future__ import annotations

from dataclasses import dataclass

from memhop.api.results.base import Result


@dataclass(frozen=True, slots=True)
class Receipt(Result):
    """What an erasure reached, what was searched for it afterwards, and what it cannot have reached.

    It never repeats what was erased. Sizes in bytes; `commit` and `head_digest` are of the file when the receipt was
    made.

    `reached` are (what, count) pairs: versions, vectors, token rows, terms, links in other notes, topics, scenes, ….
    `searched` are (path, bytes, found) for each file, the memory first; `found` counts places where something of
    the erased record stands, and stops at 1,000. Words of it which another record of the memory says too are not
    counted; `not_reached` names the records.
    `not_reached` says in plain words what could not be erased or looked at.
    `complete`: the memory was compacted, and nothing was found in any file that was searched. What `not_reached` names
    outside these files is for the reader to judge.
    """

    id: str
    kind: str
    erased_at: int
    commit: int
    head_digest: str
    bytes_before: int
    bytes_after: int
    reached: tuple[tuple[str, int], ...]
    searched: tuple[tuple[str, int, int], ...]
    not_reached: tuple[str, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Forgotten(Result):
    """What `forget` did. `tier` is None when the record is gone for good; `receipt` is there with `prove=True`."""

    id: str
    changed: bool
    tier: str | None
    reason: str
    receipt: Receipt | None = None


@dataclass(frozen=True, slots=True)
class Purged(Result):
    """What `purge` erased: `count` notes, the first 1,000 of them by `ids`.

    `damaged` notes of the trash could not be read, so that nobody knows whether they were meant; they stay. `forget`
    erases them one by one.
    """

    count: int
    ids: tuple[str, ...]
    damaged: int
    reason: str


@dataclass(frozen=True, slots=True)
class Deleted(Result):
    """What deleting a scene or topic erased, or would erase with `dry_run=True`.

    `erased` counts records by kind: message, topic, scene, engram, hyperedge, usage, …; `changed` counts others that
    lost a reference or words. `message_ids` are the first 1,000.
    """

    id: str
    dry_run: bool
    erased: dict[str, int]
    changed: dict[str, int]
    message_ids: tuple[str, ...]
    reason: str
