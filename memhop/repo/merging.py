"""Merging full segments a step at a time, so that no call waits for all of it: a step comes with each commit.

What the steps read never changes, and what is written meanwhile stands behind the segments that are merged. Whoever
seals, compacts or closes in between makes the work void; it begins anew with the next checkpoint.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from memhop.core.turns import EXCLUSIVE

if TYPE_CHECKING:
    from memhop.core.meh_file import MehFile
    from memhop.core.merge import Merge
    from memhop.repo.views import Views

NOTES_PER_STEP = 256  # a call that writes many records makes more than one step


class Merging:
    """One merge under way. Call it under the lock of the store, in a turn of the file."""

    def __init__(self, file: MehFile, views: Views, merge: Merge) -> None:
        self._file = file
        self._views = views
        self._merge = merge
        self._steps = self._run()

    def step(self, views: Views | None) -> bool:
        """Do a piece of the work, 20 ms at most; False when nothing is left to do, or it has become void.

        Args:
            views: Those in use now.

        Raises:
            StorageError: the disk failed, or a part is damaged. The merge is to be given up.
        """
        if views is not self._views or views.rebuilt or not self._merge.stands:
            return False
        return next(self._steps, self) is None

    def _run(self) -> Generator[None, None, None]:
        first = len(self._file.segments()) - len(self._merge.suffix)
        sections = yield from self._views.merging(first)
        yield
        self._merge.index()
        yield
        self._merge.write(sections)
        if self._file.mode == EXCLUSIVE:  # others would write over what no header names
            yield
        self._merge.publish()
        self._views.merged(first)
