"""One dream: stages plan, their changes are applied in bounded commits, and a journal says what was done.

A stage is asked for its changes while no lock is held, so that whoever remembers and recalls meanwhile waits for one
commit of some hundred records at most, and never for a model. What was proposed is committed when `BATCH_RECORDS` are
together, or a model was asked since; each commit holds its step of the journal and the report so far. Of a stage that
works scene by scene (`Stage.by_scene`), what it says about one scene is one commit, however much it is: half of it
would be planned anew on top of itself by the next dream. So a dream that is killed leaves whole commits, and what they
did not finish is still fresh, as if nobody had begun it. Where commits begin and end does not depend on time, only on
what is proposed.

A dream that changes nothing and asks no model leaves no trace.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from memhop.common.errors import ChatError
from memhop.dream.guard import LEAST_TOUCHED, Guard, scenes_of
from memhop.dream.stage import Change, Desk, Stage
from memhop.repo.dreams import Dream, DreamStep, steps_of
from memhop.repo.l2_context import Scene
from memhop.repo.record import Kind, all_of

if TYPE_CHECKING:
    from memhop.models.chat import ChatModel
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store

BATCH_RECORDS = 500  # of one commit, about; a change is never divided
KEPT_STEPS = 100  # newest dreams that can be shown in full and undone
KEPT_DREAMS = 1_000  # newest dreams of which the report is kept
WHY_CHARS = 300  # of a change, kept in the journal
NOTICE_CHARS = 200
_LOOKED_AT = 20  # newest dreams, for one that was killed
_COUNTED = (Kind.MESSAGE, Kind.NOTE, Kind.SCENE, Kind.TOPIC, Kind.ENGRAM, Kind.PROFILE_LINE, Kind.FACT, Kind.CAPABILITY)


class Settings(NamedTuple):
    """What binds a run; see `memhop.Dreaming`."""

    max_share: float = 0.5
    min_topics: int = 6


class Spent(NamedTuple):
    """What was asked of a model so far."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def since(self, before: Spent) -> Spent:
        """The difference."""
        return Spent(*(now - then for now, then in zip(self, before, strict=True)))


class Ledger:
    """No model: nothing is spent. `dream/purse.py` has the other one."""

    chat: ChatModel | None = None

    def spent(self) -> Spent:
        """Since the ledger was opened."""
        return Spent()

    def settle(self, batch: Batch) -> None:
        """Write down what was spent and is not written yet, in this commit."""


class Outcome(NamedTuple):
    """How a run ended.

    `dream` has the id 0, and number 0, if nothing was written. `error` made a stage break off, and ended the dream.
    """

    dream: Dream
    error: Exception | None = None


class _Tally:
    """What one stage did, as it is counted."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.read = self.proposed = self.applied = self.changed = 0
        self.skipped: Counter[str] = Counter()
        self.spent = Spent()
        self.ms = 0
        self.notice = ""

    def looked_at(self, count: int) -> None:
        self.read += count

    def skip(self, reason: str, count: int = 1) -> None:
        self.skipped[reason] += count

    def report(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "read": self.read,
            "proposed": self.proposed,
            "applied": self.applied,
            "changed": self.changed,
            "skipped": dict(sorted(self.skipped.items())),
            "model_calls": self.spent.calls,
            "prompt_tokens": self.spent.prompt_tokens,
            "completion_tokens": self.spent.completion_tokens,
            "ms": self.ms,
            "notice": self.notice,
        }


def run(
    store: Store,
    stages: Sequence[Stage],
    *,
    now_ms: int,
    scene: int = 0,
    trigger: str = "call",
    settings: Settings | None = None,
    ledger: Ledger | None = None,
    stopping: Callable[[], bool] = lambda: False,
    leaving: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Run the stages, one after another.

    A model that fails ends its stage with a notice; the others go on. So does nothing else: an error that is not a
    ChatError ends the dream, after what was proposed before it has been applied, and is returned.

    Args:
        now_ms: What the stages take for now.
        scene: Only this one; 0: all that are fresh.
        stopping: Whether to end as soon as the scene that is worked on is finished. Asked between changes.
        leaving: Whether to end at once; what is not finished about a scene is left.

    Raises:
        StorageError, WriteRefused: the disk failed. What was committed before stays.
    """
    return _Run(store, now_ms, scene, trigger, settings or Settings(), ledger or Ledger(), stopping, leaving).through(
        stages
    )


