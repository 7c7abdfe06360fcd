"""The vectors which the file has of messages, and where several of them point together. No model is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from memhop.repo.record import Kind, all_of
from memhop.repo.vectors import Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.repo.store import Store


class Directions:
    """Means of stored vectors, in the newest space of a memory that has one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        page = store.listed(Space, all_of(Kind.SPACE), limit=1, descending=True)
        self._space = page[0][1] if page else None

    @property
    def any(self) -> bool:
        """Whether there is a space at all."""
        return self._space is not None

    def mean(self, messages: Sequence[int]) -> NDArray[np.float32] | None:
        """The mean of their vectors, of unit length. None: there are none, or they cancel out."""
        if self._space is None or not len(messages):
            return None
        with self._store.lock:
            views = self._store.views
            index = views.vectors(self._space.id, self._space.dim)
            ordinals = [ordinal for id_ in messages if (ordinal := views.units.ordinal(id_)) is not None]
            return index.mean(np.array(ordinals, np.int64), views.ordinals, version=views.version)

    def near(self, vector: NDArray[np.float32], most: int) -> list[int]:
        """Ids of the units whose vectors are nearest, in no order."""
        if self._space is None:
            return []
        with self._store.lock:
            views = self._store.views
            index = views.vectors(self._space.id, self._space.dim)
            found, _ = index.top(vector, most, views.ordinals, version=views.version)
            ids: list[int] = views.units.ids[found].tolist()
            return ids
