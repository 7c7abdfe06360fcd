"""A one-dimensional numpy array that grows at its end, as a list does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FIRST_CAPACITY = 64


class GrowableArray:
    """Appending costs O(1) amortised; the view is valid until the next append and may be written to."""

    def __init__(self, dtype: str, pieces: Sequence[NDArray[Any]] = ()) -> None:
        """`pieces` are copied one after the other and become the first values."""
        self._size = sum(len(piece) for piece in pieces)
        self._array = np.zeros(max(_FIRST_CAPACITY, self._size + self._size // 8), dtype)
        start = 0
        for piece in pieces:
            self._array[start : start + len(piece)] = piece
            start += len(piece)

    def __len__(self) -> int:
        return self._size

    @property
    def view(self) -> NDArray[Any]:
        """All values, not copied."""
        return self._array[: self._size]

    def append(self, value: int | float | bool) -> None:
        """Add one value at the end."""
        self.extend_to(self._size + 1)
        self._array[self._size - 1] = value

    def extend(self, values: NDArray[Any]) -> None:
        """Add values at the end."""
        start = self._size
        self.extend_to(start + len(values))
        self._array[start : self._size] = values

    def truncate(self, size: int) -> None:
        """Keep the first `size` values."""
        self._array[size : self._size] = 0
        self._size = min(self._size, size)

    def extend_to(self, size: int) -> None:
        """Grow to `size` values; new ones are 0. Never shrinks."""
        if size > len(self._array):
            grown = np.zeros(max(size, 2 * len(self._array)), self._array.dtype)
            grown[: self._size] = self._array[: self._size]
            self._array = grown
        self._size = max(self._size, size)
