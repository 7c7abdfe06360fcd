"""Note-like sources: hinterland, Hemisphere, mem0, the MCP memory server and Markdown."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memhop.common.errors import StorageError
from memhop.readers import hemisphere, hinterland, markdown, mcp_memory, mem0
from memhop.readers.item import Item, NoteItem
from tests.readers import samples
from tests.readers.samples import edges, jsonl, nodes, notes, rejected, skipped


def written(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def test_n18_an_export_of_hinterland_is_read_with_times_and_counters(tmp_path: Path) -> None:
    assert list(hinterland.read(written(tmp_path / "h", jsonl(samples.HINTERLAND)))) == [
        NoteItem(
            source_id="0b9e",
            text="Gateway settles overnight",
            project="ops",
            tags=("pay",),
            metadata={"x": 1, "source": "wiki"},
            at=1_793_602_800_000,
            updated_at=1_793_689_200_000,
            recalled=3,
            last_recalled_at=1_793_775_600_000,
        )
    ]


def test_n19_bad_lines_are_counted_and_lines_without_id_are_known_again(tmp_path: Path) -> None:
    nameless = samples.HINTERLAND | {"id": None}
    data = (
        jsonl(samples.HINTERLAND) + b"{cut\n\n[1]\n" + jsonl(nameless, samples.HINTERLAND | {"content": " "}, nameless)
    )
    path = written(tmp_path / "h", data)
    first, second = list(hinterland.read(path)), list(hinterland.read(path))
    assert first == second
    assert [item.place for item in rejected(first)] == ["line 2", "line 4", "line 6"]
    ids = [item.source_id for item in notes(first)]
    assert ids[1] == ids[2] != ids[0], "by its content"
    assert rejected(first)[0].raw == b"{cut"


def test_the_sqlite_of_hinterland_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE memories (id TEXT, content TEXT, scope TEXT, source TEXT, tags TEXT, metadata TEXT,"
            " created_at TEXT, updated_at TEXT, recalled INTEGER, last_recalled_at TEXT)"
        )
        times = "2026-11-02T07:00:00.000Z", "2026-11-03T07:00:00.000Z"
        row = (
            "0b9e",
            "Gateway settles overnight",
            "ops",
            "wiki",
            '["pay"]',
            '{"x":1}',
            *times,
            3,
            "2026-11-04T07:00:00Z",
        )
        connection.execute("INSERT INTO memories VALUES (?,?,?,?,?,?,?,?,?,?)", row)
        connection.execute("INSERT INTO memories VALUES ('b','x','ops',NULL,'[broken','{}',NULL,NULL,NULL,NULL)")
        connection.commit()
    found = list(hinterland.read(path))
    assert notes(found) == list(hinterland.read(written(tmp_path / "h", jsonl(samples.HINTERLAND))))
    assert len(rejected(found)) == 1


def test_h1_rows_of_hemisphere_are_read_past_its_broken_index(tmp_path: Path) -> None:
    found = list(hemisphere.read(samples.hemisphere(tmp_path / "memories.db", *samples.HEMISPHERE_ROWS)))
    assert found == [
        NoteItem(
            source_id="1", text="Use SQLite", project="web", kind="decision", status="approved", metadata={"files": []},
            at=1_790_000_000_000, updated_at=1_790_000_100_000, links=(("related", "2"), ("related", "7")),
        ),
        NoteItem(
            source_id="2", text="Put away", project="web", tags=("old",), at=1_790_000_000_000,
            updated_at=1_790_000_000_000, archived_at=1_790_000_200_000,
        ),
        NoteItem(
            source_id="3", text="Thrown away", project="web", at=1_790_000_000_000, updated_at=1_790_000_000_000,
            trashed_at=1_790_000_300_000,
        ),
    ]  # fmt: skip


def test_h1_an_older_hemisphere_file_lacks_columns(tmp_path: Path) -> None:
    row = (1, "", "bug", "It leaks", '{"status":"open","severity":"minor"}', 1_790_000_000)
    found = notes(hemisphere.read(samples.hemisphere(tmp_path / "m.db", row, old=True)))
    assert [(item.project, item.status, dict(item.metadata)) for item in found] == [
        ("default", "open", {"severity": "minor"})
    ]


def test_h1_bad_rows_of_hemisphere_cost_themselves(tmp_path: Path) -> None:
    good = samples.HEMISPHERE_ROWS[0]
    bad: list[tuple[object, ...]] = [
        (11, *good[1:3], b"\xff\x00", *good[4:]),
        (12, *good[1:4], "{oops", *good[5:]),
        (13, *good[1:3], "", *good[4:]),
    ]
    bad.append((14, *good[1:5], 1e300, *good[6:]))
    found = list(hemisphere.read(samples.hemisphere(tmp_path / "m.db", good, *bad)))
    assert [item.source_id for item in notes(found)] == ["1"]
    assert [item.place for item in rejected(found)] == ["row 2", "row 3", "row 5"]
    assert skipped(found) == ["no text"]


def test_rows_that_only_the_write_ahead_log_has_are_seen_and_nothing_is_touched(tmp_path: Path) -> None:
    """An immutable open reads the main file alone: what a running server had written last was missing, silently."""
    path = samples.hemisphere(tmp_path / "m.db", samples.HEMISPHERE_ROWS[0])
    with closing(sqlite3.connect(path)) as server:
        server.execute("PRAGMA journal_mode = WAL")
        server.execute("PRAGMA wal_autocheckpoint = 0")
        server.execute("INSERT INTO memories VALUES (?,?,?,?,?,?,?,?,?,?,?)", samples.HEMISPHERE_ROWS[1])
        server.commit()
        before = {entry.name: entry.read_bytes() for entry in tmp_path.iterdir() if not entry.name.endswith("-shm")}
        assert {"m.db", "m.db-wal"} <= set(before)
        assert [item.source_id for item in notes(hemisphere.read(path))] == ["1", "2"]
        after = {entry.name: entry.read_bytes() for entry in tmp_path.iterdir() if not entry.name.endswith("-shm")}
        assert after == before


def test_a_closed_database_leaves_no_side_files(tmp_path: Path) -> None:
    path = samples.hemisphere(tmp_path / "m #1?.db", *samples.HEMISPHERE_ROWS)
    assert len(notes(hemisphere.read(path))) == 3
    assert [entry.name for entry in tmp_path.iterdir()] == ["m #1?.db"]


def test_a_view_called_memories_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id, x AS project, x AS kind,"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE VIEW memories AS {endless} x AS content FROM n")
        connection.commit()
    assert not hemisphere.matches(path, path.read_bytes()[:64])


def test_damage_within_the_database_ends_in_one_rejection(tmp_path: Path) -> None:
    rows = [
        (number, *samples.HEMISPHERE_ROWS[0][1:3], "text " * 300, *samples.HEMISPHERE_ROWS[0][4:])
        for number in range(99)
    ]
    path = samples.hemisphere(tmp_path / "m.db", *rows)
    data = bytearray(path.read_bytes())
    for page in range(5 * 4096, len(data), 4096):
        data[page : page + 64] = b"\xff" * 64
    path.write_bytes(data)
    found = list(hemisphere.read(path))
    assert [item.place.split()[0] for item in rejected(found)] == ["after"]
    assert len(notes(found)) < 99


def test_mem0_results_lists_and_pages(tmp_path: Path) -> None:
    wanted = [
        NoteItem(
            source_id="7e1c", text="Likes tea", metadata={"topic": "food", "user_id": "u1", "role": "user"},
            at=1_790_841_600_000,
        )
    ]  # fmt: skip
    page = {"count": 1, "next": None, "previous": None} | samples.MEM0
    for data in (samples.MEM0, samples.MEM0["results"], page):
        assert list(mem0.read(written(tmp_path / "m.json", json.dumps(data)))) == wanted
    assert list(mem0.read(written(tmp_path / "m.jsonl", jsonl(*samples.MEM0["results"])))) == wanted


def test_openmemory_keeps_states_apps_and_categories(tmp_path: Path) -> None:
    wanted = NoteItem(
        source_id="1f", text="Uses vim", tags=("tools", "work"), at=1_785_542_400_000, updated_at=1_785_628_800_000,
        archived_at=1_785_715_200_000, metadata={"user_id": "u", "state": "archived", "app": "cli"},
    )  # fmt: skip
    assert list(mem0.read(written(tmp_path / "o.zip", samples.openmemory_zip()))) == [wanted]
    only = samples.zipped({"x/memories.jsonl.gz": gzip.compress(jsonl(samples.OPENMEMORY_LINE))})
    (line,) = notes(mem0.read(written(tmp_path / "p.zip", only)))
    assert (line.text, line.tags, line.archived_at) == ("Uses vim", ("tools",), 0)
    alone = gzip.compress(jsonl(samples.OPENMEMORY_LINE))
    assert notes(mem0.read(written(tmp_path / "p.gz", alone))) == [line]


def test_bad_memories_of_mem0_are_rejected_one_by_one(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "memory": text, "created_at": at} for text, at in (("ok", 1), ("", 1), (["x"], 1), ("late", "soon"))
    ]
    found = list(mem0.read(written(tmp_path / "m.json", json.dumps({"results": [*rows, 5, {"memory": "no id"}]}))))
    assert [item.text for item in notes(found)] == ["ok"]
    assert [item.reason for item in rejected(found)] == [
        "the memory is empty", "the memory is a list, not a text", "created_at is no time: 'soon'",
        "the memory is a number, not an object", "id is missing",
    ]  # fmt: skip


def test_entities_are_nodes_and_relations_edges(tmp_path: Path) -> None:
    path = written(tmp_path / "memory.json", samples.GRAPH + b'{"type":"entity","name":5}\nnonsense\n{"type":"x"}\n')
    found = list(mcp_memory.read(path))
    assert [(node.name, node.text, node.kind, node.graph) for node in nodes(found)] == [
        ("Ada", "prefers Rust\nlives in Turin", "person", "memory"),
        ("Project X", "", "project", "memory"),
    ]
    assert [(edge.type, edge.from_, edge.to) for edge in edges(found)] == [("works_on", "Ada", "Project X")]
    assert [item.place for item in rejected(found)] == ["line 4", "line 5", "line 6"]


def test_the_whole_graph_in_one_object_is_read(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in samples.GRAPH.splitlines()]
    whole = {"entities": lines[1:], "relations": lines[:1], "more": 1}
    found = list(mcp_memory.read(written(tmp_path / "graph", json.dumps(whole, indent=1))))
    assert (len(nodes(found)), len(edges(found)), len(found)) == (2, 1, 3)


def read_markdown(path: Path, **files: str) -> list[Item]:
    path.mkdir(exist_ok=True)
    for name, text in files.items():
        (path / f"{name}.md").write_text(text, "utf-8")
    return list(markdown.read(path))


def test_a_note_with_frontmatter_its_observations_and_links(tmp_path: Path) -> None:
    release = "---\ntitle: Release process\n---\nSee [[build-notes]] and [[Nowhere]].\n"
    page, observation, other = notes(read_markdown(tmp_path / "n", build=samples.BUILD_NOTES, rel=release))
    assert page.source_id == "build.md"
    assert (page.kind, page.tags, page.at) == ("note", ("ci", "python"), 1_777_593_600_000)
    assert page.metadata == {
        "title": "Build notes", "permalink": "build-notes", "owner": "ada", "created": "2026-05-01"
    }  # fmt: skip
    assert page.links == (("depends_on", "rel.md"),)
    assert "Wheels" not in page.text
    assert "depends_on [[Release process]] (blocking)" in page.text
    assert (observation.kind, observation.text, observation.tags) == (
        "decision",
        "Wheels are built with uv #ci",
        ("ci",),
    )
    assert (observation.links, observation.metadata) == ((("part_of", "build.md"),), {"context": "since v2"})
    assert other.links == (("links_to", "build.md"),)
    assert other.text.startswith("Release process\n\nSee")


@pytest.mark.parametrize(
    ("line", "category", "tags"),
    [
        ("- [decision] a #x#y", "decision", ("x", "y")),
        ("* tagged only #z", "", ("z",)),
        ("- [ ] todo #t", None, ()),
        ("- [x] done #t", None, ()),
        ("- [-] given up #t", None, ()),
        ("- [00:01:02] clock #t", None, ()),
        ("- [text](http://x) #t", None, ()),
        ("- plain", None, ()),
        ("> - [quote] q #t", None, ()),
        ("not an item #t", None, ()),
    ],
)
def test_what_counts_as_an_observation(tmp_path: Path, line: str, category: str | None, tags: tuple[str, ...]) -> None:
    found = notes(read_markdown(tmp_path / "n", a=f"---\ntitle: A\n---\n{line}\n"))[1:]
    wanted = [] if category is None else [(category or "note", tags)]
    assert [(item.kind, item.tags) for item in found] == wanted


@pytest.mark.parametrize(
    ("line", "types"),
    [
        ("- depends_on [[B]]", ["depends_on"]),
        ('- "depends on" [[B]] (soon)', ["depends on"]),
        ("- depends on [[B]]", ["links_to"]),
        ("- [[B]]", ["links_to"]),
        ("- fixes [[B]] #bm:links_to", ["links_to"]),
        ("see [[b|the other]] and [[B#part]]", ["links_to"]),
        ("```\n- fixes [[B]]\n```", []),
        ("- fixes [[A]]", []),
    ],
)
def test_what_counts_as_a_relation(tmp_path: Path, line: str, types: list[str]) -> None:
    a, *_ = notes(read_markdown(tmp_path / "n", a=f"---\ntitle: A\n---\n{line}\n", b="---\ntitle: B\n---\nx\n"))
    assert [type_ for type_, target in a.links if target == "b.md"] == types


def test_plain_markdown_is_sections_and_lists_of_statements(tmp_path: Path) -> None:
    path = written(tmp_path / "mind.md", samples.MIND)
    found = notes(markdown.read(path))
    assert [(item.text, item.metadata["section"]) for item in found] == [
        ("Lives in Turin\n  with two cats", "What I know about you"),
        ("Prefers Rust", "What I know about you"),
        ("What I know about you / Work\n\nBuilds wheels.", "What I know about you / Work"),
    ]
    path.write_text(samples.MIND.replace("Builds wheels.", "Builds many wheels."), "utf-8")
    again = notes(markdown.read(path))
    assert [item.source_id for item in again] == [item.source_id for item in found], "a section keeps its id"


def test_frontmatter_is_read_without_yaml(tmp_path: Path) -> None:
    front = "title: 'A: b'\ntags:\n  - one\n  - '#two'\ndraft: true\nweight: 3\nnested:\n  deep: 1\ncreated: last May\n"
    (found,) = notes(read_markdown(tmp_path / "n", a=f"\ufeff---\r\n{front}---\r\nText\r\n"))
    assert (found.text, found.tags, found.at) == ("A: b\n\nText", ("one", "two"), 0)
    assert found.metadata == {"title": "A: b", "draft": True, "weight": 3, "nested": "  deep: 1", "created": "last May"}


def test_files_that_cannot_be_notes_are_rejected_and_links_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "n"
    folder.mkdir()
    (folder / "big.md").write_bytes(b"a" * (markdown.MOST_BYTES + 1))
    (folder / "latin.md").write_bytes(b"caf\xe9")
    (folder / "empty.md").write_bytes(b"")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "secret.md").write_text("secret", "utf-8")
    (folder / "up").symlink_to(tmp_path, target_is_directory=True)
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "x.md").write_text("hidden", "utf-8")
    found = list(markdown.read(folder))
    assert [(item.place, item.reason) for item in rejected(found)] == [
        ("big.md", "longer than 4,194,304 bytes"), ("latin.md", "not UTF-8"),
    ]  # fmt: skip
    assert skipped(found) == ["no text"]
    assert not notes(found)


def test_a_path_that_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "absent"):
        with pytest.raises(StorageError, match="cannot read"):
            markdown.read(tmp_path / name)
