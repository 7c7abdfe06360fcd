"""What a dream may do. Every proposal passes here, whatever the stage or the model behind it thought of.

    deletes     engrams, hyperedges, derived profile lines; nothing else, ever
    writes      the same, scenes, topics and the history of the profile, whose newest entry takes the place of the
                oldest; into a message no more than its scene and topic, and no message is taken out of a topic. Notes,
                cards, facts, knowledge and what the host said of itself are not a dream's to write
    leaves      scenes and topics that are pinned, or were edited by the host, and the topics of a pinned scene. A
                scene's counters go on
    keeps       a fused topic that was undone away; references to what is there, of the right kind
    waits       where a record it was planned on is another by now
    is bounded  at most a share of the records that were there when the run began are changed or deleted. New records,
                counters of a scene, and finding a place for a message that had none are free

What is left for the last two reasons is tried by the next dream: the scene it belongs to stays fresh.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

import msgspec

from memhop.dream.stage import Change
from memhop.repo.l2_context import Scene, Topic
from memhop.repo.l4_archive import Message
from memhop.repo.record import Kind, Record
from memhop.repo.references import may_name, references

DELETABLE = frozenset({Kind.ENGRAM, Kind.HYPEREDGE, Kind.PROFILE_LINE})
WRITABLE = DELETABLE | {Kind.SCENE, Kind.TOPIC, Kind.PROFILE_CHANGE}  # new, and over what is there
LEAST_TOUCHED = 50  # records that a run may change however few there are

CHANGED = "changed meanwhile"
BUDGET = "beyond the share of records that one dream may change"
UNFINISHED = "something in it waits for the next dream"


class Now(Protocol):
    """The records as they are while changes are applied."""

    def record(self, id_: int) -> Record | None:
        """Of whatever type; None: there is none, or it is damaged."""
        ...

    def kind_of(self, id_: int) -> int | None:
        """None: there is none."""
        ...


class Guard:
    """The rules of one run, and what it has used up of its share.

    Args:
        most: Records that may be changed or deleted.
        undone: Gives the fused topics that were undone away; asked when one is to be made.
    """

    def __init__(self, most: int, undone: Callable[[], Collection[int]]) -> None:
        self._most = most
        self._undone = undone
        self._touched: set[int] = set()
        self._made: set[int] = set()
        self._unfinished: set[int] = set()  # scenes

    def refusal(self, change: Change, now: Now) -> str:
        """Why a change is not to be made; "" if it is, and then it counts as made."""
        reason = _against_the_rules(change, now, self._undone) or _outdated(change, now)
        if not reason and any(self._closes(record, now) for record in change.puts):
            reason = UNFINISHED
        touched = self._touched | {record.id for record in _costly(change, now)} - self._made
        if not reason and len(touched) > self._most:
            reason = BUDGET
        if not reason:
            self._touched = touched
            self._made.update(record.id for record in change.puts if now.kind_of(record.id) is None)
        elif reason in (CHANGED, UNFINISHED, BUDGET):
            self._unfinished.update(scenes_of(change))
        return reason

    def _closes(self, record: Record, now: Now) -> bool:
        """Whether a scene would count as looked at although something in it was put off."""
        if not isinstance(record, Scene) or record.id not in self._unfinished:
            return False
        before = now.record(record.id)
        return isinstance(before, Scene) and record.fresh < before.fresh


def _against_the_rules(change: Change, now: Now, undone: Callable[[], Collection[int]]) -> str:
    for record in change.deletes:
        if record.KIND not in DELETABLE:
            return f"a {_name(record)} is never deleted"
    for record in change.puts:
        before = now.record(record.id)
        if before is None or type(before) is not type(record):
            if record.KIND not in WRITABLE:
                return f"a {_name(record)} is not a dream's to write"
            if isinstance(record, Topic) and record.children and record.id in undone():
                return "undone before"
        elif isinstance(record, Message):
            if msgspec.structs.replace(record, scene=0, topic=0) != msgspec.structs.replace(before, scene=0, topic=0):
                return "what was said is never changed"
        elif record.KIND not in WRITABLE:
            return f"a {_name(record)} is not a dream's to write"
        elif reason := _protected(record, before, now):
            return reason
    return ""


def _protected(record: Record, before: Record, now: Now) -> str:
    if isinstance(record, Scene) and isinstance(before, Scene):
        same = msgspec.structs.replace(record, fresh=before.fresh, last_at=before.last_at) == before
        return "" if same else _kept(before)
    if isinstance(record, Topic) and isinstance(before, Topic):
        if not set(before.messages) <= set(record.messages):
            return "no message is taken out of a topic"
        scene = now.record(before.scene) if before.scene else None
        return _kept(before) or ("pinned" if isinstance(scene, Scene) and scene.pinned else "")
    return ""


def _kept(record: Scene | Topic) -> str:
    return "pinned" if record.pinned else "edited by the host" if record.edited else ""


def _outdated(change: Change, now: Now) -> str:
    read = {record.id for record in change.reads}
    if any(now.record(record.id) != record for record in (*change.reads, *change.deletes)):
        return CHANGED
    if any(record.id not in read and now.kind_of(record.id) is not None for record in change.puts):
        return CHANGED  # it came into being since
    making = {record.id: record.KIND for record in change.puts}
    gone = {record.id for record in change.deletes}
    for record in change.puts:
        before = now.record(record.id)
        known = set(references(before)) if before is not None else set()
        for field, id_ in references(record):
            if (field, id_) in known:
                continue
            kind = making.get(id_) or (None if id_ in gone else now.kind_of(id_))
            if kind is None:
                return "it refers to what is not there"
            if not may_name(type(record), field, kind):
                return "it refers to the wrong kind of record"
    return ""


def _costly(change: Change, now: Now) -> list[Record]:
    found = list(change.deletes)
    for record in change.puts:
        before = now.record(record.id)
        placed = isinstance(before, Message) and not before.topic
        counted = (
            isinstance(record, Scene)
            and isinstance(before, Scene)
            and msgspec.structs.replace(record, fresh=before.fresh, last_at=before.last_at) == before
        )
        if before is not None and not placed and not counted:
            found.append(record)
    return found


def scenes_of(change: Change) -> set[int]:
    """The scenes that a change writes to, or into."""
    return {
        record.id if isinstance(record, Scene) else record.scene
        for record in change.puts
        if isinstance(record, Scene | Topic | Message)
    }


def _name(record: Record) -> str:
    return record.KIND.name.lower().replace("_", " ")
