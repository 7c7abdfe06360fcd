"""Subscribers: who is told of changes by HTTP, while the memory is open.

A subscriber NAME of `config.notify.subscribers` keeps a file `~/.NAME/manifest.json` while it runs, with its
`notifyEndpoint`, a URL. Each event of what this handle writes is posted there as JSON, in order.

    commit ──> Notifier.committed ──> reading thread: events of the log ──> queue of each subscriber ──> its own thread

A write only leaves the number of its commit. Whatever happens behind that is counted, and goes no further: a subscriber
that is slow or away misses events, and can ask for them with `events`.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memhop.api import results
from memhop.common.errors import InvalidRequest, MemhopError

if TYPE_CHECKING:
    from memhop.common.settings import NotifySection
    from memhop.repo.store import Store

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
QUEUE: Final = 1_000  # events that wait for one subscriber; beyond, the oldest are dropped
PAUSES_S: Final = (0.1, 0.4)  # before each further try
LONGEST_END_S: Final = 0.8  # that closing waits for what is under way
MOST_MANIFEST: Final = 64 * 1024  # bytes


class Notifier:
    """The subscribers of one handle.

    Raises:
        InvalidRequest: a name is none, or there are more than 32.
    """

    def __init__(self, settings: NotifySection) -> None:
        names = tuple(dict.fromkeys(settings.subscribers or ()))
        for name in names:
            if not isinstance(name, str) or _NAME.fullmatch(name) is None or len(names) > 32:
                raise InvalidRequest(
                    f"{name!r:.40} does not do", field="notify.subscribers", allowed="32 names of A-Z a-z 0-9 _ -"
                )
        self._queues = tuple(Queue(name, settings) for name in names)
        self._awake = threading.Condition()
        self._commits: deque[int] = deque(maxlen=100_000)
        self._begun = 0
        self._idle = True
        self._closed = False
        self._thread: threading.Thread | None = None
        self._store: Store | None = None

    def attach(self, store: Store) -> None:
        """Tell of what this store commits from now on."""
        self._store = store
        store.after_commit.append(self.committed)

    def committed(self, number: int) -> None:
        """Commit `number` was made. Never raises, never waits for anything but another such call."""
        with self._awake:
            if self._closed:
                return
            self._commits.append(number)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="memhop events", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError as error:  # no more threads, or the interpreter is ending
                    self._thread = None
                    self._commits.clear()
                    for queue in self._queues:
                        queue.lost(str(error))
                    return
            self._awake.notify()

    def subscribers(self) -> tuple[results.Subscriber, ...]:
        """How each of them fares."""
        return tuple(queue.report() for queue in self._queues)

    def close(self) -> None:
        """Post what is ready to be posted, for at most 0.8 s. What is left then is missed."""
        until = time.monotonic() + LONGEST_END_S
        with self._awake:
            self._awake.wait_for(lambda: self._idle and not self._commits, timeout=LONGEST_END_S / 2)
            self._closed = True
            self._awake.notify_all()
        for queue in self._queues:
            queue.finish(until)

    def _run(self) -> None:
        """The reading thread."""
        from memhop.api.events import event_of
        from memhop.repo.changes import Reader, after

        store = self._store
        assert store is not None
        reader = Reader(store)
        position = -1
        while True:
            with self._awake:
                self._idle = True
                self._awake.notify_all()
                self._awake.wait_for(lambda: self._commits or self._closed)
                if self._closed:
                    return
                self._idle = False
                numbers = sorted(self._commits)
                self._commits.clear()
            if position < 0 or position >> 20 >= numbers[0]:  # the first ones; or threads that overtook each other
                position = after(numbers[0] - 1)
            own = None if store.file.mode == "exclusive" else frozenset(numbers)
            try:
                if reader.missed(position):
                    self._lost("compaction came first")
                while position < after(numbers[-1]):
                    for change in reader.read(position, numbers[-1]):
                        if own is None or change.commit in own:
                            event = event_of(change)
                            if event is not None:
                                self._put(event)
                    if reader.next <= position:
                        break
                    position = reader.next
            except (MemhopError, OSError) as error:
                self._lost(str(error))
                position = -1

    def _put(self, event: results.LogEvent) -> None:
        body = json.dumps(payload(event), ensure_ascii=False).encode("utf-8", "replace")
        for queue in self._queues:
            queue.put(body)

    def _lost(self, why: str) -> None:
        for queue in self._queues:
            queue.lost(why)


def payload(event: results.LogEvent) -> dict[str, Any]:
    """An event as subscribers and open pages get it: `event` is the name older ones know, `from` and `to` projects."""
    told: dict[str, Any] = {"event": event.compat or event.type, **event.to_dict()}
    if event.from_project is not None:
        told |= {"from": event.from_project, "to": event.to_project}
    return told


class Queue:
    """What waits for one subscriber, and the thread that posts it."""

    def __init__(self, name: str, settings: NotifySection) -> None:
        self.name = name
        self._timeout = settings.timeout
        self._remote = settings.allow_remote
        self._bodies: deque[bytes] = deque()
        self._awake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._posting = False
        self._until: float | None = None  # when closed: the last moment
        self._sent = self._missed = 0
        self._error: str | None = None
        self._away = False  # it did not take the last event: it is asked only once for the next

    def put(self, body: bytes) -> None:
        """Post this after all that waits."""
        with self._awake:
            self._bodies.append(body)
            if len(self._bodies) > QUEUE:
                self._bodies.popleft()
                self._miss(f"more than {QUEUE:,} events waited")
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=f"memhop tells {self.name}", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError as error:
                    self._thread = None
                    self._bodies.clear()
                    self._miss(str(error))
                    return
            self._awake.notify_all()

    def lost(self, why: str) -> None:
        """An event that could not even be read."""
        with self._awake:
            self._miss(why)

    def report(self) -> results.Subscriber:
        """How it fares."""
        with self._awake:
            waiting = len(self._bodies) + self._posting
            return results.Subscriber(self.name, self._sent, self._missed, waiting, self._error)

    def finish(self, until: float) -> None:
        """No more will come. Returns when all is posted, or at `until` (of the monotonic clock)."""
        with self._awake:
            self._until = until
            self._awake.notify_all()
            if not self._awake.wait_for(
                lambda: not self._bodies and not self._posting, timeout=max(0.0, until - time.monotonic())
            ):
                for _ in range(len(self._bodies) + self._posting):
                    self._miss("the memory was closed first")
                self._bodies.clear()

    def _miss(self, why: str) -> None:
        self._missed += 1
        self._error = " ".join(why.split())[:200]

    def _run(self) -> None:
        while True:
            with self._awake:
                self._awake.wait_for(lambda: self._bodies or self._until is not None)
                if not self._bodies:
                    return
                body = self._bodies.popleft()
                self._posting = True
            failure = self._post(body)
            self._away = bool(failure)
            with self._awake:
                self._posting = False
                if self._until is None or time.monotonic() <= self._until:
                    if failure:
                        self._miss(failure)
                    else:
                        self._sent += 1
                self._awake.notify_all()

    def _post(self, body: bytes) -> str:
        """Post, with further tries where that may help. Returns why it failed, "" if it did not."""
        from memhop.api.post import Refused, Unreachable, post

        for pause in (None,) if self._away else (*PAUSES_S, None):
            try:
                timeout = self._timeout
                if self._until is not None:
                    timeout = min(timeout, self._until - time.monotonic())
                    if timeout <= 0:
                        return "the memory was closed first"
                post(endpoint(self.name), body, timeout=timeout, remote=self._remote)
            except Refused as error:
                return str(error)
            except Unreachable as error:
                if pause is None:
                    return str(error)
                with self._awake:
                    self._awake.wait_for(lambda: self._until is not None, timeout=pause)
            else:
                return ""
        raise AssertionError("the last try returns")


def endpoint(name: str) -> str:
    """The URL in the manifest of a subscriber, as it is now. Raises Refused: there is none that can be read."""
    from memhop.api.post import Refused

    path = Path.home() / f".{name}" / "manifest.json"
    try:
        with path.open("rb") as file:
            data = file.read(MOST_MANIFEST + 1)
        manifest = json.loads(data) if len(data) <= MOST_MANIFEST else None
    except (OSError, ValueError, RecursionError) as error:
        raise Refused(f"{path}: {type(error).__name__}") from None
    url = manifest.get("notifyEndpoint") if isinstance(manifest, Mapping) else None
    if not isinstance(url, str):
        raise Refused(f"{path} names no notifyEndpoint")
    return url
