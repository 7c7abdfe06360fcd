"""What the checks of `memhop.doctor` are given, and the words they share."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memhop.common.sizes import file_size

if TYPE_CHECKING:
    from memhop.common.clock import Clock
    from memhop.common.errors import MemhopError
    from memhop.core.meh_file import MehFile
    from memhop.models.embed import Embedder

OK, NOTE, WARNING, ERROR = "ok", "note", "warning", "error"
STATES = (OK, NOTE, WARNING, ERROR)  # from best to worst


@dataclass(frozen=True, slots=True)
class Case:
    """One memory under examination. Either `file` is open for reading, or `problem` says why it is not."""

    path: Path
    file: MehFile | None
    problem: MemhopError | None
    clock: Clock
    embedder: Embedder | Callable[[], Embedder | None] | None

    @property
    def exists(self) -> bool:
        """Whether anything is at the path."""
        return os.path.lexists(self.path)

    def command(self, words: str) -> str:
        """A command on this memory, ready to be typed."""
        return f"memhop {words} --file {shlex.quote(str(self.path))}"


def bytes_text(size: int) -> str:
    """A size for a sentence: 812 bytes, 14.3 KiB."""
    return file_size(size, byte="bytes")
