"""What JSON looks like by its first bytes: the keys of its first record, however the rest goes on or is cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*+)"\s*(:?)|[\[\]{}]', re.DOTALL)
_LINES: Final = 200  # that are looked at
_BOM: Final = b"\xef\xbb\xbf"

Shape = dict[int, set[str]]
"""Keys by how many containers they stand in; 1 is the record itself."""


def shapes(head: bytes) -> Iterator[Shape]:
    """Of the first item of an array; or of the object the head begins with, and then of each of its lines."""
    text = head.removeprefix(_BOM).lstrip()
    if text.startswith(b"["):
        found = text[1:].lstrip()
        if found.startswith(b"{"):
            yield _shape(found)
        return
    if text.startswith(b"{"):
        yield _shape(text)
    for line in text.split(b"\n", _LINES)[:_LINES]:
        if line.startswith(b"{") and line is not text:
            yield _shape(line)


def _shape(text: bytes) -> Shape:
    """Of the first value of a text."""
    keys: Shape = {}
    depth = 0
    for token in _TOKEN.finditer(text):
        char = token[0][:1]
        if char == b'"':
            if token[2]:
                keys.setdefault(depth, set()).add(token[1].decode("utf-8", "replace"))
        elif char in b"[{":
            depth += 1
        else:
            depth -= 1
            if depth <= 0:
                break
    return keys
