"""The audit file: a line per act, in a file of bounded size that nobody else can read."""

from __future__ import annotations

import json
import logging
import stat
from pathlib import Path
from typing import Any

import pytest

from memhop.common.clock import ManualClock
from memhop.server.http.access import Access
from memhop.server.http.audit import NAME, Audit
from memhop.server.http.tokens import NAME as TOKENS
from memhop.server.http.tokens import Tokens
from tests.support.processes import Starter
from tests.support.serving import serving

ACCESS = Access("alice", frozenset({"admin"}), "0123456789ab")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / NAME


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_line_says_who_did_what(path: Path) -> None:
    audit = Audit(path, clock=ManualClock(1_770_000_000_123))
    audit.write("import", access=ACCESS, tenant="alice", detail={"stored": 3, "kind": "x" * 9999})
    audit.write("serve", access=None, tenant="", outcome="refused")
    first, second = lines(path)
    assert first == {
        "at": "2026-02-02T02:40:00.123Z",
        "act": "import",
        "outcome": "done",
        "token": "0123456789ab",
        "tenant": "alice",
        "detail": {"stored": 3, "kind": "x" * 200},
    }
    assert (second["token"], second["tenant"], second["outcome"]) == (None, None, "refused")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_text_cannot_forge_a_line(path: Path) -> None:
    Audit(path).write("import", access=None, tenant='a\n{"act": "x"}\u2028', detail={"k\n": "v\r\n\x1b[2J"})
    assert path.read_bytes().count(b"\n") == 1
    assert path.read_text("utf-8").isascii()
    assert "\x1b" not in path.read_text("utf-8")


def test_the_file_is_rotated_and_the_oldest_goes(path: Path) -> None:
    audit = Audit(path, most_bytes=1000, keep=2)
    for number in range(60):
        audit.write("act", access=None, tenant="", detail={"number": number})
    files = sorted(entry.name for entry in path.parent.iterdir())
    assert files == [NAME, f"{NAME}.1", f"{NAME}.2", f"{NAME}.lock"]
    assert all(entry.stat().st_size <= 1000 for entry in path.parent.iterdir())
    kept = [
        line["detail"]["number"] for name in (f"{NAME}.2", f"{NAME}.1", NAME) for line in lines(path.with_name(name))
    ]
    assert kept == list(range(kept[0], 60)), "in order, without a gap"


def test_who_is_refused_again_and_again_does_not_wash_out_what_was_done(path: Path) -> None:
    clock = ManualClock(1_770_000_000_000)
    audit = Audit(path, clock=clock)
    for _ in range(1000):
        audit.write("compact", access=ACCESS, tenant="alice", outcome="Forbidden")
        clock.advance(10)
        audit.write("compact", access=ACCESS, tenant="bob", outcome="Forbidden")
        audit.write("compact", access=ACCESS, tenant="alice")
    clock.advance(60_000)
    audit.write("compact", access=ACCESS, tenant="alice", outcome="Forbidden")
    refused = [line for line in lines(path) if line["outcome"] != "done"]
    assert [(line["tenant"], line.get("repeated")) for line in refused] == [
        ("alice", None),
        ("bob", None),
        ("alice", 999),
    ]
    assert len(lines(path)) == 1003, "what was done is written each time"


def test_what_a_server_writes_down(tmp_path: Path) -> None:
    """Each administrative act and each refusal of one, who it was, and no word of a memory."""
    words = "the boat is painted with epoxy"
    with serving(tmp_path) as server:
        admin, writer = server.client("alice"), server.client("alice", ("read", "write"))
        assert admin.post("/api/v1/notes", json={"text": words}).is_success
        assert admin.get("/api/v1/recall", params={"query": "boat"}).is_success
        assert admin.post("/api/v1/import", json={"content": f"# Boat\n\n- {words}", "format": "markdown"}).is_success
        for _ in range(5):
            assert writer.post("/api/v1/maintenance/compact", json={}).status_code == 403
        assert admin.post("/api/v1/maintenance/compact", json={}).is_success
        assert server.stop() == 0
        found = lines(server.root / NAME)
        ids = [info.id for info in Tokens(server.root / TOKENS).list()]
    told = [(line["act"], line["outcome"], line["token"]) for line in found]
    assert told == [
        ("server.start", "done", None),
        ("memhop_import", "done", ids[0]),
        ("memhop_compact", "Forbidden", ids[1]),
        ("memhop_compact", "done", ids[0]),
        ("server.stop", "done", None),
    ]
    assert [line["tenant"] for line in found if line["outcome"] == "done" and line["token"]] == ["alice", "alice"]
    kept = (server.root / NAME).read_text("utf-8")
    assert not [word for word in words.split() if len(word) > 3 and word in kept]


def _writing(link: Any, path: Path, name: str) -> None:
    link.send("ready")
    link.recv()
    for number in range(50):
        Audit(path, most_bytes=4000, keep=20).write("act", access=None, tenant=name, detail={"number": number})


def test_several_processes_write_whole_lines(path: Path, start: Starter) -> None:
    """Also while one of them puts the full file aside."""
    workers = [start(_writing, path, name) for name in ("a", "b", "c")]
    for worker in workers:
        worker.hear()
    for worker in workers:
        worker.tell("go")
    for worker in workers:
        worker.finish()
    found = [line for entry in path.parent.glob(f"{NAME}*") if not entry.name.endswith("lock") for line in lines(entry)]
    assert sorted((line["tenant"], line["detail"]["number"]) for line in found) == [
        (name, number) for name in ("a", "b", "c") for number in range(50)
    ]


def test_what_cannot_be_written_is_logged_and_ends_nothing(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    target = path.with_name("target")
    path.symlink_to(target)
    with caplog.at_level(logging.ERROR, "memhop.server"):
        Audit(path).write("compact", access=ACCESS, tenant="alice")
        Audit(path.parent / "none" / NAME).write("import", access=ACCESS, tenant="alice")
        path.unlink()
        path.touch(mode=0o644)
        path.chmod(0o644)
        Audit(path).write("purge", access=ACCESS, tenant="alice")
    assert not target.exists()
    assert [record.args[0] for record in caplog.records if record.args] == ["compact", "import", "purge"]  # type: ignore[index]
