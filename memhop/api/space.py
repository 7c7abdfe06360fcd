"""What uses the space of a file, as `DB.stats` tells it: one row for each kind of record, index and leftover."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from memhop.api.reports import kind_name, layer_of
from memhop.api.results import SpaceUse

if TYPE_CHECKING:
    from memhop.repo.store import Store

_INDEXES = {  # section prefix -> the index as people know it; of prefixes that fit, the longest counts
    "core.": "record index",
    "groups.": "groups",
    "units.": "units",
    "bm25.": "postings",
    "bm25.text": "vocabulary",
    "bm25.hashes": "vocabulary",
}


def space_used(store: Store) -> tuple[SpaceUse, ...]:
    """Rows whose bytes add up to the size of the file, the empty ones left out. Cost: as `Reading.space`."""
    space = store.file.space()
    rows = [
        SpaceUse("records", kind_name(kind), layer_of(kind), use.frames, use.bytes) for kind, use in space.live.items()
    ]
    indexes: Counter[str] = Counter()
    for section, size in space.sections.items():
        prefixes = [prefix for prefix in _INDEXES if section.startswith(prefix)]
        indexes[_INDEXES[max(prefixes, key=len)] if prefixes else section] += size
    rows += [SpaceUse("indexes", name, None, None, size) for name, size in sorted(indexes.items())]
    rows += [
        SpaceUse("indexes", "heads and padding", None, None, space.binding),
        SpaceUse("history", "older versions", None, *space.superseded),
        SpaceUse("history", "tombstones", None, *space.tombstones),
        SpaceUse("history", "commits", None, *space.commits),
        SpaceUse("history", "old indexes", None, *space.old_views),
        SpaceUse("file", "headers", None, *space.headers),
        SpaceUse("file", "unreadable", None, None, space.unreadable),
        SpaceUse("file", "reserved", None, None, space.reserved),
    ]
    return tuple(row for row in rows if row.bytes)
