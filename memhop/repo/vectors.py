"""Vectors and token ids as records: the one derived thing that cannot be rebuilt without its model.

A slab holds many owners of one vector space, is committed and checksummed like any frame, and is used in place
from the mapping. Payloads (little-endian):

    vector slab   space u64 · rows u32 · dim u32   · owners u64[rows] · matrix f32[rows, dim], rows of unit length
    token slab    space u64 · rows u32 · width u32 · owners u64[rows] · offsets u32[rows + 1], padded to 8 bytes
                  · tokens u16 or u32 [offsets[-1]], by `width` (2 or 4 bytes)
    context slab  space u64 · rows u32 · width u32 · basis u64 · dim u64 · owners u64[rows]
                  · offsets u32[rows + 1], padded to 8 bytes · tokens u16 or u32 [offsets[-1]], padded to 8 bytes
                  · codes i8[offsets[-1], dim], on the TokenBasis named by `basis`, or 0 for the model's own numbers

An owner may have several vector rows (a long text is embedded in pieces) and has one token row. A static model needs
token slabs, a contextual one context slabs (`repo/contexts.py`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple, TypeAlias

import msgspec

from memhop.common.errors import Corrupt, InvalidRequest, VectorSpaceMismatch
from memhop.common.ids import key_hash
from memhop.repo.record import Count, Dimensions, Id, Kind, Listing, Ms, Record, all_of, label

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_HEAD = struct.Struct("<QII")
_CONTEXT = struct.Struct("<QQ")  # what a context slab has behind it
MAX_SLAB_BYTES = 32 * 1024 * 1024  # half of what a frame may hold


class Space(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A vector space: vectors of different spaces are never compared."""

    KIND: ClassVar[Kind] = Kind.SPACE
    model: str
    dim: Dimensions
    digest: str = ""
    created_at: Ms = 0

    def listings(self) -> list[Listing]:
        return [Listing(all_of(self.KIND), self.created_at)]


