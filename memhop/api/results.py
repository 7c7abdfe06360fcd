"""What the API returns: frozen dataclasses, plain values, `to_dict()` for JSON.

Ids are 16 hex digits. Times are Unix milliseconds UTC as ints, and ISO-8601 strings in `to_dict()` (fields named
`at` or ending in `_at`). Absent values are None, never 0 or "".
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from memhop.common.clock import to_iso


class Result:
    """Base of all results."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: nested results become dicts, tuples become lists, times become ISO-8601."""
        return {field.name: _plain(field.name, getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, list | tuple):
        return [_plain("", item) for item in value]
    if isinstance(value, dict):
        return {key: _plain("", item) for key, item in value.items()}
    if isinstance(value, int) and not isinstance(value, bool) and (name == "at" or name.endswith("_at")):
        return to_iso(value)
    return value


@dataclass(frozen=True, slots=True)
class Note(Result):
    """A note. `at` is when it was so; `created_at` and `updated_at` are when it was written and last changed."""

    id: str
    text: str
    kind: str
    project: str
    status: str | None
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    links: tuple[str, ...]
    source: str | None
    at: int
    created_at: int
    updated_at: int
    rev: int
    tier: str
    pinned: bool
    external_id: str | None
    copies: int
    created: bool = True  # False: `remember` found it there already


@dataclass(frozen=True, slots=True)
class Message(Result):
    """One turn, word for word."""

    id: str
    text: str
    role: str
    speaker: str | None
    at: int
    session: str | None
    project: str
    external_id: str | None
    scene_id: str | None
    topic_id: str | None


@dataclass(frozen=True, slots=True)
class Topic(Result):
    """One turn of a scene, or a fused group of turns. `scene_id` is None if a repair could not save the scene."""

    id: str
    scene_id: str | None
    depth: int
    user_keywords: tuple[str, ...]
    agent_keywords: tuple[str, ...]
    summary: str | None
    user_at: int
    agent_at: int | None
    message_ids: tuple[str, ...]
    children: tuple[str, ...]
    knowledge: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scene(Result):
    """A stretch of conversation about one subject."""

    id: str
    name: str
    project: str
    session: str | None
    created_at: int
    last_at: int
    topics: int


@dataclass(frozen=True, slots=True)
class Profile(Result):
    """What the host set. `brief` is the same in at most four lines."""

    name: str
    role: str
    personality: str
    preferences: dict[str, str]
    lexicon: dict[str, str]
    style_traits: tuple[str, ...]
    updated_at: int | None
    brief: str


@dataclass(frozen=True, slots=True)
class Graph(Result):
    """A named body of knowledge."""

    id: str
    name: str
    created_at: int


@dataclass(frozen=True, slots=True)
class KnowledgeNode(Result):
    """One thing known. `graph_id` is None if a repair could not save the graph."""

    id: str
    graph_id: str | None
    title: str
    content: str
    node_type: str | None
    keywords: tuple[str, ...]
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class Capability(Result):
    """A capability card. `id` is None for cards that come with MemHop."""

    id: str | None
    name: str
    type: str
    version: str
    summary: str
    trigger: str
    resources: tuple[dict[str, Any], ...]
    workflow: dict[str, Any]
    status: str
    origin: str


@dataclass(frozen=True, slots=True)
class Event(Result):
    """One step of a trajectory."""

    id: str
    session: str
    seq: int
    type: str
    payload: str
    at: int
    message_id: str | None


@dataclass(frozen=True, slots=True)
class Page(Result):
    """A page of a listing. `next` is the cursor of the following page, None at the end.

    `damaged` counts records of this page which cannot be read and are left out; `verify` names them.
    """

    items: tuple[Any, ...]
    next: str | None
    damaged: int = 0


@dataclass(frozen=True, slots=True)
class Hit(Result):
    """One unit found.

    `score` is in (0, 1]: 1 is the first place of the layer that weighs most, and it falls with the place within
    the layer (reciprocal rank). Compare scores inside one result, never across results. `parts` split the score
    over the evidence that earned it and add up to it exactly. `ranks` is the place in each channel that saw it.
    """

    id: str
    layer: str
    kind: str
    text: str
    role: str | None
    speaker: str | None
    at: int
    session: str | None
    scene_id: str | None
    topic_id: str | None
    external_id: str | None
    project: str | None
    tier: str
    score: float
    ranks: dict[str, int]
    parts: dict[str, float]


@dataclass(frozen=True, slots=True)
class Channel(Result):
    """What one channel did. `reason` says why it did not run; `matched` counts units it gave evidence for."""

    name: str
    ran: bool
    reason: str | None
    matched: int


@dataclass(frozen=True, slots=True)
class AssociatedScene(Result):
    """A scene brought up by association, with how strongly (0..1)."""

    id: str
    name: str
    activation: float
    last_at: int


@dataclass(frozen=True, slots=True)
class Recall(Result):
    """What bears on a question.

    `confidence` in 0..1 is the chance that the answer is in memory, for a question as likely to have one as not (see
    `search/confidence.py`); below `LOW_CONFIDENCE` (0.3) a notice says so, and the hits are returned all the
    same. `reason` is None when there are hits and says why there are none otherwise. `context` is ready for a prompt:
    dated, in time order, fenced. `explanation` is filled by `explain=True`.
    """

    query: str
    hits: tuple[Hit, ...]
    context: str
    context_tokens: int
    left_out: int
    associated: tuple[AssociatedScene, ...]
    reason: str | None
    channels: tuple[Channel, ...]
    confidence: float
    notices: tuple[str, ...]
    explanation: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SearchResult(Result):
    """One step of the agent loop: what was recalled, and where the turn was stored."""

    profile: Profile
    profile_brief: str
    hits: tuple[Hit, ...]
    context: str
    contexts: tuple[Topic, ...]
    associated_contexts: tuple[Topic, ...]
    capabilities: tuple[Capability, ...]
    scene_id: str
    new_scene: bool
    new_topic_id: str
    message_id: str
    recall: Recall


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
class Pending(Result):
    """Work that waits for a model. `space` is None when no embedder is configured."""

    space: str | None
    without_vector: int
    failed: int
    next_retry_at: int | None
    last_reason: str | None


@dataclass(frozen=True, slots=True)
class BackfillReport(Result):
    """What a backfill did. `remaining` counts units that still wait, `reason` says why it stopped early."""

    space: str | None
    embedded: int
    failed: int
    remaining: int
    seconds: float
    reason: str | None


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
class Explanation(Result):
    """Why a unit was, or was not, returned for a query."""

    id: str
    returned: bool
    rank: int | None
    reason: str


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
