"""`db.trajectory`: L7."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memhop.api import convert, results
from memhop.api.namespace import Namespace
from memhop.common.clock import time_or_now
from memhop.common.config import check_name, check_text
from memhop.repo import l7_trajectory

if TYPE_CHECKING:
    from memhop.repo.batch import Batch


class Trajectory(Namespace):
    """L7: what the agent did, event by event."""

    def append(self, session: str, type: str, payload: str = "", *, at: object = None) -> results.Event:
        """Append one step to a session; its sequence number is assigned."""
        session_name = check_name(session, field="session")
        type_name = check_name(type, field="type")
        body = "" if payload == "" else check_text(payload, field="payload", max_bytes=64 * 1024)
        store = self._store
        now = store.clock.now_ms()
        moment = time_or_now(at, field="at", now_ms=now)

        def fill(batch: Batch) -> l7_trajectory.Event:
            last = store.views.groups.last(l7_trajectory.events_of(session_name))
            seq = last[0] + 1 if last else 1
            event = l7_trajectory.Event(session=session_name, seq=seq, type=type_name, payload=body, at=moment)
            return batch.new(event, session_name, seq)

        return convert.event(store.write(fill))

    def read(self, session: str, *, limit: int = 100, cursor: str | None = None) -> results.Page:
        """Steps of a session, in order."""
        group = l7_trajectory.events_of(check_name(session, field="session"))
        return self._page(l7_trajectory.Event, group, convert.event, limit, cursor, False)
