"""What `DB.at` opens: the file as it was at an earlier moment."""

from __future__ import annotations

from datetime import datetime

from memhop.common.clock import ManualClock, to_ms
from memhop.common.config import check_int
from memhop.core.meh_file import MehFile
from memhop.core.past import Moment


def open_at(path: str, when: object) -> tuple[MehFile, ManualClock]:
    """The file at a moment, for reading, and a clock that stands still there. See `DB.at`."""
    if isinstance(when, datetime):
        moment = Moment(None, to_ms(when, field="when"))
    else:
        moment = Moment(check_int(when, field="when", low=0, high=2**63 - 1), None)
    file = MehFile.open(path, mode="read", at=moment)
    return file, ManualClock(file.commit_time_ms if moment.time_ms is None else moment.time_ms)
