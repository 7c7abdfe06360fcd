"""Readers of what other memories and clients export: a file or folder in, a stream of items out. Pure parsing.

A reader is a module with three names: `NAME`, `matches(path, head)` and `read(path)`. It knows nothing of `.meh`
files, of stores or of how its items will be kept, never writes, never follows a symbolic link inside a folder, and
holds one item at a time in memory. What is broken becomes a `Rejected` item; only a source that is not of the format
at all raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from memhop.readers import chatgpt, claude_ai, claude_code, go_meh, hemisphere, hinterland, markdown, mcp_memory, mem0
from memhop.readers.item import Item
from memhop.readers.source import head_of


class Reader(Protocol):
    """One format.

    `matches` judges by content: `head` is the first 64 KiB of a file, empty for a folder. `read` streams the items in
    the order of the source; it raises InvalidRequest(field "path") if the source is not of this format, StorageError if
    it cannot be read.
    """

    NAME: str

    def matches(self, path: Path, head: bytes) -> bool: ...

    def read(self, path: Path) -> Iterator[Item]: ...


READERS: Final[tuple[Reader, ...]] = (
    go_meh,
    hemisphere,
    hinterland,
    chatgpt,
    claude_ai,
    claude_code,
    mcp_memory,
    mem0,
    markdown,  # last: nearly any text is Markdown
)


def detect(path: Path) -> Reader | None:
    """The reader whose format this is, judged by content and not by name; None if no reader knows it.

    Raises:
        StorageError: the path is absent, may not be read, or is neither a file nor a folder.
    """
    head = head_of(path)
    return next((found for found in READERS if found.matches(path, head)), None)
