"""The scheduler of threads does what tests rely on: one at a time, replayable, and a deadlock is found and told."""

from __future__ import annotations

import threading
from types import ModuleType

from memhop.core.meh_file import Write
from tests.support.scheduler import Deadlock, Scheduler
from tests.support.simulated_disk import SimulatedDisk
from tests.support.workload import NOTE, open_file, records_of


def inside_memhop(source: str) -> ModuleType:
    """A module that looks like one of ours, as the swapped locks are for those alone."""
    module = ModuleType("memhop.pretended")
    exec(source, module.__dict__)
    return module


MAKERS = inside_memhop(
    "import threading\ndef lock(): return threading.Lock()\ndef condition(): return threading.Condition()\n"
)


def appends(seed: int) -> tuple[list[str], list[int]]:
    """Three threads append to one file. Returns the calls on the disk, and the ids in log order."""
    scheduler = Scheduler(seed)
    disk = SimulatedDisk(pause=scheduler.pause)
    with scheduler.locks():
        file = open_file(disk)

        def work(first: int) -> None:
            for number in range(first, first + 3):
                file.append([Write(NOTE, number, b"x" * number)])

        assert scheduler.run(*(lambda first=first: work(first) for first in (10, 20, 30))) == [None] * 3
        order = [entry.id for entry in file.tail()]
        assert len(records_of(file)) == 9
        file.close()
    return disk.calls, order


def test_same_seed_same_interleaving() -> None:
    seen = [appends(seed) for seed in range(12)]
    assert seen == [appends(seed) for seed in range(12)]
    assert len({tuple(order) for _, order in seen}) > 8, "another seed, another interleaving"
    assert len({len(calls) for calls, _ in seen}) > 1, "fsyncs are shared in some, and not in others"


def test_a_deadlock_is_told_with_every_stack() -> None:
    told = []
    for seed in range(20):
        scheduler = Scheduler(seed)
        with scheduler.locks():
            one, two = MAKERS.lock(), MAKERS.lock()

        def forwards(one: threading.Lock = one, two: threading.Lock = two) -> None:
            with one, two:
                pass

        def backwards(one: threading.Lock = one, two: threading.Lock = two) -> None:
            with two, one:
                pass

        try:
            scheduler.run(forwards, backwards)
        except Deadlock as error:
            told.append(str(error))
        assert scheduler.run(forwards) == [None], "every thread was ended, and gave back what it held"
    assert 0 < len(told) < 20
    assert all("in forwards" in stacks and "in backwards" in stacks for stacks in told)


def test_a_lock_lets_one_in() -> None:
    for seed in range(20):
        scheduler = Scheduler(seed)
        with scheduler.locks():
            lock = MAKERS.lock()
        inside: list[int] = []

        def work(
            number: int, lock: threading.Lock = lock, inside: list[int] = inside, scheduler: Scheduler = scheduler
        ) -> int:
            with lock:
                inside.append(number)
                scheduler.pause()
                assert inside == [number]
                inside.remove(number)
            return number

        assert scheduler.run(*(lambda number=number: work(number) for number in range(4))) == [0, 1, 2, 3]


def test_a_condition_hands_over() -> None:
    for seed in range(20):
        scheduler = Scheduler(seed)
        with scheduler.locks():
            condition = MAKERS.condition()
        queue: list[int] = []

        def give(condition: threading.Condition = condition, queue: list[int] = queue) -> None:
            for number in range(3):
                with condition:
                    queue.append(number)
                    condition.notify()

        def take(condition: threading.Condition = condition, queue: list[int] = queue) -> list[int]:
            taken: list[int] = []
            while len(taken) < 3:
                with condition:
                    condition.wait_for(lambda: bool(queue))
                    taken.append(queue.pop(0))
            return taken

        assert scheduler.run(take, give) == [[0, 1, 2], None]


def test_errors_are_handed_to_the_test_and_others_keep_their_locks() -> None:
    scheduler = Scheduler(0)

    def fail() -> None:
        raise ValueError("told")

    def lock_here() -> object:
        return threading.Lock()

    with scheduler.locks():
        error, lock = scheduler.run(fail, lock_here)
    assert isinstance(error, ValueError)
    assert isinstance(lock, type(threading.Lock())), "only memhop's own locks are swapped"
