"""What views hold, as tables that can be compared: two views are equal when they say the same, whatever their ordinals.

Ordinals, parts and deltas say how views came to be; here is only what they answer with. Every table is sorted by its
columns from left to right:

    groups      key · order · id                     every membership
    units       id · labels … · length               live units, what they are filtered by, and their number of terms
    postings    term · id · count                    which live unit holds which term how often
    vocabulary  term · text                          hashes of the terms above, and of their texts as stored
    vectors     space · owner · digest               every row that counts, of spaces that are in use
    tokens      space · owner · digest
    contexts    space · owner · digest
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from memhop.index.columns import Column
from memhop.index.entries import EntryPart
from memhop.index.parts import lengths_of
from memhop.index.postings import Postings, hash_terms
from memhop.repo.views import COLUMNS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.index.contextual import ContextIndex
    from memhop.index.late import TokenIndex
    from memhop.index.parts import Sections
    from memhop.index.vectors import VectorIndex
    from memhop.repo.views import Views


class Table(NamedTuple):
    """Columns of equal length, rows in order."""

    names: tuple[str, ...]
    columns: tuple[NDArray[Any], ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    def column(self, name: str) -> NDArray[Any]:
        return self.columns[self.names.index(name)]

    def among(self, name: str, values: NDArray[Any] | Iterable[int], *, inverted: bool = False) -> Table:
        """The rows whose column `name` is one of the values, or none of them."""
        column = self.column(name)
        wanted = values if isinstance(values, np.ndarray) else np.array([*values], column.dtype)
        rows = np.isin(column, wanted, invert=inverted)
        return Table(self.names, tuple(column[rows] for column in self.columns))


class Sealed(NamedTuple):
    """The indexes over words and units, each as the sections of one part."""

    groups: Sections
    units: Sections
    bm25: Sections


class Difference(NamedTuple):
    """A row that one table has and the other has not, by column."""

    missing: bool  # in the first table; otherwise it is one too many there
    row: dict[str, int]


def sealed(views: Views) -> Sealed:
    """What the views hold, copied: what happens to them later does not show.

    Raises: as `contents`. Cost: about a second per million units.
    """
    return Sealed(views.groups.seal(0), views.units.seal(0), views.bm25.seal(0, views.units.live))


def contents(held: Sealed) -> dict[str, Table]:
    """Groups, units, postings and vocabulary.

    Raises:
        Corrupt: the parts do not fit together. IndexError, ValueError: they do not, in a way nobody looked for.

    Cost: sorting all of it, about ten seconds per million units.
    """
    groups, units, bm25 = held
    keys, orders, members, _ = EntryPart(groups).table()
    places = units["places"]
    rows = len(places)
    ids = np.empty_like(units["sorted"])
    ids[places] = units["sorted"]
    labels = {name: Column(units, f"label.{name}", dtype, rows).array() for name, dtype in COLUMNS.items()}
    postings = Postings.from_part(bm25, rows).whole()
    texts = postings.terms(np.arange(len(postings.hashes)))
    return {
        "groups": _table(key=keys, order=orders, id=members),
        "units": _table(
            id=units["sorted"],
            **{name: values[places] for name, values in labels.items()},
            length=bm25["lengths"][places].astype(np.int64),
        ),
        "postings": _table(
            term=np.repeat(postings.hashes, lengths_of(postings.starts)),
            id=ids[postings.docs],
            count=postings.tfs.astype(np.int64),
        ),
        "vocabulary": _table(term=postings.hashes, text=hash_terms(texts)),
    }


def rows_of(
    spaces: Mapping[int, VectorIndex],
    token_spaces: Mapping[int, TokenIndex],
    context_spaces: Mapping[int, ContextIndex],
) -> dict[str, Table]:
    """Vectors and tokens of these spaces, by space id. Cost: reads all of them."""
    return {"vectors": _rows(spaces), "tokens": _rows(token_spaces), "contexts": _rows(context_spaces)}


def _rows(spaces: Mapping[int, VectorIndex] | Mapping[int, TokenIndex] | Mapping[int, ContextIndex]) -> Table:
    import xxhash

    rows = [
        (space, owner, xxhash.xxh3_64_intdigest(content))
        for space, index in spaces.items()
        for owner, content in index.contents()
    ]
    space, owner, digest = np.array(rows, np.uint64).reshape(len(rows), 3).T
    return _table(space=space, owner=owner, digest=digest)


def without_ids(tables: Mapping[str, Table], ids: Iterable[int]) -> dict[str, Table]:
    """The tables without rows of these records, and without terms which no other record holds."""
    gone = tuple(ids)
    kept = {
        name: table.among("id", gone, inverted=True) if "id" in table.names else table for name, table in tables.items()
    }
    return kept | {"vocabulary": kept["vocabulary"].among("term", kept["postings"].column("term"))}


def differences(first: Table, second: Table) -> Iterator[Difference]:
    """Rows of `second` that `first` misses, then rows that only `first` has. Cost: O(rows) where there are none."""
    if all(map(np.array_equal, first.columns, second.columns)):
        return
    ours, theirs = _as_rows(first), _as_rows(second)
    for missing, rows in ((True, theirs[~np.isin(theirs, ours)]), (False, ours[~np.isin(ours, theirs)])):
        for row in rows:
            yield Difference(missing, {name: int(row[name]) for name in first.names})


def _as_rows(table: Table) -> NDArray[Any]:
    rows = np.empty(len(table), [(name, column.dtype) for name, column in zip(*table, strict=True)])
    for name, column in zip(*table, strict=True):
        rows[name] = column
    return rows


def _table(**columns: NDArray[Any]) -> Table:
    order = np.lexsort(tuple(reversed(columns.values())))
    return Table(tuple(columns), tuple(column[order] for column in columns.values()))
