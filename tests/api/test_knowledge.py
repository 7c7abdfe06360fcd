"""`db.knowledge`: graphs, nodes and edges, written, renamed, imported, asked and erased."""

from __future__ import annotations

from collections import deque
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memhop import DB, HashEmbedder, InvalidRequest, NotFound
from memhop.common.clock import ManualClock
from memhop.search import knowledge as walks
from tests.api.test_erasure import dangling
from tests.support.memories import HOUR, NO_ID, NOW, copied, every, memory, texts

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
SLOW = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def sound(db: DB) -> None:
    """Views equal records, and no reference leads nowhere."""
    assert db.verify(deep=True).ok
    assert not dangling(db)


def chain(db: DB, titles: str, graph: str = "g") -> tuple[str, dict[str, str]]:
    """A graph with a node for each letter; its id and theirs."""
    ids = {title: db.knowledge.put(graph, title) for title in titles}
    return str(next(iter(ids.values())).graph_id), {title: node.id for title, node in ids.items()}


class TestGraphs:
    def test_created_found_listed(self, tmp_path: Path) -> None:
        clock = ManualClock(NOW)
        with memory(tmp_path / "a.meh", clock=clock) as db:
            made = db.knowledge.create_graph("boats", source_kind="path", source="docs/boats.md")
            assert (made.name, made.source_kind, made.source) == ("boats", "path", "docs/boats.md")
            assert (made.created_at, made.updated_at, made.nodes, made.edges) == (NOW, NOW, 0, 0)
            db.knowledge.put("boats", "kayak")
            db.knowledge.put("garden", "slug")
            found = db.knowledge.find_graph("boats")
            assert found is not None
            assert (found.id, found.nodes) == (made.id, 1)
            assert db.knowledge.graph(made.id) == found
            assert db.knowledge.find_graph("Boats") is None
            assert {graph.name for graph in every(db.knowledge.graphs, page=1)} == {"boats", "garden"}
            with pytest.raises(InvalidRequest, match="there is a graph 'boats'"):
                db.knowledge.create_graph("boats")
            with pytest.raises(InvalidRequest) as caught:
                db.knowledge.create_graph("other", source_kind="url")
            assert caught.value.field == "source"

    def test_what_comes_under_an_old_name_is_another_graph(self, tmp_path: Path) -> None:
        """Ids were hashes of names, so that an import under the old name of a renamed graph took its place."""
        clock = ManualClock(NOW)
        with memory(tmp_path / "a.meh", clock=clock) as db:
            kayak = db.knowledge.put("boats", "kayak", "laminated")
            clock.advance(HOUR)
            renamed = db.knowledge.rename_graph(str(kayak.graph_id), "ships")
            assert (renamed.id, renamed.name, renamed.updated_at) == (kayak.graph_id, "ships", NOW + HOUR)
            result = db.knowledge.import_([{"graph": "boats", "title": "kayak", "content": "another"}], "overwrite")
            other = db.knowledge.get(result.created_ids[0])
            assert other.graph_id != kayak.graph_id
            assert db.knowledge.get(kayak.id) == kayak
            assert db.knowledge.find("ships", "kayak") == kayak
            assert db.knowledge.find("boats", "kayak") == other
            assert db.knowledge.put("boats", "paddle").graph_id == other.graph_id
            assert db.knowledge.put("ships", "paddle").graph_id == kayak.graph_id
            with pytest.raises(InvalidRequest, match="there is a graph 'boats'"):
                db.knowledge.rename_graph(str(kayak.graph_id), "boats")
            assert db.knowledge.rename_graph(str(kayak.graph_id), "ships") == db.knowledge.find_graph("ships")
            sound(db)
            db.checkpoint()
        with memory(tmp_path / "a.meh", clock=clock) as db:
            assert db.knowledge.find("boats", "kayak") == other
            assert db.knowledge.find("ships", "kayak") == kayak
            assert db.knowledge.delete_graph(str(other.graph_id))
            assert db.knowledge.rename_graph(str(kayak.graph_id), "boats").id == kayak.graph_id
            assert db.knowledge.find("boats", "kayak") == kayak
            sound(db)

    def test_a_graph_of_an_earlier_build_is_known_by_its_name(self, tmp_path: Path) -> None:
        """Its listing in a sealed index is as that build wrote it."""
        with memory(copied(FIXTURES / "v1-full.meh", tmp_path / "a.meh")) as db:
            (graph,) = every(db.knowledge.graphs)
            (node,) = every(db.knowledge.nodes, graph_id=graph.id)
            assert db.knowledge.find(graph.name, node.title) == node
            assert db.knowledge.find_graph(graph.name) == graph
            assert db.knowledge.put(graph.name, "added").graph_id == graph.id
            db.knowledge.rename_graph(graph.id, "renamed")
            assert db.knowledge.find("renamed", node.title) == node
            assert db.knowledge.put(graph.name, node.title).graph_id != graph.id
            sound(db)

    def test_deleting_takes_nodes_edges_and_links_along(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with memory(path) as db:
            boats, ids = chain(db, "ABC", "boats")
            kept = db.knowledge.put("garden", "slug")
            db.knowledge.connect(boats, [ids["A"], ids["B"], ids["C"]], "part_of", label="qxzlabel")
            db.knowledge.update(ids["A"], content="qxzcontent laminated")
            note = db.remember("see there", links=[ids["A"], boats])
            turn = db.search("what about A?", directed_l3_id=boats)
            assert db.topics.get(turn.new_topic_id).knowledge == (boats,)
            fact = db.facts.assert_("A", "is", "a hull", sources=[ids["A"]])
            before = db.stats().commit
            assert db.knowledge.delete_graph(boats)
            assert db.stats().commit == before + 1
            assert db.knowledge.find_graph("boats") is None
            for id_ in ids.values():
                with pytest.raises(NotFound):
                    db.knowledge.get(id_)
            assert db.topics.get(turn.new_topic_id).knowledge == ()
            assert db.notes.get(note.id).links == ()
            with pytest.raises(NotFound):
                db.facts.get(fact.id)
            assert db.recall("laminated", layers=["knowledge"]).hits == ()
            assert db.knowledge.get(kept.id) == kept
            assert not db.knowledge.delete_graph(boats)
            with pytest.raises(NotFound):
                db.knowledge.delete_graph(kept.id)
            with pytest.raises(NotFound):
                db.search("what about B?", directed_l3_id=boats)
            sound(db)
            db.compact(keep_history=True)
            sound(db)
        raw = path.read_bytes()
        assert b"qxzcontent" not in raw
        assert b"qxzlabel" not in raw

    def test_a_graph_deleted_while_a_turn_looks_in_it(self, tmp_path: Path) -> None:
        """The turn was stored with a link to a graph that was gone by then."""

        class Deleting(HashEmbedder):
            def embed(self, texts: Any, *, query: bool = False) -> Any:
                if query:
                    db.knowledge.delete_graph(graph)
                return super().embed(texts, query=query)

        with memory(tmp_path / "a.meh", embedder=Deleting(16)) as db:
            graph, _ = chain(db, "AB")
            db.backfill()
            with pytest.raises(NotFound) as caught:
                db.search("what about A?", directed_l3_id=graph)
            assert caught.value.field == "directed_l3_id"
            assert db.archive.list().items == ()
            sound(db)


class TestNodes:
    def test_changed_by_parts_and_by_title(self, tmp_path: Path) -> None:
        clock = ManualClock(NOW)
        with memory(tmp_path / "a.meh", clock=clock) as db:
            node = db.knowledge.put(
                "boats", "kayak", "laminated", node_type="thing", keywords=["hull"], source_ref="a.md:3"
            )
            assert (node.node_type, node.source_ref) == ("thing", "a.md:3")
            clock.advance(HOUR)
            assert db.knowledge.update(node.id) == node
            changed = db.knowledge.update(node.id, content="roto-moulded", source_ref="")
            assert (changed.content, changed.source_ref, changed.keywords) == ("roto-moulded", None, ("hull",))
            assert (changed.created_at, changed.updated_at) == (NOW, NOW + HOUR)
            renamed = db.knowledge.update(node.id, title="canoe")
            assert renamed.id == node.id
            assert db.knowledge.find("boats", "canoe") == renamed
            assert db.knowledge.find("boats", "kayak") is None
            assert db.knowledge.find("nothing", "kayak") is None
            other = db.knowledge.put("boats", "kayak", "a new one")
            assert other.id != node.id
            assert db.knowledge.get(node.id) == renamed
            with pytest.raises(InvalidRequest, match="has a node 'kayak'"):
                db.knowledge.update(node.id, title="kayak")
            assert texts(db.recall("roto-moulded", layers=["knowledge"])) == ["canoe\nroto-moulded"]
            sound(db)
            assert db.knowledge.delete(other.id)
            assert not db.knowledge.delete(other.id)
            assert db.knowledge.update(node.id, title="kayak").title == "kayak"
            for call in (db.knowledge.delete, db.knowledge.disconnect, db.knowledge.delete_graph, db.facts.delete):
                assert call(NO_ID) is False
            with pytest.raises(NotFound):
                db.knowledge.delete(str(node.graph_id))
            sound(db)

    def test_an_edge_stays_while_it_joins_two(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            graph, ids = chain(db, "ABC")
            edge = db.knowledge.connect(graph, [ids["C"], ids["A"], ids["B"]], "sequence")
            db.knowledge.delete(ids["A"])
            (left,) = every(db.knowledge.edges, graph_id=graph)
            assert left.node_ids == (ids["C"], ids["B"])
            db.knowledge.delete(ids["C"])
            assert every(db.knowledge.edges, graph_id=graph) == []
            assert not db.knowledge.disconnect(edge.id)
            sound(db)


class TestImport:
    def test_items_at_fault_are_listed_and_the_others_written_in_one_commit(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            before = db.stats().commit
            found = db.knowledge.import_(
                [
                    {"graph": "g", "title": "A", "related": ["B", "nowhere", "A"]},
                    {"graph": "g", "title": ""},
                    {"graph": "g", "title": "B", "content": "told later", "related": ["A"]},
                    {"graph": "g", "title": "C", "domain": "g"},
                    {"title": "D"},
                    "E",  # type: ignore[list-item]
                    {"graph": "g", "title": "F", "keywords": "abc"},
                    {"graph": "h", "title": "A", "keywords": ["k"], "related": ["B"]},
                ]
            )
            assert db.stats().commit == before + 1
            assert [(fault.index, fault.title, fault.field) for fault in found.errors] == [
                (0, "A", "related"),
                (0, "A", "related"),
                (1, "", "title"),
                (3, "C", "domain"),
                (4, "D", "graph"),
                (5, None, None),
                (6, "F", "keywords"),
                (7, "A", "related"),
            ]
            assert [db.knowledge.get(id_).title for id_ in found.created_ids] == ["A", "B", "A"]
            (edge,) = [
                edge for graph in every(db.knowledge.graphs) for edge in every(db.knowledge.edges, graph_id=graph.id)
            ]
            assert found.edge_ids == (edge.id,)
            assert set(edge.node_ids) == set(found.created_ids[:2])
            sound(db)
            assert "field" in found.to_dict()["errors"][0]

    @pytest.mark.parametrize(
        ("items", "mode", "field"), [([], "upsert", "mode"), ("ab", "skip", "items"), (5, "skip", "items")]
    )
    def test_what_is_no_import(self, tmp_path: Path, items: Any, mode: str, field: str) -> None:
        with memory(tmp_path / "a.meh") as db:
            with pytest.raises(InvalidRequest) as caught:
                db.knowledge.import_(items, mode)
            assert caught.value.field == field
            assert db.knowledge.import_([]).created_ids == ()

    def test_modes(self, tmp_path: Path) -> None:
        old = {
            "graph": "g",
            "title": "A",
            "content": "one line",
            "node_type": "t",
            "keywords": ["x", "y"],
            "source_ref": "r",
        }
        new = {"graph": "g", "title": "A", "content": "another", "keywords": ["y", "z"]}
        with memory(tmp_path / "a.meh") as db:
            (id_,) = db.knowledge.import_([old]).created_ids
            skipped = db.knowledge.import_([new], "skip")
            assert (skipped.skipped, skipped.updated_ids) == (1, ())
            merged = db.knowledge.import_([new], "merge")
            node = db.knowledge.get(id_)
            assert merged.updated_ids == (id_,)
            assert (node.content, node.node_type, node.keywords) == ("one line\nanother", "t", ("x", "y", "z"))
            again = db.knowledge.import_([new, old], "merge")
            assert (again.updated_ids, again.unchanged_ids) == ((), (id_,))
            longer = db.knowledge.import_([{**new, "content": "one line\nanother and more"}], "merge")
            assert db.knowledge.get(longer.updated_ids[0]).content == "one line\nanother and more"
            db.knowledge.import_([new], "overwrite")
            node = db.knowledge.get(id_)
            assert (node.content, node.node_type, node.keywords, node.source_ref) == ("another", None, ("y", "z"), None)
            assert db.knowledge.import_([new], "overwrite").unchanged_ids == (id_,)
            many = [{**new, "keywords": [f"{letter}{n}" for n in range(40)]} for letter in "ab"]
            fault = db.knowledge.import_(many, "merge").errors
            assert [(error.index, error.field) for error in fault] == [(1, "keywords")], "64 at most"

    @SLOW
    @given(
        st.lists(
            st.fixed_dictionaries(
                {"graph": st.sampled_from("gh"), "title": st.sampled_from("AB")},
                optional={
                    "content": st.text("ab\n", max_size=6).filter(lambda text: not text or bool(text.strip())),
                    "node_type": st.sampled_from(["", "t", "u"]),
                    "keywords": st.lists(st.sampled_from("xyz"), max_size=3),
                    "related": st.lists(st.sampled_from("ABC"), max_size=2),
                },
            ),
            max_size=6,
        )
    )
    def test_merging_once_more_changes_nothing(self, tmp_path: Path, items: list[dict[str, Any]]) -> None:
        path = tmp_path / "a.meh"
        path.unlink(missing_ok=True)
        with memory(path, durability="none") as db:
            one_by_one = [db.knowledge.import_([item], "merge") for item in items]
            assert all(len(found.created_ids) + len(found.updated_ids) <= 1 for found in one_by_one)
            for item in items:
                before = db.stats().commit
                found = db.knowledge.import_([{**item, "related": []}], "merge")
                node = db.knowledge.get((found.unchanged_ids or found.updated_ids)[0])
                assert item.get("content", "") in node.content
                assert set(item.get("keywords", ())) <= set(node.keywords)
                again = db.knowledge.import_([item], "merge")
                assert again.created_ids == again.updated_ids == ()
                assert db.stats().commit <= before + 2


class TestEdges:
    def test_the_same_edge_is_written_once(self, tmp_path: Path) -> None:
        clock = ManualClock(NOW)
        with memory(tmp_path / "a.meh", clock=clock) as db:
            graph, ids = chain(db, "ABC")
            a, b, c = ids.values()
            first = db.knowledge.connect(graph, [b, a], weight=0.5)
            assert (first.relation, first.weight, first.label, first.graph_id) == ("related", 0.5, None, graph)
            assert first.node_ids == tuple(sorted((a, b))), "related has no direction"
            clock.advance(HOUR)
            assert db.knowledge.connect(graph, (a, b), weight=0.5) == first
            heavier = db.knowledge.connect(graph, [a, b])
            assert (heavier.id, heavier.weight, heavier.created_at, heavier.updated_at) == (
                first.id,
                1,
                NOW,
                NOW + HOUR,
            )
            for relation in ("causal", "part_of", "sequence", "dependency", "custom"):
                forth = db.knowledge.connect(graph, [c, a], relation)
                back = db.knowledge.connect(graph, [a, c], relation)
                assert forth.id != back.id
                assert (forth.node_ids, back.node_ids) == ((c, a), (a, c))
            labelled = db.knowledge.connect(graph, [a, b], label="twins")
            assert labelled.id != first.id
            assert len(every(db.knowledge.edges, graph_id=graph)) == 12
            assert len(every(db.knowledge.edges, node_id=c)) == 10
            assert {edge.id for edge in every(db.knowledge.edges, node_id=b)} == {first.id, labelled.id}
            found = db.knowledge.find_graph("g")
            assert found is not None
            assert found.edges == 12
            assert db.knowledge.disconnect(first.id)
            assert [edge.id for edge in every(db.knowledge.edges, node_id=b)] == [labelled.id]
            sound(db)

    def test_what_is_no_edge(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            graph, ids = chain(db, "AB")
            a, b = ids.values()
            elsewhere = db.knowledge.put("h", "A").id
            before = db.stats().commit
            wrong: list[tuple[str, Any]] = [
                ("node_ids", lambda: db.knowledge.connect(graph, [a])),
                ("node_ids", lambda: db.knowledge.connect(graph, [a, b, a])),
                ("node_ids", lambda: db.knowledge.connect(graph, [a, elsewhere])),
                ("node_ids", lambda: db.knowledge.connect(graph, f"{a}{b}")),
                ("node_ids[1]", lambda: db.knowledge.connect(graph, [a, "b"])),
                ("relation", lambda: db.knowledge.connect(graph, [a, b], "loves")),
                ("weight", lambda: db.knowledge.connect(graph, [a, b], weight=1.01)),
                ("weight", lambda: db.knowledge.connect(graph, [a, b], weight=float("nan"))),
                ("weight", lambda: db.knowledge.connect(graph, [a, b], weight=True)),
                ("label", lambda: db.knowledge.connect(graph, [a, b], label="a\nb")),
                ("graph_id", lambda: db.knowledge.edges()),
                ("graph_id", lambda: db.knowledge.edges(graph, node_id=a)),
                ("start_node_id", lambda: db.knowledge.subgraph(graph, elsewhere)),
                ("max_depth", lambda: db.knowledge.subgraph(graph, a, max_depth=65)),
                ("relations", lambda: db.knowledge.subgraph(graph, a, relations=[])),
                ("relations", lambda: db.knowledge.subgraph(graph, a, relations="causal")),
                ("to_node_id", lambda: db.knowledge.shortest_path(graph, a, elsewhere)),
            ]
            for field, call in wrong:
                with pytest.raises(InvalidRequest) as caught:
                    call()
                assert caught.value.field == field
            for owner, nodes in ((graph, [a, NO_ID]), (a, [a, b])):
                with pytest.raises(NotFound):
                    db.knowledge.connect(owner, nodes)
            assert db.stats().commit == before


class TestQuery:
    def test_by_ids_keyword_or_type(self, tmp_path: Path) -> None:
        clock = ManualClock(NOW)
        with memory(tmp_path / "a.meh", clock=clock) as db:
            kayak = db.knowledge.put("g", "Kayak hull", "Laminated EPOXY", node_type="part")
            clock.advance(1)
            paddle = db.knowledge.put("g", "paddle", "ash wood", node_type="part", keywords=["kayaking"])
            clock.advance(1)
            cat = db.knowledge.put("g", "小猫", "睡在皮划艇里")
            elsewhere = db.knowledge.put("h", "kayak", node_type="part")
            graph = str(kayak.graph_id)
            for word, wanted in {
                "AYA": [kayak, paddle],
                "poxy": [kayak],
                "划艇": [cat],
                "nothing": [],
            }.items():
                assert list(db.knowledge.query(graph, keyword=word).nodes) == wanted, word
            assert db.knowledge.query(graph, node_type="part").nodes == (kayak, paddle)
            assert db.knowledge.query(graph, node_type="Part").nodes == ()
            first = db.knowledge.query(graph, node_type="part", limit=1)
            assert (first.nodes, first.more) == ((kayak,), True)
            found = db.knowledge.query(graph, ids=[cat.id.upper(), NO_ID, kayak.id, elsewhere.id])
            assert (found.nodes, found.unknown_ids, found.more) == ((cat, kayak), (NO_ID, elsewhere.id), False)
            for wrong in ({}, {"keyword": "a", "node_type": "b"}, {"keyword": " "}, {"ids": "a"}, {"ids": ["x"]}):
                with pytest.raises(InvalidRequest):
                    db.knowledge.query(graph, **wrong)
            with pytest.raises(NotFound):
                db.knowledge.query(NO_ID, keyword="a")

    def test_a_large_graph(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh", durability="none") as db:
            items = [{"graph": "g", "title": f"node {n}", "node_type": "odd" if n % 2 else "even"} for n in range(3000)]
            ids = db.knowledge.import_(items).created_ids
            graph = str(db.knowledge.get(ids[0]).graph_id)
            assert len(db.knowledge.query(graph, keyword="2999").nodes) == 1
            found = db.knowledge.query(graph, node_type="odd", limit=1000)
            assert (len(found.nodes), found.more) == (1000, True)
            assert len(every(db.knowledge.nodes, graph_id=graph, page=1000)) == 3000


edges = st.lists(
    st.tuples(st.lists(st.integers(0, 8), min_size=2, max_size=4, unique=True), st.sampled_from(["related", "causal"])),
    max_size=10,
)


class TestWalks:
    @SLOW
    @given(edges, st.integers(0, 4), st.sampled_from([None, ["causal"], ["causal", "related"]]))
    def test_as_breadth_first_search_says(
        self, tmp_path: Path, joins: list[tuple[list[int], str]], depth: int, relations: list[str] | None
    ) -> None:
        path = tmp_path / "a.meh"
        path.unlink(missing_ok=True)
        with memory(path, durability="none") as db:
            graph, by_title = chain(db, "012345678")
            ids = list(by_title.values())
            stored = {}
            for nodes, relation in joins:
                edge = db.knowledge.connect(graph, [ids[number] for number in nodes], relation)
                if relations is None or relation in relations:
                    stored[edge.id] = set(edge.node_ids)
            distances = bfs(ids[0], list(stored.values()))
            near = {id_: steps for id_, steps in distances.items() if steps <= depth}
            found = db.knowledge.subgraph(graph, ids[0], max_depth=depth, relations=relations)
            assert list(zip([node.id for node in found.nodes], found.depths, strict=True)) == sorted(
                near.items(), key=lambda pair: (pair[1], pair[0])
            )
            assert [edge.id for edge in found.edges] == sorted(
                id_ for id_, nodes in stored.items() if nodes <= near.keys()
            )
            assert found.cut is None
            for goal in ids:
                way = db.knowledge.shortest_path(graph, ids[0], goal, relations=relations, max_depth=depth)
                if goal not in near:
                    assert way is None
                    continue
                assert way is not None
                assert len(way.edges) == near[goal]
                assert (way.nodes[0].id, way.nodes[-1].id) == (ids[0], goal)
                for edge, one, other in zip(way.edges, way.nodes, way.nodes[1:], strict=False):
                    assert {one.id, other.id} <= set(edge.node_ids)
                assert way == db.knowledge.shortest_path(graph, ids[0], goal, relations=relations, max_depth=depth)

    def test_limits_are_told(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with memory(tmp_path / "a.meh") as db:
            graph, ids = chain(db, "ABCDEFGH")
            hub, *others = ids.values()
            for other in others:
                db.knowledge.connect(graph, [hub, other])
            found = db.knowledge.subgraph(graph, hub, limit=4)
            assert [node.id for node in found.nodes] == [hub, *sorted(others)[:3]]
            assert len(found.edges) == 3
            assert found.cut == "there are more than 4 nodes; those nearest were taken"
            assert db.knowledge.subgraph(graph, hub, limit=8).cut is None
            assert db.knowledge.subgraph(graph, hub, max_depth=0).nodes == (db.knowledge.get(hub),)
            monkeypatch.setattr(walks, "MOST_EDGES", 3)
            found = db.knowledge.subgraph(graph, hub)
            assert (len(found.nodes), found.cut) == (4, "only 3 edges were followed")


def bfs(start: str, joins: list[set[str]]) -> dict[str, int]:
    """Distances by the book."""
    neighbours: dict[str, set[str]] = {}
    for nodes in joins:
        for one, other in combinations(nodes, 2):
            neighbours.setdefault(one, set()).add(other)
            neighbours.setdefault(other, set()).add(one)
    distances, waiting = {start: 0}, deque([start])
    while waiting:
        here = waiting.popleft()
        for there in neighbours.get(here, ()):
            if there not in distances:
                distances[there] = distances[here] + 1
                waiting.append(there)
    return distances