class EmbedFailure(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A unit an embedder refused. It is tried again after `retry_at`, later each time."""

    KIND: ClassVar[Kind] = Kind.EMBED_FAILURE
    owner: Id
    space: Id
    attempts: int
    retry_at: Ms
    reason: str = ""

    def listings(self) -> list[Listing]:
        return [Listing(failures_in(self.space), self.retry_at)]


class TokenBasis(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Directions on which the token vectors of a space are projected. Slabs name the one they were made with."""

    KIND: ClassVar[Kind] = Kind.TOKEN_BASIS
    space: Id
    units: Count  # how many the space had when it was fitted
    dim: Dimensions
    width: Annotated[int, msgspec.Meta(ge=1, le=256)]  # checking that rows are orthonormal takes its square times dim
    matrix: bytes  # f32[width, dim], orthonormal rows
    created_at: Ms = 0

    def listings(self) -> list[Listing]:
        return [Listing(bases_of(self.space), self.units)]

    def rows(self) -> NDArray[np.float32]:
        """The directions, [width, dim].

        Raises:
            Corrupt: the matrix is of another size, or its rows are not orthonormal.
        """
        import numpy as np

        if len(self.matrix) != 4 * self.width * self.dim or self.width > self.dim:
            raise Corrupt("size of a token basis", offset=0)
        matrix = np.frombuffer(self.matrix, dtype="<f4").reshape(self.width, self.dim)
        with np.errstate(over="ignore", invalid="ignore"):
            off = np.abs(matrix @ matrix.T - np.eye(self.width, dtype=np.float32))
        if not float(off.max()) <= 1e-3:
            raise Corrupt("rows of a token basis", offset=0)
        return matrix


class VectorSlab(NamedTuple):
    space: int
    owners: NDArray[np.uint64]
    matrix: NDArray[np.float32]


class TokenSlab(NamedTuple):
    space: int
    owners: NDArray[np.uint64]
    offsets: NDArray[np.uint32]
    tokens: NDArray[np.uint16] | NDArray[np.uint32]


class ContextSlab(NamedTuple):
    space: int
    basis: int
    owners: NDArray[np.uint64]
    offsets: NDArray[np.uint32]
    tokens: NDArray[np.uint16] | NDArray[np.uint32]
    codes: NDArray[np.int8]


Slab: TypeAlias = VectorSlab | TokenSlab | ContextSlab


def space_id(model: str, dim: int, digest: str) -> int:
    """Equal model, dimension and digest share one space."""
    return key_hash("space", model, dim, digest)


def slabs_of(space: int) -> int:
    """The group of slabs of a space, of all kinds."""
    return label("slabs", space)


def bases_of(space: int) -> int:
    """The group of token bases of a space, by the number of units they were fitted for."""
    return label("bases", space)


def failures_in(space: int) -> int:
    """The group of units that could not be embedded in a space, by the time of the next attempt."""
    return label("failures", space)


def failure_id(owner: int, space: int) -> int:
    """One failure record per unit and space."""
    return key_hash("embed-failure", owner, space)


def encode_vectors(space: int, owners: Sequence[int], matrix: NDArray[np.float32]) -> bytes:
    """The payload of a vector slab. `matrix` has shape (len(owners), dim)."""
    import numpy as np

    rows, dim = matrix.shape
    return b"".join(
        (
            _HEAD.pack(space, rows, dim),
            np.asarray(owners, dtype="<u8").tobytes(),
            np.ascontiguousarray(matrix, dtype="<f4").tobytes(),
        )
    )


def decode_vectors(payload: memoryview, offset: int) -> VectorSlab:
    """Views into `payload`; nothing is copied.

    Raises:
        Corrupt: the stated counts do not fit the payload. `offset` is named in the error.
    """
    import numpy as np

    space, rows, dim = _head(payload, offset)
    if len(payload) != _HEAD.size + rows * (8 + 4 * dim):
        raise Corrupt("vector slab size", offset=offset)
    owners = np.frombuffer(payload, dtype="<u8", count=rows, offset=_HEAD.size)
    matrix = np.frombuffer(payload, dtype="<f4", offset=_HEAD.size + 8 * rows).reshape(rows, dim)
    return VectorSlab(space, owners, matrix)


def encode_tokens(space: int, owners: Sequence[int], rows: Sequence[NDArray[np.unsignedinteger]]) -> bytes:
    """The payload of a token slab; row i belongs to owner i."""
    import numpy as np

    offsets = np.zeros(len(rows) + 1, dtype="<u4")
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    tokens = np.concatenate(rows) if rows else np.zeros(0, dtype="<u2")
    width = 2 if len(tokens) == 0 or int(tokens.max()) < 65536 else 4
    return b"".join(
        (
            _HEAD.pack(space, len(rows), width),
            np.asarray(owners, dtype="<u8").tobytes(),
            offsets.tobytes(),
            bytes(-offsets.nbytes % 8),
            tokens.astype(f"<u{width}").tobytes(),
        )
    )


def decode_tokens(payload: memoryview, offset: int) -> TokenSlab:
    """Views into `payload`. Raises Corrupt as `decode_vectors` does."""
    import numpy as np

    space, rows, width = _head(payload, offset)
    first = _HEAD.size + 8 * rows
    start = first + 4 * (rows + 1) + (-4 * (rows + 1)) % 8
    if width not in (2, 4) or start > len(payload) or (len(payload) - start) % width:
        raise Corrupt("token slab head", offset=offset)
    owners = np.frombuffer(payload, dtype="<u8", count=rows, offset=_HEAD.size)
    offsets = np.frombuffer(payload, dtype="<u4", count=rows + 1, offset=first)
    tokens = np.frombuffer(payload, dtype=f"<u{width}", offset=start)
    if int(offsets[0]) or int(offsets[-1]) != len(tokens) or bool((np.diff(offsets.astype("<i8")) < 0).any()):
        raise Corrupt("token slab offsets", offset=offset)
    return TokenSlab(space, owners, offsets, tokens)


def encode_contexts(
    space: int,
    basis: int,
    owners: Sequence[int],
    tokens: Sequence[NDArray[np.unsignedinteger]],
    codes: Sequence[NDArray[np.int8]],
) -> bytes:
    """The payload of a context slab; the tokens and codes of row i belong to owner i. There is at least one row."""
    import numpy as np

    start = encode_tokens(space, owners, tokens)
    rows = np.concatenate(codes)
    extra = _CONTEXT.pack(basis, rows.shape[1])
    return b"".join((start[: _HEAD.size], extra, start[_HEAD.size :], bytes(-len(start) % 8), rows.tobytes()))


def decode_contexts(payload: memoryview, offset: int) -> ContextSlab:
    """Views into `payload`. Raises Corrupt as `decode_vectors` does."""
    import numpy as np

    space, rows, width = _head(payload, offset)
    if len(payload) < _HEAD.size + _CONTEXT.size:
        raise Corrupt("context slab head", offset=offset)
    basis, dim = _CONTEXT.unpack_from(payload, _HEAD.size)
    first = _HEAD.size + _CONTEXT.size + 8 * rows
    start = first + 4 * (rows + 1) + (-4 * (rows + 1)) % 8
    if width not in (2, 4) or not 1 <= dim <= 0xFFFF or start > len(payload):
        raise Corrupt("context slab head", offset=offset)
    owners = np.frombuffer(payload, dtype="<u8", count=rows, offset=_HEAD.size + _CONTEXT.size)
    offsets = np.frombuffer(payload, dtype="<u4", count=rows + 1, offset=first)
    if int(offsets[0]) or bool((np.diff(offsets.astype("<i8")) < 0).any()):
        raise Corrupt("context slab offsets", offset=offset)
    count = int(offsets[-1])
    codes_at = start + width * count + (-width * count) % 8
    if codes_at + count * dim != len(payload):
        raise Corrupt("context slab size", offset=offset)
    tokens = np.frombuffer(payload, dtype=f"<u{width}", count=count, offset=start)
    codes = np.frombuffer(payload, dtype=np.int8, offset=codes_at).reshape(count, dim)
    return ContextSlab(space, basis, owners, offsets, tokens, codes)


def decode_slab(kind: int, payload: memoryview, offset: int) -> Slab:
    """A slab of any kind, as views into `payload`. Raises Corrupt."""
    if kind == Kind.VECTOR_SLAB:
        return decode_vectors(payload, offset)
    return decode_tokens(payload, offset) if kind == Kind.TOKEN_SLAB else decode_contexts(payload, offset)


def slab_references(kind: int, payload: bytes | memoryview, offset: int) -> Iterator[tuple[str, int, Kind]]:
    """(field, id, its kind) of what a slab cannot be used without. Raises Corrupt."""
    yield "space", slab_space(payload, offset), Kind.SPACE
    if kind == Kind.CONTEXT_SLAB:
        if len(payload) < _HEAD.size + _CONTEXT.size:
            raise Corrupt("context slab head", offset=offset)
        basis, _ = _CONTEXT.unpack_from(payload, _HEAD.size)
        if basis:
            yield "basis", basis, Kind.TOKEN_BASIS


def slab_space(payload: bytes | memoryview, offset: int) -> int:
    """The space a slab belongs to, without touching its rows."""
    return _head(payload, offset)[0]


def slab_fault(kind: int, payload: memoryview, spaces: Mapping[int, Space]) -> str:
    """Why an index would not take a slab, "" if it will.

    Args:
        spaces: By id; a slab of another space is held against itself alone.

    Cost: reads the slab.
    """
    from memhop.index.contextual import ContextIndex
    from memhop.index.late import TokenIndex
    from memhop.index.vectors import VectorIndex

    try:
        slab = decode_slab(kind, payload, 0)
        space = spaces.get(slab.space)
        if isinstance(slab, TokenSlab):
            TokenIndex().put(0, slab.owners, slab.offsets, slab.tokens)
        elif isinstance(slab, ContextSlab):
            ContextIndex().put(0, slab.owners, slab.offsets, slab.tokens, slab.codes, None)
            if space and not slab.basis and slab.codes.shape[1] != space.dim:
                return f"{slab.codes.shape[1]} dimensions in a space of {space.dim}"
        else:
            VectorIndex(space.dim if space else slab.matrix.shape[1]).put(0, slab.owners, slab.matrix)
    except Corrupt as error:
        return error.what
    except (InvalidRequest, VectorSpaceMismatch) as error:
        return error.message
    return ""


def _head(payload: bytes | memoryview, offset: int) -> tuple[int, int, int]:
    if len(payload) < _HEAD.size:
        raise Corrupt("slab head", offset=offset)
    space, rows, dim = _HEAD.unpack_from(payload)
    return space, rows, dim
