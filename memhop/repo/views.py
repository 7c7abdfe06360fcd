"""Everything that is derived from records: groups, searchable units, BM25, vocabulary, vectors.

Views are caught up from the log and can be dropped at any time; they are never a second copy of the truth. One
rule moves them: for each log entry, take away what the previous version of the record had put in, then put in
what the new version says (`Record.listings`, `Record.unit`). Opening attaches the parts which a checkpoint has
sealed into segments and applies the tail; a part written by another tokenizer or layout version is ignored and
everything is rebuilt from live records, by the same rule.

Parts are checked, every byte and every order, when somebody first asks an index, and only those that are new since;
one that does not do costs a rebuild. What is merely added to an index needs none of that.

`Views` is not thread-safe; `Store` serialises access.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from operator import attrgetter, eq, itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from memhop.common.errors import Corrupt, InvalidRequest, StorageError
from memhop.common.ids import key_hash
from memhop.core.meh_file import DELETED
from memhop.index.bm25 import Bm25Index
from memhop.index.fuzzy import FuzzyIndex
from memhop.index.groups import Groups
from memhop.index.tokenizer import TOKENIZER_VERSION
from memhop.index.units import UnitTable
from memhop.repo import codec, vectors
from memhop.repo.record import Listing, Record, Unit
from memhop.repo.space_views import SpaceViews

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.core.meh_file import MehFile
    from memhop.core.records import Entry
    from memhop.core.segment import Segment
    from memhop.core.snapshot import Snapshot

LAYOUT_VERSION = 6  # 2: links are groups. 3: narrow sections, columns. 4: groups of layers above, words of cards.
# 5: states of notes, projects without case. 6: notes as they were written down, and under what superseded them
_LABELS = {
    "layer": "u1", "tier": "u1", "role": "u1", "flags": "u1", "at": "i8", "kind": "u8",
    "session": "u8", "scene": "u8", "project": "u8", "speaker": "u8",
}  # fmt: skip
_labels_of = attrgetter(*_LABELS)
COLUMNS = {**_LABELS, "owner": "u8"}  # owner: the unit's name in vector slabs, made of its id and text
_DTYPES = {"B": "<u1", "H": "<u2", "I": "<u4", "Q": "<u8", "i": "<i4", "q": "<i8", "f": "<f4", "d": "<f8"}
_TYPECODES = {np.dtype(dtype): code for code, dtype in _DTYPES.items()}

Sections = dict[str, tuple[str, memoryview]]


class _Part(Mapping[str, "NDArray[Any]"]):
    """The sections of one index in one segment, as arrays over the mapping."""

    def __init__(self, segment: Segment, index: str) -> None:
        self._segment = segment
        self._prefix = index + "."
        self._arrays: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        array = self._arrays.get(name)
        if array is None:
            view = self._segment.view(self._prefix + name)
            array = self._arrays[name] = np.frombuffer(view, dtype=_DTYPES[view.format])
        return array

    def __iter__(self) -> Iterator[str]:
        names = self._segment.names()
        return (name.removeprefix(self._prefix) for name in names if name.startswith(self._prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Views(SpaceViews):
    """All derived structures of one file, consistent with one commit. They hold while `file.epoch` is `epoch`."""

    def __init__(self, file: MehFile | Snapshot, *, anew: bool = False) -> None:
        """`anew`: from live records even if there are parts."""
        super().__init__(file)
        self.epoch = file.epoch
        self.version = 0  # goes up when an ordinal gets another meaning
        self._reset()
        if anew or not self._readable(file):
            self._rebuild()
        else:
            self._attach()

    @staticmethod
    def _readable(file: MehFile | Snapshot) -> bool:
        meta = file.meta
        versions = (meta.get("tokenizer"), meta.get("layout"))
        return not file.segments() or versions == (TOKENIZER_VERSION, LAYOUT_VERSION)

    @staticmethod
    def meta() -> dict[str, Any]:
        """What a checkpoint states about the parts it seals."""
        return {"tokenizer": TOKENIZER_VERSION, "layout": LAYOUT_VERSION}

    # -- the indexes -----------------------------------------------------------------------------------------

    @property
    def groups(self) -> Groups:
        """Who belongs to whom."""
        if self._checked["groups"] < self._attached:
            self._check("groups", self._attached)
        return self._groups

    @property
    def units(self) -> UnitTable:
        """The searchable units."""
        if self._checked["units"] < self._attached:
            self._check("units", self._attached)
        return self._units

    @property
    def bm25(self) -> Bm25Index:
        """Which unit holds which term."""
        if self._checked["bm25"] < self._attached:
            self._check("bm25", self._attached)
        return self._bm25

    def check(self) -> None:
        """Look at what was not looked at; what does not do is built anew now, and `rebuilt` says so."""
        for index in self._checked:
            getattr(self, index)

    def _check(self, name: str, until: int) -> None:
        """Look at the parts of an index before `until` that were not looked at."""
        checks: dict[str, Callable[..., None]] = {
            "groups": self._groups.check,
            "units": self._units.check,
            "bm25": partial(self._bm25.check, self._units.size),
        }
        try:
            checks[name](since=self._checked[name], until=until)
            self._checked[name] = until
        except StorageError:  # a damaged part costs time, never data
            self._rebuild()

    # -- keeping up ------------------------------------------------------------------------------------------

    @property
    def behind(self) -> bool:
        """Whether the log has entries that are not in yet."""
        return self._applied < self._file.tail_length

    def catch_up(self, known: Mapping[int, Record] | None = None) -> None:
        """Apply the entries of the log's tail that are not in yet.

        Args:
            known: Records just committed, by id, which saves reading them back.
        """
        for entry in self._file.tail(self._applied):
            record = known.get(entry.id) if known else None
            try:
                self._apply(entry, record)
            except (Corrupt, InvalidRequest):
                self._rebuild()  # a rotten old version cannot say what it had put in; or the views were of another log
                return
            self._applied += 1
        if self._came and self.any_embedded(self._came):  # an erased text was written again
            self.version += 1
        self._came.clear()

    def _apply(self, entry: Entry, record: Record | None) -> None:
        if entry.kind in codec.SLAB_KINDS:
            self._apply_slab(entry)
            return
        if entry.kind not in codec.RECORD_TYPES:
            return  # written by a newer build: kept in the log, not understood here
        old = self._decode(entry.previous) if entry.previous else None
        if entry.flags & DELETED:
            record = None
        elif record is None:
            record = self._decode(entry.offset)
        self._replace(entry.id, old, record)

    def _replace(self, id_: int, old: Record | None, new: Record | None) -> None:
        if old is None:
            if new is not None:
                self._insert(id_, new)
            return
        if getattr(old, "project", None) != getattr(new, "project", None):
            self.spellings.clear()
        before, after = _listings(old), _listings(new)
        for listing in before:
            if listing not in after:
                self._groups.remove(listing.key, listing.order, id_)
        for listing in after:
            if listing in before:
                self._groups.touch(listing.key)
            else:
                self._groups.add(listing.key, listing.order, id_)
        old_unit = old.unit()
        new_unit = new.unit() if new else None
        if old_unit == new_unit:
            return
        if old_unit and new_unit and (old_unit.text, old_unit.plain) == (new_unit.text, new_unit.plain):
            ordinal = self._units.ordinal(id_)
            if ordinal is not None:
                for name in _LABELS:
                    if getattr(old_unit, name) != getattr(new_unit, name):
                        self._units.set(ordinal, name, int(getattr(new_unit, name)))
                return
        if old_unit:
            self._units.delete(id_)
            self.version += 1
        if new_unit:
            self._add_unit(id_, new_unit)

    def _insert(self, id_: int, new: Record) -> None:
        for key, order in _listings(new):
            self._groups.add(key, order, id_, new=True)
        unit = new.unit()
        if unit is not None:
            self._add_unit(id_, unit)

    def _add_unit(self, id_: int, unit: Unit) -> None:
        owner = owner_of(id_, unit)
        self._came.append(owner)
        ordinal = self._units.append(id_, (*_labels_of(unit), owner))  # in the order of COLUMNS
        numbers = self._bm25.add_text(ordinal, unit.text)
        if self._vocabulary is not None:
            for term in self._bm25.terms_of(numbers):
                self._vocabulary.add(term)

    # -- building and sealing --------------------------------------------------------------------------------

    def _reset(self) -> None:
        self._groups = Groups()
        self._units = UnitTable(COLUMNS)
        self._bm25 = Bm25Index()
        self._parts: dict[int, tuple[_Part, _Part, _Part]] = {}  # of groups, units and bm25, by number of the segment
        self._attached = 0  # parts
        self._checked = {"groups": 0, "units": 0, "bm25": 0}  # how many of them, from the oldest on, are in order
        self._applied = 0  # entries of file.tail() that are in
        self._came: list[int] = []  # owners of the units that were added since
        self._forget_spaces()
        self._vocabulary: FuzzyIndex | None = None
        self.spellings: dict[str, str] = {}  # of projects by key, as far as they were asked for, see `projects.spelled`
        self.version += 1
        self.rebuilt = False
        self.unreadable = 0

    @staticmethod
    def _parts_of(segment: Segment) -> tuple[_Part, _Part, _Part]:
        return _Part(segment, "groups"), _Part(segment, "units"), _Part(segment, "bm25")

    def _attach(self) -> None:
        """Use the parts of the live segments, and nothing else. Those in use already are not read again."""
        known, self._parts = self._parts, {}
        for segment in self._file.segments():
            self._parts[segment.number] = known.get(segment.number) or self._parts_of(segment)
        kept = sum(map(eq, known, self._parts))  # numbers ascend, and merged are always the newest
        self._checked = {name: min(count, kept) for name, count in self._checked.items()}
        self._attached = len(self._parts)
        self._applied = 0
        try:
            self._groups.attach([part[0] for part in self._parts.values()])
            self._units.attach([(number, part[1]) for number, part in self._parts.items()])
            starts = self._units.part_starts
            self._bm25.attach([(start, part[2]) for start, part in zip(starts, self._parts.values(), strict=True)])
        except StorageError:
            self._rebuild()

    def _rebuild(self) -> None:
        """From live records, in log order. A record that cannot be read is counted and left out."""
        self._reset()
        self.rebuilt = True
        known = codec.SLAB_KINDS.union(codec.RECORD_TYPES)  # others are of a newer build, and not understood here
        rows = {id_: (offset, kind) for id_, kind, offset in self._file.live() if kind in known}  # an id counts once
        for id_, (offset, kind) in sorted(rows.items(), key=itemgetter(1)):
            try:
                if kind in codec.SLAB_KINDS:
                    space = vectors.slab_space(self._payload(offset), offset)
                    self._groups.add(vectors.slabs_of(space), kind, id_)
                else:
                    self._replace(id_, None, self._decode(offset))
            except Corrupt:
                self.unreadable += 1
        self._came.clear()
        self._applied = self._file.tail_length

    def seal(self, first_part: int) -> Sections:
        """The parts from `first_part` on and everything since, as the sections of one new segment.

        Call `check` before, if parts are merged.
        """
        sealed = {
            "bm25": self._bm25.seal(first_part, self._units.live),
            "groups": self._groups.seal(first_part),
            "units": self._units.seal(first_part),
        }
        return _named(sealed)

    def merging(self, first_part: int) -> Generator[None, None, Sections]:
        """Merge the parts from `first_part` on into the sections of a segment, pausing now and then for others.

        What is applied meanwhile is not in them. They are for `merged`. No checkpoint may come in between.
        """
        for name in self._checked:
            while self._checked[name] < self._attached:  # part by part, for it reads them whole
                self._check(name, self._checked[name] + 1)
                yield
        if self.rebuilt:
            raise Corrupt("parts of the indexes", offset=0)
        sealed: dict[str, dict[str, NDArray[Any]]] = {}
        sealed["bm25"] = yield from self._bm25.merging(first_part)
        sealed["groups"] = yield from self._groups.merging(first_part)
        sealed["units"] = yield from self._units.merging(first_part)
        return _named(sealed)

    def merged(self, first_part: int) -> None:
        """The newest segment was made of what `merging` gave: use its parts in place of those from `first_part` on."""
        segment = self._file.segments()[-1]
        groups, units, bm25 = self._parts_of(segment)
        for number in list(self._parts)[first_part:]:
            del self._parts[number]
        self._parts[segment.number] = groups, units, bm25
        self._attached = len(self._parts)
        self._checked = {name: min(count, first_part) for name, count in self._checked.items()}
        try:
            self._units.swap(first_part, segment.number, units)
            self._groups.swap(first_part, groups)
            self._bm25.swap(first_part, bm25)
        except StorageError:
            self._rebuild()

    def sealed(self) -> None:
        """A checkpoint was written: use its parts in place of the delta."""
        size = self._units.size
        self._attach()
        self.rebuilt = False
        if self._units.size != size:  # dead units were left out
            self.version += 1
            self._vocabulary = None
        self.catch_up()

    # -- vocabulary ------------------------------------------------------------------------------------------

    @property
    def vocabulary_in_use(self) -> FuzzyIndex | None:
        """The vocabulary if it was built."""
        return self._vocabulary

    def vocabulary(self) -> FuzzyIndex:
        """All indexed terms. Built at first use, then kept up."""
        if self._vocabulary is None:
            self._vocabulary = FuzzyIndex(self.bm25.terms())
        return self._vocabulary


def _named(sealed: Mapping[str, Mapping[str, NDArray[Any]]]) -> Sections:
    """Sections of indexes as those of a segment; without empty ones."""
    return {
        f"{index}.{name}": (_TYPECODES[array.dtype], np.ascontiguousarray(array).data.cast("B"))
        for index, arrays in sealed.items()
        for name, array in arrays.items()
        if len(array)
    }


def _listings(record: Record | None) -> dict[Listing, None]:
    """Each place of a record once, also where it names something twice: two tags that differ by case, say."""
    return dict.fromkeys(record.listings()) if record is not None else {}


def owner_of(id_: int, unit: Unit) -> int:
    """The name of a unit in vector slabs: another text is another owner, so that an old vector never speaks for it."""
    return key_hash("owner", id_, unit.plain)
