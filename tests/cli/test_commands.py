"""remember, recall, stats, verify, repair and compact through the real command."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memhop import DB
from tests.cli.running import memhop

WALNUTS = "Mara is allergic to walnuts"


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """Three notes of two projects, and one message."""
    path = tmp_path / "agent.meh"
    with DB.open(path) as db:
        db.remember(WALNUTS, kind="fact", tags=["health"], at=datetime(2026, 5, 10, tzinfo=UTC))
        db.remember("The oven needs a new fuse", project="house", tags=["kitchen"], at=datetime(2026, 6, 1, tzinfo=UTC))
        db.remember("Walnuts grow behind the house", project="house", at=datetime(2026, 7, 1, tzinfo=UTC))
        db.search("I bought walnuts at the market", datetime(2026, 8, 1, tzinfo=UTC), session="august", speaker="Mara")
    return path


def texts(*args: str, file: Path) -> set[str]:
    """The texts a recall of walnuts returns."""
    found = memhop("recall", "walnuts", "--json", "--file", file, *args)
    assert found.code == 0, found.err
    return {hit["text"] for hit in found.json()["hits"]}


def test_what_is_remembered_can_be_recalled_and_printed_in_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "new.meh"
    stored = memhop("remember", WALNUTS, "--kind", "fact", "--file", path)
    assert (stored.code, stored.err) == (0, "")
    assert stored.out.startswith("remembered ")
    found = memhop("recall", "what is Mara allergic to?", "--file", path)
    assert (found.code, found.err) == (0, "")
    first, second = found.out.splitlines()
    assert stored.out.split()[1] in first
    assert "fact" in first
    assert second.strip() == WALNUTS
    assert "\x1b" not in found.out


def test_remember_gives_the_note_as_json(tmp_path: Path) -> None:
    options = ("--project", "p", "--kind", "plan", "--tag", "a", "--tag", "b", "--at", "2026-05-10T08:30:00Z")
    note = memhop("remember", "öl 油", *options, "--external-id", "x1", "--json", "--file", tmp_path / "a.meh").json()
    assert note["text"] == "öl 油"
    assert (note["project"], note["kind"], note["tags"]) == ("p", "plan", ["a", "b"])
    assert (note["at"], note["external_id"], note["created"]) == ("2026-05-10T08:30:00Z", "x1", True)


def test_an_external_id_updates_and_a_repetition_is_told(memory: Path) -> None:
    first = memhop("remember", "one", "--external-id", "x", "--json", "--file", memory).json()
    second = memhop("remember", "two", "--external-id", "x", "--json", "--file", memory).json()
    assert (second["id"], second["text"], second["created"]) == (first["id"], "two", False)
    assert "known already" in memhop("remember", WALNUTS, "--kind", "fact", "--file", memory).out


def test_a_time_without_a_zone_is_local(tmp_path: Path) -> None:
    note = memhop(
        "remember", "x", "--at", "2026-05-10", "--json", "--file", tmp_path / "a.meh", env={"TZ": "UTC-2"}
    ).json()
    assert note["at"] == "2026-05-09T22:00:00Z"


def test_texts_come_from_standard_input(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    note = memhop("remember", "-", "--json", "--file", path, stdin="two\nlines, ümlaut\n".encode()).json()
    assert note["text"] == "two\nlines, ümlaut"
    assert memhop("recall", "-", "--json", "--file", path, stdin=b"lines").json()["query"] == "lines"


def test_the_file_is_the_option_then_the_environment_then_this_folder(tmp_path: Path) -> None:
    for name, args, env in (
        ("option.meh", ("--file", tmp_path / "option.meh"), {"MEMHOP_FILE": str(tmp_path / "env.meh")}),
        ("env.meh", (), {"MEMHOP_FILE": str(tmp_path / "env.meh")}),
        ("memory.meh", (), {"MEMHOP_FILE": ""}),
    ):
        assert not (tmp_path / name).exists()
        assert memhop("remember", name, *args, cwd=tmp_path, env=env).code == 0
        assert (tmp_path / name).exists()


def test_each_filter_of_recall_filters(memory: Path) -> None:
    behind, market = "Walnuts grow behind the house", "I bought walnuts at the market"
    assert texts(file=memory) == {WALNUTS, behind, market}
    assert texts("--project", "house", file=memory) == {behind}
    assert texts("--project", "house", "--project", "default", file=memory) == {WALNUTS, behind, market}
    assert texts("--layer", "messages", file=memory) == {market}
    assert texts("--kind", "fact", file=memory) == {WALNUTS}
    assert texts("--tag", "health", file=memory) == {WALNUTS}
    assert texts("--speaker", "mara", file=memory) == {market}
    assert texts("--session", "august", file=memory) == {market}
    assert texts("--since", "2026-07-01T00:00:00Z", file=memory) == {behind, market}
    assert texts("--until", "2026-07-01T00:00:00Z", file=memory) == {WALNUTS}
    assert len(texts("--limit", "1", file=memory)) == 1


def test_context_alone_is_ready_for_a_prompt(memory: Path) -> None:
    with DB.open(memory) as db:
        wanted = db.recall("allergic", limit=3).context
    found = memhop("recall", "allergic", "--limit", "3", "--context", "--file", memory)
    assert found.out == f"{wanted}\n"
    small = memhop("recall", "allergic", "--budget", "0", "--json", "--file", memory).json()
    assert small["context_tokens"] == 0
    assert small["left_out"] == len(small["hits"])


def test_explain_shows_parts_ranks_channels_and_terms(memory: Path) -> None:
    found = memhop("recall", "alergic walnuts", "--explain", "--file", memory)
    assert found.code == 0
    hit = memhop("recall", "alergic walnuts", "--explain", "--json", "--file", memory).json()
    best = hit["hits"][0]
    assert sum(best["parts"].values()) == pytest.approx(best["score"])
    for name, place in best["ranks"].items():
        assert f"{name} {place}" in found.out
    for channel in hit["channels"]:
        assert channel["name"] in found.out
        assert (channel["reason"] or "") in found.out
    for term in hit["explanation"]["terms"]:
        assert f"{term['idf']:.2f}" in found.out
        assert all(variant in found.out for variant in term["variants"])


def test_an_embedder_finds_nothing_by_meaning_until_texts_are_embedded(memory: Path) -> None:
    """`recall` must not write unless asked to, so vectors are made only with --backfill."""

    def pooled(*args: str) -> dict[str, object]:
        found = memhop("recall", "walnuts", "--embedder", "hash", "--json", "--file", memory, *args).json()
        return {channel["name"]: channel for channel in found["channels"]}["pooled"]  # type: ignore[no-any-return]

    assert pooled()["ran"] is False
    assert pooled("--backfill")["ran"] is True
    assert pooled()["ran"] is True


def test_stats_verify_and_compact_in_plain_text_and_json(memory: Path) -> None:
    counted = memhop("stats", "--json", "--file", memory).json()
    assert counted["records"]["note"] == 3
    assert counted["records"]["message"] == 1
    assert "3 note" in memhop("stats", "--file", memory).out
    checked = memhop("verify", "--deep", "--json", "--file", memory).json()
    assert checked["ok"] is True
    assert checked["problems"] == []
    plain = memhop("verify", "--file", memory)
    assert plain.out.startswith("in order")
    assert checked["head_digest"] in plain.out
    compacted = memhop("compact", "--json", "--file", memory).json()
    assert compacted["records"] == checked["records"]
    assert "compacted" in memhop("compact", "--keep-history", "--file", memory).out
    assert texts("--kind", "fact", file=memory) == {WALNUTS}


def test_verify_names_damage(memory: Path) -> None:
    data = bytearray(memory.read_bytes())
    place = data.index(b"allergic")
    data[place] ^= 0x01
    memory.write_bytes(data)
    found = memhop("verify", "--json", "--file", memory)
    assert found.code == 1
    report = found.json()
    assert report["ok"] is False
    assert report["problem_count"] == len(report["problems"]) > 0
    assert all(problem["offset"] < place for problem in report["problems"][:1])
    assert "problems" in memhop("verify", "--file", memory).out


def test_what_opening_had_to_mend_is_told_once(memory: Path) -> None:
    with memory.open("ab") as file:
        file.write(b"half a write" * 8)
    found = memhop("recall", "allergic", "--json", "--file", memory)
    assert found.code == 0
    assert found.json()["hits"][0]["text"] == WALNUTS
    torn = next(memory.parent.glob("*.torn-*"))
    assert f"unfinished write were cut off; saved as {torn}" in found.err
    assert memhop("recall", "allergic", "--json", "--file", memory).err == ""


def test_repair_lists_what_was_saved_and_lost(memory: Path, tmp_path: Path) -> None:
    whole = memhop("repair", "--to", tmp_path / "whole.meh", "--file", memory)
    assert whole.code == 0, whole.err
    assert whole.out.startswith("nothing was lost: ")
    raw = bytearray(memory.read_bytes())
    raw[raw.rindex(b"oven needs")] ^= 1
    memory.write_bytes(raw)
    found = memhop("repair", "--to", tmp_path / "new.meh", "--file", memory)
    assert (found.code, found.err) == (1, "")
    lines = found.out.splitlines()
    assert lines[0].startswith("1 lost: ")
    assert ["L4", "note", "2", "1"] in map(str.split, lines)
    assert any(line.split()[:2] == ["L4", "note"] and line.endswith("frame checksum") for line in lines)
    document = memhop("repair", "--json", "--to", tmp_path / "json.meh", "--file", memory)
    assert document.code == 1
    (lost,) = document.json()["lost"]
    assert (lost["layer"], lost["kind"], lost["what"]) == ("L4", "note", "frame checksum")
    assert len(document.json()["saved"]["note"]) == 2
    checked = memhop("verify", "--deep", "--file", tmp_path / "new.meh")
    assert checked.code == 0
    assert "references" in checked.out
    assert memhop("stats", "--file", tmp_path / "new.meh").code == 0


def test_repair_refuses_what_would_overwrite_and_what_is_missing(memory: Path, tmp_path: Path) -> None:
    before = memory.read_bytes()
    assert memhop("repair", "--file", memory).code == 2
    taken = memhop("repair", "--to", memory, "--file", memory)
    assert taken.code == 1
    assert "does not exist yet" in taken.err
    assert memhop("repair", "--to", tmp_path / "b.meh", "--file", tmp_path / "none.meh").code == 1
    assert memhop("repair", "--to", "", "--file", memory, cwd=tmp_path).code in (1, 2)
    assert memory.read_bytes() == before
    assert not (tmp_path / "b.meh").exists()
