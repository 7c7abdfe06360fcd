"""Taking in what a reader of a foreign format yields.

    a note       `external_id` "<format>:<id in the source>" in its project, `source` the format; times, tier, pin and
                 counters of recalls are those of the source
    a message    `external_id` "<format>:<id in the source>" in its session; it is placed by the next dream
    a node       of a knowledge graph, known by its name in the graph
    an edge      between such nodes

So the same source again finds what it brought. A note that came without times has changed later than the memory's if
nobody but an import has touched that. A note in the same words and of the same kind as one that is there, and that says
nothing else, is that note; a turn that was said at the same time in the same session by the same speaker is that turn.

Links and edges name things by their ids in the source, in any order: the source is read a second time for them, if
there are any.

Memory: about 150 bytes for each note, and as much again for each with links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from memhop.api.import_journal import COMMIT_BYTES, COMMIT_RECORDS, Journal, Step
from memhop.common.clock import FUTURE_SLACK_MS, LAST_MS
from memhop.common.config import LIMITS, check_choice, check_metadata, check_name, check_names, check_text
from memhop.common.errors import InvalidRequest
from memhop.common.ids import key_hash, to_hex
from memhop.readers import Reader
from memhop.readers.item import EdgeItem, Item, MessageItem, NodeItem, NoteItem, Rejected, Skipped
from memhop.repo.l3_knowledge import (
    RELATIONS,
    Graph,
    KnowledgeEdge,
    KnowledgeNode,
    find_edge,
    find_graph,
    find_node,
    in_order,
)
from memhop.repo.l4_archive import Message, external_message
from memhop.repo.l4_note import LINK_TYPES, Note, external_note, same_text
from memhop.repo.l4_revision import revise
from memhop.repo.l6_usage import Usage, usage_id
from memhop.repo.record import Record, Tier
from memhop.repo.schema import Schemas
from memhop.search.mentions import spans

if TYPE_CHECKING:
    from memhop.api.redaction import Guard
    from memhop.common.settings import Config

R = TypeVar("R", bound=Record)

LOCAL_IS_NEWER = "the memory's version is the newer one"
LOCAL_STAYS = "the memory has another version"
CHANGED_HERE = "it was changed here, and the source has no time to compare"
NO_TIME = "without a time: taken for now"
FUTURE = "a time in the future was taken for now"
NO_TARGET = "links to what the source does not have were left out"
ODD_LINK = "links of an unknown type were taken for related"
STATUS = "statuses that the kind does not have were kept as metadata.source_status"
TITLES = "titles of conversations are not kept"


class _Bad(ValueError):
    """An item that cannot be kept. Says why."""


class _Placed(NamedTuple):
    place: str
    item: Item


class ItemImport:
    """One import of a foreign format."""

    def __init__(
        self,
        journal: Journal,
        config: Config,
        guard: Guard,
        reader: Reader,
        path: Path,
        *,
        project: str | None,
        on_conflict: str,
    ) -> None:
        self._journal = journal
        self._tally = journal.tally
        self._config = config
        self._guard = guard
        self._redacted = 0  # how much was taken out of the item under way
        self._schemas = Schemas(config.schemas)
        self._reader = reader
        self._path = path
        self._project = project
        self._on_conflict = on_conflict
        self._notes: dict[int, int] = {}  # hash of the id in the source -> id here
        self._nodes: dict[int, int] = {}
        self._titled: set[int] = set()
        self._now = journal.store.clock.now_ms()
        self._linking: dict[int, str] = {}  # note with links -> what became of it
        self._edged = False

    def run(self, progress: Callable[[int, int], None]) -> None:
        """See the module."""
        done = 0
        for chunk in self._chunks(lambda item: not isinstance(item, EdgeItem)):
            with self._journal.writing() as step:
                for place, item in chunk:
                    self._take(step, place, item)
            done += len(chunk)
            progress(done, 0)
        if self._titled:
            self._tally.remarks[TITLES] = len(self._titled)
        if not (self._linking or self._edged):
            return
        for chunk in self._chunks(
            lambda item: isinstance(item, EdgeItem) or (isinstance(item, NoteItem) and item.links)
        ):
            with self._journal.writing() as step:
                for place, item in chunk:
                    if isinstance(item, EdgeItem):
                        self._guarded(self._edge, step, place, item)
                    elif isinstance(item, NoteItem):
                        self._link(step, item)
            done += len(chunk)
            progress(done, 0)

    def _chunks(self, wanted: Callable[[Item], Any]) -> Iterator[list[_Placed]]:
        """What is wanted of the source, as much of it at a time as one commit holds."""
        chunk: list[_Placed] = []
        size = 0
        for number, item in enumerate(self._reader.read(self._path), 1):
            self._edged |= isinstance(item, EdgeItem)
            if not wanted(item):
                continue
            length = len(getattr(item, "text", ""))
            if chunk and (len(chunk) == COMMIT_RECORDS or size + length > COMMIT_BYTES):
                yield chunk
                chunk, size = [], 0
            chunk.append(_Placed(f"item {number}", item))
            size += length
        if chunk:
            yield chunk

    def _take(self, step: Step, place: str, item: Item) -> None:
        match item:
            case Rejected():
                self._tally.reject(item.place, item.reason, item.raw)
            case Skipped():
                self._tally.skip(item.reason)
            case NoteItem():
                self._guarded(self._note, step, place, item)
            case MessageItem():
                self._guarded(self._message, step, place, item)
            case NodeItem():
                self._guarded(self._node, step, place, item)

    def _guarded(self, keep: Callable[[Step, Any], None], step: Step, place: str, item: Any) -> None:
        try:
            keep(step, self._without_secrets(item))
        except (_Bad, InvalidRequest) as error:
            source_id = getattr(item, "source_id", "")
            named = f"{place} ({source_id[:40]})" if source_id else place
            raw = msgspec.json.encode(item._asdict(), enc_hook=str)
            self._tally.reject(named, str(error), raw)

    def _without_secrets(self, item: Any) -> Any:
        """The item as it may be stored; raises InvalidRequest where the policy refuses it."""
        values = item._asdict() | ({"project": self._project} if self._project and hasattr(item, "project") else {})
        kept, self._redacted = self._guard.metadata(values, field="")
        return item._replace(**kept) if self._redacted else item

    # -- notes -----------------------------------------------------------------------------------------------

    def _note(self, step: Step, item: NoteItem) -> None:
        wanted = self._as_note(item)
        local = self._local(step, item, wanted)
        outcome = "created"
        if local is None:
            local = self._create_note(step, item, wanted)
        elif _content(local) == _content(wanted):
            outcome = "unchanged"
            self._tally.unchanged += 1
        elif self._wins(item.updated_at, local.updated_at, untouched=local.act in ("", "import")):
            outcome = "updated"
            fields = {name: getattr(wanted, name) for name in _CONTENT} | {"source": wanted.source}
            if item.at:
                fields |= {"at": wanted.at}
            actor, changed_at = self._journal.store.actor, item.updated_at or self._now
            revise(step.batch, local, act="import", actor=actor, now_ms=changed_at, **fields)
            step.changed(local.id)
            self._tally.updated += 1
        else:
            outcome = "skipped"
        self._notes[key_hash(item.source_id)] = local.id
        if item.links:
            self._linking[local.id] = outcome

    def _as_note(self, item: NoteItem) -> Note:
        project = check_name(self._project or item.project, field="project")
        kind = check_name(item.kind, field="kind")
        metadata = dict(item.metadata)
        schema = self._schemas.of(project, kind)
        status = check_name(item.status, field="status", blank=True)
        try:
            status = schema.check_status(status, kind=kind)
        except InvalidRequest:
            metadata["source_status"] = status
            status = schema.status
            self._tally.remarks[STATUS] += 1
        at = self._time(item.at or item.updated_at, "at")
        archived, trashed = self._put_away(item.archived_at), self._put_away(item.trashed_at)
        return Note(
            text=check_text(item.text, field="text"),
            kind=kind,
            project=project,
            status=status,
            tags=check_names(item.tags, field="tags", most=LIMITS.tags, max_chars=LIMITS.tag_chars),
            metadata=check_metadata(metadata),
            source=self._reader.NAME,
            at=at,
            created_at=at,
            updated_at=max(at, self._time(item.updated_at, "updated_at")) if item.updated_at else at,
            tier=int(Tier.TRASHED if trashed else Tier.ARCHIVED if archived else Tier.ACTIVE),
            archived_at=archived,
            trashed_at=trashed,
            pinned=item.pinned,
            external_id=self._external_id(item.source_id),
            redacted=self._redacted,
        )

    def _local(self, step: Step, item: NoteItem, wanted: Note) -> Note | None:
        """The note that came from the same place, or says the same and nothing else."""
        group = external_note(wanted.project, wanted.external_id)
        if found := self._known(step, group, Note):
            return found[0]
        if self._config.notes.dedupe == "off":
            return None
        for note in self._known(step, same_text(wanted.project, wanted.kind, wanted.text), Note):
            if _content(note) == _content(wanted) and (not item.at or note.at == item.at):
                return note
        return None

    def _create_note(self, step: Step, item: NoteItem, wanted: Note) -> Note:
        note = step.new(wanted, wanted.project, wanted.kind, wanted.text, wanted.at)
        self._await(step, note)
        if item.recalled > 0:
            last = self._time(item.last_recalled_at, "last_recalled_at") if item.last_recalled_at > 0 else note.at
            usage = Usage(id=usage_id(note.id), target=note.id, hits=min(item.recalled, 2**62), last_at=last)
            if step.batch.kind_of(usage.id) is None:
                step.batch.put(usage)
        self._tally.created += 1
        return note

    def _wins(self, changed_at: int, local_at: int, *, untouched: bool) -> bool:
        """Whether the source's version is taken; if not, it is counted."""
        if self._on_conflict == "skip":
            self._tally.skip(LOCAL_STAYS)
        elif self._on_conflict == "overwrite" or (changed_at > local_at if changed_at else untouched):
            return True
        else:
            self._tally.skip(LOCAL_IS_NEWER if changed_at else CHANGED_HERE)
        return False

    def _link(self, step: Step, item: NoteItem) -> None:
        """The links of a note, now that all notes are in."""
        id_ = self._notes.get(key_hash(item.source_id))
        note = step.batch.find(Note, id_) if id_ is not None else None
        outcome = self._linking.get(id_ or 0, "skipped")
        if note is None or outcome == "skipped":
            return
        links = dict(zip(note.links, note.link_types or ("related",) * len(note.links), strict=True))
        before = dict(links)
        for type_, target in item.links:
            target_id = self._notes.get(key_hash(target))
            if target_id is None or target_id == note.id:
                self._tally.remarks[NO_TARGET] += 1
                continue
            if type_ not in LINK_TYPES:
                self._tally.remarks[ODD_LINK] += 1
                type_ = "related"
            links.setdefault(target_id, type_)
        links = dict(islice(links.items(), LIMITS.links))
        if links == before:
            return
        types = tuple(links.values()) if set(links.values()) != {"related"} else ()
        if outcome == "created":
            step.update(msgspec.structs.replace(note, links=tuple(links), link_types=types))
            return
        if outcome == "unchanged":
            self._tally.unchanged -= 1
            self._tally.updated += 1
            self._linking[note.id] = "updated"
        actor = self._journal.store.actor
        revise(
            step.batch, note, act="import", actor=actor, now_ms=note.updated_at, links=tuple(links), link_types=types
        )
        step.changed(note.id)

    # -- messages --------------------------------------------------------------------------------------------

    def _message(self, step: Step, item: MessageItem) -> None:
        if item.session_title:
            self._titled.add(key_hash(item.session))
        text = check_text(item.text, field="text")
        role = check_choice(item.role, field="role", choices=("user", "agent", "system", "tool"))
        session = item.session
        if len(session) > LIMITS.name_chars or not session.isprintable():
            session = f"{key_hash(session):016x}"
        external_id = self._external_id(item.source_id)
        found = self._known(step, external_message(session, external_id), Message)
        known = found[0] if found else None
        if known is None and item.at:
            same = step.batch.find(Message, key_hash("message", session, item.at, item.speaker, text))
            known = (
                same if same is not None and (same.session, same.at, same.text) == (session, item.at, text) else None
            )
        if known is not None:
            if known.text.strip() != text.strip():
                raise _Bad(f"message {to_hex(known.id)} came from the same place and says something else")
            self._tally.unchanged += 1
            return
        at = self._time(item.at, "at")
        message = Message(
            text=text,
            role=role,
            speaker=check_name(item.speaker, field="speaker", blank=True),
            at=at,
            session=session,
            project=check_name(self._project or item.project, field="project"),
            external_id=external_id,
            spans=spans(text, at),
            redacted=self._redacted,
        )
        self._await(step, step.new(message, session, at, item.speaker, text))
        self._tally.created += 1

    # -- knowledge -------------------------------------------------------------------------------------------

    def _node(self, step: Step, item: NodeItem) -> None:
        graph = self._graph(step, item.graph)
        title = check_name(item.name, field="name")
        content = check_text(item.text, field="text") if item.text.strip() else ""
        node_type = check_name(item.kind, field="kind", blank=True)
        natural = key_hash("knowledge", graph, title)
        store = self._journal.store
        local = step.batch.find(KnowledgeNode, natural) or find_node(store, graph, title)
        named = key_hash(item.graph, item.source_id)
        if local is None:
            reference = f"{self._reader.NAME}:{item.source_id}"[: LIMITS.name_chars]
            node = KnowledgeNode(
                graph=graph, title=title, content=content, node_type=node_type, source_ref=reference,
                created_at=self._now, updated_at=self._now,
            )  # fmt: skip
            self._nodes[named] = step.new(node, graph, title).id
            self._tally.created += 1
            return
        self._nodes[named] = local.id
        if (local.content, local.node_type) == (content, node_type):
            self._tally.unchanged += 1
        elif self._wins(0, 0, untouched=set(local.content.splitlines()) <= set(content.splitlines())):
            fields = {"content": content, "node_type": node_type, "updated_at": self._now}
            step.update(msgspec.structs.replace(local, **fields))
            self._tally.updated += 1

    def _graph(self, step: Step, name: str) -> int:
        name = check_name(name, field="graph")
        natural = key_hash("graph", name)
        local = step.batch.find(Graph, natural) or find_graph(self._journal.store, name)
        if local is not None and local.name == name:
            return local.id
        graph = Graph(name=name, created_at=self._now, source_kind="path", source=self._path.name[: LIMITS.name_chars])
        return step.new(graph, name).id

    def _edge(self, step: Step, item: EdgeItem) -> None:
        ends = [self._nodes.get(key_hash(item.graph, end)) for end in (item.from_, item.to)]
        if None in ends:
            raise _Bad("a node that it joins is not in the source")
        from_, to = (id_ for id_ in ends if id_ is not None)
        relation, label = (item.type, "") if item.type in RELATIONS else ("custom", item.type)
        graph = self._graph(step, item.graph)
        edge = KnowledgeEdge(
            graph=graph,
            relation=relation,
            nodes=in_order(relation, (from_, to)),
            label=check_name(label, field="type", blank=True),
            created_at=self._now,
            updated_at=self._now,
        )
        natural = key_hash("knowledge_edge", *edge.key)
        if find_edge(self._journal.store, edge) is not None or step.batch.find(KnowledgeEdge, natural) is not None:
            self._tally.unchanged += 1
            return
        step.new(edge, *edge.key)
        self._tally.created += 1

    # -- what both share -------------------------------------------------------------------------------------

    def _external_id(self, source_id: str) -> str:
        external_id = f"{self._reader.NAME}:{source_id}"
        if len(external_id) <= LIMITS.name_chars and external_id.isprintable():
            return external_id
        return f"{self._reader.NAME}:{key_hash(source_id):016x}"

    def _time(self, at: int, field: str) -> int:
        if not 0 <= at <= LAST_MS:
            raise _Bad(f"{field}: {at} ms is out of range")
        if at > self._now + FUTURE_SLACK_MS:
            self._tally.remarks[FUTURE] += 1
            return self._now
        if not at:
            self._tally.remarks[NO_TIME] += 1
        return at or self._now

    def _put_away(self, at: int) -> int:
        return self._time(at, "archived_at or trashed_at") if at else 0

    def _await(self, step: Step, record: Note | Message) -> None:
        """Groups do not list what the batch has put: remember it until the commit."""
        if isinstance(record, Message):
            groups = [external_message(record.session, record.external_id)]
        else:
            groups = [
                external_note(record.project, record.external_id),
                same_text(record.project, record.kind, record.text),
            ]
        for group in groups:
            step.pending.setdefault(group, record)

    def _known(self, step: Step, group: int, record_type: type[R]) -> list[R]:
        """The first members of a group, with those that the commit under way brings."""
        found = step.batch.listed(record_type, group, limit=20)
        pending = step.pending.get(group)
        return [*found, pending] if isinstance(pending, record_type) else found


_CONTENT = (
    "text", "kind", "project", "status", "tags", "metadata", "tier", "archived_at", "trashed_at", "pinned",
)  # fmt: skip


def _content(note: Note) -> tuple[Any, ...]:
    """What a source says of a note; white space around a text makes no other one."""
    return (note.text.strip(), *(getattr(note, name) for name in _CONTENT[1:]))