class _Run:
    def __init__(
        self,
        store: Store,
        now_ms: int,
        scene: int,
        trigger: str,
        settings: Settings,
        ledger: Ledger,
        stopping: Callable[[], bool],
        leaving: Callable[[], bool],
    ) -> None:
        self._store = store
        self._now_ms = now_ms
        self._settings = settings
        self._ledger = ledger
        self._asked_to_stop = stopping
        self._asked_to_leave = leaving
        self._taken_back = False
        self._tallies: list[_Tally] = []
        self._steps = 0
        self._undone: set[int] | None = None
        self._dream = Dream(number=0, started_at=now_ms, scene=scene, trigger=trigger)
        with store.lock:
            there = sum(store.views.groups.count(all_of(kind)) for kind in _COUNTED)
        self._guard = Guard(max(LEAST_TOUCHED, int(settings.max_share * there)), self._undone_before)

    def through(self, stages: Sequence[Stage]) -> Outcome:
        begun = self._ledger.spent()
        error: Exception | None = None
        for stage in stages:
            if self._stopping():
                break
            error = self._go_through(stage)
            if error is not None:
                break
        state = "stopped" if error is not None or self._stopping() else "done"
        self._finish(state, asked=self._ledger.spent() != begun)
        return Outcome(self._dream, error)

    def _stopping(self) -> bool:
        return self._leaving() or self._asked_to_stop()

    def _leaving(self) -> bool:
        return self._taken_back or self._asked_to_leave()

    def _go_through(self, stage: Stage) -> Exception | None:
        tally = _Tally(stage.name)
        self._tallies.append(tally)
        spent, begun = self._ledger.spent(), time.perf_counter()
        error: Exception | None = None
        waiting: list[Change] = []
        records, settled = 0, spent
        about: set[int] = set()
        by_scene = getattr(stage, "by_scene", False)
        try:
            for change in self._planned(stage, tally):
                before, about = about, scenes_of(change) if by_scene else set()
                if before.isdisjoint(about):  # here one commit may end and the next begin
                    if self._stopping():
                        break
                    if records >= BATCH_RECORDS or self._ledger.spent() != settled:
                        self._count(tally, spent, begun)
                        self._apply(waiting, tally)
                        waiting, records, settled = [], 0, self._ledger.spent()
                waiting.append(change)
                records += len(change.puts) + len(change.deletes)
        except ChatError as failed:
            tally.notice = " ".join(str(failed).split())[:NOTICE_CHARS]
        except Exception as failed:
            error = failed
            tally.notice = f"it broke off with {type(failed).__name__}"
        self._count(tally, spent, begun)
        if about and (error is not None or tally.notice or self._leaving()) and not _closed(waiting, about):
            kept = [change for change in waiting if scenes_of(change).isdisjoint(about)]
            tally.skip("its scene was not finished", len(waiting) - len(kept))
            waiting = kept
        self._apply(waiting, tally)
        return error

    def _count(self, tally: _Tally, spent: Spent, begun: float) -> None:
        tally.spent = self._ledger.spent().since(spent)
        tally.ms = round((time.perf_counter() - begun) * 1000)

    def _planned(self, stage: Stage, tally: _Tally) -> Iterator[Change]:
        desk = Desk(
            store=self._store,
            chat=self._ledger.chat,
            now_ms=self._now_ms,
            scene=self._dream.scene,
            min_topics=self._settings.min_topics,
            looked_at=tally.looked_at,
            skip=tally.skip,
            stopping=self._stopping,
        )
        for change in stage.plan(desk):
            if self._leaving():
                return
            tally.proposed += 1
            yield change

    def _apply(self, changes: list[Change], tally: _Tally) -> None:
        if not changes or self._taken_back:
            return
        with self._store.writing() as batch:
            known = batch.find(Dream, self._dream.id) if self._dream.id else None
            if known is not None and known.state == "undone":  # somebody took it back while it went on
                self._taken_back = True
                tally.skip("the dream was undone meanwhile", len(changes))
                return
            done = [change for change in changes if self._made(batch, change, tally)]
            if done:
                self._write_down(batch, done, tally)

    def _made(self, batch: Batch, change: Change, tally: _Tally) -> bool:
        """Put a change into the commit, unless something speaks against it."""
        reason = _odd(change) or self._guard.refusal(change, batch)
        if reason:
            tally.skip(reason)
            return False
        for record in change.puts:
            batch.put(record)
        for record in change.deletes:
            # A line's words are out of reach of a later erasure: history that is kept must not hold them.
            batch.delete(record.KIND, record.id, purge=record.KIND is Kind.PROFILE_LINE)
        return True

    def _write_down(self, batch: Batch, done: list[Change], tally: _Tally) -> None:
        """The step of the journal, and the report so far."""
        base = self._store.file.commit_number  # under the lock: nothing comes between it and this commit
        if not self._dream.id:
            self._begin(batch)
        self._steps += 1
        entries = _entries(done, lambda id_: id_ in batch.records or self._store.file.locate(id_) is not None)
        changed = sum(len(ids) for _, ids in entries)
        tally.applied += len(done)
        tally.changed += changed
        step = DreamStep(dream=self._dream.id, seq=self._steps, stage=tally.name, base=base, changes=entries)
        batch.new(step, self._dream.id, self._steps)
        self._report(batch, changed=self._dream.changed + changed)
        self._ledger.settle(batch)

    def _begin(self, batch: Batch) -> None:
        """Number this dream, and put the journal in order."""
        newest = self._store.places(all_of(Kind.DREAM), limit=KEPT_DREAMS, descending=True)
        number = newest[0][0] + 1 if newest else 1
        for _, earlier in self._store.at_places(Dream, newest[:_LOOKED_AT]):
            if earlier.state == "running":  # it was killed; if it still goes on elsewhere, it says so itself
                batch.put(msgspec.structs.replace(earlier, state="stopped"))
        for _, id_ in newest[KEPT_STEPS - 1 : KEPT_STEPS]:
            for _, step in self._store.members(steps_of(id_)):
                batch.delete(Kind.DREAM_STEP, step)
        for _, earlier in self._store.at_places(Dream, newest[KEPT_DREAMS - 1 :]):
            if not earlier.undone:
                batch.delete(Kind.DREAM, earlier.id)
        self._dream = batch.new(msgspec.structs.replace(self._dream, number=number), number)

    def _report(self, batch: Batch, **fields: Any) -> None:
        stages = tuple(tally.report() for tally in self._tallies)
        self._dream = batch.put(msgspec.structs.replace(self._dream, stages=stages, **fields))

    def _finish(self, state: str, *, asked: bool) -> None:
        ended: dict[str, Any] = {"state": state, "finished_at": self._store.clock.now_ms()}
        if self._taken_back:
            ended.pop("state")
        if not self._dream.id and not asked:
            stages = tuple(tally.report() for tally in self._tallies)
            self._dream = msgspec.structs.replace(self._dream, stages=stages, **ended)
            return
        with self._store.writing() as batch:
            if not self._dream.id:
                self._begin(batch)
            known = batch.find(Dream, self._dream.id)
            if known is not None and known.state == "undone":
                ended.pop("state", None)
                self._dream = msgspec.structs.replace(self._dream, state="undone", undone=known.undone)
            self._report(batch, **ended)
            self._ledger.settle(batch)

    def _undone_before(self) -> set[int]:
        if self._undone is None:
            dreams = self._store.walk(Dream, all_of(Kind.DREAM))
            self._undone = {id_ for dream in dreams for id_ in dream.undone}
        return self._undone


