"""A scripted life of a file, with a note of what was promised; the same script drives every crash test."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from pathlib import Path

from memhop.core.meh_file import DELETED, PURGED, MehFile, Write
from tests.support.simulated_disk import SimulatedDisk

PATH = Path("/memory/agent.meh")
NOTE, TURN = 0x10, 0x21
Records = dict[int, tuple[int, bytes]]


class History:
    """States after each commit that was tried; those up to `promised` were acknowledged."""

    def __init__(self) -> None:
        self.states: list[Records] = [{}]
        self.promised = 0

    def tried(self, writes: list[Write]) -> None:
        state = dict(self.states[-1])
        for write in writes:
            if write.flags & DELETED:
                state.pop(write.id, None)
            else:
                state[write.id] = (write.kind, write.payload)
        self.states.append(state)

    def promise(self) -> None:
        self.promised = len(self.states) - 1


def clock() -> Callable[[], int]:
    """Counts milliseconds, one per look."""
    now = 1_700_000_000_000

    def now_ms() -> int:
        nonlocal now
        now += 1
        return now

    return now_ms


def open_file(disk: SimulatedDisk, durability: str = "full") -> MehFile:
    """The file of the workload."""
    return MehFile.open(PATH, disk=disk, durability=durability, now_ms=clock())


def records_of(file: MehFile) -> Records:
    """Every live record, through the public reading calls."""
    found: Records = {}
    for kind in (NOTE, TURN):
        for id_ in file.ids(kind):
            row = file.locate(id_)
            assert row is not None
            stored_kind, stored_id, payload = file.read(row[1])
            assert (stored_kind, stored_id, row[0]) == (kind, id_, kind)
            found[id_] = (kind, payload)
    return found


def text(number: int, length: int) -> bytes:
    """A payload that names itself."""
    return (b"%d, " % number) * (length // len(b"%d, " % number) + 1)


def run(disk: SimulatedDisk, history: History) -> None:
    """The script. Raises whatever the disk makes the file raise."""

    def append(*writes: Write) -> None:
        history.tried(list(writes))
        file.append(writes)
        history.promise()

    def checkpoint() -> None:
        covered = array("Q", [entry.id for entry in file.tail()])
        file.plan_checkpoint()
        file.checkpoint({"seen": ("Q", covered)}, meta={"commit": file.commit_number})

    with open_file(disk) as file:
        append(Write(NOTE, 1, text(1, 40)), Write(TURN, 100, text(100, 700)))
        append(Write(NOTE, 2, text(2, 40)))
        append(Write(NOTE, 1, text(11, 20)), Write(TURN, 101, b""), Write(NOTE, 3, text(3, 1500)))
        checkpoint()
        append(Write(NOTE, 2, b"", DELETED), Write(TURN, 102, text(102, 30)))
        history.tried([Write(NOTE, 4, text(4, 600))])
        file.append([Write(NOTE, 4, text(4, 600))], wait=False)
        history.tried([Write(NOTE, 5, text(5, 600))])
        waiting = file.append([Write(NOTE, 5, text(5, 600))], wait=False)
        file.sync(waiting.number)
        history.promise()
        checkpoint()
    with open_file(disk) as file:
        append(Write(NOTE, 1, text(12, 90)), Write(NOTE, 3, b"", DELETED | PURGED))
        file.compact(lambda: {"seen": ("Q", array("Q"))}, meta={}, keep_history=True)
        append(Write(NOTE, 6, text(6, 200)))
        file.compact(dict, meta={"again": True})
        append(Write(NOTE, 7, text(7, 300)))
