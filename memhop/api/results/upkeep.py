"""What upkeep, backups, repair and the doctor return."""

from __future__ import annotations

from dataclasses import dataclass

from memhop.api.results.base import Result


@dataclass(frozen=True, slots=True)
class Pending(Result):
    """Work that waits for a model. `space` is None when no embedder is configured; then every text waits for one.

    `keywords` counts turns whose keywords no model has refined; 0 without one.
    """

    space: str | None
    without_vector: int
    failed: int
    next_retry_at: int | None
    last_reason: str | None
    keywords: int = 0


@dataclass(frozen=True, slots=True)
class BackfillReport(Result):
    """What a backfill did. `remaining` counts units that still wait, `reason` says why it stopped early.

    `keywords` counts turns whose keywords a model refined.
    """

    space: str | None
    embedded: int
    failed: int
    remaining: int
    seconds: float
    reason: str | None
    keywords: int = 0


@dataclass(frozen=True, slots=True)
class SpaceUse(Result):
    """What some bytes of the file are used for.

    `part` is records (live ones, by kind), indexes (in use, by name), history (what `compact` gives back) or file.
    `layer` is "L0" to "L7" or "vectors", None for what is no record. `count` counts frames, None where there is nothing
    to count.
    """

    part: str
    name: str
    layer: str | None
    count: int | None
    bytes: int


@dataclass(frozen=True, slots=True)
class Stats(Result):
    """Counts and sizes. Sizes in bytes; `records` by kind; the bytes of `space` add up to `file_bytes`.

    `upkeep_error` says why the newest checkpoint or compaction that had become due failed, None if it did not.
    `backup_error` says why the newest automatic copy could not be made, None if it was, or none was due.
    `maintenance_error` says why maintenance by itself did not come to its end the last time, None if it did.
    `redacted` counts the secrets masked and private spans left out in the notes, messages and steps that are there.
    """

    path: str
    file_bytes: int
    live_bytes: int
    dead_bytes: int
    commit: int
    checkpoint_commit: int
    generation: int
    head_digest: str
    segments: int
    records: dict[str, int]
    units: int
    terms: int
    spaces: tuple[str, ...]
    views_rebuilt: bool
    unreadable: int
    space: tuple[SpaceUse, ...]
    backup_error: str | None = None
    upkeep_error: str | None = None
    maintenance_error: str | None = None
    redacted: int = 0


@dataclass(frozen=True, slots=True)
class Problem(Result):
    """What is wrong in the file, and at which byte (0: no single one). `kind` and `id` are None where nothing tells."""

    offset: int
    what: str
    kind: str | None
    id: str | None


@dataclass(frozen=True, slots=True)
class Recovered(Result):
    """What opening found and did.

    `clean`: nothing was lost, cut or in doubt. `cut_bytes` of an unfinished write were cut off, and saved in
    `torn_file` if they held more than zeros. `damaged` places of rot were found in what was read (`damage` lists up to
    1,000); nothing of it was cut. `refused` says why this handle takes no writes.
    """

    clean: bool
    replayed_commits: int
    cut_bytes: int
    torn_file: str | None
    damaged: int
    damage: tuple[Problem, ...]
    headers_lost: int
    checkpoint_lost: str | None
    shortened: bool
    removed: tuple[str, ...]
    refused: str | None


@dataclass(frozen=True, slots=True)
class Verified(Result):
    """What `verify` found.

    Attributes:
        ok: Nothing was found.
        problem_count: Of all problems; `problems` lists the first 1,000 of each pass.
        commits: Those in the file; compaction without history leaves one.
        records: Live ones.
        live_bytes, dead_bytes: Of their frames; of what `compact()` would give back.
        head_digest: 64 hex digits. Equal digest, equal history.
        references: From record to record, all followed. None without `deep`.
        views: Rows of each derived view, as built anew and compared with what is in use: groups, units, postings,
            vocabulary, vectors, tokens. None without `deep`; empty if the views could not be read.
    """

    ok: bool
    problem_count: int
    problems: tuple[Problem, ...]
    commits: int
    records: int
    live_bytes: int
    dead_bytes: int
    head_digest: str
    references: int | None = None
    views: dict[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Lost(Result):
    """A record that a repair could not save, or bytes of which not even the id can be read (None, as the kind then).

    Attributes:
        layer: L0 to L7, or "vectors". None where it is not known.
        what: Is wrong with it.
        offset, bytes: Where it stands in the source; 0 bytes where its length cannot be read.
        older_versions: Of it in the source. They were not brought back.
    """

    layer: str | None
    kind: str | None
    id: str | None
    what: str
    offset: int
    bytes: int
    older_versions: int


@dataclass(frozen=True, slots=True)
class Mended(Result):
    """A record that referred to what is not there. `gone`: (field, id). Not `kept`: it meant nothing any more."""

    layer: str
    kind: str
    id: str
    gone: tuple[tuple[str, str], ...]
    kept: bool


@dataclass(frozen=True, slots=True)
class Repaired(Result):
    """What a repair did.

    Attributes:
        path: The new file.
        saved: Kind of record -> ids, ascending; all that the new file holds, mended records included.
        lost: In the order of the source; empty when every record was saved.
        mended: References to what was lost, or was missing before.
        damage: All that was found wrong in the source, harmless or not.
        tail_bytes: Of an unfinished write behind the newest commit, left out.
        commits, records, head_digest: Of the new file, as `Verified` has them. Its history continues that of the
            source.
        seconds: It took.
    """

    path: str
    saved: dict[str, tuple[str, ...]]
    lost: tuple[Lost, ...]
    mended: tuple[Mended, ...]
    damage: tuple[Problem, ...]
    tail_bytes: int
    commits: int
    records: int
    head_digest: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Compacted(Result):
    """What `compact` did. Sizes of the file in bytes; `records` are live ones, `dropped` versions of erased ones."""

    bytes_before: int
    bytes_after: int
    records: int
    commits: int
    dropped: int
    generation: int


@dataclass(frozen=True, slots=True)
class Backup(Result):
    """A copy that was made and verified. `commit`, `commit_at` and `head_digest` name the commit it ends with."""

    path: str
    bytes: int
    commit: int
    commit_at: int
    head_digest: str
    seconds: float


@dataclass(frozen=True, slots=True)
class BackupFile(Result):
    """A copy in a folder of copies, as its name tells: of which memory, from when, up to which commit."""

    path: str
    memory: str
    made_at: int
    commit: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Restored(Result):
    """A copy that is now the file at `path`. `replaced` is where the file that was there is kept, None: there was none.

    `commit`, `commit_at` and `head_digest` name the newest commit now; `bytes` is the size.
    """

    path: str
    bytes: int
    commit: int
    commit_at: int
    head_digest: str
    replaced: str | None


@dataclass(frozen=True, slots=True)
class Finding(Result):
    """What one check of `memhop.doctor` saw.

    `state` is ok, note (nothing to mend), warning (works, at a risk) or error (does not work). `fix` says what to do,
    None where there is nothing to be done.
    """

    name: str
    state: str
    found: str
    fix: str | None


@dataclass(frozen=True, slots=True)
class Diagnosis(Result):
    """All findings of `memhop.doctor`. `state` is the worst of theirs; `ok`: none of them is an error."""

    path: str
    ok: bool
    state: str
    findings: tuple[Finding, ...]
