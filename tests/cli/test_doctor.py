"""How `memhop doctor` tells what memhop.doctor found; tests/api/test_doctor.py has the checks themselves."""

from __future__ import annotations

from pathlib import Path

from memhop import DB
from tests.cli.running import UNPRIVILEGED, memhop


def test_findings_with_what_to_do_and_exit_codes(tmp_path: Path) -> None:
    path = tmp_path / "agent.meh"
    DB.open(path).close()
    path.chmod(0o644)
    ran = memhop("doctor", "--file", path)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].split()[:2] == ["ok", "file"]
    place = next(number for number, line in enumerate(lines) if line.startswith("warning  permissions"))
    assert lines[place + 1].strip() == f"→ chmod 600 {path}"
    assert lines[-1] == "1 warning"
    path.chmod(0o600)
    document = memhop("doctor", "--embedder", "hash", "--json", "--file", path).json()
    assert (document["ok"], document["path"]) == (True, str(path))
    assert {found["name"]: found["found"] for found in document["findings"]}["embedder"].startswith("hash: 256")
    missing = memhop("doctor", "--file", tmp_path / "none.meh")
    assert (missing.code, missing.err) == (1, "")
    assert missing.out.splitlines()[-1] == "1 error"


def test_what_may_only_be_read_is_told_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "agent.meh"
    DB.open(path).close()
    path.with_name("agent.meh.lock").unlink()
    path.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        ran = memhop("doctor", "--json", "--file", path, command=UNPRIVILEGED)
        found = {found["name"]: found for found in ran.json()["findings"]}
    finally:
        tmp_path.chmod(0o700)
    assert ran.code == 0
    assert found["permissions"]["state"] == "warning"
    assert "the file can only be read" in found["permissions"]["found"]
    assert "nothing can be written in the folder" in found["permissions"]["found"]
    assert found["lock"]["state"] == "ok"
    assert [file.name for file in tmp_path.iterdir()] == ["agent.meh"]
