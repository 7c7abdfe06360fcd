"""The units: which record each ordinal stands for, whether it lives, and its labels.

A *unit* is one searchable thing. Its *ordinal* is its place in order of arrival, 0 for the first; all other indexes
and the label columns are arrays over ordinals. Ordinals are stable between two `attach`, and change only when parts
are merged, where dead units are left out and survivors move up in their order.

**Parts.** Part 3 of the example covers 4 units, part 7 another 2, and the delta has one so far:

    ordinal      0    1    2    3  |  4    5  |  6
    part, place  3,0  3,1  3,2  3,3|  7,0  7,1|  delta

A part is never changed, so what happens to an older unit is written into the next part that is sealed: deleting unit
1 and giving unit 4 another label becomes `dead = (3, 1)` and `patch = (7, 0, labels)`. Sealing costs what changed, not
what exists. A part names only units of *older* parts (and dead ones of its own, see `merging`), by part number; parts
are merged from some part to the newest, so when a part goes, whatever names its units goes with it. Sealing from part 7
on applies the patch of (7, 0) and carries `dead = (3, 1)` over into the new part; sealing from part 3 on applies both,
and unit 1 is gone.

Sections of a part with `D` units, `X` deaths and `P` patches among older units:

    sorted        u8[D]  the ids, ascending; of equal ones only the first can be alive
    places        n4[D]  place of each of these ids in the part
    label.LABEL   [D]    one column for each label, see `columns`
    dead.part     u4[X]  part number and place of older units that died; OWN for units of the part itself
    dead.place    u4[X]
    patch.part    u4[P]  and of those that live and got other labels
    patch.place   u4[P]
    patch.label.LABEL [P] all their labels, as they were when the part was sealed

**What is read when.** Adding a unit needs the sizes of the parts and nothing else. The ids and each label become one
array over all ordinals when somebody asks for it, and grow by what was added when somebody asks again. They survive
`attach` as far as ordinals do: wholly where no dead unit was left out, else up to the first part that is new.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memhop.common.errors import InvalidRequest
from memhop.index.columns import Column, packed
from memhop.index.growable import GrowableArray
from memhop.index.neighbours import Neighbours
from memhop.index.parts import Part, Sections, damaged, narrow_section, narrowed, section

OWN: Final = 0xFFFFFFFF  # in place of a part number
_TIME: Final = "at"  # the label that neighbours are ordered by
_ID: Final = "id"  # the name of the ids among the columns of the delta
_CODES: Final = {"u1": "B", "u2": "H", "u4": "I", "u8": "Q", "i1": "b", "i2": "h", "i4": "i", "i8": "q"}


class UnitTable:
    """Ordinals, ids and labels. One thread at a time; the caller holds the lock.

    Arrays that are returned are the table's own: they are valid until the next change and must not be written to.
    """

    def __init__(self, labels: Mapping[str, str]) -> None:
        """`labels`: name -> integer dtype such as "u1" or "i8"; they must stay the same for all parts of a file."""
        self._dtypes = dict(labels)
        self._bounds = {name: (np.iinfo(dtype).min, np.iinfo(dtype).max) for name, dtype in labels.items()}
        self._row = struct.Struct("<Q" + "".join(_CODES[dtype] for dtype in labels.values()))
        self._rows_dtype = np.dtype([(_ID, "<u8"), *((name, f"<{dtype}") for name, dtype in labels.items())])
        self._order = {name: place for place, name in enumerate(labels)}
        self._parts: list[Part] = []
        self._forget()
        self.attach(())

    def _forget(self) -> None:
        """Nothing of what was read holds any more."""
        self._starts = [0]
        self._lookups: list[tuple[memoryview[int], memoryview[int]]] = []
        self._part_dead: list[NDArray[np.int64]] = []
        self._part_patched: list[NDArray[np.int64]] = []
        self._live = GrowableArray("?")
        self._count = 0
        self._columns: dict[str, GrowableArray] = {}
        self._neighbours: dict[str, Neighbours] = {}
        self._open = True

    def attach(self, parts: Sequence[tuple[int, Part]]) -> None:
        """Replace all parts ((part number, sections), oldest first) and empty the delta.

        What was read of a part is kept if the same object comes again; what the delta said is in the new ones.

        Cost: O(parts). Sections are read when first needed.
        """
        common = 0
        while common < min(len(parts), len(self._parts)) and parts[common][1] is self._parts[common]:
            common += 1
        if not common or not self._open:
            self._forget()
            common = 0
        self._kept = common  # parts that are read
        self._numbers = [number for number, _ in parts]
        self._parts = [part for _, part in parts]
        self._open = not parts
        self._delta = bytearray()  # rows of `_rows_dtype`
        self._recent: dict[int, int] = {}  # live id of the delta -> ordinal
        self._newly_dead: list[int] = []  # ordinals in parts
        self._newly_patched: set[int] = set()
        if self._open:
            self._forget()

    def check(self, *, since: int = 0, until: int | None = None) -> None:
        """Raises Corrupt if a part could not have been made by `seal`. Cost: reads every section once.

        Args:
            since, until: Look at these parts only.
        """
        self._ensure_open()
        for index in range(since, len(self._parts) if until is None else until):
            ids, places = map(np.asarray, self._lookups[index])
            if np.any(ids[1:] < ids[:-1]) or 0 in ids[:1]:
                raise damaged("ids of units are out of order, or none")
            again = places[1:][ids[1:] == ids[:-1]] + np.int64(self._starts[index])
            if len(places) and (int(np.bincount(places).max()) > 1 or np.any(self._live.view[again])):
                raise damaged("two units have one place, or one id")
            for name in self._dtypes:
                self._label(index, name)
                self._patches(index, name)

    @property
    def size(self) -> int:
        """Number of ordinals, dead ones included."""
        return self._delta_start + len(self._delta) // self._row.size

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
        self._ensure_open()
        fresh = self.size - len(self._live)
        if fresh:
            self._live.extend(np.ones(fresh, np.bool_))
        return self._live.view

    @property
    def ids(self) -> NDArray[np.uint64]:
        """The id of each ordinal; an id may occur again after its earlier unit died."""
        return self._column(_ID).view

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
        return self.append(id_, [labels.get(name, 0) for name in self._dtypes])

    def append(self, id_: int, row: Sequence[int]) -> int:
        """`add` for an id that has no live unit, as the caller knows, and all its labels, in order, as they fit.

        Raises:
            InvalidRequest: it has one that is as new. struct.error: a label does not fit. Nothing was added.

        Cost: 1 us.
        """
        self._ensure_open()
        if id_ in self._recent:
            raise InvalidRequest(f"{id_:016x} has a unit already", field="id_")
        ordinal = self._starts[-1] + len(self._delta) // self._row.size
        self._delta += self._row.pack(id_, *row)
        for name, neighbours in self._neighbours.items():
            if value := row[self._order[name]]:
                neighbours.append(value, row[self._order[_TIME]] if _TIME in self._order else 0, self._times())
            else:
                neighbours.append_alone()
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
        self._column(name).view[ordinal] = value
        if name == _TIME:
            self._neighbours.clear()
        self._neighbours.pop(name, None)
        if ordinal < self._starts[-1]:
            self._newly_patched.add(ordinal)

    def neighbours(self, name: str) -> Neighbours:
        """The live units with the same value of this label, linked in order of time; valid until the next change.

        Cost: one sort at the first call and after `set` of that label; then O(1) per `add` and `delete`.
        """
        if name not in self._neighbours:
            self._neighbours[name] = Neighbours(self.column(name), self.live, self._times())
        return self._neighbours[name]

    def _times(self) -> NDArray[np.int64]:
        """When each unit was so; where no label says it, all at once."""
        return self.column(_TIME) if _TIME in self._order else np.zeros(self.size, np.int64)

    def seal(self, first_part: int) -> Sections:
        """Merge parts[first_part:] and the delta into the sections of one part, leaving out dead units.

        `first_part` counts in the attached parts; len(parts) merges none. Changes nothing here: the caller stores the
        sections under a new part number and attaches anew. Cost: O(units merged), and the changes to older ones.
        """
        survivors = self.live[self._starts[first_part] :]
        ids = self._since(first_part, _ID)[survivors]
        order = np.argsort(ids, kind="stable")
        sections: Sections = {"sorted": ids[order], "places": narrowed(order)}
        for name in self._dtypes:
            sections |= packed(f"label.{name}", self._since(first_part, name)[survivors])

        dead = self._changed(first_part, self._part_dead, self._newly_dead)
        patched = self._changed(first_part, self._part_patched, self._newly_patched)
        patched = patched[self.live[patched]]
        sections["dead.part"], sections["dead.place"] = self._places(dead)
        sections["patch.part"], sections["patch.place"] = self._places(patched)
        if len(patched):
            for name in self._dtypes:
                sections[f"patch.label.{name}"] = self.column(name)[patched]
        return sections

    def merging(self, first_part: int) -> Generator[None, None, Sections]:
        """Merge parts[first_part:] into the sections of one part, pausing now and then. The delta may grow meanwhile.

        Ordinals stay as they are, so dead units stay too, and the part itself says that they are dead. The sections
        are for `swap`. No parts may be attached in between.
        """
        start, parts = self._starts[first_part], range(first_part, len(self._parts))
        dead = np.unique(np.concatenate([self._part_dead[index] for index in parts]))
        patched = np.unique(np.concatenate([self._part_patched[index] for index in parts]))
        own = dead[dead >= start] - start
        ids = np.concatenate([self._label(index, _ID) for index in parts])
        gone = np.zeros(len(ids), np.bool_)
        gone[own] = True
        order = np.lexsort((gone, ids))
        sections: Sections = {"sorted": ids[order], "places": narrowed(order)}
        yield
        for name, dtype in self._dtypes.items():
            values = np.concatenate([self._label(index, name) for index in parts])
            patches = np.zeros(len(patched), dtype)
            for index in parts:
                patches[np.searchsorted(patched, self._part_patched[index])] = self._patches(index, name)
            values[patched[patched >= start] - start] = patches[patched >= start]
            sections |= packed(f"label.{name}", values)
            sections[f"patch.label.{name}"] = patches[patched < start]
            yield
        numbers, places = self._places(dead[dead < start])
        sections["dead.part"] = np.concatenate([numbers, np.full(len(own), OWN, np.uint32)])
        sections["dead.place"] = np.concatenate([places, own.astype(np.uint32)])
        sections["patch.part"], sections["patch.place"] = self._places(patched[patched < start])
        return sections

    def swap(self, first_part: int, number: int, part: Part) -> None:
        """Use a part made by `merging` in place of parts[first_part:]. Raises Corrupt where it does not fit."""
        size = self._starts[-1]
        for name in self._columns:
            self._column(name)  # or one that ends between the old parts could not be gone on with
        self._numbers[first_part:] = [number]
        self._parts[first_part:] = [part]
        self._read(first_part)
        if self._starts[-1] != size:
            raise damaged(f"{size} units became {self._starts[-1]}")

    def _ensure_open(self) -> None:
        if not self._open:
            self._read_parts()

    @property
    def _delta_start(self) -> int:
        self._ensure_open()
        return self._starts[-1]

    def _read_parts(self) -> None:
        """Fetch what every question needs of parts that are new: sizes, id lookups, deaths and places of patches."""
        size = len(self._live)
        kept = self._kept
        self._read(kept)
        if self._starts[-1] != size:  # dead units were left out, or there is more than there was
            self._neighbours.clear()
            self._live.truncate(self._starts[kept])
            self._live.extend(np.ones(self._starts[-1] - self._starts[kept], np.bool_))
        for column in self._columns.values():
            if len(column) != size or self._starts[-1] != size:
                column.truncate(self._starts[kept])
        for dead in self._part_dead[kept:]:
            self._live.view[dead] = False
        self._count = int(np.count_nonzero(self._live.view))
        self._open = True

    def _read(self, kept: int) -> None:
        for table in (self._lookups, self._part_dead, self._part_patched):
            del table[kept:]
        del self._starts[kept + 1 :]
        for part in self._parts[kept:]:
            ids = section(part, "sorted", "u8")
            places = narrow_section(part, "places")
            if len(ids) != len(places):
                raise damaged(f"{len(ids)} ids and {len(places)} places")
            if len(places) and int(places.max()) >= len(places):
                raise damaged(f"a unit has place {places.max()} of {len(places)}")
            self._lookups.append((ids.data, places.data))
            self._starts.append(self._starts[-1] + len(ids))
        for index in range(kept, len(self._parts)):
            self._part_dead.append(self._ordinals(index, "dead"))
            self._part_patched.append(self._ordinals(index, "patch"))

    def _ordinals(self, index: int, what: str) -> NDArray[np.int64]:
        """The older units that the lists of a part name."""
        numbers = section(self._parts[index], f"{what}.part", "u4")
        places = section(self._parts[index], f"{what}.place", "u4")
        if len(numbers) != len(places):
            raise damaged(f"the {what} list has {len(numbers)} numbers and {len(places)} places")
        ordinals = np.full(len(places), -1, np.int64)
        for older in range(index + 1):
            mine = numbers == (self._numbers[older] if older < index else OWN)
            ordinals[mine] = self._starts[older] + places[mine].astype(np.int64)
            if np.any(ordinals[mine] >= self._starts[older + 1]):
                raise damaged(f"the {what} list names a unit past the end of part {self._numbers[older]}")
        if np.any(ordinals < 0):
            raise damaged(f"the {what} list names a part that is not older")
        return ordinals

    def _column(self, name: str) -> GrowableArray:
        """The array of a label, or of the ids, with all that was added. Built at the first question."""
        self._ensure_open()
        column = self._columns.get(name)
        if column is None:
            column = GrowableArray("u8" if name == _ID else self._dtypes[name])
        if len(column) < self._starts[-1]:
            first = bisect_left(self._starts, len(column))
            for index in range(first, len(self._parts)):
                column.extend(self._label(index, name))
            for index in range(first, len(self._parts)) if name != _ID else ():
                column.view[self._part_patched[index]] = self._patches(index, name)
        if len(column) < self.size:
            column.extend(self._fresh(name, len(column) - self._starts[-1]))
        self._columns[name] = column
        return column

    def _since(self, first_part: int, name: str) -> NDArray[Any]:
        """The values of the units from a part on."""
        start = self._starts[first_part]
        if name in self._columns:
            return self._column(name).view[start:]
        pieces = [self._label(index, name) for index in range(first_part, len(self._parts))]
        values = np.concatenate([*pieces, self._fresh(name, 0)])
        for index in range(first_part, len(self._parts)) if name != _ID else ():
            patched = self._part_patched[index]
            mine = patched >= start
            values[patched[mine] - start] = self._patches(index, name)[mine]
        return values

    def _label(self, index: int, name: str) -> NDArray[Any]:
        """The values of a label, or the ids, in a part."""
        ids, places = self._lookups[index]
        if name != _ID:
            return Column(self._parts[index], f"label.{name}", self._dtypes[name], len(ids)).array()
        values = np.zeros(len(ids), np.uint64)
        values[np.asarray(places)] = np.asarray(ids)
        return values

    def _patches(self, index: int, name: str) -> NDArray[Any]:
        """The values of a label that a part has for older units."""
        values = section(self._parts[index], f"patch.label.{name}", self._dtypes[name])
        if len(values) != len(self._part_patched[index]):
            raise damaged(f"{len(values)} values for {len(self._part_patched[index])} patches of {name}")
        return values

    def _fresh(self, name: str, start: int) -> NDArray[Any]:
        """The values of the delta, as they were added, from its `start`-th unit on."""
        rows = np.frombuffer(bytes(self._delta[start * self._row.size :]), self._rows_dtype)
        return rows[name]

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
