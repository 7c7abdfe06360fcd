"""Erasing in the journal of dreams: no word of what is erased stays in it, and nothing brings one back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Set
from typing import TYPE_CHECKING, Any

import msgspec

from memhop.index.tokenizer import query_terms, tokenize
from memhop.repo.dreams import Dream, DreamStep, steps_of
from memhop.repo.record import Kind, all_of

if TYPE_CHECKING:
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store


def strike_out(store: Store, batch: Batch, ids: Set[int], texts: Collection[str] | None) -> int:
    """Take what is erased out of the journal, and its earlier versions out of the history.

    A change that touched one of `ids` is left without ids and words: it can no longer be undone, since that might bring
    a word back. Whatever else says a word of `texts` loses its explanation.

    Args:
        ids: Records that are erased, or were made of what is.
        texts: That are erased; None: nobody knows them, and every explanation goes.

    Returns:
        How many entries were taken out.

    Cost: reads the whole journal, which is bounded (`dream/pipeline.py`).
    """
    dreams = list(store.members(all_of(Kind.DREAM)))
    words = None if texts is None or not dreams else {term for text in texts for term in query_terms(text)}
    count = 0

    def told(text: str) -> bool:
        return bool(text) and (words is None or not words.isdisjoint(tokenize(text)))

    for _, dream_id in dreams:
        dream = store.readable(Dream, dream_id)
        if dream is not None:
            stages = tuple(_without(stage, told) for stage in dream.stages)
            if stages != dream.stages:
                batch.strike(msgspec.structs.replace(dream, stages=stages))
                count += 1
        for step in store.walk(DreamStep, steps_of(dream_id)):
            changes = tuple(
                ("", ()) if not ids.isdisjoint(touched) else ("" if told(why) else why, touched)
                for why, touched in step.changes
            )
            if changes != step.changes:
                batch.strike(msgspec.structs.replace(step, changes=changes))
                count += sum(now != then for now, then in zip(changes, step.changes, strict=True))
    return count


def _without(stage: dict[str, Any], told: Callable[[str], bool]) -> dict[str, Any]:
    """A report of a stage whose words are its own."""
    changed = dict(stage)
    if isinstance(notice := stage.get("notice"), str) and told(notice):
        changed["notice"] = "it ended early"
    if isinstance(skipped := stage.get("skipped"), dict) and any(told(str(reason)) for reason in skipped):
        kept = {reason: number for reason, number in skipped.items() if not told(str(reason))}
        changed["skipped"] = kept | {"withheld": sum(skipped.values()) - sum(kept.values())}
    return changed
