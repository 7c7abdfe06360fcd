"""The 32 tools of the Go library: their names, parameters and result fields, and that their faults are none of ours.

Each entry of FAULTS below is a fault of the tools as hosts knew them; a test of the same name shows that it is gone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memhop import DB
from memhop.api.results import Capability
from memhop.server.operation import WRITE
from memhop.server.operations import OPERATIONS
from tests.server.operations.layers import CARD, HOST, WORKING, ask, data_of, filled
from tests.support.memories import DAY, NO_ID, NOW, memory
from tests.test_parity import TOOLS

# A model has no clock, so that `timestamp` may be left out, which it could not be.
# name: parameters, * where one is needed | fields of the reply, [] where they are those of its items
TABLE = """
search: text* timestamp directed_l2_id directed_l3_id auto_create
      | profile profile_brief contexts associated_contexts new_topic_id capabilities
update: topic_id* text* timestamp | ok
dream: scene_id | consolidated
checkpoint: | ok
status: | closed has_active_scenes
profile_get: | name role personality preferences lexicon style_traits emotion_patterns
profile_update: name role personality preferences lexicon style_traits emotion_patterns | ok
scene_list: | [] scene_id scene_name topic_count hit_count last_hit_at
scene_active_list: | [] scene_id scene_name topic_count hit_count last_hit_at
scene_topics: scene_id* | scene_name topic_count topics
scene_merge: primary_id* secondary_ids* | ok
knowledge_get: id* | Slot Nodes Edges
knowledge_list: | [] id_hash name source created_at updated_at
knowledge_import: items* mode* | created_ids updated_ids skipped_count errors
knowledge_update: id* name | id_hash name source created_at updated_at
knowledge_delete: id* | ok
knowledge_nodes: graph_id* ids keyword node_type limit
      | [] id_hash graph_id title node_type content keywords source_ref created_at updated_at
knowledge_subgraph: graph_id* start_node_id* max_depth edge_kinds | Nodes Edges
archive_search: keyword start end ids topic_id | [] id_hash content_type role context_id created_at content
archive_get: id* | id_hash content_type role context_id created_at content
capability_import: document*
      | id_hash name version type summary trigger resources workflow status origin file_hash success_rate trigger_count
        last_triggered created_at updated_at
capability_get: id*
      | id_hash name version type summary trigger resources workflow status origin file_hash success_rate trigger_count
        last_triggered created_at updated_at
