"""Real SIGKILLs of a real writer: always opens, and everything it acknowledged is there. tests/processes has more."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memhop.common.errors import Locked
from memhop.core.meh_file import MehFile
from tests.support.seeds import NIGHTLY, ONLY, replayable

ROUNDS = 1000 if NIGHTLY else 50
WRITER = Path(__file__).parents[1] / "support" / "writer_process.py"
ROOT = Path(__file__).parents[2]


def start(path: Path, first: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-S", str(WRITER), str(path), str(first)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=ROOT)


def check(path: Path, acknowledged: int) -> int:
    """Every record up to the newest commit is there and whole. Returns the newest record's number."""
    with MehFile.open(path) as file:
        assert file.recovery.damaged == 0
        found = list(file.ids(0x10))
        assert found == list(range(1, len(found) + 1)), "a gap in what was written"
        assert len(found) >= acknowledged, "an acknowledged commit is gone"
        for number in found[-60:]:
            row = file.locate(number)
            assert row is not None
            assert file.read(row[1])[2] == b"%d " % number * (number % 50 + 1)
        return len(found)


def test_killed_writers_lose_nothing(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = tmp_path / "a.meh"
    seed = int(ONLY or 20)
    rng = random.Random(seed)
    newest = killed_early = 0
    for _ in range(ROUNDS):
        process = start(path, newest + 1)
        assert process.stdout is not None
        wanted = rng.randrange(12)
        acknowledged = newest
        while acknowledged < newest + wanted and (line := process.stdout.readline()):
            acknowledged = int(line)
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().split()
        process.stdout.close()
        assert process.wait(10) == -signal.SIGKILL
        acknowledged = max([acknowledged, *map(int, rest)])
        killed_early += acknowledged == newest
        if not path.exists():
            assert acknowledged == 0
            continue
        with replayable(seed, request.node.nodeid):
            newest = check(path, acknowledged)
            assert newest <= acknowledged + 1
    print(f"\n{ROUNDS} kills, {newest} commits survived, {killed_early} kills before the first acknowledgement")
    assert newest > ROUNDS
    with MehFile.open(path) as file:
        assert file.verify(deep=True).problem_count <= 1, "at most a header that was being written"
    assert not list(tmp_path.glob("*.compact"))


def test_the_lock_dies_with_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    process = start(path, 1)
    assert process.stdout is not None
    assert process.stdout.readline()
    with pytest.raises(Locked) as caught:
        MehFile.open(path)
    assert (caught.value.pid, caught.value.purpose) == (process.pid, "writer")
    process.kill()
    process.wait(10)
    process.stdout.close()
    with MehFile.open(path) as file:
        assert file.commit_number >= 1
