"""A deterministic scheduler: real threads of which one runs at a time, and a seed says which.

A thread gives up its turn where it calls the simulated disk and where it takes or gives back a lock; a seeded random
generator then picks who goes on. So the same seed gives the same interleaving, and a failure found once is found
again. A thread that waits for a lock cannot be picked; when nobody can, that is a deadlock, and `run` raises it with
every thread's stack. Nothing here sleeps or depends on time.

    scheduler = Scheduler(seed)
    disk = SimulatedDisk(pause=scheduler.pause)
    with scheduler.locks():
        ...build what is to be tested...
        outcomes = scheduler.run(first, second, third)

`locks()` swaps `threading.Lock`, `RLock` and `Condition` for ones that know the scheduler, for memhop's code alone
and not for locks made while a module is imported: those would outlive the scheduler. Outside of `run` such a lock
behaves as one that nobody contends for.
"""

from __future__ import annotations

import random
import sys
import threading
import traceback
from _thread import allocate_lock, get_ident, start_new_thread
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

Condition = Callable[[], bool]


class Deadlock(BaseException):
    """Nobody can go on. Not an Exception: no handler of the code under test may go on."""


class _Worker:
    """One thread. It runs only while it holds its gate open."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.work = work
        self.gate = allocate_lock()
        self.gate.acquire()
        self.ident = 0
        self.until: Condition | None = None
        self.timed = False
        self.done = False
        self.result: object = None


class Scheduler:
    """Runs callables side by side, one step of one of them at a time."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._workers: dict[int, _Worker] = {}
        self._started: list[_Worker] = []
        self._all_done = allocate_lock()
        self._stuck = ""

    def run(self, *callables: Callable[[], object]) -> list[object]:
        """What each callable returned, or the exception it raised, in order.

        Raises:
            Deadlock: with the stack of every thread that is not done.
        """
        self._started = [_Worker(work) for work in callables]
        self._stuck = ""
        self._all_done.acquire()
        for worker in self._started:
            worker.ident = start_new_thread(self._thread, (worker,))
        self._workers = {worker.ident: worker for worker in self._started}
        self._next().gate.release()
        self._all_done.acquire()
        self._all_done.release()
        self._workers = {}
        if self._stuck:
            raise Deadlock(self._stuck)
        return [worker.result for worker in self._started]

    def pause(self, until: Condition | None = None, *, timed: bool = False) -> bool:
        """Let others go on; come back when it is this thread's turn and `until` holds.

        Args:
            until: What to wait for. None: nothing.
            timed: The wait has an end. Time stands still here, so that it comes when nobody else can go on.

        Returns:
            Whether `until` holds.

        Raises:
            Deadlock: it does not, and there is nobody left who could change that.
        """
        worker = self._workers.get(get_ident())
        if worker is None:  # not one of ours: the test itself, before or after `run`
            if until is None or until() or timed:
                return until is None or until()
            raise Deadlock("a lock that is held by somebody else, outside of run()")
        if self._stuck:  # on its way out: whatever it does while unwinding fails as well
            raise Deadlock
        worker.until, worker.timed = until, timed
        chosen = self._next()
        if chosen is not worker:
            chosen.gate.release()
            worker.gate.acquire()
        worker.until, worker.timed = None, False
        if self._stuck:
            raise Deadlock
        return until is None or until()

    def _thread(self, worker: _Worker) -> None:
        worker.gate.acquire()
        try:
            worker.result = worker.work()
        except BaseException as error:
            worker.result = error
        worker.done = True
        if all(other.done for other in self._started):
            self._all_done.release()
        else:
            self._next().gate.release()

    def _next(self) -> _Worker:
        waiting = [worker for worker in self._started if not worker.done]
        if not self._stuck:
            ready = [worker for worker in waiting if worker.until is None or worker.until()]
            ready = ready or [worker for worker in waiting if worker.timed]
            if ready:
                return self._rng.choice(ready)
            self._stuck = self._stacks(waiting)
        return waiting[0]  # each in turn raises Deadlock, and so ends

    def _stacks(self, workers: Sequence[_Worker]) -> str:
        frames = sys._current_frames()
        stacks = []
        for worker in workers:
            lines = traceback.format_stack(frames[worker.ident])
            stacks.append(f"thread {self._started.index(worker)} waits here:\n{''.join(lines)}")
        return "nobody can go on\n" + "\n".join(stacks)

    @contextmanager
    def locks(self) -> Iterator[None]:
        """Within the block, locks which memhop makes are those of this scheduler."""
        swapped = {"Lock": ScheduledLock, "RLock": ScheduledRLock, "Condition": ScheduledCondition}
        originals = {name: getattr(threading, name) for name in swapped}

        def maker(name: str) -> Callable[..., Any]:
            def make(*arguments: Any) -> Any:
                caller = sys._getframe(1)
                ours = str(caller.f_globals.get("__name__")).startswith("memhop.")
                if not ours or caller.f_code.co_name == "<module>":
                    return originals[name](*arguments)
                return swapped[name](self, *arguments)

            return make

        for name in swapped:
            setattr(threading, name, maker(name))
        try:
            yield
        finally:
            for name, original in originals.items():
                setattr(threading, name, original)


class ScheduledLock:
    """`threading.Lock` for threads of a scheduler."""

    reentrant = False

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._owner: int | None = None
        self._count = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        me = get_ident()
        self._scheduler.pause()
        if not self._free(me) and not (blocking and self._scheduler.pause(lambda: self._free(me), timed=timeout >= 0)):
            return False
        self._owner = me
        self._count += 1
        return True

    def release(self) -> None:
        if not self._count or (self.reentrant and self._owner != get_ident()):
            raise RuntimeError("release of a lock that is not held")
        self._count -= 1
        if not self._count:
            self._owner = None
            self._scheduler.pause()

    def locked(self) -> bool:
        return self._count > 0

    def _free(self, thread: int) -> bool:
        return not self._count or (self.reentrant and self._owner == thread)

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class ScheduledRLock(ScheduledLock):
    """`threading.RLock` for threads of a scheduler."""

    reentrant = True


class ScheduledCondition:
    """`threading.Condition` for threads of a scheduler, without timeouts."""

    def __init__(self, scheduler: Scheduler, lock: ScheduledLock | None = None) -> None:
        self._scheduler = scheduler
        self._lock = lock or ScheduledRLock(scheduler)
        self._waiting: list[object] = []

    def wait(self) -> bool:
        ticket = object()
        self._waiting.append(ticket)
        depth, self._lock._count, self._lock._owner = self._lock._count, 0, None
        try:
            self._scheduler.pause(lambda: ticket not in self._waiting and not self._lock.locked())
        finally:
            self._lock._count, self._lock._owner = depth, get_ident()
        return True

    def wait_for(self, predicate: Callable[[], bool]) -> bool:
        while not predicate():
            self.wait()
        return True

    def notify(self, n: int = 1) -> None:
        del self._waiting[:n]

    def notify_all(self) -> None:
        self._waiting.clear()

    def __enter__(self) -> Self:
        self._lock.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
