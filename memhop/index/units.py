"""The units: which record each ordinal stands for, whether it lives, and its labels.

A *unit* is one searchable thing. Its *ordinal* is its place in order of arrival, 0 for the first; all other indexes
and the label columns are arrays over ordinals. Ordinals are stable between two `attach`, and change only when parts
are merged, where dead units are left out and survivors move up in their order.

**Parts.** Part 3 of the example covers 4 units, part 7 another 2, and the delta has one so far:

    ordinal      0    1    2    3  |  4    5  |  6
    part, place  3,0  3,1  3,2  3,3|  7,0  7,1|  delta

A part is never changed, so what happens to an older unit is written into the next part that is sealed: deleting unit
1 and giving unit 4 another label becomes `dead = (3, 1)` and `patch = (7, 0, labels)`. Sealing costs what changed, not
what exists. A part names only units of *older* parts, by part number; and parts are merged from some part to the
newest, so when a part goes, whatever names its units goes with it. Sealing from part 7 on applies the patch of (7, 0)
and carries `dead = (3, 1)` over into the new part; sealing from part 3 on applies both, and unit 1 is gone.

Sections of a part with `D` units, `X` deaths and `P` patches among older units:

    sorted        u8[D]  the ids, ascending
    places        u4[D]  place of each of these ids in the part
    label.LABEL   [D]    one column for each label
    dead.part     u4[X]  part number and place of older units that died
    dead.place    u4[X]
    patch.part    u4[P]  and of those that live and got other labels
    patch.place   u4[P]
    patch.label.LABEL [P] all their labels, as they were when the part was sealed
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memhop.common.errors import InvalidRequest
from memhop.index.growable import GrowableArray
from memhop.index.neighbours import Neighbours
from memhop.index.parts import Part, Sections, damaged, section


class UnitTable:
    """Ordinals, ids and labels. One thread at a time; the caller holds the lock.

    Arrays that are returned are the table's own: they are valid until the next change and must not be written to.
    """

    def __init__(self, labels: Mapping[str, str]) -> None:
        """`labels`: name -> integer dtype such as "u1" or "i8"; they must stay the same for all parts of a file."""
        self._dtypes = dict(labels)
        self._bounds = {name: (np.iinfo(dtype).min, np.iinfo(dtype).max) for name, dtype in labels.items()}
        self.attach(())

    def attach(self, parts: Sequence[tuple[int, Part]]) -> None:
        """Replace all parts ((part number, sections), oldest first) and empty the delta.

        Cost: O(parts). Columns are read when first asked for, all of them by the first `add` or `set`.
        """
        self._numbers = [number for number, _ in parts]
        self._parts = [part for _, part in parts]
        self._open = False
        self._columns: dict[str, GrowableArray] = {}
        self._ids: GrowableArray | None = None
        self._recent: dict[int, int] = {}  # live id of the delta -> ordinal
        self._newly_dead: list[int] = []  # ordinals in parts
        self._newly_patched: set[int] = set()
        self._neighbours: dict[str, Neighbours] = {}

    def check(self) -> None:
        """Raises Corrupt if a part could not have been made by `seal`. Cost: reads every section once."""
        self._ensure_open()
        for ids, places in self._lookups:
            values = np.asarray(ids)
            if np.any(values[1:] <= values[:-1]) or 0 in values[:1]:
                raise damaged("ids of units are out of order, or none")
            if len(np.unique(places)) < len(places):
                raise damaged("two units have one place")
        self._load_all()

    @property
    def size(self) -> int:
        """Number of ordinals, dead ones included."""
        return len(self._liveness)

    @property
    def count(self) -> int:
        """Number of live units."""
        self._ensure_open()
        return self._count

    @property
    def part_starts(self) -> list[int]:
        """The first ordinal of each part, for the indexes beside this one."""
        self._ensure_open()
        return self._starts[:-1]

    @property
    def live(self) -> NDArray[np.bool_]:
        """Which ordinals live."""
        return self._liveness.view

    @property
    def ids(self) -> NDArray[np.uint64]:
        """The id of each ordinal; an id may occur again after its earlier unit died."""
        return self._id_column().view

    def column(self, name: str) -> NDArray[Any]:
        """The label values of all ordinals."""
        if name not in self._dtypes:
            raise InvalidRequest(f"no label {name!r}", field="name", allowed=", ".join(self._dtypes))
        return self._column(name).view

    def ordinal(self, id_: int) -> int | None:
        """The live unit of this id, or None. Cost: O(parts * log units)."""
        found = self._recent.get(id_)
        if found is not None:
            return found
        live = self.live
        for index in range(len(self._parts) - 1, -1, -1):
            ids, places = self._lookups[index]
            row = bisect_left(ids, id_)
            if row < len(ids) and ids[row] == id_:
                ordinal = self._starts[index] + places[row]
                if live[ordinal]:
                    return ordinal
        return None

    def ordinals(self, ids: NDArray[np.uint64]) -> NDArray[np.int64]:
        """`ordinal` of many ids at once, -1 where it is None. Cost: O(len(ids) * log units) per part."""
        found = np.full(len(ids), -1, np.int64)
        live = self.live
        recent = np.fromiter(self._recent, np.uint64, len(self._recent))
        places = np.fromiter(self._recent.values(), np.int64, len(self._recent))
        order = np.argsort(recent)
        tables = [(recent[order], places[order])]
        for start, (sorted_ids, part_places) in zip(self._starts, self._lookups, strict=False):
            tables.append((np.asarray(sorted_ids), np.asarray(part_places) + np.int64(start)))
        for known, ordinals in tables:
            if len(known):
                rows = np.searchsorted(known, ids)
                rows[rows == len(known)] = 0
                candidates = np.where(known[rows] == ids, ordinals[rows], -1)
                alive = (candidates >= 0) & live[candidates]
                found[alive] = candidates[alive]
        return found

    def add(self, id_: int, **labels: int) -> int:
        """A new unit behind all others; labels that are not given are 0.

        Raises:
            InvalidRequest: the id has a live unit, a label is unknown, or a value does not fit.

        Cost: a few us, and O(parts * log units) for the check of the id.
        """
        if self.ordinal(id_) is not None:
            raise InvalidRequest(f"{id_:016x} has a unit already", field="id_")
        for name, value in labels.items():
            self._check(name, value)
        self._load_all()
        ordinal = self.size
        self._liveness.append(True)
        self._id_column().append(id_)
        for name in self._dtypes:
            self._columns[name].append(labels.get(name, 0))
        for name, neighbours in self._neighbours.items():
            neighbours.append(labels.get(name, 0))
        self._recent[id_] = ordinal
        self._count += 1
        return ordinal

    def delete(self, id_: int) -> int | None:
        """The unit of this id dies; returns its ordinal, or None when there is none. Cost: as `ordinal`."""
        ordinal = self.ordinal(id_)
        if ordinal is None:
            return None
        for neighbours in self._neighbours.values():
            neighbours.remove(ordinal)
        self.live[ordinal] = False
        self._count -= 1
        if self._recent.pop(id_, None) is None:
            self._newly_dead.append(ordinal)
        return ordinal

    def set(self, ordinal: int, name: str, value: int) -> None:
        """Change one label of a live unit.

        Raises:
            InvalidRequest: no live unit has this ordinal, the label is unknown, or the value does not fit.
        """
        if not (0 <= ordinal < self.size and self.live[ordinal]):
            raise InvalidRequest(f"{ordinal} is no live unit", field="ordinal")
        self._check(name, value)
        self._load_all()
        self._columns[name].view[ordinal] = value
        self._neighbours.pop(name, None)
        if ordinal < self._starts[-1]:
            self._newly_patched.add(ordinal)

    def neighbours(self, name: str) -> Neighbours:
        """The live units with the same value of this label, linked in order of arrival; valid until the next change.

        Cost: one sort at the first call and after `set` of that label; then O(1) per `add` and `delete`.
        """
        if name not in self._neighbours:
            self._neighbours[name] = Neighbours(self.column(name), self.live)
        return self._neighbours[name]

    def seal(self, first_part: int) -> Sections:
        """Merge parts[first_part:] and the delta into the sections of one part, leaving out dead units.

        `first_part` counts in the attached parts; len(parts) merges none. Changes nothing here: the caller stores the
        sections under a new part number and attaches anew. Cost: O(units merged), and the changes to older ones.
        """
        self._load_all()
        start = self._starts[first_part]
        survivors = self.live[start:]
        ids = self.ids[start:][survivors]
        order = np.argsort(ids, kind="stable")
        sections: Sections = {"sorted": ids[order], "places": order.astype(np.uint32)}
        for name in self._dtypes:
            sections[f"label.{name}"] = self.column(name)[start:][survivors]

        dead = self._changed(first_part, self._part_dead, self._newly_dead)
        patched = self._changed(first_part, self._part_patched, self._newly_patched)
        patched = patched[self.live[patched]]
        sections["dead.part"], sections["dead.place"] = self._places(dead)
        sections["patch.part"], sections["patch.place"] = self._places(patched)
        for name in self._dtypes:
            sections[f"patch.label.{name}"] = self.column(name)[patched]
        return sections

    def _ensure_open(self) -> None:
        if not self._open:
            self._read_parts()

    @property
    def _liveness(self) -> GrowableArray:
        self._ensure_open()
        return self._live

    def _read_parts(self) -> None:
        """Fetch what every question needs: sizes, id lookups, deaths and the places of patches."""
        self._starts = [0]
        self._lookups: list[tuple[memoryview[int], memoryview[int]]] = []
        for part in self._parts:
            ids = section(part, "sorted", "u8")
            places = section(part, "places", "u4")
            if len(ids) != len(places):
                raise damaged(f"{len(ids)} ids and {len(places)} places")
            if len(places) and int(places.max()) >= len(places):
                raise damaged(f"a unit has place {places.max()} of {len(places)}")
            self._lookups.append((ids.data, places.data))
            self._starts.append(self._starts[-1] + len(ids))
        self._part_dead = [self._ordinals(index, "dead") for index in range(len(self._parts))]
        self._part_patched = [self._ordinals(index, "patch") for index in range(len(self._parts))]
        self._live = GrowableArray("?", [np.ones(self._starts[-1], np.bool_)])
        for dead in self._part_dead:
            self._live.view[dead] = False
        self._count = int(np.count_nonzero(self._live.view))
        self._open = True

    def _ordinals(self, index: int, what: str) -> NDArray[np.int64]:
        """The older units that the lists of a part name."""
        numbers = section(self._parts[index], f"{what}.part", "u4")
        places = section(self._parts[index], f"{what}.place", "u4")
        if len(numbers) != len(places):
            raise damaged(f"the {what} list has {len(numbers)} numbers and {len(places)} places")
        ordinals = np.full(len(places), -1, np.int64)
        for older in range(index):
            mine = numbers == self._numbers[older]
            ordinals[mine] = self._starts[older] + places[mine].astype(np.int64)
            if np.any(ordinals[mine] >= self._starts[older + 1]):
                raise damaged(f"the {what} list names a unit past the end of part {self._numbers[older]}")
        if np.any(ordinals < 0):
            raise damaged(f"the {what} list names a part that is not older")
        return ordinals

    def _id_column(self) -> GrowableArray:
        if self._ids is None:
            self._ensure_open()
            self._ids = GrowableArray("u8", [np.zeros(self._starts[-1], np.uint64)])
            for start, (ids, places) in zip(self._starts, self._lookups, strict=False):
                self._ids.view[start : start + len(ids)][np.asarray(places)] = np.asarray(ids)
        return self._ids

    def _column(self, name: str) -> GrowableArray:
        column = self._columns.get(name)
        if column is None:
            self._ensure_open()
            column = self._columns[name] = self._read_labels(name)
        return column

    def _read_labels(self, name: str) -> GrowableArray:
        dtype = self._dtypes[name]
        pieces = [section(part, f"label.{name}", dtype) for part in self._parts]
        if [len(piece) for piece in pieces] != np.diff(self._starts).tolist():
            raise damaged(f"column {name} does not fit the units")
        column = GrowableArray(dtype, pieces)
        for part, patched in zip(self._parts, self._part_patched, strict=True):
            values = section(part, f"patch.label.{name}", dtype)
            if len(values) != len(patched):
                raise damaged(f"{len(values)} values for {len(patched)} patches of {name}")
            column.view[patched] = values
        return column

    def _load_all(self) -> None:
        self._id_column()
        if len(self._columns) < len(self._dtypes):
            for name in self._dtypes:
                self._column(name)

    def _changed(self, first_part: int, recorded: list[NDArray[np.int64]], recent: Iterable[int]) -> NDArray[np.int64]:
        """Units of parts that stay, whose change is recorded in parts that go or nowhere yet; ascending."""
        fresh = np.array(sorted(recent), np.int64)
        changed = np.unique(np.concatenate([*recorded[first_part:], fresh]))
        return changed[changed < self._starts[first_part]]

    def _places(self, ordinals: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """(part number, place in the part) of units in parts."""
        index = np.searchsorted(self._starts, ordinals, side="right") - 1
        numbers = np.array(self._numbers, np.uint32)[index]
        return numbers, (ordinals - np.array(self._starts)[index]).astype(np.uint32)

    def _check(self, name: str, value: int) -> None:
        bounds = self._bounds.get(name)
        if bounds is None:
            raise InvalidRequest(f"no label {name!r}", field="labels", allowed=", ".join(self._dtypes))
        if not bounds[0] <= value <= bounds[1]:
            raise InvalidRequest(f"{value} is out of range", field=name, allowed=f"{bounds[0]}..{bounds[1]}")
