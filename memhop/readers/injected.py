"""What hosts put into a conversation that nobody said: recalled memories of ours, reminders, the frames of commands.

Importing it would store recalled texts a second time, as if they had been said again. Cut are blocks with both their
ends; a block that is never closed is left as it is, for somebody may have written about one. Cost: linear in the text.
"""

from __future__ import annotations

import re

from memhop.common.fence import CLOSE, OPEN

_OPENING = re.compile(re.escape(OPEN) + r"|<(system-reminder|(?:local-)?command-[a-z-]{1,40})>")


def without_injected(text: str) -> str:
    """The text without such blocks; unchanged, also at its ends, if there is none."""
    kept: list[str] = []
    unclosed: set[str] = set()
    start = at = 0
    while opening := _OPENING.search(text, at):
        closing = f"</{opening[1]}>" if opening[1] else CLOSE
        end = -1 if closing in unclosed else text.find(closing, opening.end())
        if end < 0:
            unclosed.add(closing)
            at = opening.end()
            continue
        kept.append(text[start : opening.start()])
        start = at = end + len(closing)
    if not kept:
        return text
    kept.append(text[start:])
    return "".join(kept).strip()
