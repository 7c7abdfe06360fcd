"""What JSON looks like by its first bytes: the keys of its first records, however the rest goes on or is cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*+)"\s*(:?)|[\[\]{}]', re.DOTALL)
_ITEMS: Final = 200  # that are looked at
_BOM: Final = b"\xef\xbb\xbf"

Shape = dict[int, set[str]]
"""Keys by how many containers they stand in; 1 is the record itself."""


def shapes(head: bytes) -> Iterator[Shape]:
    """Of the first objects of an array; or of the object the head begins with, and then of each of its lines."""
    text = head.removeprefix(_BOM).lstrip()
    if text.startswith(b"["):
        yield from _shapes(text, 1, _ITEMS)
        return
    if text.startswith(b"{"):
        yield from _shapes(text, 0, 1)
    for line in text.split(b"\n", _ITEMS)[:_ITEMS]:
        if line.startswith(b"{") and line is not text:
            yield from _shapes(line, 0, 1)


def _shapes(text: bytes, base: int, most: int) -> Iterator[Shape]:
    """Of the objects that stand in `base` containers, as far as the text goes."""
    keys: Shape = {}
    depth = found = 0
    for token in _TOKEN.finditer(text):
        char = token[0][:1]
        if char == b'"':
            if token[2]:
                keys.setdefault(depth - base, set()).add(token[1].decode("utf-8", "replace"))
            continue
        depth += 1 if char in b"[{" else -1
        if depth <= base and keys:
            yield keys
            keys, found = {}, found + 1
        if depth < base or found == most:
            return
    if keys:
        yield keys