def _closed(changes: list[Change], about: set[int]) -> bool:
    """Whether the last word about a scene is that it has been looked at."""
    last = changes[-1].puts
    return len(last) == 1 and isinstance(last[0], Scene) and last[0].id in about and not last[0].fresh


def _odd(change: Change) -> str:
    puts, deletes = {record.id for record in change.puts}, {record.id for record in change.deletes}
    if not puts and not deletes:
        return "there is nothing in it"
    return "it deletes what it puts" if puts & deletes or 0 in puts | deletes else ""


def _entries(done: list[Change], counts: Callable[[int], bool]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The changes of one commit for the journal: those that touch the same record are one, undone together.

    Args:
        counts: Whether a record was, or is now; one that came and went within the commit is left out.
    """
    whys: list[list[str]] = []
    ids: list[set[int]] = []
    place: dict[int, int] = {}
    for change in done:
        touched = {record.id for record in (*change.puts, *change.deletes)}
        met = sorted({place[id_] for id_ in touched if id_ in place})
        at = met[0] if met else len(ids)
        if not met:
            whys.append([])
            ids.append(set())
        for other in met[1:]:
            touched |= ids[other]
            whys[at] += whys[other]
            ids[other], whys[other] = set(), []
        whys[at].append(change.why)
        ids[at] |= touched
        place.update(dict.fromkeys(touched, at))
    return tuple(
        ("; ".join(filter(None, dict.fromkeys(why)))[:WHY_CHARS], tuple(sorted(filter(counts, group))))
        for why, group in zip(whys, ids, strict=True)
        if group
    )
