"""What a recall that found nothing would have found: behind its filters, and by words that are spelt nearly so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from memhop.repo.record import Layer, Tier
from memhop.search.channels import coverage_by_unit
from memhop.search.query import checks, said_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memhop.repo.store import Store
    from memhop.repo.views import Views
    from memhop.search.query import Eligible, Query
    from memhop.search.sparse import Workspace

WORDS: Final = 3  # that are named as near in spelling, at most
_TERMS: Final = 8  # of the question for which such words are looked for
_WHERE: Final = {
    "active": "not archived",
    "archived": "in the archive",
    "trashed": "in the trash",
    "layers": "in other layers",
    "project": "in other projects",
    "kinds": "of other kinds",
    "roles": "of other roles",
    "speakers": "of other speakers",
    "session": "in other sessions",
    "scene": "in other scenes",
    "graph": "in other graphs",
    "since": "from before",
    "until": "from later",
    "statuses": "with another status",
    "tags": "without the tags",
}


def held_back(query: Query, store: Store, workspace: Workspace) -> dict[str, int]:
    """How many units that hold a word of the question each filter keeps back; a unit counts for the first that does.

    Those of another tier are counted by their tier. Cost: reads the postings of the question's words, as recall does.
    """
    views, filters = store.views, query.filters
    mask = views.units.live
    if Layer.TOPICS.label not in filters.layers:
        mask = mask & said_first(views)
    docs, _ = coverage_by_unit(query.terms, views, workspace, 1, mask)
    counts: dict[str, int] = {}
    for name, passing in checks(filters, store):
        kept = passing[docs]
        out = docs[~kept]
        if name == "tier":
            tiers = views.units.column("tier")[out]
            counts |= {tier.label: int(np.count_nonzero(tiers == tier)) for tier in Tier}
        else:
            counts[name] = counts.get(name, 0) + len(out)
        docs = docs[kept]
    return {name: count for name, count in counts.items() if count}


def nearest_words(terms: Sequence[str], views: Views, allowed: Eligible) -> tuple[str, ...]:
    """Terms of units that pass the filters which are spelt most nearly like those of the question; at most `WORDS`.

    They differ too much to be taken for the same word. Those of other units are not named: a filter keeps words, too.
    """
    mask = allowed.mask if allowed.along is None else allowed.mask | allowed.along
    found: dict[str, int] = {}
    for term in [one for one in terms if one.isalpha()][:_TERMS]:
        for other, distance in views.vocabulary().matches(term, min(3, len(term) // 2)):
            if other.isalpha():
                found[other] = min(distance, found.get(other, distance))
    ranked = sorted(found, key=lambda one: (found[one], one))[: 8 * WORDS]
    there = views.bm25.postings(ranked, views.units.live) if ranked else []
    return tuple(one.term for one in there if len(one.read(mask)[0]))[:WORDS]


def told(held: Mapping[str, int], near: Sequence[str]) -> str | None:
    """Both in one line, for people; None: there is nothing to tell."""
    behind = ", ".join(f"{count:,} {_WHERE[name]}" for name, count in held.items())
    lines = [f"kept back by the filters: {behind}"] if behind else []
    if near:
        lines.append(f"spelt nearly so: {', '.join(near)}")
    return "; ".join(lines) or None
