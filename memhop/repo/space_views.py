"""The part of the views that reads slabs: vectors, tokens and contexts, by space.

A space is mapped when somebody first asks for it, and kept up from then on. A slab that cannot be read is counted and
left out: its units are found by words, and are pending again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from memhop.common.errors import Corrupt, InvalidRequest, VectorSpaceMismatch
from memhop.core.meh_file import DELETED
from memhop.index.contextual import ContextIndex
from memhop.index.late import TokenIndex
from memhop.index.vectors import VectorIndex
from memhop.repo import codec, vectors
from memhop.repo.record import Kind, Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.core.meh_file import MehFile
    from memhop.core.records import Entry
    from memhop.core.snapshot import Snapshot
    from memhop.index.groups import Groups
    from memhop.index.units import UnitTable


class SpaceViews(ABC):
    """What is derived from slabs. `Views` adds the rest.

    Attributes:
        version: Goes up when an ordinal gets another meaning.
        unreadable: Records and slabs that were left out.
    """

    version: int
    unreadable: int
    _groups: Groups

    def __init__(self, file: MehFile | Snapshot) -> None:
        self._file = file
        self._forget_spaces()

    @property
    @abstractmethod
    def groups(self) -> Groups:
        """Who belongs to whom."""

    @property
    @abstractmethod
    def units(self) -> UnitTable:
        """The searchable units."""

    def _forget_spaces(self) -> None:
        self._vectors: dict[int, VectorIndex] = {}
        self._tokens: dict[int, TokenIndex] = {}
        self._contexts: dict[int, ContextIndex] = {}
        self._bases: dict[int, NDArray[np.float32]] = {}
        self._owners: tuple[tuple[int, int], NDArray[np.uint64], NDArray[np.int64]] | None = None

    def vectors(self, space: int, dim: int) -> VectorIndex:
        """The vectors of a space. First use maps its slabs."""
        index = self._vectors.get(space)
        if index is None:
            index = self._vectors[space] = VectorIndex(dim)
            for id_ in self._slabs(space, Kind.VECTOR_SLAB):
                self._load_slab(index, id_)
        return index

    def tokens(self, space: int) -> TokenIndex:
        """The token ids of a space. First use maps its slabs."""
        index = self._tokens.get(space)
        if index is None:
            index = self._tokens[space] = TokenIndex()
            for id_ in self._slabs(space, Kind.TOKEN_SLAB):
                self._load_slab(index, id_)
        return index

    def contexts(self, space: int) -> ContextIndex:
        """The vectors of tokens of a space. First use maps its slabs."""
        index = self._contexts.get(space)
        if index is None:
            index = self._contexts[space] = ContextIndex()
            for id_ in self._slabs(space, Kind.CONTEXT_SLAB):
                self._load_slab(index, id_)
        return index

    def spaces_in_use(self) -> tuple[dict[int, VectorIndex], dict[int, TokenIndex], dict[int, ContextIndex]]:
        """What has been mapped so far, by space."""
        return dict(self._vectors), dict(self._tokens), dict(self._contexts)

    def any_embedded(self, owners: Sequence[int]) -> bool:
        """Whether what has been mapped holds any of these owners. Cost: some us where anything is mapped."""
        mapped: list[VectorIndex | TokenIndex | ContextIndex] = [
            *self._vectors.values(),
            *self._tokens.values(),
            *self._contexts.values(),
        ]
        asked = np.array(owners if mapped else (), dtype=np.uint64)
        return any(bool(index.contains(asked).any()) for index in mapped)

    def slabs(self, space: int, kind: Kind) -> list[int]:
        """Ids of the slabs of a space."""
        return list(self._slabs(space, kind))

    def _slabs(self, space: int, kind: Kind) -> Iterable[int]:
        after = None
        while page := self.groups.page(vectors.slabs_of(space), after=after, limit=1000):
            yield from (id_ for order, id_ in page if order == kind)
            after = page[-1]

    def _apply_slab(self, entry: Entry) -> None:
        deleted = bool(entry.flags & DELETED)
        source = entry.previous if deleted else entry.offset
        if not source:
            return
        space = vectors.slab_space(self._payload(source), source)
        key = vectors.slabs_of(space)
        in_use = {Kind.VECTOR_SLAB: self._vectors, Kind.TOKEN_SLAB: self._tokens, Kind.CONTEXT_SLAB: self._contexts}
        index: VectorIndex | TokenIndex | ContextIndex | None = in_use[Kind(entry.kind)].get(space)  # type: ignore[attr-defined]
        if deleted:
            self._groups.remove(key, entry.kind, entry.id)
            if index is not None:
                index.drop(entry.id)
        else:
            self._groups.add(key, entry.kind, entry.id)
            if index is not None:
                self._load_slab(index, entry.id)

    def _load_slab(self, index: VectorIndex | TokenIndex | ContextIndex, id_: int) -> None:
        located = self._file.locate(id_)
        if located is None:
            return
        kind, offset = located
        try:
            slab = vectors.decode_slab(kind, self._payload(offset), offset)
            if isinstance(slab, vectors.VectorSlab) and isinstance(index, VectorIndex):
                index.put(id_, slab.owners, slab.matrix)
            elif isinstance(slab, vectors.TokenSlab) and isinstance(index, TokenIndex):
                index.put(id_, slab.owners, slab.offsets, slab.tokens)
            elif isinstance(slab, vectors.ContextSlab) and isinstance(index, ContextIndex):
                basis = self.basis(slab.basis) if slab.basis else None
                index.put(id_, slab.owners, slab.offsets, slab.tokens, slab.codes, basis)
        except (Corrupt, InvalidRequest, VectorSpaceMismatch):
            self.unreadable += 1  # its units are found by words, and are pending again

    def basis(self, id_: int) -> NDArray[np.float32]:
        """The directions of a token basis, always the same array. Raises Corrupt: it is gone or damaged."""
        known = self._bases.get(id_)
        if known is None:
            located = self._file.locate(id_)
            if located is None or located[0] != Kind.TOKEN_BASIS:
                raise Corrupt("a token basis is missing", offset=0)
            record = self._decode(located[1])
            assert isinstance(record, vectors.TokenBasis)
            known = self._bases[id_] = record.rows()
        return known

    def _payload(self, offset: int) -> memoryview:
        return self._file.buffer(*self._file.payload_at(offset))

    def ordinals(self, owners: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The live unit of each owner, -1 where there is none (the text was edited, or is gone)."""
        state = (self.version, self.units.size)
        if self._owners is None or self._owners[0] != state:
            column = self.units.column("owner")
            live = np.flatnonzero(self.units.live)
            order = np.argsort(column[live], kind="stable")
            self._owners = (state, column[live][order], live[order])
        _, known, places = self._owners
        if not len(known):
            return np.full(len(owners), -1, dtype=np.int64)
        at = np.searchsorted(known, owners)
        at[at == len(known)] = 0
        return np.where(known[at] == owners, places[at], -1).astype(np.int64)

    def has_owner(self, owner: int) -> bool:
        """Whether a live unit has this name in slabs."""
        return bool(self.ordinals(np.array([owner], dtype=np.uint64))[0] >= 0)

    def _decode(self, offset: int) -> Record:
        kind, id_, payload = self._file.read(offset)
        return codec.decode(kind, id_, payload, offset)
