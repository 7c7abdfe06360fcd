"""Files of the Go library, versions 0x0006 and 0x0007: every live record, decoded or counted.

    archive record -> message (session: the scene of its topic)      scene -> the title of that session
    profile        -> notes (identity, preference, note)             knowledge node, edge -> node, edges
    capability     -> note of kind capability, whole in its metadata

Skipped, each counted, is what is derived and made anew here (scene graph, topics, usage, vectors, dream summaries, what
dreams wrote into the profile), what is kept through something else (scenes, graphs), and trajectories. Damaged frames
are rejected where they stand; how the log is read is told in `go_frames`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from memhop.common.ids import to_hex
from memhop.readers.go_frames import MAGIC, Frames, check
from memhop.readers.item import MAX_RAW_BYTES, EdgeItem, Item, MessageItem, NodeItem, NoteItem, Rejected, Skipped
from memhop.readers.pieces import decode
from memhop.readers.source import open_file
from memhop.readers.values import Bad, name, rows, short, table, text, when, words

NAME: Final = "go_meh"
EXPECTED: Final = "a .meh file of the Go library, version 0x0006 or 0x0007"
PROFILE, SCENE_NODE, SCENE_EDGE, TOPIC, SCENE, NODE, EDGE, ARCHIVE = range(1, 9)
GRAPH, USAGE, EVENT, CAPABILITY, VECTOR = 0x0B, 0x0D, 0x0E, 0x0F, 0xF0
_ORDER: Final = (PROFILE, SCENE, GRAPH, NODE, EDGE, ARCHIVE, CAPABILITY)  # then the rest, by type
_NO_MEMORY: Final = {
    SCENE_NODE: "the scene graph, made anew by dreams",
    SCENE_EDGE: "the scene graph, made anew by dreams",
    TOPIC: "keywords of a topic, made anew",
    SCENE: "kept as the session of its messages",
    GRAPH: "kept as the graph of its nodes",
    USAGE: "counters of scenes",
    EVENT: "a step of a trajectory",
    VECTOR: "a vector of another model",
}
_ROLES: Final = {0: "user", 1: "agent", 2: "system"}
_DREAM_SUMMARY: Final = 3
_TEXTS: Final = (0, 3, 5)  # content types: text, document, code
_EDGE_KINDS: Final = ("related", "causal", "part_of", "sequence", "dependency", "custom")
_STATUSES: Final = ("draft", "active", "deprecated")
_OF_DREAMS: Final = ("top_keywords", "total_engrams")


def matches(path: Path, head: bytes) -> bool:
    """Whether one of its two headers has the magic bytes, of whatever version."""
    return not path.is_dir() and MAGIC in (head[:4], head[4096:4100])


def read(path: Path) -> Iterator[Item]:
    """The live records by type, in the order of the log, then what was damaged.

    Raises:
        InvalidRequest: no such file, or a version that is not read.
        StorageError: it cannot be read.
    """
    check(path, EXPECTED)
    return _items(path)


class _Names(NamedTuple):
    scenes: dict[int, str]
    graphs: dict[int, str]
    scene_of: dict[int, int]  # of a topic


def _items(path: Path) -> Iterator[Item]:
    with open_file(path) as file:
        frames = Frames(file)
        known = _names(frames)
        kinds = (*_ORDER, *sorted(set(frames.kinds()) - set(_ORDER)))
        for kind in kinds:
            for id_ in frames.ids(kind):
                place = f"record {to_hex(id_)} of type {kind:#04x}"
                if reason := _NO_MEMORY.get(kind, ""):
                    yield Skipped(place, reason)
                    continue
                payload = frames.payload(id_)
                try:
                    yield from _record(kind, id_, place, _fields(payload), known)
                except ValueError as error:
                    yield Rejected(place, str(error), payload[:MAX_RAW_BYTES])
        yield from frames.damaged


def _names(frames: Frames) -> _Names:
    known = _Names({}, {}, {})
    for kind, field in ((SCENE, "scenename"), (GRAPH, "name"), (TOPIC, "sceneid")):
        for id_ in frames.ids(kind):
            try:
                value = _fields(frames.payload(id_)).get(field)
                if kind == TOPIC:
                    known.scene_of[id_] = _ident(value, field)
                else:
                    (known.scenes if kind == SCENE else known.graphs)[id_] = name(value, field)
            except ValueError:
                continue  # the record itself is counted in its turn
    return known


def _record(kind: int, id_: int, place: str, fields: dict[str, Any], known: _Names) -> Iterator[Item]:
    if kind == PROFILE:
        yield from _profile(place, fields)
    elif kind == ARCHIVE:
        yield _message(id_, place, fields, known)
    elif kind == NODE:
        yield _node(id_, fields, known)
    elif kind == EDGE:
        yield from _edges(fields, known)
    elif kind == CAPABILITY:
        yield _capability(id_, fields)
    else:
        raise Bad("records of this type are not known")


def _message(id_: int, place: str, fields: dict[str, Any], known: _Names) -> Item:
    role, content = fields.get("role", 0), fields.get("contenttype", 0)
    if role == _DREAM_SUMMARY:
        return Skipped(place, "a summary made by a dream")
    if content not in _TEXTS:
        return Skipped(place, "no text")
    if not isinstance(role, int) or role not in _ROLES:
        raise Bad(f"role {str(role)[:20]} is not known")
    topic = _ident(fields.get("contextid", 0), "context_id")
    scene = known.scene_of.get(topic, topic)
    return MessageItem(
        source_id=to_hex(id_),
        text=words(fields.get("content"), "content"),
        role=_ROLES[role],
        session=to_hex(scene) if scene else "",
        session_title=known.scenes.get(scene, ""),
        at=when(fields.get("createdat"), "created_at"),
    )


def _node(id_: int, fields: dict[str, Any], known: _Names) -> Item:
    keywords = [text(word, "a keyword") for word in rows(fields.get("keywords"), "keywords")]
    body = [text(fields.get("content"), "content"), f"Keywords: {', '.join(keywords)}" if keywords else ""]
    return NodeItem(
        source_id=to_hex(id_),
        name=short(words(fields.get("title"), "title")),
        text="\n".join(filter(None, body)),
        kind=name(fields.get("nodetype"), "node_type"),
        graph=_graph(fields, known),
    )


def _edges(fields: dict[str, Any], known: _Names) -> Iterator[Item]:
    """An edge of many nodes as edges from its first to each other one."""
    ends = [_ident(node, "a node id") for node in rows(fields.get("nodeids"), "node_ids")]
    kind = fields.get("kind", 0)
    if not isinstance(kind, int) or not 0 <= kind < len(_EDGE_KINDS) or len(ends) < 2:
        raise Bad("an edge needs a kind from 0 to 5 and two nodes")
    type_ = name(fields.get("label"), "label") or _EDGE_KINDS[kind]
    graph = _graph(fields, known)
    for other in ends[1:]:
        yield EdgeItem(type_, to_hex(ends[0]), to_hex(other), graph)


def _graph(fields: dict[str, Any], known: _Names) -> str:
    id_ = _ident(fields.get("graphid", 0), "graph_id")
    return known.graphs.get(id_) or (to_hex(id_) if id_ else "default")


def _profile(place: str, fields: dict[str, Any]) -> Iterator[Item]:
    for field in ("name", "role"):
        if said := text(fields.get(field), field).strip():
            yield NoteItem(f"profile {field}", f"{field.capitalize()}: {said}", kind="identity")
    for field, kind in (("preferences", "preference"), ("lexicon", "note")):
        for key, value in table(fields.get(field), field).items():
            if field == "preferences" and (key in _OF_DREAMS or key.startswith("mbti_")):
                yield Skipped(f"{place}, {field}.{key}", "written by a dream")
            elif said := text(value, f"{field}.{key}"[:80]).strip():
                yield NoteItem(f"profile {field} {short(key)}", f"{key}: {said}", kind=kind, tags=(field,))
    for style in rows(fields.get("styletraits"), "style_traits"):
        if said := text(style, "a style trait").strip():
            yield NoteItem(f"profile style {short(said)}", f"Style: {said}", kind="preference", tags=("style",))
    for field, key in (("personality", "personality"), ("emotion_patterns", "emotionpatterns")):
        if fields.get(key):
            yield Skipped(f"{place}, {field}", "written by dreams")


def _capability(id_: int, fields: dict[str, Any]) -> Item:
    called = words(fields.get("name"), "name")
    status = fields.get("status", 0)
    steps = table(fields.get("workflow"), "workflow").get("steps")
    lines = [text(fields.get(key), key) for key in ("summary", "trigger")]
    lines += [text(table(step, "a step").get("action"), "action") for step in rows(steps, "steps")]
    return NoteItem(
        source_id=to_hex(id_),
        text="\n".join([called, *filter(None, lines)]),
        kind="capability",
        status=_STATUSES[status] if isinstance(status, int) and 0 <= status < len(_STATUSES) else "",
        metadata={"card": fields},
        at=when(fields.get("createdat"), "created_at"),
        updated_at=when(fields.get("updatedat"), "updated_at"),
    )


def _fields(payload: bytes) -> dict[str, Any]:
    """A record by field: JSON with names in snake_case, compared without case and underscores."""
    found = table(decode(payload), "the record")
    return {key.replace("_", "").lower(): value for key, value in found.items()}


def _ident(value: object, what: str) -> int:
    """An id: a number, or 16 hex digits."""
    if isinstance(value, str) and len(value) == 16:
        try:
            value = int(value, 16)
        except ValueError:
            raise Bad(f"{what} is no id") from None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 64:
        raise Bad(f"{what} is no id")
    return value
