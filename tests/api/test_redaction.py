"""Nothing that writes lets a secret or a private span through: neither into the file, nor into what is derived.

The table names every public method of `DB` and its namespaces. A new one must be put into it: as a reader, or as a
writer that is called here with a secret and a private span in each of its texts.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memhop import DB, Config, InvalidRequest
from memhop.api.namespace import Namespace
from memhop.common.settings import SecretsSection
from tests.support.memories import NOW, memory

KEY = "sk-proj-abcDEF1234567890ghiJKL4567mnopQR"
PRIVATE = "Zanzibar77"
CARD_NAME = "tidy up"


def bad(text: str) -> str:
    """A text with both in it."""
    return f"{text} {KEY} <private>the {PRIVATE} account</private>"


def card(name: str) -> dict[str, Any]:
    resource = {"type": "skill", "name": "broom", "ref": bad("ref"), "description": bad("sweeps")}
    return {
        "format": "memhop-capability/v2",
        "name": name,
        "type": "skill",
        "summary": bad("Tidies."),
        "trigger": bad("dust"),
        "resources": [resource],
        "translations": {"zh": {"summary": bad("打扫"), "trigger": bad("灰尘")}},
    }


class World:
    """A memory with something of each kind, and the calls that write into it."""

    def __init__(self, db: DB, folder: Path) -> None:
        self.db, self.folder = db, folder
        self.note = db.remember("a note").id
        turn = db.search("who mends the boat?", session="s")
        self.scene, self.topic, self.message = turn.scene_id, turn.new_topic_id, turn.message_id
        self.other = db.search("and the sail of it?", session="s").new_topic_id
        self.loose = db.search("quite another thing", auto_create=True)
        self.third = db.search("more of that", directed_l2_id=self.loose.scene_id).new_topic_id
        self.node = db.knowledge.put("boats", "hull", "of oak").id
        self.second = db.knowledge.put("boats", "mast", "of pine").id
        self.graph = db.knowledge.create_graph("sails").id
        db.capabilities.import_({**card(CARD_NAME), "trigger": "dust"})
        db.remember("elsewhere", project="old")
        db.remember("and here", project="from")

    def export(self) -> Path:
        """An export of another memory, with words put in that this one must not take over."""
        made = self.folder / "other.jsonl"
        with memory(self.folder / "other.meh") as other:
            other.remember("PLACEHOLDER", project="PLACEHOLDER", tags=["PLACEHOLDER"], metadata={"k": "PLACEHOLDER"})
            other.search("PLACEHOLDER", session="PLACEHOLDER", speaker="PLACEHOLDER")
            other.facts.assert_("PLACEHOLDER", "is", "PLACEHOLDER")
            other.export(made)
        made.write_text(made.read_text("utf-8").replace("PLACEHOLDER", bad("x")), "utf-8")
        return made

    def foreign(self) -> Path:
        made = self.folder / "memory.jsonl"
        entity = {"type": "entity", "name": bad("Ann"), "entityType": bad("person"), "observations": [bad("sails")]}
        made.write_text(json.dumps(entity) + "\n", "utf-8")
        return made


# What each writer is called with. `None`: it takes ids, numbers and choices alone.
WRITERS: dict[str, Callable[[World], object] | None] = {
    "remember": lambda w: w.db.remember(
        bad("text"), project=bad("p"), kind=bad("k"), status=bad("st"), tags=[bad("t")], source=bad("so"),
        metadata={bad("key"): [bad("v"), {"deep": bad("w")}]}, external_id=bad("e"), idempotency_key=bad("i"),
    ),
    "remember_many": lambda w: w.db.remember_many(
        [bad("one"), {"text": bad("two"), "project": bad("p2"), "tags": (bad("t2"),), "metadata": {"k": bad("v")}}]
    ),
    "search": lambda w: w.db.search(
        bad("what"), session=bad("s"), speaker=bad("w"), project=bad("p3"), external_id=bad("e3")
    ),
    "update": lambda w: w.db.update(w.topic, bad("that"), speaker=bad("w2"), external_id=bad("e4")),
    "import_": lambda w: (w.db.import_(w.export()), w.db.import_(w.foreign())),
    "archive.append_many": lambda w: w.db.archive.append_many(
        iter([{"text": bad("said"), "speaker": bad("w"), "session": bad("s2"), "external_id": bad("e5"),
               "project": bad("p4")}])
    ),
    "notes.update": lambda w: w.db.notes.update(
        w.note, text=bad("new"), kind=bad("k2"), status=bad("s3"), tags=[bad("t3")], metadata={bad("a"): bad("b")},
        source=bad("so2"),
    ),
    "scenes.rename": lambda w: w.db.scenes.rename(w.scene, bad("name")),
    "scenes.split": lambda w: w.db.scenes.split(w.scene, [w.other], name=bad("part")),
    "topics.refine": lambda w: w.db.topics.refine(w.topic, keywords=[bad("word")]),
    "topics.merge": lambda w: w.db.topics.merge([w.loose.new_topic_id, w.third], summary=bad("both")),
    "profile.update": lambda w: w.db.profile.update(
        name=bad("n"), role=bad("r"), personality=bad("p"), preferences={bad("k"): bad("v")}, lexicon={"x": bad("y")},
        style_traits=[bad("z")],
    ),
    "knowledge.create_graph": lambda w: w.db.knowledge.create_graph(bad("g"), source_kind="url", source=bad("u")),
    "knowledge.rename_graph": lambda w: w.db.knowledge.rename_graph(w.graph, bad("g2")),
    "knowledge.put": lambda w: w.db.knowledge.put(
        bad("g3"), bad("t"), bad("c"), node_type=bad("n"), keywords=[bad("k")], source_ref=bad("r")
    ),
    "knowledge.update": lambda w: w.db.knowledge.update(
        w.node, title=bad("t2"), content=bad("c2"), node_type=bad("n2"), keywords=[bad("k2")], source_ref=bad("r2")
    ),
    "knowledge.import_": lambda w: w.db.knowledge.import_(
        iter([{"graph": bad("g4"), "title": bad("t3"), "content": bad("c3"), "keywords": [bad("k3")]}])
    ),
    "knowledge.connect": lambda w: w.db.knowledge.connect(
        w.db.knowledge.get(w.node).graph_id or "", [w.node, w.second], label=bad("l")
    ),
    "facts.assert_": lambda w: w.db.facts.assert_(bad("Ann"), bad("lives in"), bad("Rome")),
    "capabilities.import_": lambda w: [w.db.capabilities.import_(source) for source in (
        card(bad("cards")), json.dumps(card(bad("text"))), written(w.folder / "card.json", card(bad("file"))),
    )],
    "capabilities.update": lambda w: w.db.capabilities.update(
        CARD_NAME, version=bad("1"), summary=bad("s"), trigger=bad("t"), resources=card("x")["resources"],
        translations=card("x")["translations"],
    ),
    "trajectory.append": lambda w: w.db.trajectory.append(bad("run"), bad("tool"), bad("payload")),
    "trajectory.append_many": lambda w: w.db.trajectory.append_many(
        bad("run2"), iter([{"type": bad("tool"), "payload": "x" * 4_080 + " " + bad("at the cut")}])
    ),
    "projects.rename": lambda w: w.db.projects.rename("old", bad("new")),
    "projects.reassign": lambda w: w.db.projects.reassign(all=True, from_="from", to=bad("to")),
    "summary.save": lambda w: w.db.summary.save(bad("p5"), bad("sum"), tags=[bad("t")], metadata={"k": bad("v")}),
    **dict.fromkeys(
        (
            "backfill", "backup", "checkpoint", "close", "compact", "crystallize", "dream", "forget", "maintain",
            "purge",
            "capabilities.activate", "capabilities.delete", "capabilities.deprecate", "capabilities.record_usage",
            "dreams.undo", "facts.close", "facts.delete", "facts.retract", "imports.undo", "knowledge.delete",
            "knowledge.delete_graph", "knowledge.disconnect", "notes.archive", "notes.link", "notes.pin", "notes.purge",
            "notes.restore", "notes.revert", "notes.trash", "notes.unarchive", "notes.unlink", "notes.unpin",
            "profile.erase", "projects.merge", "projects.purge", "projects.trash", "scenes.delete", "scenes.merge",
            "scenes.pin", "topics.delete", "topics.pin", "topics.unmerge", "trajectory.delete", "trajectory.prune",
        )
    ),
}  # fmt: skip
READERS = frozenset(
    (
        "about", "at", "brief", "events", "export", "lookup", "open", "pending", "recall", "refresh", "stats", "usage",
        "verify", "why_not",
        "archive.find", "archive.get", "archive.list", "capabilities.get", "capabilities.list", "capabilities.match",
        "dreams.diff", "dreams.list", "dreams.show", "facts.get", "facts.history", "facts.list", "imports.list",
        "imports.show", "knowledge.edges", "knowledge.find", "knowledge.find_graph", "knowledge.get", "knowledge.graph",
        "knowledge.graphs", "knowledge.nodes", "knowledge.query", "knowledge.shortest_path", "knowledge.subgraph",
        "notes.duplicates", "notes.find", "notes.get", "notes.history", "notes.links", "notes.list", "profile.brief",
        "profile.get", "profile.history", "projects.count", "projects.list", "projects.schema", "scenes.context",
        "scenes.get", "scenes.list", "summary.check", "summary.latest", "topics.get", "topics.list", "topics.messages",
        "trajectory.read", "trajectory.sessions", "trajectory.stats",
    )
)  # fmt: skip


def written(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data), "utf-8")
    return path


def calls(db: DB) -> Iterator[str]:
    """Every public method of a memory and its namespaces, by name."""
    for name, member in inspect.getmembers_static(DB):
        if name.startswith("_"):
            continue
        if not isinstance(member, property):
            yield name
        elif isinstance(space := getattr(db, name), Namespace) or name == "dreams":
            for inner, _ in inspect.getmembers(space, inspect.ismethod):
                if not inner.startswith("_"):
                    yield f"{name}.{inner}"


def words_in(path: Path) -> list[str]:
    """Which of the two can be read in the file, in whatever case."""
    data = path.read_bytes().lower()
    parts = (KEY, KEY.removeprefix("sk-proj-"), PRIVATE)
    return [part for part in parts if part.lower().encode() in data]


def test_every_call_is_known(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        assert set(calls(db)) == WRITERS.keys() | READERS
    assert not WRITERS.keys() & READERS


@pytest.mark.parametrize("name", sorted(name for name, call in WRITERS.items() if call is not None))
def test_nothing_gets_through(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.meh"
    call = WRITERS[name]
    assert call is not None
    with memory(path, actor=bad("me")) as db:
        world = World(db, tmp_path)
        before = db.stats().commit
        call(world)
        assert db.stats().commit > before
        db.dream()
        db.checkpoint()
        assert words_in(path) == []
        assert db.recall(PRIVATE).hits == ()
    assert words_in(path) == []


def test_it_is_counted(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        assert db.stats().redacted == 0
        note = db.remember(bad("a note"), metadata={"k": KEY})
        assert (note.redacted, note.text) == (3, "a note [secret:openai-key] ")
        turn = db.search(bad("a question"))
        assert db.archive.get(turn.message_id).redacted == 2
        db.update(turn.new_topic_id, KEY)
        db.archive.append_many([{"text": KEY}])
        step = db.trajectory.append("s", "tool_call", bad("x"))
        assert step.redacted == 2
        assert db.stats().redacted == 3 + 2 + 1 + 1 + 2
        db.notes.update(note.id, text=f"now {KEY}")
        assert db.notes.get(note.id).redacted == 4
        db.forget(note.id, hard=True)
        assert db.stats().redacted == 6


def test_what_is_compared_is_what_is_stored(tmp_path: Path) -> None:
    """The same words once more are the same note, and the same names lead to the same thing."""
    with memory(tmp_path / "a.meh") as db:
        first = db.remember(bad("a note"))
        assert db.remember(bad("a note")).id == first.id
        named = db.remember("one", external_id=bad("name"))
        assert db.remember("two", external_id=bad("name")).id == named.id
        again = db.remember("three", idempotency_key=bad("key"))
        assert db.remember("three", idempotency_key=bad("key")).id == again.id
        messages = [{"text": bad("said"), "session": "s", "external_id": bad("m")}] * 2
        assert len(set(db.archive.append_many(messages))) == 1


def test_refuse(tmp_path: Path) -> None:
    config = Config(secrets=SecretsSection(policy="refuse", projects={"Straße": "mask", "open": "allow"}))
    path = tmp_path / "a.meh"
    with memory(path, config=config) as db:
        for call in (
            lambda: db.remember(f"a {KEY}"),
            lambda: db.remember_many(["fine", f"a {KEY}"]),
            lambda: db.search(f"a {KEY}"),
            lambda: db.trajectory.append("s", "t", f"a {KEY}"),
            lambda: db.remember("a", metadata={"password": "q8W7e6R5t4"}),
        ):
            with pytest.raises(InvalidRequest) as caught:
                call()
            assert KEY not in str(caught.value)
            assert "holds a secret" in str(caught.value)
        assert db.stats().commit == 0
        assert db.remember(f"a {KEY}", project="STRASSE").text == "a [secret:openai-key]"
        assert db.remember(f"a {KEY} <private>b</private>", project="open").text == f"a {KEY} "


def test_allow_keeps_secrets_but_never_private_spans(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path, config=Config(secrets=SecretsSection(policy="allow"))) as db:
        note = db.remember(bad("a note"))
        assert (note.text, note.redacted) == (f"a note {KEY} ", 1)
        turn = db.search(bad("who?"), project="open")
        db.update(turn.new_topic_id, bad("you"))
    assert words_in(path) == [KEY, KEY.removeprefix("sk-proj-")]


@pytest.mark.parametrize("policy", ["mask", "refuse", "allow"])
def test_nothing_but_private_is_refused(tmp_path: Path, policy: str) -> None:
    with memory(tmp_path / "a.meh", config=Config(secrets=SecretsSection(policy=policy))) as db:
        turn = db.search("who?")
        for call in (
            lambda: db.remember(" <private>a</private> "),
            lambda: db.search("<PRIVATE>a"),
            lambda: db.update(turn.new_topic_id, "<private>a<private>b</private></private>"),
            lambda: db.archive.append_many([{"text": "<private>a</private>"}]),
            lambda: db.trajectory.append("s", "t", "<private>a</private>"),
        ):
            with pytest.raises(InvalidRequest, match="private"):
                call()


def test_a_policy_that_is_none(tmp_path: Path) -> None:
    for section in (SecretsSection(policy="ignore"), SecretsSection(projects={"p": "ignore"})):
        with (
            memory(tmp_path / "a.meh", config=Config(secrets=section)) as db,
            pytest.raises(InvalidRequest, match=r"secrets\."),
        ):
            db.remember("a")


def test_what_is_no_secret_is_stored_as_it_is(tmp_path: Path) -> None:
    metadata = {"n": [1, 2.5, None, True, NOW], "long": 10**15, "d": {"id": "x"}}
    with memory(tmp_path / "a.meh") as db:
        note = db.remember("a\tb\n  c", tags=["x"], metadata=metadata)
        assert (note.text, note.metadata, note.redacted) == ("a\tb\n  c", metadata, 0)
        assert db.remember("b", metadata={"card": 4111111111111111}).metadata == {"card": "[secret:card-number]"}
