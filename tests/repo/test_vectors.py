"""Slabs: what is encoded comes back, and every truncation or change is Corrupt or harmless."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memhop import Corrupt
from memhop.repo import vectors

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


def _payloads() -> list[tuple[str, bytes]]:
    small = [np.array(row, dtype=np.uint16) for row in ([1, 2, 3], [], [7])]
    large = [np.array(row, dtype=np.uint32) for row in ([1, 70_000], [5])]
    return [
        ("vectors", vectors.encode_vectors(SPACE, [1, 2, 3], _matrix(3, 5))),
        ("vectors", vectors.encode_vectors(SPACE, [], _matrix(0, 5))),
        ("tokens", vectors.encode_tokens(SPACE, [1, 2, 3], small)),
        ("tokens", vectors.encode_tokens(SPACE, [1, 2], large)),
        ("tokens", vectors.encode_tokens(SPACE, [], [])),
    ]


def _decoded(kind: str, payload: bytes) -> tuple[object, ...] | None:
    """The slab as plain values, None for Corrupt; any other error is a failure."""
    try:
        if kind == "vectors":
            slab = vectors.decode_vectors(memoryview(payload), 4711)
            return slab.space, slab.owners.tolist(), slab.matrix.tobytes(), slab.matrix.shape
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
    st.sampled_from(["vectors", "tokens"]), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.binary(max_size=80)
)
def test_any_head_and_body(kind: str, rows_: int, width: int, body: bytes) -> None:
    head = SPACE.to_bytes(8, "little") + rows_.to_bytes(4, "little") + width.to_bytes(4, "little")
    _decoded(kind, head + body)
    _decoded(kind, body)


def test_ids_of_spaces() -> None:
    one = vectors.space_id("m", 3, "d")
    assert one == vectors.space_id("m", 3, "d")
    assert len({one, vectors.space_id("m", 4, "d"), vectors.space_id("m", 3, "e"), vectors.space_id("n", 3, "d")}) == 4
