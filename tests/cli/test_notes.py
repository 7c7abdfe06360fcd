"""The life of notes on the command line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.running import memhop


def test_h4_n10_list_shows_and_pages(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    for number in range(3):
        memhop("remember", f"note {number} {'long ' * 40}", "--kind", "bug", "--file", path)
    listed = memhop("list", "--limit", "2", "--file", path)
    assert listed.code == 0
    assert listed.out.count("bug open") == 2
    assert all(len(line) <= 80 for line in (listed.out + listed.err).splitlines())
    assert "3 in all" in listed.err
    cursor = memhop("list", "--limit", "2", "--file", path, "--json").json()["next"]
    assert len(memhop("list", "--cursor", cursor, "--file", path, "--json").json()["items"]) == 1
    assert memhop("list", "--tier", "archived", "--file", path).code == 1
    assert memhop("list", "--tier", "gone", "--file", path).code == 2


def test_c5_a_life_by_short_ids(tmp_path: Path) -> None:
    """A short prefix once deleted the newest note that fitted: here it has six digits at least, and one meaning."""
    path = tmp_path / "a.meh"
    made = ("--meta", "severity=major", "--meta", "by=Ann", "--source", "mail", "--status", "in_progress")
    note = memhop("remember", "it crashes", "--kind", "bug", *made, "--file", path, "--json").json()
    assert (note["status"], note["metadata"]["by"], note["source"]) == ("in_progress", "Ann", "mail")
    short = note["id"][:6]
    fix = memhop("remember", "a fix", "--link", f"fixes:{short}", "--file", path, "--json").json()
    assert (fix["links"], fix["link_types"]) == ([note["id"]], ["fixes"])
    assert "fixes" in memhop("links", short, "--file", path).out
    assert memhop("edit", short, "--status", "done", "--file", path).code == 2
    edited = memhop("edit", short, "--text", "it crashed", "--status", "fixed", "--meta", "by=null", "--file", path)
    assert (edited.code, "revision 2" in edited.out) == (0, True)
    assert memhop("edit", short, "--status", "open", "--expected-rev", "1", "--file", path).code == 1
    history = memhop("history", short, "--file", path).out
    assert "+it crashed" in history
    assert "status: in_progress" in history
    assert memhop("revert", short, "1", "--file", path, "--json").json()["rev"] == 3
    for command in ("archive", "unarchive", "pin", "unpin", "forget", "restore"):
        assert "unchanged" not in memhop(command, short, "--file", path).out
    assert "unchanged" in memhop("restore", short, "--file", path).out
    assert memhop("link", short, fix["id"], "--type", "supersedes", "--file", path).code == 0
    assert memhop("unlink", short, fix["id"][:8], "--file", path).code == 0
    assert memhop("forget", short[:5], "--file", path).code == 2
    assert memhop("forget", "ffffff", "--file", path).code == 1
    assert memhop("purge", short, "--yes", "--file", path).code == 2
    assert memhop("purge", short, "--yes", "--force", "--file", path, "--json").json()["tier"] == "purged"
    assert memhop("history", note["id"], "--file", path).code == 1
