"""Keywords of a turn by a model, while it is stored: `DB.open(..., llm_on_write=True)`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from memhop.common.errors import ChatError
from memhop.models.material import Said
from memhop.models.tasks import keywords
from memhop.search.turn import KEYWORDS, Chosen, OfflineWords

if TYPE_CHECKING:
    from memhop.dream.purse import Purse
    from memhop.repo.batch import Batch

PAUSE_S = 60.0  # after a failure: the next turns do not wait for a model that does not answer
_ALIAS = "0000000000000001"  # the message has no id yet


class ModelWords(OfflineWords):
    """Asks the model; without a usable answer the words are those of the offline method. Nothing is ever raised.

    After a failure nothing is asked for a minute.
    """

    def __init__(self, purse: Purse) -> None:
        self._purse = purse
        self._rest_until = 0.0
        self._failed = False

    def of(self, text: str, speaker: str, at: int) -> Chosen:
        """See `OfflineWords`."""
        offline = super().of(text, speaker, at)
        if time.monotonic() < self._rest_until:
            return offline
        try:
            meter = self._purse.meter(anew=self._failed)
            found = keywords(meter, [Said(_ALIAS, at, speaker, text)], KEYWORDS).value.get(_ALIAS)
        except ChatError:
            self._failed, self._rest_until = True, time.monotonic() + PAUSE_S
            return offline
        self._failed = False
        return Chosen(found, meter.name) if found else offline

    def settle(self, batch: Batch) -> None:
        """See `OfflineWords`."""
        self._purse.settle(batch)
