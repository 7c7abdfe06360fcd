"""What `forget` and `purge` do: to the trash, out of the trash for good, or erased with proof."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import numpy as np

from memhop.api import results
from memhop.api.erasure import Erasure, check_erasable
from memhop.api.note_changes import Changes
from memhop.common.clock import to_ms
from memhop.common.config import LIMITS, check_project
from memhop.common.errors import InvalidRequest
from memhop.common.ids import from_hex, to_hex
from memhop.repo.l4_note import Note
from memhop.repo.record import Layer, Tier, project_label

if TYPE_CHECKING:
    from memhop.repo.schema import Schemas
    from memhop.repo.store import Store

_ERASED = "erased; compact() removes the bytes"


def forget(
    store: Store, schemas: Schemas, id: str, *, hard: bool, prove: bool, also: Iterable[str | os.PathLike[str]]
) -> results.Forgotten:
    """See `DB.forget`."""
    id_ = from_hex(id)
    if prove:
        from memhop.api.proof import erase_and_prove

        if not hard:
            raise InvalidRequest("there is nothing to prove", field="prove", allowed="with hard=True")
        receipt = erase_and_prove(store, id_, also)
        done = "it is complete" if receipt.complete else "it is not complete, see the receipt"
        return results.Forgotten(id.lower(), True, None, f"erased and searched for; {done}", receipt)
    if not isinstance(also, Collection) or len(also):
        raise InvalidRequest("nothing is searched", field="also", allowed="with prove=True")
    with store.writing() as batch:
        if hard:
            check_erasable(store, id_)
            erasure = Erasure(store, batch)
            erasure.erase([id_])
            return results.Forgotten(id.lower(), True, None, "; ".join((_ERASED, *erasure.remarks())))
        changes = Changes(store, batch, schemas)
        note = store.find(Note, id_)
        if note is None:
            check_erasable(store, id_)
            raise InvalidRequest(
                "what was said is kept word for word", field="hard", allowed="hard=True, to erase the message for good"
            )
        trashed = changes.trash(note)
    return results.Forgotten(trashed.id, trashed.changed, trashed.tier, trashed.reason)


def purge(store: Store, *, trashed_before: object, project: str | None) -> results.Purged:
    """See `DB.purge`."""
    before = None if trashed_before is None else to_ms(trashed_before, field="trashed_before")
    name = None if project is None else check_project(project)
    chosen, damaged = [], 0
    with store.writing() as batch:
        units = store.views.units
        trashed = units.live & (units.column("layer") == Layer.NOTES) & (units.column("tier") == Tier.TRASHED)
        if name is not None:
            trashed &= units.column("project") == project_label(name)
        for id_ in units.ids[np.flatnonzero(trashed)].tolist():
            note = store.readable(Note, id_)
            if note is None:
                damaged += 1
            elif before is None or (note.trashed_at or note.updated_at) < before:
                chosen.append(id_)
        erasure = Erasure(store, batch)
        erasure.erase(chosen)
    reasons = (_ERASED, *erasure.remarks()) if chosen else ("nothing in the trash is meant",)
    ids = tuple(map(to_hex, chosen[: LIMITS.results]))
    return results.Purged(count=len(chosen), ids=ids, damaged=damaged, reason="; ".join(reasons))
