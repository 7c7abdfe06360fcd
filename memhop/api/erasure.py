"""What erasing a note, a message or knowledge means, in terms of records.

Erasing is one commit of tombstones after which a compaction drops every version, also one that
keeps history. With the record goes what was made of it:

    its words and vectors in the indexes        they belong to the unit; compaction leaves out their bytes
    its usage counter, its embedding failures   erased
    links of other notes, steps that name it    the others stay without the reference
    notes that it superseded                    in force again
    the topic of a message                      loses the keywords and the summary; erased with its last message
    a topic fused from that one                 gets another summary and keywords, drawn from what is left
    the scene of that topic                     loses a name that holds a word of the message, unless the host gave
                                                it, and its engram the terms; erased with its last topic, and with it
                                                engram and associations
    facts, edges, lines of the profile          lose it as a source, or go with it, see `references.without`
    cards drawn from steps that name a message  erased
    the nodes and edges of a graph              erased; topics that were linked to it stay without the link
    the journal of dreams                       loses what it says with one of the words, and what it could bring back

Versions of the others that still held a reference or words are struck out of the history too. A record that is damaged
can be erased: the record index knows its kind. One that should lose a reference and is damaged cannot; it is named.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

import msgspec

from memhop.common.errors import NotFound
from memhop.common.ids import to_hex
from memhop.repo import codec
from memhop.repo.gathering import MAX_SPACES
from memhop.repo.journal import strike_out
from memhop.repo.l1_engram import Engram, edges_of, engram_id
from memhop.repo.l2_context import Scene, Topic, telling, topics_of
from memhop.repo.l3_knowledge import edges_at, edges_in, nodes_of
from memhop.repo.l4_archive import Message, dated
from memhop.repo.l4_note import Note
from memhop.repo.l4_revision import revisions_of
from memhop.repo.l4_supersession import claims, release
from memhop.repo.l6_usage import usage_id
from memhop.repo.record import Kind, Record, all_of, linked_to
from memhop.repo.references import without
from memhop.repo.vectors import Space, failure_id
from memhop.repo.views import owner_of

if TYPE_CHECKING:
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store

R = TypeVar("R", bound=Record)

_STEM_CHARS = 4  # which forms of a word have in common
_WORD = re.compile(r"\w+")


def erase_record(store: Store, kind: Kind, id_: int, *, field: str) -> bool:
    """Erase one record of a kind and what was made of it, damaged or not. False: there is none.

    Raises:
        NotFound: the id is that of another kind.
    """
    with store.writing() as batch:
        located = store.file.locate(id_)
        if located is None:
            return False
        if located[0] != kind:
            raise NotFound(f"no {kind.name.lower()} has the id {to_hex(id_)}", field=field)
        Erasure(store, batch).erase([id_])
    return True


def check_erasable(store: Store, id_: int) -> Kind:
    """The kind of a note or message, damaged or not. Raises NotFound."""
    located = store.file.locate(id_)
    if located is None or located[0] not in (Kind.NOTE, Kind.MESSAGE):
        raise NotFound(f"no note or message has the id {to_hex(id_)}", field="id")
    return Kind(located[0])


class Erasure:
    """One erasure under way: what goes, what is rewritten, and what should have been and is damaged.

    Attributes:
        gone: The records to be erased, with their kinds: those asked for and those made of them.
        blanked: Topics and scenes that stay and lose words; their earlier versions go.
        damaged: Records that cannot be read and may still hold a reference or words.
        reached: Counts for a receipt.
    """

    def __init__(self, store: Store, batch: Batch) -> None:
        self.gone: dict[int, Kind] = {}
        self.blanked: set[int] = set()
        self.damaged: set[int] = set()
        self.reached: Counter[str] = Counter()
        self._store = store
        self._batch = batch
        self._referring: dict[int, Kind] = {}
        self._texts: list[str] | None = []  # that go; None: one of them cannot be read
        self._released: set[int] = set()  # notes that one of those superseded

    def erase(self, ids: Iterable[int]) -> None:
        """Put into the batch what erases these notes and messages. Call it once, under the store's lock."""
        spaces = [space.id for _, space in self._store.listed(Space, all_of(Kind.SPACE), limit=MAX_SPACES)]
        waiting = list(ids)
        while waiting:
            while waiting:
                waiting += self._erase_one(waiting.pop(), spaces)
            waiting = [id_ for id_, kind in self._referring.items() if self._means_nothing(kind, id_)]
        self._draw_anew()
        self._reinstate()
        made = self.gone.keys() | self.blanked | self._referring.keys()
        if struck := strike_out(self._store, self._batch, made, self._texts):
            self.reached["entries of the dream journal"] += struck

    def _erase_one(self, id_: int, spaces: list[int]) -> list[int]:
        """Erase a record and what was made of it. Returns what goes with it."""
        located = self._store.file.locate(id_)
        if located is None or id_ in self.gone:
            return []
        kind = Kind(located[0])
        self._delete(kind, id_)
        record = self._store.record(id_)
        if kind in (Kind.NOTE, Kind.MESSAGE):
            self._remember(record)
        self._delete_derived(id_, record, spaces)
        self._refer(linked_to(id_))
        if kind is Kind.NOTE:
            self._refer(revisions_of(id_))
            self._released.update(claims(record) if isinstance(record, Note) else ())
        if kind is Kind.MESSAGE:
            return list(self._take_from_topics(id_, record))
        if kind is Kind.TOPIC and isinstance(record, Topic):
            return list(self._take_from_scene(record))
        if kind is Kind.SCENE:
            self._delete_if_there(Kind.ENGRAM, engram_id(id_), "engrams")
            self._refer(edges_of(id_), Kind.HYPEREDGE)
        elif kind is Kind.GRAPH:
            self._refer(edges_in(id_))
            self._referring |= {topic.id: Kind.TOPIC for topic in self._store.scan(Topic) if id_ in topic.graphs}
            return [node for _, node in self._store.members(nodes_of(id_))]
        elif kind is Kind.KNOWLEDGE:
            self._refer(edges_at(id_))
        return []

    def remarks(self) -> list[str]:
        """What to tell of records that could not be rewritten."""
        if not self.damaged:
            return []
        named = ", ".join(to_hex(id_) for id_ in sorted(self.damaged)[:5])
        more = f" and {len(self.damaged) - 5} more" if len(self.damaged) > 5 else ""
        return [f"damaged records may still name it or hold words of it: {named}{more}; `memhop repair` drops them"]

    def _remember(self, record: Record | None) -> None:
        """The words that go."""
        if isinstance(record, Note | Message) and self._texts is not None:
            self._texts.append(record.text)
        else:
            self._texts = None

    def _delete(self, kind: Kind, id_: int) -> None:
        self.gone[id_] = kind
        self._batch.delete(kind, id_, purge=True)

    def _delete_if_there(self, kind: Kind, id_: int, what: str) -> None:
        located = self._store.file.locate(id_)
        if located is not None and located[0] == kind:  # a forger may have given the id to another record
            self._delete(kind, id_)
            self.reached[what] += 1

    def _delete_derived(self, id_: int, record: Record | None, spaces: list[int]) -> None:
        self._delete_if_there(Kind.USAGE, usage_id(id_), "usage counters")
        unit = record.unit() if record is not None else None
        if unit is not None:  # of a unit that cannot be read, the next compaction finds that its owner is gone
            for space in spaces:
                self._delete_if_there(Kind.EMBED_FAILURE, failure_id(owner_of(id_, unit), space), "embedding failures")

    def _take_from_topics(self, id_: int, message: Record | None) -> Iterator[int]:
        """Take a message out of its topic and scene; gives the topic if nothing is left in it."""
        if isinstance(message, Message):
            topics = [message.topic] if message.topic else []
        else:
            topics = [topic.id for topic in self._store.scan(Topic) if id_ in topic.messages]
        for topic_id in topics:
            topic = self._readable(Topic, topic_id)
            if topic is None:
                continue
            scene = self._readable(Scene, topic.scene)
            if scene is not None:
                if _is_named_after(scene, message):
                    scene = msgspec.structs.replace(scene, name=dated(scene.created_at))
                    self.reached["scene names"] += 1
                self._blank(scene)  # whatever it is called now: an earlier name may hold a word of it
            self._take_terms(topic.scene)
            self._blank_fused(topic.parent)
            self.reached["topics"] += 1
            left = tuple(other for other in topic.messages if other != id_)
            if not left and not topic.children:
                yield topic.id
                continue
            # The user keywords are those of the message that opened the topic; all others are the agent's.
            by_user = topic.messages[:1] == (id_,) and bool(topic.user_keywords)
            self._blank(
                msgspec.structs.replace(
                    topic,
                    messages=left,
                    user_keywords=() if by_user else topic.user_keywords,
                    agent_keywords=topic.agent_keywords if by_user else (),
                    summary="",
                    sources=(),
                    ends=(),
                )
            )

    def _take_terms(self, scene: int) -> None:
        """The hashes of a scene's telling words; without a state, the next dream draws them anew from what is left."""
        engram = None if engram_id(scene) in self.gone else self._batch.find(Engram, engram_id(scene))
        if engram is not None and (engram.terms or engram.state):
            self._batch.strike(msgspec.structs.replace(engram, terms=(), state=0))
            self.reached["words of scenes"] += 1

    def _blank_fused(self, id_: int) -> None:
        """Topics fused from this one, and from those: what they say was drawn from words that go."""
        seen: set[int] = set()
        while id_ and id_ not in seen:
            seen.add(id_)
            topic = self._readable(Topic, id_)
            if topic is None:
                return
            self._blank(
                msgspec.structs.replace(topic, user_keywords=(), agent_keywords=(), summary="", sources=(), ends=())
            )
            self.reached["fused topics"] += 1
            id_ = topic.parent

    def _draw_anew(self) -> None:
        """Give fused topics that lost their words others, drawn from what is left: the deepest first."""
        found = (self._batch.find(Topic, id_) for id_ in self.blanked - self.gone.keys())
        fused = [topic for topic in found if topic is not None and topic.children]
        for topic in sorted(fused, key=lambda topic: (-topic.depth, topic.id)):
            from memhop.api.summaries import KEYWORDS, summarised

            children = [child for id_ in topic.children if (child := self._batch.find(Topic, id_)) is not None]
            cited = {id_: None for child in children for id_ in (child.sources or child.messages)}
            cited |= dict.fromkeys(topic.messages)
            said = [message for id_ in cited if (message := self._batch.find(Message, id_)) is not None]
            text, ends, sources = summarised(sorted(said, key=lambda message: (message.at, message.id)))
            keywords = tuple(telling(children)[:KEYWORDS])
            self._batch.strike(
                msgspec.structs.replace(
                    topic, user_keywords=keywords, summary=text, ends=ends, sources=sources, refined_by=""
                )
            )

    def _reinstate(self) -> None:
        """Notes that were superseded by what goes; the reference itself was taken out with the others."""
        for id_ in sorted(self._released - self.gone.keys()):
            note = self._readable(Note, id_)
            if note is not None and not note.superseded_by:
                release(self._batch, note, actor=self._store.actor, now_ms=self._store.clock.now_ms())
                self.reached["superseded notes"] += 1

    def _take_from_scene(self, topic: Topic) -> Iterator[int]:
        """After a topic has gone: those who name it, and its scene if nothing is left in it."""
        if topic.parent:
            self._referring[topic.parent] = Kind.TOPIC
        if topic.scene and topic.scene not in self.gone:
            group = self._store.views.groups.page(topics_of(topic.scene), limit=len(self.gone) + 1)
            if all(id_ in self.gone for _, id_ in group):
                self.reached["scenes"] += 1
                yield topic.scene

    def _refer(self, group: int, kind: Kind | None = None) -> None:
        """Everything in a group names something that goes."""
        for _, id_ in self._store.members(group):
            located = self._store.file.locate(id_)
            if located is not None and kind in (None, located[0]):
                self._referring[id_] = Kind(located[0])

    def _means_nothing(self, kind: Kind, id_: int) -> bool:
        """Take the references to what goes out of a record; True if that leaves nothing of it."""
        record = None if id_ in self.gone else self._readable(codec.RECORD_TYPES[kind], id_)
        rest = record and without(record, self.gone.keys())
        if rest is record:
            return False
        what = {Kind.NOTE: "links in other notes", Kind.HYPEREDGE: "associations", Kind.CAPABILITY: "cards"}.get(kind)
        self.reached[what or f"references in {kind.name.lower()} records"] += 1
        if rest is not None:
            self._batch.strike(rest)
        return rest is None

    def _blank(self, record: Record) -> None:
        self._batch.strike(record)
        self.blanked.add(record.id)

    def _readable(self, record_type: type[R], id_: int) -> R | None:
        """The record as the batch leaves it. None: there is none, or it is damaged, which is remembered."""
        record = self._batch.find(record_type, id_)
        if record is None and id_ not in self.gone and self._store.file.locate(id_) is not None:
            self.damaged.add(id_)
        return record


def _is_named_after(scene: Scene, message: Record | None) -> bool:
    """Whether a name that was made here may hold a word of the message, in whatever form."""
    if scene.edited or scene.name == dated(scene.created_at):
        return False
    if not isinstance(message, Message):
        return True  # who knows
    text = f"{message.speaker} {message.text}".casefold()
    subject = scene.name.rpartition(" (")[0] or scene.name
    return any(word[:_STEM_CHARS] in text for word in _WORD.findall(subject.casefold()))