capability_delete: id* | ok
capability_list: status type keyword | [] id_hash name version type summary trigger status origin resources workflow
capability_activate: id* | id_hash status
capability_usage: id* success* | id_hash trigger_count success_rate last_triggered
capability_update: id* version type summary trigger status resources workflow | id_hash summary
trajectory_append: session_id* event_type* timestamp payload l4_ref | ok
trajectory_read: session_id* | [] id_hash session_id seq event_type payload l4_ref timestamp
trajectory_stats: session_id* | steps tool_usage last_append_at
trajectory_delete: session_id* | ok
crystallize: session_id* | created_ids reused_ids merged_ids errors details
"""


def rows() -> dict[str, tuple[list[str], list[str]]]:
    found: dict[str, tuple[list[str], list[str]]] = {}
    for entry in TABLE.strip().replace("\n      ", " ").splitlines():
        name, _, rest = entry.partition(":")
        parameters, _, fields = rest.partition("|")
        found[f"memhop_{name}"] = parameters.split(), fields.split()
    return found


ROWS = rows()


def test_the_table_has_all_of_them() -> None:
    assert set(ROWS) == set(TOOLS)
    assert len(ROWS) == 32


@pytest.mark.parametrize("name", TOOLS)
def test_its_parameters_are_there_and_needed_where_they_were(name: str) -> None:
    """Others of ours may stand beside them, but none that is needed."""
    parameters = OPERATIONS[name].parameters
    assert {one.rstrip("*") for one in ROWS[name][0]} <= set(parameters.kinds)
    assert list(parameters.needed) == [one.rstrip("*") for one in ROWS[name][0] if one.endswith("*")]


@pytest.mark.parametrize("name", TOOLS)
def test_its_result_has_the_fields(name: str, tmp_path: Path) -> None:
    db, ids = filled(tmp_path / "a.meh")
    with db:
        data = data_of(db, name, **WORKING[name](ids))
    fields = ROWS[name][1]
    if fields[0] == "[]":
        assert data["items"]
        for item in data["items"]:
            assert set(fields[1:]) <= set(item)
    else:
        assert set(fields) <= set(data)


def test_a_host_that_does_not_know_of_ours_goes_through_a_session(tmp_path: Path) -> None:
    """The loop as hosts of the Go library drive it: numbers for times, nothing but its own parameters."""
    with memory(tmp_path / "a.meh", durability="none") as db:
        topics = []
        for number in range(4):
            at = NOW - DAY + number * 60_000
            found = data_of(db, "memhop_search", text=f"Turn {number} about the keel", timestamp=at)
            topics.append(found["new_topic_id"])
            assert data_of(db, "memhop_update", topic_id=topics[-1], text=f"Answer {number}", timestamp=at + 1)["ok"]
        (scene,) = data_of(db, "memhop_scene_list")["items"]
        assert scene["topic_count"] == 4
        shown = data_of(db, "memhop_scene_topics", scene_id=scene["scene_id"])["topics"]
        assert [topic["topic_id"] for topic in shown] == topics
        assert all(len(topic["l4_refs"]) == 2 for topic in shown)
        first = data_of(db, "memhop_archive_get", id=shown[0]["l4_refs"][1])
        assert (first["content"], first["role"], first["context_id"]) == ("Answer 0", "agent", topics[0])
        assert data_of(db, "memhop_status")["has_active_scenes"]
        assert data_of(db, "memhop_dream", scene_id="")["consolidated"]
        assert not data_of(db, "memhop_status")["has_active_scenes"]
        assert not data_of(db, "memhop_dream")["consolidated"], "nothing is left to do, and it says so"


FAULTS = """
node_ids_of_edges_were_numbers
enums_were_numbers_in_results_and_words_in_arguments
a_topic_alone_found_no_messages
keywords_were_case_sensitive_and_messages_in_no_order
cards_were_read_from_paths_of_the_server
nothing_of_a_card_could_be_cleared
search_did_not_say_that_it_stores
a_failed_dream_was_said_to_have_consolidated
a_profile_was_overwritten_as_a_whole
a_renamed_graph_was_overwritten_by_the_next_import
any_record_could_be_deleted_as_a_graph
merging_scenes_checked_no_ids
lists_had_no_bounds
descriptions_were_in_one_language_and_wrong
times_that_were_no_times_were_taken_as_zero
an_edge_could_be_made_by_nobody
nothing_said_could_be_deleted
unknown_arguments_were_ignored
""".split()


def test_every_fault_has_a_test() -> None:
    assert [name for name in FAULTS if f"test_{name}" not in globals()] == []


def test_node_ids_of_edges_were_numbers(tmp_path: Path) -> None:
    """Ids beyond 2**53 lost their last digits in JSON, so that nothing could be asked with them."""
    db, ids = filled(tmp_path / "a.meh")
    with db:
        (edge,) = data_of(db, "memhop_knowledge_get", id=ids.graph)["Edges"]
        assert edge["node_ids"] == [ids.other_node, ids.node]
        again = data_of(db, "memhop_knowledge_nodes", graph_id=ids.graph, ids=edge["node_ids"])
        assert [node["title"] for node in again["items"]] == ["Keel", "Hull"]


def test_enums_were_numbers_in_results_and_words_in_arguments(tmp_path: Path) -> None:
    db, ids = filled(tmp_path / "a.meh")
    with db:
        (edge,) = data_of(db, "memhop_knowledge_get", id=ids.graph)["Edges"]
        around = {"graph_id": ids.graph, "start_node_id": ids.node}
        assert len(data_of(db, "memhop_knowledge_subgraph", **around, edge_kinds=[edge["kind"]])["Nodes"]) == 2
        assert len(data_of(db, "memhop_knowledge_subgraph", **around, edge_kinds=["causal"])["Nodes"]) == 1
        card = data_of(db, "memhop_capability_get", id="greet")
        assert (card["status"], card["type"]) == ("active", "skill")
        listed = data_of(db, "memhop_capability_list", status=card["status"], type=card["type"], keyword="greet")
        assert [one["name"] for one in listed["items"]] == ["greet"]
        message = data_of(db, "memhop_archive_get", id=ids.message)
        assert (message["role"], message["content_type"]) == ("user", "text")


def test_a_topic_alone_found_no_messages(tmp_path: Path) -> None:
    """And so does everything else that may be asked for, alone or with others."""
    db, ids = filled(tmp_path / "a.meh")

    def found(**asked: Any) -> list[str]:
        return [one["content"] for one in data_of(db, "memhop_archive_search", **asked)["items"]]

    with db:
        of_topic = ["Which paint for the hull of the boat?", "Epoxy, two coats."]
        assert found(topic_id=ids.topic) == of_topic
        assert found(end=NOW - 2 * DAY) == ["Hello from afar"], "what was said at that very moment counts"
        assert found(end=NOW - 2 * DAY - 1) == []
        assert found(start=NOW - DAY + 120_000, end=NOW - DAY + 120_000) == ["And which brush for the epoxy?"]
        assert found(ids=[ids.reply, ids.message]) == ["Epoxy, two coats.", "Hello from afar"]
        assert found(ids=[ids.reply, ids.message], keyword="epoxy") == ["Epoxy, two coats."]
        assert found(ids=[ids.reply, ids.message], topic_id=ids.topic) == ["Epoxy, two coats."]
        assert found(topic_id=ids.topic, keyword="two coats") == ["Epoxy, two coats."]
        assert found(topic_id=ids.topic, start=NOW - DAY + 1) == ["Epoxy, two coats."]
        assert len(found()) == 6
        reply = ask(db, "memhop_archive_search", ids=[NO_ID, ids.message])
        assert reply.data["missing"] == [NO_ID]
        assert NO_ID in reply.text
        assert ask(db, "memhop_archive_search", ids=[]).data["field"] == "ids"
        assert ask(db, "memhop_archive_search", topic_id=NO_ID).data["error"] == "NotFound"


def test_keywords_were_case_sensitive_and_messages_in_no_order(tmp_path: Path) -> None:
    db, _ = filled(tmp_path / "a.meh")
    with db:
        whole = data_of(db, "memhop_archive_search", keyword="EPOXY")["items"]
        assert [one["content"][:4] for one in whole] == ["Epox", "How ", "And "]
        paged: list[Any] = []
        cursor = None
        while True:
            page = data_of(db, "memhop_archive_search", keyword="epoxy", limit=1, cursor=cursor)
            paged += page["items"]
            cursor = page["next"]
            if cursor is None:
                break
        assert paged == whole
        assert data_of(db, "memhop_archive_search", keyword="epoxy", newest_first=True)["items"] == whole[::-1]


def test_cards_were_read_from_paths_of_the_server(tmp_path: Path) -> None:
    """A client could ask for any file that the server can read, or learn whether it exists."""
    path = tmp_path / "card.json"
    path.write_text(json.dumps(CARD))
    with memory(tmp_path / "a.meh") as db:
        for given in ({"path": str(path)}, {"document": str(path)}, {"document": {"path": str(path)}}):
            reply = ask(db, "memhop_capability_import", **given)
            assert reply.failed
            assert reply.data["error"] == "InvalidRequest"
        assert not [one for one in db.capabilities.list().items if one.origin == "imported"]
        assert data_of(db, "memhop_capability_import", document=CARD)["action"] == "created"
        assert data_of(db, "memhop_capability_import", document=path.read_text())["action"] in ("unchanged", "updated")
        assert data_of(db, "memhop_capability_import", document=CARD)["status"] == "active"
        refused = ask(db, "memhop_capability_import", document=CARD | {"type": "wizardry"})
        assert refused.data["field"] is not None
        assert refused.failed


def test_nothing_of_a_card_could_be_cleared(tmp_path: Path) -> None:
    db, _ = filled(tmp_path / "a.meh")
    with db:
        changed = data_of(db, "memhop_capability_update", id="greet", trigger="", summary="Hello")
        assert (changed["trigger"], changed["summary"]) == ("", "Hello")
        kept = data_of(db, "memhop_capability_update", id="greet", version="2")
        assert (kept["summary"], kept["version"], kept["resources"]) == ("Hello", "2", changed["resources"])
        assert ask(db, "memhop_capability_update", id="greet", status="draft").failed, "it is not silently ignored"
        assert ask(db, "memhop_capability_update", id="greet", summary="").failed, "the whole must be a card"
        assert data_of(db, "memhop_capability_usage", id="greet", success=True)["success_rate"] == 1.0
        assert data_of(db, "memhop_capability_usage", id="greet", success=False)["success_rate"] == 0.5
        for name in ("activate", "delete", "usage"):
            more = {"success": True} if name == "usage" else {}
            assert "read-only" in ask(db, f"memhop_capability_{name}", id="memhop-guide", **more).text


def test_search_did_not_say_that_it_stores(tmp_path: Path) -> None:
    """Every question became a memory, and there was no way to ask without that."""
    search, recall = OPERATIONS["memhop_search"], OPERATIONS["memhop_recall"]
    assert "STORES" in search.about
    assert "memhop_recall" in search.about
    assert (search.scope, recall.scope) == (WRITE, "read")
    db, _ = filled(tmp_path / "a.meh")
    with db:
        before = len(db.archive.list().items)
        data_of(db, "memhop_recall", query="Which paint?")
        assert len(db.archive.list().items) == before
        reply = ask(db, "memhop_search", text="Which paint?", timestamp="now", external_id="m1", session="s1")
        assert f"stored as topic {reply.data['new_topic_id']}" in reply.text
        assert "Epoxy, two coats." in reply.text
        again = data_of(db, "memhop_search", text="Which paint?", timestamp="now", external_id="m1", session="s1")
        assert again["new_topic_id"] == reply.data["new_topic_id"]
        assert len(db.archive.list().items) == before + 1
        fresh = data_of(db, "memhop_search", text="Which paint?", timestamp=NOW, auto_create=True)
        assert fresh["new_scene"]
        assert fresh["hits"], "a new scene does not keep it from looking"


def test_a_failed_dream_was_said_to_have_consolidated(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        assert data_of(db, "memhop_dream")["consolidated"] is False
    db, ids = filled(tmp_path / "b.meh")
    with db:
        dry = data_of(db, "memhop_dream", dry_run=True)
        assert dry["consolidated"]
        assert dry["dry_run"]
        assert db.scenes.list(fresh=True).items
        done = data_of(db, "memhop_dream")
        number = done["number"]
        assert done["consolidated"]
        assert data_of(db, "memhop_dream_list")["items"][0]["number"] == number
        assert data_of(db, "memhop_dream_show", number=number)["changed"] == done["changed"]
        assert data_of(db, "memhop_dream_diff", number=number)["items"]
        assert data_of(db, "memhop_dream_undo", number=number)["ok"]
        assert ask(db, "memhop_dream_undo", number=number).data["error"] == "InvalidRequest"
        assert ask(db, "memhop_dream", scene_id=NO_ID).data["error"] == "NotFound"
        assert data_of(db, "memhop_dream", scene_id=ids.scene)["scene"] == ids.scene


def test_a_profile_was_overwritten_as_a_whole(tmp_path: Path) -> None:
    db, _ = filled(tmp_path / "a.meh")
    with db:
        reply = ask(
            db, "memhop_profile_update", role="pilot", preferences={"tone": "dry"}, emotion_patterns={"valence": "1"}
        )
        assert "cannot be set" in reply.text
        assert "cannot be set" in reply.data["notice"]
        found = data_of(db, "memhop_profile_get")
        assert (found["name"], found["role"]) == ("Juno", "pilot")
        assert found["preferences"] == {"language": "German", "tone": "dry"}
        assert found["emotion_patterns"] == {}
        assert "notice" not in data_of(db, "memhop_profile_update", preferences={"tone": None})
        assert data_of(db, "memhop_profile_get")["preferences"] == {"language": "German"}
        refused = ask(db, "memhop_profile_update", preferences={"tone": 5})
        assert refused.data["field"] == "preferences.tone"


def test_a_renamed_graph_was_overwritten_by_the_next_import(tmp_path: Path) -> None:
    db, ids = filled(tmp_path / "a.meh")
    with db:
        data_of(db, "memhop_knowledge_update", id=ids.graph, name="boats")
        item = {"title": "Hull", "domain": "boat", "content": "Steel."}
        new = data_of(db, "memhop_knowledge_import", items=[item], mode="overwrite")
        assert new["created_ids"] != [ids.node]
        assert data_of(db, "memhop_knowledge_node_get", id=ids.node)["content"] == "Made of oak."
        assert {one["name"] for one in data_of(db, "memhop_knowledge_list")["items"]} == {"boat", "boats"}
        skipped = data_of(db, "memhop_knowledge_import", items=[item], mode="Skip")
        assert skipped["skipped_count"] == 1
        broken = data_of(db, "memhop_knowledge_import", items=[item | {"title": ""}], mode="Merge")
        assert len(broken["errors"]) == len(broken["faults"]) == 1
        assert isinstance(broken["errors"][0], str)
        assert ask(db, "memhop_knowledge_import", items=[item], mode="Replace").data["field"] == "mode"
        assert (
            ask(db, "memhop_knowledge_import", items=[{"title": "x"}], mode="Merge").data["field"] == "items[0].domain"
        )


def test_any_record_could_be_deleted_as_a_graph(tmp_path: Path) -> None:
    db, ids = filled(tmp_path / "a.meh")
    with db:
        assert ask(db, "memhop_knowledge_delete", id=ids.scene).data["error"] == "NotFound"
        assert data_of(db, "memhop_scene_get", scene_id=ids.scene)["ok"]
        assert data_of(db, "memhop_knowledge_delete", id=NO_ID) == {"ok": True, "deleted": False}
        assert data_of(db, "memhop_knowledge_delete", id=ids.graph) == {"ok": True, "deleted": True}
        assert ask(db, "memhop_knowledge_get", id=ids.graph).data["error"] == "NotFound"


def test_merging_scenes_checked_no_ids(tmp_path: Path) -> None:
    db, ids = filled(tmp_path / "a.meh")
    with db:
        for secondaries in ([ids.scene], [NO_ID], [ids.topic], [], ["xyz"], [ids.other_scene, ids.other_scene]):
            refused = ask(db, "memhop_scene_merge", primary_id=ids.scene, secondary_ids=secondaries)
            assert refused.failed, secondaries
            assert str(refused.data["field"]).startswith("secondary_ids"), refused.data
        assert len(data_of(db, "memhop_scene_list")["items"]) == 2
        assert data_of(db, "memhop_scene_merge", primary_id=ids.scene, secondary_ids=[ids.other_scene])["topics"] == 4
        assert len(data_of(db, "memhop_scene_list")["items"]) == 1


def test_lists_had_no_bounds() -> None:
    """Each listing has a limit with a default and a greatest value, and where it goes on, a cursor."""
    for name in TOOLS:
        if ROWS[name][1][:1] == ["[]"] or name in ("memhop_scene_topics", "memhop_knowledge_get"):
            schema = OPERATIONS[name].parameters.schema()["properties"]
            assert schema["limit"]["default"] <= 20
            assert schema["limit"]["maximum"] <= 200
            assert "cursor" in schema


def test_descriptions_were_in_one_language_and_wrong() -> None:
    """English, with an example; what they said of auto_create and of messages by topic was wrong."""
    assert "without looking" in OPERATIONS["memhop_search"].parameters.kinds["auto_create"].about
    assert '{"topic_id": ' in OPERATIONS["memhop_archive_search"].about
    keyword = OPERATIONS["memhop_knowledge_nodes"].parameters.kinds["keyword"].about
    assert "content" in keyword
    assert "summary" in OPERATIONS["memhop_capability_list"].parameters.kinds["keyword"].about
    for name in TOOLS:
        assert OPERATIONS[name].about.isascii() or "…" in OPERATIONS[name].about
        assert "Example: {" in OPERATIONS[name].about


@pytest.mark.parametrize("given", ["", "yesterday", True, -1, 10**30, 1.5, [], {}])
def test_times_that_were_no_times_were_taken_as_zero(given: Any, tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        refused = ask(db, "memhop_search", text="Hello", timestamp=given)
        assert refused.failed
        assert refused.data["field"] == "timestamp"
        assert not db.archive.list().items


@pytest.mark.parametrize("given", [None, NOW, str(NOW), "2026-05-28T20:26:40Z", "2026-05-28T22:26:40+02:00", "now"])
def test_a_time_may_be_said_in_several_ways(given: Any, tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        data_of(db, "memhop_search", text="Hello", timestamp=given)
        assert [one.at for one in db.archive.list().items] == [NOW]


def test_an_empty_text_stands_for_an_id_that_is_not_given(tmp_path: Path) -> None:
    """Hosts that fill in every field of theirs send "" for those that they do not use."""
    db, ids = filled(tmp_path / "a.meh")
    with db:
        data_of(db, "memhop_search", text="Hi", timestamp=NOW, directed_l2_id="", directed_l3_id="", auto_create=False)
        assert len(data_of(db, "memhop_archive_search", topic_id="", keyword="", start=0, end=0)["items"]) == 7
        assert len(data_of(db, "memhop_archive_search", topic_id="", ids=[ids.message])["items"]) == 1
        step = {"session_id": "r", "event_type": "x", "l4_ref": ""}
        assert data_of(db, "memhop_trajectory_append", **step, timestamp=NOW)["l4_ref"] is None
        data_of(db, "memhop_trajectory_append_many", session_id="r", steps=[{"event_type": "x", "l4_ref": ""}])
        assert data_of(db, "memhop_dream", scene_id="")["scene"] is None
        assert data_of(db, "memhop_knowledge_nodes", graph_id=ids.graph, keyword="", node_type="")["items"]
        assert ask(db, "memhop_scene_get", scene_id="").data["field"] == "scene_id"


def test_an_edge_could_be_made_by_nobody(tmp_path: Path) -> None:
    """What lies around a node was the node alone."""
    db, ids = filled(tmp_path / "a.meh")
    with db:
        edge = data_of(db, "memhop_knowledge_connect", graph_id=ids.graph, node_ids=[ids.node, ids.other_node])
        found = data_of(db, "memhop_knowledge_subgraph", graph_id=ids.graph, start_node_id=ids.node)
        assert len(found["Edges"]) == 2
        way = {"graph_id": ids.graph, "from_node_id": ids.node, "to_node_id": ids.other_node}
        assert data_of(db, "memhop_knowledge_path", **way)["found"]
        assert not data_of(db, "memhop_knowledge_path", **way, edge_kinds=["causal"])["found"]
        assert data_of(db, "memhop_knowledge_disconnect", edge_id=edge["id"])["deleted"]


def test_nothing_said_could_be_deleted(tmp_path: Path) -> None:
    db, ids = filled(tmp_path / "a.meh")
    with db:
        assert data_of(db, "memhop_archive_delete", id=ids.message)["ok"]
        assert ask(db, "memhop_archive_get", id=ids.message).data["error"] == "NotFound"
        tried = data_of(db, "memhop_topic_delete", topic_id=ids.topic, dry_run=True)
        assert tried["erased"]["message"] == 2
        assert data_of(db, "memhop_topic_delete", topic_id=ids.topic)["erased"] == tried["erased"]
        data_of(db, "memhop_scene_delete", scene_id=ids.scene)
        assert ask(db, "memhop_scene_topics", scene_id=ids.scene).data["error"] == "NotFound"
        note = db.remember("a note is no message")
        for other in (ids.other_scene, note.id):
            assert ask(db, "memhop_archive_delete", id=other).data["error"] == "NotFound"
        assert db.notes.get(note.id).text == note.text


def test_unknown_arguments_were_ignored(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        for name in TOOLS:
            refused = OPERATIONS[name].call(HOST, db, {"tenant": "other"})
            assert refused.failed
            assert refused.data["field"] == "tenant"


def test_cards_that_come_along_can_be_read_by_id(tmp_path: Path) -> None:
    with DB.open(tmp_path / "a.meh") as db:
        names: list[str] = []
        cursor = None
        while True:
            page = data_of(db, "memhop_capability_list", origin="builtin", cursor=cursor)
            names += [one["name"] for one in page["items"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert names == [one.name for one in db.capabilities.list(origin="builtin").items]
        one: Capability = db.capabilities.get("memhop-guide")
        assert data_of(db, "memhop_capability_get", id=one.id)["name"] == "memhop-guide"
