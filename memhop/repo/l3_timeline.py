"""How an assertion fits into what is known: periods of one timeline never overlap, and nothing is forgotten.

A timeline is a subject and predicate; where there may be many values at a time, each value has its own. Asserting
`value` from a time on, until a given end or none:

    another value holds then        it ends where the new one begins; what lies behind a given end stays so
    the same value holds then       nothing is changed without an end; a given end is its end
    the same value ends just then   it goes on
    no end given                    it holds until the next fact begins, or still
    the next fact begins earlier    it ends there; if it is the same value, both are one

    A since January, then B from March:                A [Jan, Mar)  B [Mar, -)
    A again from June:                                 A [Jan, Mar)  B [Mar, Jun)  A [Jun, -)
    and C, in February, told late:                     A [Jan, Feb)  C [Feb, Mar)  B [Mar, Jun)  A [Jun, -)

A value that holds at no time any more, because another one was asserted from the very moment it began, is taken back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from memhop.repo.l3_facts import Fact, folded, revised, taken_back

if TYPE_CHECKING:
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store

_PAGE = 16


def put_asserted(store: Store, batch: Batch, new: Fact, *, most_sources: int) -> Fact:
    """Write what an assertion means. Returns the fact that now tells it: a new one, or one that was known.

    Args:
        new: What is asserted, without an id. Its `recorded_at` is the time all changes are recorded at.
        most_sources: Further sources of a known fact are not added.

    Cost: O(log facts of the timeline) where no given period spans others.
    """
    now, start, given_end = new.recorded_at, new.valid_from, new.valid_to
    before = _last_before(store, new.timeline, (start + 1, 0))
    holding = before if before is not None and before.holds(start) else None
    joined: list[Fact] = []
    if holding is not None and holding.says(new.value):
        if not given_end:
            return _put(batch, holding, _supported(holding, [new], most_sources))
        joined.append(holding)
    else:
        replaced = holding is not None and holding.valid_from == start
        ending = _last_before(store, new.timeline, (start, 0)) if replaced else before
        if ending is not None and ending.valid_to == start and ending.says(new.value):
            joined.append(ending)
    end = given_end
    for later in _following(store, new.timeline, (start + 1, 0)):
        if given_end and later.valid_from > given_end:
            break
        if not later.says(new.value):
            end = later.valid_from
            break
        joined.append(later)
        if not given_end or not later.valid_to or later.valid_to > given_end:
            end = later.valid_to
            break
    if holding is not None and not holding.says(new.value):
        _make_room(batch, holding, start, end, now)
    if not joined:
        like = before or next(_following(store, new.timeline, (start + 1, 0)), new)  # names as they were first written
        added = msgspec.structs.replace(new, subject=like.subject, predicate=like.predicate, valid_to=end)
        return batch.new(added, folded(new.subject), folded(new.predicate), new.value, start, now)
    kept, *absorbed = joined
    for fact in absorbed:
        batch.put(taken_back(fact, now))
    widened = revised(kept, min(kept.valid_from, start), end, now)
    return _put(batch, kept, _supported(widened, [*absorbed, new], most_sources))


def put_closed(store: Store, batch: Batch, fact: Fact, end: int, now: int) -> Fact:
    """Write that a fact ends at `end`, which lies behind its beginning; at most where the next one begins."""
    later = next(_following(store, fact.timeline, (fact.valid_from, fact.id)), None)
    if later is not None:
        end = min(end, later.valid_from)
    return _put(batch, fact, revised(fact, fact.valid_from, end, now))


def put_retracted(store: Store, batch: Batch, fact: Fact, now: int) -> Fact:
    """Write that a fact never was so. The one that ended only because this was asserted goes on as before."""
    before = _last_before(store, fact.timeline, (fact.valid_from, fact.id))
    if before is not None and before.valid_to == fact.valid_from and before.earlier:
        former = before.earlier[-1]
        if former.until == fact.recorded_at and former.valid_from == before.valid_from:
            later = next(_following(store, fact.timeline, (fact.valid_from, fact.id)), None)
            end = former.valid_to
            if later is not None and (not end or later.valid_from < end):
                end = later.valid_from
            batch.put(revised(before, before.valid_from, end, now))
    return batch.put(taken_back(fact, now))


def _make_room(batch: Batch, fact: Fact, start: int, end: int, now: int) -> None:
    """Take [start, end) out of a fact that holds at `start`; an `end` of 0 is that of time."""
    goes_on = end and (not fact.valid_to or fact.valid_to > end)
    if fact.valid_from < start:
        batch.put(revised(fact, fact.valid_from, start, now))
        if goes_on:
            rest = msgspec.structs.replace(fact, id=0, valid_from=end, recorded_at=now, earlier=())
            batch.new(rest, folded(fact.subject), folded(fact.predicate), fact.value, end, now)
    elif goes_on:
        batch.put(revised(fact, end, fact.valid_to, now))
    else:
        batch.put(taken_back(fact, now))


def _supported(fact: Fact, by: list[Fact], most: int) -> Fact:
    """The fact with the sources of others that say the same."""
    sources = tuple(dict.fromkeys(id_ for each in (fact, *by) for id_ in each.sources))[:most]
    own = any(each.own for each in (fact, *by))
    confidence = max(each.confidence for each in (fact, *by))
    if (sources, own, confidence) == (fact.sources, fact.own, fact.confidence):
        return fact
    return msgspec.structs.replace(fact, sources=sources, own=own, confidence=confidence)


def _put(batch: Batch, known: Fact, fact: Fact) -> Fact:
    return fact if fact is known else batch.put(fact)


def _last_before(store: Store, timeline: int, place: tuple[int, int]) -> Fact | None:
    page = store.listed(Fact, timeline, after=place, limit=_PAGE, descending=True)  # the first may be damaged
    return page[0][1] if page else None


def _following(store: Store, timeline: int, place: tuple[int, int]) -> Iterator[Fact]:
    after: tuple[int, int] | None = place
    while places := store.places(timeline, after=after, limit=_PAGE):
        for _, fact in store.at_places(Fact, places):
            yield fact
        after = places[-1]
