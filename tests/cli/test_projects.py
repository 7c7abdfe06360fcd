"""`memhop projects`, `brief`, `summary` and `maintain`, as a person or a script uses them."""

from __future__ import annotations

from pathlib import Path

from memhop import DB
from memhop.common.clock import ManualClock
from tests.cli.running import memhop
from tests.support.memories import DAY, NOW


def harbour(path: Path) -> list[str]:
    """Notes of two projects; the ids of those of the first."""
    with DB.open(path, clock=ManualClock(NOW)) as db:
        ids = [db.remember(f"note {number}", project="harbour", kind="bug", status="open").id for number in range(3)]
        db.remember("chosen", project="quay", kind="decision")
        return ids


def test_projects_are_listed_counted_moved_and_erased(tmp_path: Path) -> None:
    file = tmp_path / "a.meh"
    first, second, third = harbour(file)
    table = memhop("projects", "list", "--file", file).out.splitlines()
    assert [line.split()[:2] for line in table] == [["project", "active"], ["harbour", "3"], ["quay", "1"]]
    assert memhop("projects", "count", "HARBOUR", "--file", file, "--json").json()["kinds"] == {"bug": 3}
    kinds = memhop("projects", "schema", "quay", "--file", file).out
    assert "open*, in_progress*, fixed" in kinds
    dry = memhop("projects", "reassign", first[:8], "--to", "quay", "--dry-run", "--file", file)
    assert dry.out.splitlines() == ["would move 1 notes", "would move to 'quay'"]
    moved = memhop("projects", "reassign", first[:8], second, "--to", "quay", "--file", file, "--json").json()
    assert set(moved["ids"]) == {first, second}
    assert memhop("projects", "rename", "harbour", "Harbour", "--file", file).out.startswith("moved 1 notes")
    unknown = memhop("projects", "rename", "habour", "x", "--file", file)
    assert (unknown.code, "there is 'Harbour'" in unknown.err) == (1, True)
    assert memhop("projects", "merge", "harbour", "quay", "--file", file).code == 0
    assert memhop("projects", "trash", "quay", "--file", file).out == "trashed 4 notes: moved to the trash\n"
    assert memhop("projects", "purge", "quay", "--file", file).code == 2
    assert memhop("projects", "purge", "quay", "--yes", "--file", file).code == 0
    empty = memhop("projects", "list", "--file", file)
    assert (empty.code, empty.err) == (1, "no projects\n")
    assert third not in memhop("recall", "note", "--json", "--file", file).out


def test_b9_reassign_needs_ids_or_the_word_all(tmp_path: Path) -> None:
    file = tmp_path / "a.meh"
    ids = harbour(file)
    for options in ((), ("--all",), ("abc",), (*ids, "--all", "--from", "harbour")):
        assert memhop("projects", "reassign", *options, "--to", "x", "--file", file).code == 2, options
    assert memhop("projects", "count", "harbour", "--json", "--file", file).json()["total"] == 3
    done = memhop("projects", "reassign", "--all", "--from", "harbour", "--to", "x", "--file", file, "--json").json()
    assert done["notes"] == 3


def test_a_session_with_summaries(tmp_path: Path) -> None:
    file = tmp_path / "a.meh"
    harbour(file)
    due = memhop("summary", "check", "--project", "harbour", "--file", file)
    assert due.out.startswith("due: there is none yet\n3 changes\n")
    assert "## Open" in due.out
    assert memhop("summary", "show", "--project", "harbour", "--file", file).code == 1
    saved = memhop("summary", "save", "-", "--project", "harbour", "--file", file, stdin=b"three bugs\n")
    assert saved.out.endswith("(project harbour)\n")
    assert memhop("summary", "show", "--project", "harbour", "--file", file).out == "three bugs\n"
    for options, needed in (
        ((), False),
        (("--turns", "10"), True),
        (("--context-pct", "0"), True),
        (("--force",), True),
    ):
        found = memhop("summary", "check", "--project", "harbour", *options, "--file", file, "--json").json()
        assert found["needed"] is needed
    told = memhop("brief", "--file", file).out
    assert "harbour: 3 bug, 1 progressive_summary" in told
    assert "    three bugs\n" in told
    assert "  open bug: 3\n" in told
    one = memhop("brief", "--project", "quay", "--decisions", "0", "--file", file, "--json").json()
    assert [(project["project"], project["decisions"]) for project in one["projects"]] == [("quay", [])]


def test_maintain_reports_what_it_did_and_other_commands_that_read_do_nothing(tmp_path: Path) -> None:
    """The command itself does it, not the thread that looks after it; and a dry run changes nothing."""
    file, config = tmp_path / "a.meh", tmp_path / "memhop.toml"
    config.write_text("[retention]\ntrash_days = 1\n[retention.days]\nbug = 30\n", "utf-8")
    ids = harbour(file)
    options, settings = ("--file", file), {"MEMHOP_CONFIG": str(config)}
    with DB.open(file, clock=ManualClock(NOW - 90 * DAY)) as db:
        gone = db.remember("old", kind="plan").id
        db.forget(gone)

    def tiers() -> dict[str, int]:
        with DB.open(file, mode="read") as db:
            return {tier: db.notes.list(tier=tier).total or 0 for tier in ("active", "trashed")}

    before = tiers()
    assert memhop("recall", "note", *options, env=settings).code == 0
    assert memhop("brief", *options, env=settings).code == 0
    dry = memhop("maintain", "--dry-run", *options, "--json", env=settings).json()
    assert tiers() == before
    done = memhop("maintain", *options, "--json", env=settings).json()
    assert {note["id"] for note in done["trashed"]} == set(ids)
    assert [note["id"] for note in done["erased"]] == [gone]
    assert (dry["trashed"], dry["erased"]) == (done["trashed"], done["erased"])
    again = memhop("maintain", *options, env=settings)
    assert again.out == "0 notes went to the trash, 0 went for good: nothing is due\n"


def test_b27_a_command_that_writes_looks_after_retention_that_is_overdue(tmp_path: Path) -> None:
    file, config = tmp_path / "a.meh", tmp_path / "memhop.toml"
    config.write_text("[retention.days]\nbug = 30\n", "utf-8")
    harbour(file)
    memhop("remember", "something new", "--file", file, env={"MEMHOP_CONFIG": str(config)})
    with DB.open(file, mode="read") as db:
        assert db.notes.list(project="harbour", tier="trashed").total == 3
