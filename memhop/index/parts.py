"""Immutable parts: what an index has in the file, as named arrays that are used in place.

An index consists of parts, oldest first, and one delta in memory. A part is a mapping from section name to a
one-dimensional array, usually a view of a memory-mapped file; asking for a name may check its bytes, so sections are
fetched only when needed. Names are short (`docs`); the caller, who keeps the sections of all indexes together, puts a
prefix before them. A section without values need not be there. Where a type is given as `n4`, the values have the
narrowest of u1, u2 and u4 that holds them all, and so for `n8`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memhop.common.errors import Corrupt

Part: TypeAlias = Mapping[str, NDArray[Any]]
Sections: TypeAlias = dict[str, NDArray[Any]]


def section(part: Part, name: str, dtype: str) -> NDArray[Any]:
    """The array `name` of the part, empty where it is absent.

    Raises:
        Corrupt: it has another type, or is not one-dimensional.
    """
    array = _fetched(part, name)
    if array is None:
        return np.zeros(0, dtype)
    if array.dtype != np.dtype(dtype) or array.ndim != 1:
        raise damaged(f"section {name} is {array.dtype}[{array.ndim}d] instead of {dtype}[1d]")
    return array


def narrow_section(part: Part, name: str, *, widest: int = 4) -> NDArray[Any]:
    """Like `section`, of unsigned integers of at most `widest` bytes."""
    array = _fetched(part, name)
    if array is None:
        return np.zeros(0, np.uint8)
    if array.dtype.kind != "u" or array.dtype.itemsize > widest or array.ndim != 1:
        raise damaged(f"section {name} is {array.dtype}[{array.ndim}d] instead of n{widest}[1d]")
    return array


def narrowed(values: NDArray[Any]) -> NDArray[Any]:
    """The same integers, none of them negative, in the narrowest unsigned type."""
    most = int(values.max()) if len(values) else 0
    return values.astype(np.min_scalar_type(most), copy=False)


def _fetched(part: Part, name: str) -> NDArray[Any] | None:
    try:
        return part[name]
    except KeyError:
        return None


def offsets(part: Part, name: str, *, rows: int, end: int) -> NDArray[Any]:
    """The array `name`, where row i of a compressed table lies in `[array[i], array[i + 1])`.

    Only the ends are looked at (reading all would touch the whole section): a value between them that runs backwards
    or past the end gives an empty or shorter row, never one outside the table.

    Raises:
        Corrupt: not `rows + 1` values from 0 to `end`.
    """
    array = narrow_section(part, name, widest=8)
    if not rows and not end and not len(array):
        return np.zeros(1, np.uint8)
    if len(array) != rows + 1 or int(array[0]) != 0 or int(array[-1]) != end:
        raise damaged(f"section {name} does not fit {rows} rows of {end} entries")
    return array


def damaged(what: str) -> Corrupt:
    """The error for sections whose bytes check out but which make no sense. Parts know no place in the file: byte 0."""
    return Corrupt(f"index part: {what};", offset=0)


def order_of(values: NDArray[Any]) -> NDArray[np.int64]:
    """Where each value stands in stable ascending order; of unsigned integers. Cost: linear, while they fit 4 bytes.

    numpy sorts values of two bytes by counting, ten times faster than wider ones.
    """
    values = narrowed(values)
    if values.dtype.itemsize != 4:
        return np.argsort(values, kind="stable")
    order = np.argsort(values.astype(np.uint16), kind="stable")
    return order[np.argsort((values >> np.uint32(16)).astype(np.uint16)[order], kind="stable")]


def ranges(starts: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.int64]:
    """The positions of all rows one after the other: `starts[0]`, `starts[0] + 1`, ... Cost: their total length.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    lengths = lengths.astype(np.int64)
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    shift = starts.astype(np.int64) - (ends - lengths)
    positions = np.arange(total, dtype=np.int64)
    positions += np.repeat(shift, lengths)
    return positions


def lengths_of(offsets: NDArray[Any]) -> NDArray[np.int64]:
    """Row lengths of a compressed table; a row that runs backwards counts as empty."""
    ends = offsets.astype(np.int64)
    lengths: NDArray[np.int64] = np.maximum(ends[1:] - ends[:-1], 0)
    return lengths


def to_offsets(lengths: NDArray[Any]) -> NDArray[Any]:
    """Row lengths to the offsets of a compressed table: 0 first, the total last; as narrow as can be."""
    result = np.zeros(len(lengths) + 1, np.uint64)
    np.cumsum(lengths, out=result[1:], dtype=np.uint64)
    return narrowed(result)
