"""The commits behind one, in order, and what each frame of them replaced.

A walk begins at the newest checkpoint that does not reach beyond its commit, as time travel does (core/past.py), goes
on from there by replay, and keeps the record index of the moment it has come to. So it can say what was live before.
"""

from __future__ import annotations

from collections.abc import Iterator

from memhop.core.format import Point
from memhop.core.frame import Window
from memhop.core.log_state import LogState, take_in
from memhop.core.past import Moment, anchored
from memhop.core.records import Entry
from memhop.core.replay import Replay

FAR = 20_000  # rows kept of its own beyond which a walk had better begin anew at a later checkpoint


class Walk:
    """Made by `MehFile.walk`. For one thread at a time; holds within one `epoch` of its file.

    Attributes:
        number: The commit it has come to.
        epoch: That of the file when the walk began.
    """

    def __init__(self, state: LogState, number: int, epoch: int) -> None:
        self.epoch = epoch
        self._past = anchored(state, Moment(number, None))
        self.number = self._past.head.number
        self.step(state, number)

    def goes_on(self, state: LogState, number: int) -> bool:
        """Whether passing by what lies before `number` is worth more than a walk begun anew."""
        begun, covered = self._past.covered.number, state.covered.number
        nearer = begun < covered <= number and (self.number < covered or len(self._past.records.delta) > FAR)
        return self.number <= number and not nearer

    def step(self, state: LogState, number: int) -> None:
        """Pass by the commits up to `number`."""
        if self.number < number:
            for point, _ in self.commits(state):
                if point.number >= number:
                    break

    def commits(self, state: LogState) -> Iterator[tuple[Point, tuple[Entry, ...]]]:
        """The commits behind `number` in a state of the file. Whoever stops early goes on there with the next call.

        Cost: reads what it passes, about 5 us per frame.
        """
        past = self._past
        durable = state.header.durable if state.header else past.head
        window = Window(state.file, state.end)
        for batch in Replay(window, state.identity.salt, past.head, durable, live=True):
            take_in(past, batch)
            entries, past.tail = tuple(past.tail), []
            self.number = batch.point.number
            yield batch.point, entries
