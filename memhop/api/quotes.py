"""Text that only repeats what was recalled: an agent that notes down its own context must not fill the memory with it.

Three things are known again, line by line:

    a line of a packed context      "[2026-03-14 18:05] Mara: The worktop came to … (3f0c52b1a09e77d4)", also numbered,
                                    between its two fence lines or alone, if the record it cites says that. Within a
                                    fence also where that record is gone: what was erased does not come back by being
                                    quoted
    the frame of a context          its two fence lines, and the one that counts what did not fit
    a line that is a note           after list marks and quotation marks, if all lines are

Whatever else there is, also between the fence lines, is new, and stored.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from memhop.api.naming import text_of
from memhop.common.config import has_substance
from memhop.common.fence import CLOSE, OPEN, shown
from memhop.repo.l3_facts import Fact
from memhop.repo.l3_knowledge import KnowledgeNode
from memhop.repo.l4_archive import Message
from memhop.repo.l4_note import Note
from memhop.repo.record import Record

_MARK: Final = OPEN.partition(">")[0] + ">"
_CITED: Final = re.compile(r"\s*(?:\d{1,4}\. )?\[\d{4}-\d\d-\d\d \d\d:\d\d\] (.{1,}: .*) \(([0-9a-f]{16})\)\s*")
_HINT: Final = re.compile(r"\([0-9a-f]{16}\)")
_COUNT: Final = re.compile(r"\s*\(\d{1,6} more hits? did not fit\)\s*")
_LIST_MARK: Final = re.compile(r"\s*(?:[-*>•]\s+|\d{1,3}[.)]\s+)?[\"“]?")
_CUT: Final = " … [cut]"
_MOST_WHO: Final = 600  # characters in front of the text of a line: who said it, and what is to be known of it
_MOST_LINES: Final = 200  # of a text whose lines may all be notes
_SHORTEST: Final = 20  # characters of a line that is taken for a note said again; "milk" is a list entry


class Cut(NamedTuple):
    """What is left of a text. `quoted` counts the lines that were left out, `ids` are the records they cite."""

    text: str
    quoted: int
    ids: tuple[int, ...]


def without_quotes(text: str, record_of: Callable[[int], Record | None]) -> Cut:
    """The text without lines and frames of packed contexts; the same text where there are none.

    Args:
        record_of: The live record of an id, or None.
    """
    if _MARK not in text and _HINT.search(text) is None:
        return Cut(text, 0, ())
    kept: list[str] = []
    ids: dict[int, None] = {}
    quoted, fenced = 0, False
    for line in text.split("\n"):
        bare = line.strip()
        if bare == OPEN or (fenced and bare == CLOSE):
            fenced = bare == OPEN
            quoted += 1
            continue
        match = _CITED.fullmatch(line) if bare.endswith(")") else None
        if match is not None:
            id_ = int(match[2], 16)
            record = record_of(id_)
            if _says(record, match[1]) or (fenced and record is None):
                quoted += 1
                if record is not None:
                    ids[id_] = None
                continue
        elif fenced and _COUNT.fullmatch(line):
            quoted += 1
            continue
        kept.append(line)
    if not quoted:
        return Cut(text, 0, ())
    rest = "\n".join(kept).strip()
    return Cut(rest if has_substance(rest) else "", quoted, tuple(ids))


def lines_of(text: str) -> list[str]:
    """The lines of a text without marks of lists and quotations; [] where they are too many, or one is too short."""
    lines = [line for line in text.split("\n", _MOST_LINES + 1) if line.strip()]
    bare = [_LIST_MARK.sub("", line, count=1).strip().rstrip('"”') for line in lines]
    return bare if len(bare) <= _MOST_LINES and all(len(line) >= _SHORTEST for line in bare) else []


def _says(record: Record | None, line: str) -> bool:
    """Whether a line of a context, without its time and id, is what recall makes of this record."""
    if record is None:
        return False
    if not isinstance(record, Message | Note | Fact | KnowledgeNode):
        return True  # a summary or a card: it changes from dream to dream, and is nobody's own words
    whole = shown(text_of(record))
    cut = line.endswith(_CUT)
    body = line.removesuffix(_CUT)
    start = body.find(": ")
    while 0 <= start <= _MOST_WHO:
        rest = body[start + 2 :]
        if rest == whole or (cut and whole.startswith(rest)) or (isinstance(record, Fact) and rest.startswith(whole)):
            return True
        start = body.find(": ", start + 1)
    return False
