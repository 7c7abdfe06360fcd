"""Slabs: what is encoded comes back, and every truncation or change is Corrupt or harmless."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memhop import Corrupt
from memhop.repo import vectors
from memhop.repo.record import Kind
from memhop.repo.vectors import TokenBasis

SPACE = 2**64 - 7


@st.composite
def rows(draw: st.DrawFn) -> list[list[int]]:
    most = draw(st.sampled_from([9, 65_535, 65_536, 2**32 - 1]))
    return draw(st.lists(st.lists(st.integers(0, most), max_size=9), max_size=9))


def _matrix(count: int, dim: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(count * 1000 + dim).standard_normal((count, dim)).astype(np.float32)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(st.integers(1, 2**64 - 1), max_size=20), st.integers(1, 40))
def test_vectors_come_back(owners: list[int], dim: int) -> None:
    matrix = _matrix(len(owners), dim)
    payload = memoryview(vectors.encode_vectors(SPACE, owners, matrix))
    slab = vectors.decode_vectors(payload, 0)
    assert slab.space == vectors.slab_space(payload, 0) == SPACE
    assert slab.owners.tolist() == owners
    assert slab.matrix.tobytes() == matrix.tobytes()
    assert slab.matrix.shape == (len(owners), dim)
    if owners:
        assert not slab.matrix.flags.owndata, "a view on the payload"


@settings(max_examples=60, derandomize=True, deadline=None)
@given(rows())
@example([])
@example([[]])
@example([[65_535]])
@example([[65_536]])
def test_tokens_come_back(tokens: list[list[int]]) -> None:
    owners = list(range(10, 10 + len(tokens)))
    arrays = [np.array(row, dtype=np.uint32) for row in tokens]
    payload = memoryview(vectors.encode_tokens(SPACE, owners, arrays))
    slab = vectors.decode_tokens(payload, 0)
    assert slab.space == vectors.slab_space(payload, 0) == SPACE
    assert slab.owners.tolist() == owners
    assert [slab.tokens[a:b].tolist() for a, b in zip(slab.offsets, slab.offsets[1:], strict=False)] == tokens
    largest = max((token for row in tokens for token in row), default=0)
    assert slab.tokens.itemsize == (2 if largest < 65_536 else 4)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(rows().filter(len), st.integers(1, 9))
@example([[]], 3)
@example([[65_536], [], [1, 2, 3]], 2)
def test_contexts_come_back(tokens: list[list[int]], dim: int) -> None:
    owners = list(range(10, 10 + len(tokens)))
    arrays = [np.array(row, dtype=np.uint32) for row in tokens]
    codes = [np.arange(len(row) * dim, dtype=np.int8).reshape(len(row), dim) for row in tokens]
    payload = memoryview(vectors.encode_contexts(SPACE, 77, owners, arrays, codes))
    slab = vectors.decode_contexts(payload, 0)
    assert slab.space == vectors.slab_space(payload, 0) == SPACE
    assert slab.basis == 77
    assert slab.owners.tolist() == owners
    for row, (start, end) in enumerate(pairwise(slab.offsets.tolist())):
        assert slab.tokens[start:end].tolist() == tokens[row]
        assert slab.codes[start:end].tolist() == codes[row].tolist()
    named = list(vectors.slab_references(Kind.CONTEXT_SLAB, payload, 0))
    assert named == [("space", SPACE, Kind.SPACE), ("basis", 77, Kind.TOKEN_BASIS)]


def test_a_basis_is_checked_before_it_is_used() -> None:
    good = np.eye(3, 8, dtype="<f4")
    assert np.array_equal(_basis(good).rows(), good)
    bent, unfit = good.copy(), good.copy()
    bent[1, 0] = 0.1
    unfit[0, 0] = np.nan
    for matrix in (bent, unfit, good * 2, good[:2], np.zeros_like(good), good * np.float32(3e38)):
        with pytest.raises(Corrupt):
            _basis(matrix).rows()
    with pytest.raises(Corrupt):
        TokenBasis(space=1, units=1, dim=2, width=3, matrix=bytes(24)).rows()


def _basis(matrix: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> TokenBasis:
    return TokenBasis(space=1, units=1, dim=8, width=3, matrix=matrix.tobytes())


def _payloads() -> list[tuple[str, bytes]]:
    small = [np.array(row, dtype=np.uint16) for row in ([1, 2, 3], [], [7])]
    large = [np.array(row, dtype=np.uint32) for row in ([1, 70_000], [5])]
    return [
        ("vectors", vectors.encode_vectors(SPACE, [1, 2, 3], _matrix(3, 5))),
        ("vectors", vectors.encode_vectors(SPACE, [], _matrix(0, 5))),
        ("tokens", vectors.encode_tokens(SPACE, [1, 2, 3], small)),
        ("tokens", vectors.encode_tokens(SPACE, [1, 2], large)),
        ("tokens", vectors.encode_tokens(SPACE, [], [])),
        ("contexts", vectors.encode_contexts(SPACE, 7, [1, 2, 3], small, [_codes(3, 5), _codes(0, 5), _codes(1, 5)])),
        ("contexts", vectors.encode_contexts(SPACE, 0, [1, 2], large, [_codes(2, 3), _codes(1, 3)])),
    ]


def _codes(count: int, dim: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int8]]:
    return np.arange(1, count * dim + 1, dtype=np.int8).reshape(count, dim)


def _decoded(kind: str, payload: bytes) -> tuple[object, ...] | None:
    """The slab as plain values, None for Corrupt; any other error is a failure."""
    try:
        if kind == "vectors":
            slab = vectors.decode_vectors(memoryview(payload), 4711)
            return slab.space, slab.owners.tolist(), slab.matrix.tobytes(), slab.matrix.shape
        if kind == "contexts":
            held = vectors.decode_contexts(memoryview(payload), 4711)
            assert all(0 <= offset <= len(held.codes) for offset in held.offsets.tolist())
            return held.space, held.basis, held.owners.tolist(), held.tokens.tolist(), held.codes.tolist()
        found = vectors.decode_tokens(memoryview(payload), 4711)
        assert all(0 <= offset <= len(found.tokens) for offset in found.offsets.tolist())
        return found.space, found.owners.tolist(), found.offsets.tolist(), found.tokens.tolist()
    except Corrupt as error:
        return None if error.offset == 4711 else ("another offset", error.offset)


@pytest.mark.parametrize(("kind", "payload"), _payloads())
def test_every_truncation_and_addition_is_corrupt(kind: str, payload: bytes) -> None:
    assert _decoded(kind, payload) is not None
    for length in range(len(payload)):
        assert _decoded(kind, payload[:length]) is None, length
    for more in (1, 2, 3, 4, 8, 24):
        assert _decoded(kind, payload + bytes(more)) is None, more


@pytest.mark.parametrize(("kind", "payload"), _payloads())
def test_every_changed_byte_is_corrupt_or_another_slab(kind: str, payload: bytes) -> None:
    """Frames are checksummed; this is about what the decoder does with bytes nobody should trust."""
    for at in range(len(payload)):
        for value in (0, 1, 0x7F, 0xFF):
            changed = bytearray(payload)
            changed[at] = value
            _decoded(kind, bytes(changed))


@settings(max_examples=300, derandomize=True, deadline=None)
@given(
    st.sampled_from(["vectors", "tokens", "contexts"]),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.binary(max_size=80),
)
def test_any_head_and_body(kind: str, rows_: int, width: int, body: bytes) -> None:
    head = SPACE.to_bytes(8, "little") + rows_.to_bytes(4, "little") + width.to_bytes(4, "little")
    _decoded(kind, head + body)
    _decoded(kind, body)


def test_ids_of_spaces() -> None:
    one = vectors.space_id("m", 3, "d")
    assert one == vectors.space_id("m", 3, "d")
    assert len({one, vectors.space_id("m", 4, "d"), vectors.space_id("m", 3, "e"), vectors.space_id("n", 3, "d")}) == 4
