"""Records as they were at an earlier commit."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from memhop.common.errors import Corrupt
from memhop.core.meh_file import MehFile
from memhop.core.past import Moment
from memhop.repo import codec
from memhop.repo.record import Record


class Past:
    """The records after a commit; a context. Takes no lock and changes nothing.

    Raises:
        InvalidRequest: compaction has dropped that time; `allowed` says from when on the past is there.

    Cost: as opening the file, plus replaying up to the commit.
    """

    def __init__(self, path: Path, number: int) -> None:
        self._file = MehFile.open(path, mode="read", at=Moment(number, None))

    def record(self, id_: int) -> Record | None:
        """The record of this id, of whatever type; None if there was none, or its bytes are damaged."""
        try:
            found = self._file.fetch(id_)
            if found is None or found[0] not in codec.RECORD_TYPES:
                return None
            kind, offset, payload = found
            return codec.decode(kind, id_, payload, offset)
        except Corrupt:
            return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
