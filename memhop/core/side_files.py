"""What the files beside a .meh file are called: its lock, its torn tails, its copies, and what is being made of it."""

from __future__ import annotations

import os
from pathlib import Path

from memhop.core.commit import blake2b

_LONGEST_NAME = 255 - 40  # bytes of a name to which every suffix can be appended
_KEPT = 190  # bytes of one that is longer
_CUT_CHARACTER = "".join(map(chr, range(0xDC80, 0xDD00)))  # what os.fsdecode makes of a part of a character


def beside(path: Path, suffix: str) -> Path:
    """The side file of a .meh file: its name with a suffix appended.

    File systems take names of 255 bytes. Where a suffix might not fit, the name is cut short and told from others that
    begin in the same way by a digest of all of it: "<its first 190 bytes>~<16 hex digits><suffix>". All side files of
    one memory begin alike, with the name of `beside(path, "")`.
    """
    name = os.fsencode(path.name)
    if len(name) <= _LONGEST_NAME:
        return path.with_name(path.name + suffix)
    digest = blake2b(name, digest_size=8).hexdigest()
    return path.with_name(f"{os.fsdecode(name[:_KEPT]).rstrip(_CUT_CHARACTER)}~{digest}{suffix}")
