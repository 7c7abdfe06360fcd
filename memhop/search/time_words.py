"""The words of a text that name a time, from left to right, none within another, and which stretch of time they mean.

Each language is one pattern (`time_english`, `time_chinese`); a form is a branch of it with a name, and a function of
the same name says what it means. Runs of blanks and digits are bounded and each branch begins with what rules it out,
so that the cost is linear, whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from memhop.search import time_chinese, time_english
from memhop.search.said import Mention, Said


def mentions(said: Said, anchors: Collection[str] | None = None) -> Iterator[Mention]:
    """The times named, those in English words or digits first. What is no time after all ("31 June") is left out.

    Args:
        anchors: Those of `time_english.ANCHORS` that are in the text, if the caller knows. Only around them is it read.
    """
    lowered = said.text.lower()
    if len(lowered) != len(said.text):  # İ, which is two letters in lower case: places would no longer agree
        said = said._replace(text=lowered)
    for match in _english(lowered, anchors):
        form = str(match.lastgroup)
        stretch = time_english.MEANING[form](match, said)
        if stretch is not None:
            yield Mention(match.start(), match.end(), stretch, form in time_english.RELATIVE)
    if lowered.isascii():
        return
    for match in time_chinese.PATTERN.finditer(said.text):
        form = str(match.lastgroup)
        stretch = time_chinese.MEANING[form](match, said)
        if stretch is not None:
            yield Mention(match.start(), match.end(), stretch, time_chinese.is_relative(match))


def _english(lowered: str, anchors: Collection[str] | None) -> Iterator[re.Match[str]]:
    if anchors is None:
        return time_english.PATTERN.finditer(lowered)
    if not anchors:
        return iter(())
    begin = min(map(lowered.find, anchors)) - time_english.REACH
    end = max(map(lowered.rfind, anchors)) + time_english.REACH
    return time_english.PATTERN.finditer(lowered, max(0, begin), end)
