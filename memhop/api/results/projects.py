"""Projects: what is in them, what was moved, and briefs."""

from __future__ import annotations

from dataclasses import dataclass

from memhop.api.results.base import Result


@dataclass(frozen=True, slots=True)
class Project(Result):
    """A project: its notes by tier, its messages, and when a note was last changed (None: it has none)."""

    name: str
    active: int
    archived: int
    trashed: int
    messages: int
    changed_at: int | None


@dataclass(frozen=True, slots=True)
class ProjectCount(Result):
    """How many notes of each kind a project has, those in the trash left out; `total` is their sum.

    `tiers` counts by tier, the trash included. All is 0 for a project that nobody has heard of.
    """

    project: str
    kinds: dict[str, int]
    tiers: dict[str, int]
    total: int
    messages: int


@dataclass(frozen=True, slots=True)
class Restatused(Result):
    """A note whose status its new project does not know. None: it had, or has, none."""

    id: str
    kind: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Moved(Result):
    """What went to a project, or would go with `dry_run`.

    Attributes:
        project: Where it went, as it is spelled there.
        changed: False: nothing went, and `reason` says why.
        notes: How many; the first 1,000 of them by `ids`.
        messages, scenes, topics: How many; `reassign` moves notes alone.
        restatused: The first 1,000 notes whose status became another, `restatused_count` of them all.
        stayed: (id, why) of notes that were named and stay where they are; the first 1,000.
        damaged: Records that cannot be read, and stay.
        remarks: What else there is to know, one line each.
    """

    project: str
    changed: bool
    notes: int
    ids: tuple[str, ...]
    messages: int
    scenes: int
    topics: int
    restatused: tuple[Restatused, ...]
    restatused_count: int
    stayed: tuple[tuple[str, str], ...]
    damaged: int
    remarks: tuple[str, ...]
    dry_run: bool
    reason: str


@dataclass(frozen=True, slots=True)
class ProjectTrashed(Result):
    """Notes of a project that went to the trash: `count` of them, the first 1,000 by `ids`."""

    project: str
    count: int
    ids: tuple[str, ...]
    damaged: int
    reason: str


@dataclass(frozen=True, slots=True)
class ProjectPurged(Result):
    """What was erased of a project: `count` notes, the first 1,000 of them by `ids`, and all messages it had."""

    project: str
    count: int
    ids: tuple[str, ...]
    messages: int
    reason: str


@dataclass(frozen=True, slots=True)
class BriefItem(Result):
    """A note in a line. `title` is its first heading or line, on one line, at most 120 characters."""

    id: str
    kind: str
    status: str | None
    title: str
    updated_at: int


@dataclass(frozen=True, slots=True)
class OpenItems(Result):
    """Notes of a kind whose status says that something is to be done: how many, and the newest of them."""

    kind: str
    count: int
    newest: tuple[BriefItem, ...]


@dataclass(frozen=True, slots=True)
class SummaryBrief(Result):
    """The newest summary of a project. `text` is cut at 500 characters, `cut` says whether it was.

    `changes` counts notes that were changed since; `stale`: there are some.
    """

    id: str
    text: str
    cut: bool
    created_at: int
    stale: bool
    changes: int


@dataclass(frozen=True, slots=True)
class ProjectBrief(Result):
    """One project in short.

    Attributes:
        summary: None: there is none.
        open: By kind, of active notes.
        decisions: The newest active ones.
        kinds: Active notes by kind.
        tiers: Notes by tier.
        changed_at: The newest change of a note; None without notes.
        retiring: Notes which retention sends to the trash within 7 days; pinned ones among them stay all the same.
    """

    project: str
    summary: SummaryBrief | None
    open: tuple[OpenItems, ...]
    decisions: tuple[BriefItem, ...]
    kinds: dict[str, int]
    tiers: dict[str, int]
    messages: int
    changed_at: int | None
    retiring: int


@dataclass(frozen=True, slots=True)
class Brief(Result):
    """Where everything stands, to begin a session with.

    Attributes:
        projects: By name; the one that was asked for, though there is nothing in it.
        insights: The newest insights of the project that is searched along with any other.
        without_vector: Texts that wait for the embedder; None without one.
        dreamt_at: When the newest dream began; None: never.
        backup_at: When the newest automatic copy was made; None: there is none that this handle knows of.
        maintained_at: When retention was last looked after; None: never.
        truncated: Projects left out, beyond the first 1,000.
    """

    at: int
    projects: tuple[ProjectBrief, ...]
    insights: tuple[BriefItem, ...]
    without_vector: int | None
    dreamt_at: int | None
    backup_at: int | None
    maintained_at: int | None
    truncated: int


@dataclass(frozen=True, slots=True)
class SummaryChange(Result):
    """A note that was changed since the last summary, or is there before the first.

    `change` is created, status, edited, archived, unarchived, trashed, restored, moved here, moved away, purged (then
    there is no title any more) or another act in the history of notes. `status_before` is what the status was at the
    time of the summary where it differs.
    """

    id: str
    kind: str
    status: str | None
    title: str
    change: str
    changed_at: int
    status_before: str | None = None


@dataclass(frozen=True, slots=True)
class SummaryCheck(Result):
    """Whether a new summary is due, and what it would be made of.

    Attributes:
        needed: A new one is due; `trigger` says why: forced, context_pressure, first_summary or turn_interval.
        summary_id, text, created_at: Of the newest one; None: there is none.
        changes: From the newest one back, at most `summary.items` of the config; empty unless needed.
        total: Of all changes; `truncated`: not all are listed.
        whole: False: compaction has dropped what was written since, so that notes that are gone are not among them.
        template: Markdown to write the summary from; None unless needed.
    """

    project: str
    needed: bool
    trigger: str | None
    reason: str
    summary_id: str | None
    text: str | None
    created_at: int | None
    changes: tuple[SummaryChange, ...]
    total: int
    truncated: bool
    whole: bool
    template: str | None


@dataclass(frozen=True, slots=True)
class Retired(Result):
    """A note that was not changed for longer than its kind is kept. `age_days`: whole days since its last change."""

    id: str
    kind: str
    project: str
    age_days: int


@dataclass(frozen=True, slots=True)
class Maintained(Result):
    """What maintenance did, or would do with `dry_run`.

    Attributes:
        trashed: Notes that went to the trash, the first 1,000 of `trashed_count`.
        erased: Notes that were in the trash for too long, the first 1,000 of `erased_count`.
        pinned, summaries: Notes that stay though they are old enough: pinned ones, and the newest summary of a project.
        damaged: Notes that cannot be read, and stay.
        next_at: When this handle looks after it again by itself; None: it does not.
    """

    at: int
    dry_run: bool
    trashed: tuple[Retired, ...]
    trashed_count: int
    erased: tuple[Retired, ...]
    erased_count: int
    pinned: int
    summaries: int
    damaged: int
    next_at: int | None
    reason: str
