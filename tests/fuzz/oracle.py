"""What must hold of any file whatsoever, asked of the core, of repair, and of a whole memory.

    1  Nothing is raised but `MemhopError`; what only reads never blames its arguments.
    2  No record is served that no frame with a right checksum has ever held.
    3  Where nobody forged a checksum, a file without complaints holds exactly what it held after some commit, and it
       can be written to.
    4  Looking, verifying and repairing leave the bytes alone, refusing does too.
    5  What `repair` writes is a clean file.

Time and memory are bounded by whoever runs this, in a process of its own; see `process`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias

from memhop import DB, BadFormat, Corrupt, HashEmbedder, InvalidRequest, MemhopError
from memhop.core.format import COMMIT, DELETED, FIRST_RECORD_KIND, HEAD
from memhop.core.meh_file import MehFile
from memhop.core.repair import repair
from memhop.repo.record import Kind
from tests.fuzz.layout import Content, frames
from tests.support.lives import QUERIES
from tests.support.memories import memory

Outcome: TypeAlias = Literal["clean", "damaged", "refused"]
State: TypeAlias = frozenset[Content]

_NEW = "written by the fuzzer after all that"
_TURN = "kayak or piano?"
_PAGES = 50  # more than any input has, unless a listing goes in circles


def states_of(data: bytes) -> set[State]:
    """What a genuine file held after each of its commits, from its frames alone."""
    live: dict[int, Content] = {}
    found = {frozenset[Content]()}
    for offset in frames(data):
        _, _, _, kind, flags, length, id_ = HEAD.unpack_from(data, offset)
        if kind == COMMIT:
            found.add(frozenset(live.values()))
        elif kind >= FIRST_RECORD_KIND and flags & DELETED:
            live.pop(id_, None)
        elif kind >= FIRST_RECORD_KIND:
            live[id_] = Content(kind, id_, data[offset + HEAD.size : offset + HEAD.size + length])
    return found


def judge(data: bytes, said: Set[Content], directory: Path, *, states: Set[State] | None = None) -> Outcome:
    """Put a file through everything. Raises AssertionError, or whatever came out of `memhop`, where a rule breaks.

    Args:
        said: What may be served.
        states: What a file may hold that has no complaints; None if checksums were forged.
        directory: An empty one, for the file and its side files.
    """
    outcome = _core(data, said, directory, states)
    _memory(data, said, directory, outcome, genuine=states is not None)
    return outcome


def _fresh(directory: Path, data: bytes) -> Path:
    for left in directory.iterdir():
        left.unlink()
    path = directory / "a.meh"
    path.write_bytes(data)
    return path


def _core(data: bytes, said: Set[Content], directory: Path, states: Set[State] | None) -> Outcome:
    path = _fresh(directory, data)
    repaired = directory / "repaired.meh"
    with suppress(MemhopError):
        repair(path, repaired)
    assert path.read_bytes() == data, "repair wrote to its source"
    try:
        file = MehFile.open(path, create=False, durability="none")
    except BadFormat:
        assert path.read_bytes() == data, "a refused file was changed"
        assert not repaired.exists()
        return "refused"
    with file:
        cut = file.recovery.cut_bytes
        before = path.read_bytes()
        assert data.startswith(before.rstrip(b"\0")), "opening changed what it did not cut"
        assert cut or data.rstrip(b"\0") == before.rstrip(b"\0"), "opening cut and did not say so"
        served = _served(file)
        assert served <= said, f"never written: {sorted(served - said)[:3]}"
        list(file.live())
        file.verify()
        clean = file.verify(deep=True).ok and file.recovery.clean
        assert path.read_bytes() == before, "looking changed the file"
    if clean and states is not None:
        assert served in states, "records are missing or too many, and nothing says why"
    if repaired.exists():
        with MehFile.open(repaired, create=False) as file:
            assert file.verify(deep=True).ok
            assert file.recovery.clean
            assert _served(file) <= said
            assert states is None or served <= _served(file), "repair saved less than can be read"
    return "clean" if clean else "damaged"


def _served(file: MehFile) -> set[Content]:
    found = set()
    for kind in Kind:
        for id_ in file.ids(kind):
            row = file.locate(id_)
            if row is None:
                continue
            try:
                found.add(Content(*file.read(row[1])))
            except Corrupt:
                continue
    return found


# -- the whole memory --------------------------------------------------------------------------------------------


def _memory(data: bytes, said: Set[Content], directory: Path, outcome: Outcome, *, genuine: bool) -> None:
    path = _fresh(directory, data)
    if outcome == "refused":
        try:
            _open(path).close()
        except BadFormat:
            assert path.read_bytes() == data, "a refused file was changed"
            return
        raise AssertionError("DB.open took what the core refuses")
    spoken = _Said(said)
    with _open(path) as db:
        _reads(db, spoken)
        written = _tried(lambda: db.remember(_NEW), genuine)
        _tried(lambda: db.search(_TURN, session="music"), genuine)
        _tried(db.backfill, genuine)
        _tried(db.checkpoint, genuine)
        _reads(db, spoken, QUERIES[:1])
    with _open(path) as db:
        _reads(db, spoken, QUERIES[:2])
        if genuine:  # a forged record index may hide what is there
            assert db.notes.get(written.id).text == _NEW
            found = db.recall(_NEW, layers=["notes"])
            assert written.id in [hit.id for hit in found.hits], "a new note is not found"
        with suppress(Corrupt):  # it refuses to drop what it cannot read
            db.compact()
        _reads(db, spoken, QUERIES[:1])


def _open(path: Path) -> DB:
    return memory(path, embedder=HashEmbedder(16), durability="none", create=False)


def _tried(call: Callable[[], Any], genuine: bool) -> Any:
    """A call that writes. A forged file may be one that cannot be written to; damage alone does not make it so."""
    try:
        return call()
    except MemhopError:
        if genuine:
            raise
        return None


def _read(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """A call that reads, with arguments that are right. None if it answers that the file is damaged."""
    try:
        return call(*args, **options)
    except InvalidRequest as error:
        raise AssertionError(f"a right argument was blamed: {error}") from error
    except MemhopError:
        return None


def _reads(db: DB, said: _Said, queries: Sequence[str] = QUERIES) -> None:
    """Everything a reader can ask."""
    for query, tier in (*((query, "active") for query in queries), (queries[0], "trashed")):
        found = _read(db.recall, query, limit=20, tier=tier, explain=True)
        for hit in found.hits if found is not None else ():
            for text in (hit.text,) if hit.valid_from is None else hit.text.split():  # a fact is put together
                said.check(hit.id, text)
        if found is not None and found.hits:
            _read(db.why_not, found.hits[-1].id, query)
    for listing in (db.notes.list, db.archive.list, db.scenes.list):
        for item in _every(listing):
            if isinstance(text := getattr(item, "text", None), str):
                said.check(item.id, text)
            if listing == db.scenes.list:
                for topic in _every(db.topics.list, item.id):
                    _read(db.topics.messages, topic.id)
    for graph in _every(db.knowledge.graphs):
        nodes = _every(db.knowledge.nodes, graph.id)
        _every(db.knowledge.edges, graph.id)
        _read(db.knowledge.find_graph, graph.name)
        _read(db.knowledge.query, graph.id, keyword="e")
        for node in nodes[:2]:
            _read(db.knowledge.subgraph, graph.id, node.id, max_depth=3)
            _read(db.knowledge.shortest_path, graph.id, nodes[0].id, node.id)
    for fact in _every(db.facts.list, include_closed=True):
        _read(db.facts.list, fact.subject, fact.predicate, as_of=fact.valid_from, known_at=fact.recorded_at)
        _read(db.facts.history, fact.subject, fact.predicate)
    _every(db.trajectory.read, "music")
    _events(db)
    for commit in (1, 3):
        try:
            past = db.at(commit)
        except MemhopError:  # no such commit, or compacted away
            continue
        with past:
            found = _read(past.recall, queries[0])
            for hit in found.hits if found is not None else ():
                said.check(hit.id, hit.text)
    for call in (db.profile.get, db.capabilities.list, db.pending, db.stats, db.verify):
        _read(call)
    _read(db.verify, deep=True)


def _events(db: DB) -> None:
    since = None
    for _ in range(10 * _PAGES):
        page = _read(db.events, since, limit=7)
        if page is None or page.next == page.newest:
            return
        assert since is None or int(page.next) > int(since)
        for event in page.events:
            event.to_dict()
        since = page.next
    raise AssertionError("the events do not end")


def _every(listing: Callable[..., Any], *args: str, **options: Any) -> list[Any]:
    items: list[Any] = []
    cursor = None
    for _ in range(_PAGES):
        page = _read(listing, *args, limit=7, cursor=cursor, **options)
        if page is None:
            return items
        items += page.items
        cursor = page.next
        if cursor is None:
            return items
    raise AssertionError("a listing does not end")


class _Said:
    """What may be read, by the id it was said under."""

    def __init__(self, said: Set[Content]) -> None:
        self._payloads: dict[int, list[bytes]] = {}
        for content in said:
            self._payloads.setdefault(content.id, []).append(content.payload)

    def check(self, id_: str, text: str) -> None:
        """The text, or both parts of which recall makes one, stand in a payload as they are: MessagePack is plain."""
        payloads = self._payloads.get(int(id_, 16), [])
        pairs = [text.partition(between)[::2] for between in ("\n", ": ")]
        told = any(
            all(part.encode() in payload for part in parts) for parts in ((text,), *pairs) for payload in payloads
        )
        assert told or text in (_NEW, _TURN), f"{text!r} was never said"
