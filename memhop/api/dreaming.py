"""Dreams of one handle: their settings, the one that runs, and those that begin by themselves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memhop.common.config import check_int
from memhop.common.errors import Closed, InvalidRequest, WriteRefused
from memhop.common.ids import from_hex

if TYPE_CHECKING:
    from memhop.api import results
    from memhop.dream.pipeline import Ledger
    from memhop.dream.purse import Purse
    from memhop.dream.stage import Stage
    from memhop.models.chat import ChatModel
    from memhop.models.metered import Budget
    from memhop.repo.dreams import Dream
    from memhop.repo.l2_context import Scene
    from memhop.repo.store import Store
    from memhop.search.turn import OfflineWords

FIRST_PAUSE_S = 60.0  # after a dream that failed
LONGEST_PAUSE_S = 3_600.0
CLOSE_WAIT_S = 5.0  # for a dream to notice that the memory is being closed; one that waits for a model may take longer
_LOOK_S = 0.2
_MOST_LEFT = 10_000
MESSAGES_PER_TURN = 2  # what was said, and the reply


@dataclass(frozen=True, slots=True)
class Dreaming:
    """When a memory dreams by itself, and what binds every dream. For `DB.open(..., dreaming=)`.

    After a turn of the agent loop a dream becomes due when its scene has `topics` turns that no dream has seen, when
    more than `capacity` scenes have such turns, or when nothing was said for `idle_seconds`. One background thread
    dreams, one dream at a time; no call fails or waits because of it. A failure is kept in `db.dreams.last_error`; the
    next dream by itself comes a minute later at the earliest, then two, four, … up to an hour.

    Attributes:
        topics: 1..10,000 turns of one scene. None: they make no dream due.
        capacity: 1..100,000 scenes. None: they make no dream due.
        idle_seconds: 1..31,622,400. None: silence makes no dream due.
        max_share: More than 0, up to 1: the share of the records of a memory that one dream may change or delete; 50
            may always be. New records are not counted.
        min_topics: 2..1,000: raw topics that a scene needs before some of them are fused.

    Raises:
        InvalidRequest: a value does not do.
    """

    topics: int | None = 20
    capacity: int | None = 7
    idle_seconds: float | None = None
    max_share: float = 0.5
    min_topics: int = 6

    def __post_init__(self) -> None:
        if self.topics is not None:
            check_int(self.topics, field="topics", low=1, high=10_000)
        if self.capacity is not None:
            check_int(self.capacity, field="capacity", low=1, high=100_000)
        if self.idle_seconds is not None:
            _check_number(self.idle_seconds, field="idle_seconds", low=1, high=31_622_400)
        _check_number(self.max_share, field="max_share", low=1e-9, high=1)
        check_int(self.min_topics, field="min_topics", low=2, high=1_000)


def _check_number(value: object, *, field: str, low: float, high: float) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not low <= value <= high:  # type: ignore[operator]
        raise InvalidRequest(f"{value!r:.40} is not allowed", field=field, allowed=f"a number from {low:g} to {high:g}")


class Dreamer:
    """The dreams of one handle: one at a time, whoever wants it.

    Attributes:
        last_error: Why the newest dream in the background failed, None if it did not. One line.
        failures: How many did, since the handle was opened.
        stages: Gives the stages of a dream, with or without a model.
    """

    def __init__(self, llm: ChatModel | None, budget: Budget | None, settings: Dreaming | None) -> None:
        self.last_error: str | None = None
        self.failures = 0
        self.stages: Callable[..., Sequence[Stage]] = _stages
        self._llm = llm
        self._budget = budget
        self._settings = settings or Dreaming()
        self._busy = threading.Lock()
        self._closing = threading.Event()
        self._purse: Purse | None = None
        self._words: OfflineWords | None = None
        self._wake = threading.Condition()  # guards the next three
        self._thread: threading.Thread | None = None
        self._next = 0  # a scene with a turn after which a dream seemed due
        self._said = 0.0  # monotonic time of the newest turn that no idle dream came after; 0.0: there is none
        self._rest_until = 0.0
        self._pause = 0.0
        self._left: dict[int, int] = {}  # scene -> fresh messages which the newest dream of it has left
        self._left_scenes = 0

    def dream(
        self,
        store: Store,
        scene: int = 0,
        *,
        dry_run: bool = False,
        max_seconds: float | None = None,
        trigger: str = "call",
        stages: Sequence[Stage] | None = None,
    ) -> results.DreamReport:
        """Dream now, after the one that runs. See `DB.dream`."""
        from memhop.api import dreams

        if not dry_run and store.file.refused:
            raise WriteRefused(f"{store.file.path} takes no writes: {store.file.refused}")
        if stages is None:
            stages = self.stages(model=self._llm is not None)
        with self.alone():
            if not dry_run:
                ledger = self.ledger(store, writes=True)
                return dreams.report(store, self._run(store, stages, scene, max_seconds, trigger, ledger))
            from memhop.api.preview import private_copy

            ledger = self.ledger(store, writes=False)
            with private_copy(store) as copy:
                return dreams.preview(copy, self._run(copy, stages, scene, max_seconds, trigger, ledger))

    def _run(
        self,
        store: Store,
        stages: Sequence[Stage],
        scene: int,
        max_seconds: float | None,
        trigger: str,
        ledger: Ledger,
    ) -> Dream:
        from memhop.dream.pipeline import Settings, run

        deadline = None if max_seconds is None else time.monotonic() + max_seconds
        outcome = run(
            store,
            stages,
            now_ms=store.clock.now_ms(),
            scene=scene,
            trigger=trigger,
            settings=Settings(self._settings.max_share, self._settings.min_topics),
            ledger=ledger,
            stopping=lambda: deadline is not None and time.monotonic() >= deadline,
            leaving=self._closing.is_set,
        )
        if outcome.error is not None:
            raise outcome.error
        return outcome.dream

    def ledger(self, store: Store, *, writes: bool) -> Ledger:
        """The model, if there is one, and what is spent on it. `writes`: whether its user commits what was spent."""
        from memhop.dream.pipeline import Ledger

        if self._llm is None:
            return Ledger()
        from memhop.dream.purse import Account

        return Account(self._purse_of(self._llm, store), writes=writes)

    def purse(self, store: Store) -> Purse | None:
        """What the model may be asked outside dreams; None without one."""
        return None if self._llm is None else self._purse_of(self._llm, store)

    def _purse_of(self, llm: ChatModel, store: Store) -> Purse:
        from memhop.dream.purse import Purse

        with self._wake:
            if self._purse is None:
                self._purse = Purse(store, llm, self._budget)
            return self._purse

    def refine(self, store: Store, max_seconds: float | None) -> results.DreamReport:
        """Do what only a model can do, and a dream would do as well: for `DB.backfill`."""
        from memhop.dream.stages import enriching

        return self.dream(store, max_seconds=max_seconds, trigger="backfill", stages=enriching(model=True))

    def words(self, store: Store) -> OfflineWords:
        """How the keywords of a turn are chosen, where the model is asked."""
        if self._words is None:
            from memhop.api.on_write import ModelWords

            assert self._llm is not None
            self._words = ModelWords(self._purse_of(self._llm, store))
        return self._words

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While no dream runs. Raises Closed when the memory is closed meanwhile."""
        while not self._busy.acquire(timeout=_LOOK_S):
            self._check_open()
        try:
            self._check_open()
            yield
        finally:
            self._busy.release()

    def _check_open(self) -> None:
        if self._closing.is_set():
            raise Closed("the memory was closed")

    # -- by itself -------------------------------------------------------------------------------------------

    def said(self, store: Store, scene_id: str) -> None:
        """A turn was stored in a scene: begin a dream if one is due. Never raises, waits for nothing."""
        try:
            from memhop.repo.l2_context import Scene

            scene = store.readable(Scene, from_hex(scene_id))
            if scene is None:
                return
            due = self._due(store, scene) is not None
            with self._wake:
                self._said = time.monotonic()
                if due:
                    self._next = scene.id
                    self._wake.notify()
                if self._closing.is_set() or self._thread is not None or not (due or self._settings.idle_seconds):
                    return
                self._thread = threading.Thread(target=self._work, args=(store,), name="memhop dream", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError:  # no more threads, or the interpreter is ending
                    self._thread = None
                    raise
        except Exception as error:  # the turn is stored all the same
            self._failed(error)

    @property
    def running(self) -> bool:
        """Whether the background thread is at work, or waits for silence."""
        return self._thread is not None

    def wait(self) -> None:
        """Return once the background thread has nothing to do."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def close(self) -> None:
        """End the dream that runs at the next opportunity, and begin none any more. Waits `CLOSE_WAIT_S` at most."""
        with self._wake:
            self._closing.set()
            self._wake.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(CLOSE_WAIT_S)

    def _due(self, store: Store, scene: Scene | None) -> tuple[str, int] | None:
        """(trigger, scene) of the dream that is due after a turn in `scene`."""
        from memhop.repo.l2_context import FRESH_SCENES

        settings = self._settings
        if time.monotonic() < self._rest_until:
            return None
        if settings.topics is not None and scene is not None:
            fresh = scene.fresh - self._left.get(scene.id, 0)
            if fresh >= settings.topics * MESSAGES_PER_TURN:
                return "turns", scene.id
        if settings.capacity is not None:
            with store.lock:
                scenes = store.views.groups.count(FRESH_SCENES)
            if scenes > settings.capacity and scenes > self._left_scenes:
                return "scenes", 0
        return None

    def _work(self, store: Store) -> None:
        """The thread. Whatever happens is noted and goes no further: nobody waits for these dreams."""
        while True:
            try:
                due = self._next_due(store)
                if due is None:
                    return
                self._dream_by_itself(store, *due)
            except Exception as error:
                if not self._closing.is_set():
                    self._failed(error)

    def _next_due(self, store: Store) -> tuple[str, int] | None:
        """Wait for the next dream that is due. None: there is nothing to wait for, and the thread ends."""
        from memhop.repo.l2_context import Scene

        idle = self._settings.idle_seconds
        while True:
            with self._wake:
                scene, self._next = self._next, 0
                if self._closing.is_set() or not (scene or (idle is not None and self._said)):
                    self._thread = None
                    return None
                if not scene and idle is not None:
                    left = max(self._said + idle, self._rest_until) - time.monotonic()
                    if left > 0:
                        self._wake.wait(left)
                        continue
                    self._said = 0.0
                    return "idle", 0
            due = self._due(store, store.readable(Scene, scene))
            if due is not None:
                return due

    def _dream_by_itself(self, store: Store, trigger: str, scene: int) -> None:
        from memhop.repo.l2_context import FRESH_SCENES, Scene

        report = self.dream(store, scene, trigger=trigger)
        failures = [stage.failure for stage in report.stages if stage.failure]
        if failures:
            self._failed(failures[0])
        else:
            self.last_error, self._rest_until, self._pause = None, 0.0, 0.0
        with store.lock:  # what it had no use or budget for makes no other one due
            self._left_scenes = store.views.groups.count(FRESH_SCENES)
            self._left = {one.id: one.fresh for _, one in store.listed(Scene, FRESH_SCENES, limit=_MOST_LEFT)}

    def _failed(self, error: object) -> None:
        self.failures += 1
        self.last_error = " ".join(str(error).split()) or type(error).__name__
        self._pause = min(max(FIRST_PAUSE_S, self._pause * 2), LONGEST_PAUSE_S)
        self._rest_until = time.monotonic() + self._pause


def _stages(*, model: bool) -> Sequence[Any]:
    from memhop.dream.stages import stages_of

    return stages_of(model=model)
