"""The log behaves like a dict that survives reopening, checkpoints, compaction and power cuts."""

from __future__ import annotations

from array import array

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memhop.core.meh_file import DELETED, PURGED, MehFile, Write
from tests.support.simulated_disk import SimulatedDisk
from tests.support.workload import PATH, Records, open_file, records_of

ids = st.sampled_from([1, 2, 3, 2**63, 2**64 - 1]) | st.integers(1, 40)
payloads = st.binary(max_size=200)


def kind_of(id_: int) -> int:
    """An id keeps its kind for life."""
    return 0x10 if id_ % 2 else 0x21


class LogIsADict(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.disk = SimulatedDisk()
        self.file: MehFile = open_file(self.disk)
        self.model: Records = {}
        self.since_checkpoint = 0

    @rule(batch=st.lists(st.tuples(ids, payloads | st.none(), st.booleans()), min_size=1, max_size=6))
    def append(self, batch: list[tuple[int, bytes | None, bool]]) -> None:
        writes = []
        for id_, payload, purge in batch:
            if payload is None:
                writes.append(Write(kind_of(id_), id_, b"", DELETED | (PURGED if purge else 0)))
            else:
                writes.append(Write(kind_of(id_), id_, payload))
        commit = self.file.append(writes)
        self.since_checkpoint += len(writes)
        replaced: dict[int, int] = {}
        for write, entry in zip(writes, commit.entries, strict=True):
            assert (write.kind, write.id, write.flags) == (entry.kind, entry.id, entry.flags)
            alive = write.id in self.model
            assert bool(entry.previous) == alive
            assert entry.previous == replaced.get(write.id, entry.previous)
            replaced[write.id] = 0 if write.flags else entry.offset
            if write.flags:
                self.model.pop(write.id, None)
            else:
                self.model[write.id] = (write.kind, write.payload)
        assert self.file.tail()[-len(writes) :] == commit.entries

    @rule(everything=st.booleans())
    def checkpoint(self, everything: bool) -> None:
        """Sections are merged the way an index would: those planned, plus what is new."""
        merged = array("Q")
        for segment in self.file.plan_checkpoint(everything=everything):
            merged.extend(segment.view("entries"))
        merged.extend(entry.offset for entry in self.file.tail())
        self.file.checkpoint({"entries": ("Q", merged)}, meta={"n": self.file.commit_number})
        self.since_checkpoint = 0
        assert self.file.covers == self.file.commit_number

    @rule(keep_history=st.booleans())
    def compact(self, keep_history: bool) -> None:
        self.file.compact(lambda: {"entries": ("Q", array("Q"))}, meta={}, keep_history=keep_history)
        self.since_checkpoint = 0

    @rule()
    def reopen(self) -> None:
        digest = self.file.head_digest
        self.file.close()
        self.file = open_file(self.disk)
        assert self.file.recovery.clean
        assert self.file.head_digest == digest

    @rule(seed=st.integers(0, 9))
    def power_cut(self, seed: int) -> None:
        self.disk = self.disk.after_crash("sectors", seed)
        self.file = open_file(self.disk)

    @invariant()
    def same_records(self) -> None:
        assert records_of(self.file) == self.model
        assert len(self.file.tail()) == self.since_checkpoint
        numbers = [segment.number for segment in self.file.segments()]
        assert numbers == sorted(set(numbers))

    @invariant()
    def live_bytes_add_up(self) -> None:
        expected = sum((24 + len(payload) + 7) // 8 * 8 for _, payload in self.model.values())
        assert self.file.live_bytes == expected

    def teardown(self) -> None:
        report = self.file.verify(deep=True)
        assert report.ok, report.problems
        assert report.records == len(self.model)
        self.file.close()
        assert len(self.disk.bytes_of(PATH)) % 8 == 0


TestLogIsADict = LogIsADict.TestCase
TestLogIsADict.settings = settings(max_examples=60, stateful_step_count=25, derandomize=True, deadline=None)
