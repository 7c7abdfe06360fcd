"""Columns of a part in few bytes: integers as codes, with what the codes stand for beside them.

A column `NAME` of a part takes one of these shapes, whichever is smallest:

    constant  `NAME.values` has one value; there are no codes
    palette   `NAME.values` has the distinct values, ascending; code i stands for values[i]
    range     `NAME.range` has (base, step); code c stands for base + step * c. Times of one week in ms fit 4 bytes
    plain     the codes are the values

Codes are of the narrowest unsigned type that holds them. In all shapes a greater code stands for a greater value, so
a sorted column is searched without decoding it.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memhop.index.parts import Part, Sections, damaged, narrow_section, narrowed, section

_MOST_CODES: Final = 1 << 32  # above, a range saves nothing


def packed(name: str, values: NDArray[Any]) -> Sections:
    """The sections of a column. Empty ones are left out, as everywhere in a part. Cost: a sort."""
    if not len(values):
        return {}
    low, high = int(values.min()), int(values.max())
    if low == high:
        return {f"{name}.values": values[:1].copy()}
    size = values.dtype.itemsize
    best: Sections = {name: values}
    least = values.nbytes
    if high - low < _MOST_CODES and size > 1:
        codes = (values - values.dtype.type(low)).astype(np.uint64)
        step = int(np.gcd.reduce(codes))
        codes = narrowed(codes // np.uint64(step))
        frame = np.array([low, step], values.dtype)
        if codes.nbytes + frame.nbytes < least:
            least = codes.nbytes + frame.nbytes
            best = {name: codes, f"{name}.range": frame}
    if least > len(values):  # more than a byte for each
        distinct, places = np.unique(values, return_inverse=True)
        codes = narrowed(places)
        if codes.nbytes + distinct.nbytes < least:
            best = {name: codes, f"{name}.values": distinct}
    return best


class Column:
    """A column as it lies in a part."""

    def __init__(self, part: Part, name: str, dtype: str, rows: int) -> None:
        """Raises Corrupt where the sections do not fit together. Cost: reads them once."""
        self._dtype = np.dtype(dtype)
        self._values = section(part, f"{name}.values", dtype)
        frame = section(part, f"{name}.range", dtype).tolist()
        self._base: int = frame[0] if len(frame) == 2 else 0
        self._step: int = frame[1] if len(frame) == 2 else 1
        coded = bool(frame) or len(self._values) > 0
        if len(frame) not in (0, 2) or self._step < 1 or (frame and len(self._values)):
            raise damaged(f"column {name} says twice what its codes stand for")
        if len(self._values) == 1 and name not in part:
            self.codes: NDArray[Any] = np.broadcast_to(np.zeros(1, np.uint8), (rows,))
        else:
            self.codes = narrow_section(part, name) if coded else section(part, name, dtype)
        if len(self.codes) != rows:
            raise damaged(f"column {name} has {len(self.codes)} rows instead of {rows}")
        greatest = int(self.codes.max()) if coded and rows else 0
        if len(self._values):
            if greatest >= len(self._values) or np.any(self._values[1:] <= self._values[:-1]):
                raise damaged(f"the values of column {name} are out of order, or too few")
        elif frame and self._base + self._step * greatest > np.iinfo(self._dtype).max:
            raise damaged(f"column {name} holds values that are out of range")

    def array(self) -> NDArray[Any]:
        """All values; in place where they are plain."""
        array: NDArray[Any] = self.codes
        if len(self._values):
            array = self._values[self.codes]
        elif (self._base, self._step) != (0, 1) or array.dtype != self._dtype:
            array = array.astype(self._dtype) * self._dtype.type(self._step) + self._dtype.type(self._base)
        return array

    def __getitem__(self, row: int) -> int:
        code = self._memory[row]
        return self._decoded(code)

    def slice(self, begin: int, end: int) -> list[int]:
        """The values of some rows."""
        return list(map(self._decoded, self._memory[begin:end].tolist()))

    def bisect(self, value: int, begin: int, end: int) -> int:
        """The first of the rows begin..end, which ascend, that is not below `value`; `end` if all are."""
        code = bisect_left(self._palette, value) if len(self._values) else -((self._base - value) // self._step)
        return bisect_left(self._memory, code, begin, end)

    def _decoded(self, code: int) -> int:
        return self._palette[code] if len(self._values) else self._base + self._step * code

    @cached_property
    def _memory(self) -> memoryview[int]:
        """The codes; `bisect` on a memoryview is several times faster than `np.searchsorted` for one value."""
        return np.ascontiguousarray(self.codes).data

    @cached_property
    def _palette(self) -> memoryview[int]:
        return self._values.data
