"""Parts as a file gives them: arrays that cannot be written to."""

from __future__ import annotations

from memhop.index.parts import Part, Sections


def frozen(sections: Sections) -> Part:
    """The same sections, read-only as if mapped."""
    for array in sections.values():
        array.flags.writeable = False
    return sections
