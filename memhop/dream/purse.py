"""What a model may be asked, and was asked, by one handle: counted, held within the budget, written down by day.

A run and a turn each ask through a `Metered` that begins with what the file says was spent today, also by other
processes, and what this handle has spent since and not written down yet. What was spent is written in the next commit
of whoever asked; after a preview, which writes nothing, in the next one that does.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from memhop.common.errors import ChatError
from memhop.dream.pipeline import Ledger, Spent
from memhop.models.chat import count_of
from memhop.models.metered import Budget, Metered
from memhop.repo.dreams import Spending, spending_id

if TYPE_CHECKING:
    from memhop.models.chat import ChatModel, Reply
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store

DAY_MS = 86_400_000


class Purse:
    """The spending of one handle. Safe to use from several threads."""

    def __init__(self, store: Store, model: ChatModel, budget: Budget | None) -> None:
        self._store = store
        self._model = model
        self._budget = budget or Budget()
        self._lock = threading.Lock()
        self._meters: list[Metered] = []  # of today, the newest last: all but that one may still be in use
        self._settled = Spent()
        self._day = -1

    def meter(self, *, anew: bool = False) -> Metered:
        """The model, metered. One that failed too often asks nothing any more: `anew` begins again."""
        day = self._store.clock.now_ms() // DAY_MS
        spent = self._store.readable(Spending, spending_id(day)) or Spending(day=day)
        with self._lock:
            if day != self._day:
                self._meters, self._settled, self._day = [], Spent(), day
            if anew or not self._meters:
                waiting = self._total().since(self._settled)
                meter = Metered(
                    self._model,
                    self._budget,
                    spent_calls=spent.calls + waiting.calls,
                    spent_tokens=spent.prompt_tokens + spent.completion_tokens
                    + waiting.prompt_tokens + waiting.completion_tokens,
                )  # fmt: skip
                self._meters.append(meter)
            return self._meters[-1]

    def settle(self, batch: Batch) -> None:
        """Write down in this commit what was spent and is not written yet."""
        with self._lock:
            total = self._total()
            fresh, self._settled = total.since(self._settled), total
        if fresh == Spent():
            return
        id_ = spending_id(self._day)
        known = batch.find(Spending, id_) or Spending(day=self._day)
        values = {name: getattr(known, name) + count for name, count in fresh._asdict().items()}
        batch.put(msgspec.structs.replace(known, **values), id_)

    def _total(self) -> Spent:
        meters = self._meters
        return Spent(
            sum(meter.calls for meter in meters),
            sum(meter.prompt_tokens for meter in meters),
            sum(meter.completion_tokens for meter in meters),
        )


class Account(Ledger):
    """What one run spends out of a purse.

    Args:
        writes: Whether it is written down in the commits of the run.
    """

    def __init__(self, purse: Purse, *, writes: bool) -> None:
        self.chat: _Counted = _Counted(purse.meter(anew=True))
        self._purse = purse
        self._writes = writes

    def spent(self) -> Spent:
        """See `Ledger`."""
        return self.chat.spent

    def settle(self, batch: Batch) -> None:
        """See `Ledger`."""
        if self._writes:
            self._purse.settle(batch)


class _Counted:
    """A metered model as one run asks it; others may use the meter at the same time."""

    def __init__(self, meter: Metered) -> None:
        self.spent = Spent()
        self._meter = meter

    @property
    def name(self) -> str:
        """See `ChatModel`."""
        return self._meter.name

    def complete(self, system: str, user: str, *, max_tokens: int, schema: Mapping[str, Any] | None = None) -> Reply:
        """See `ChatModel`."""
        before = self._meter.calls
        try:
            reply = self._meter.complete(system, user, max_tokens=max_tokens, schema=schema)
        except ChatError as error:
            if self._meter.calls > before:  # else nothing was sent
                self._count(count_of(error.tokens), 0)
            raise
        self._count(reply.prompt_tokens, reply.completion_tokens)
        return reply

    def _count(self, prompt: int, completion: int) -> None:
        spent = self.spent
        self.spent = Spent(spent.calls + 1, spent.prompt_tokens + prompt, spent.completion_tokens + completion)
