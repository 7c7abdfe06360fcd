"""The lines of a Markdown note: observations, relations, sections and list items. Pure, one pass, no nesting.

    - [decision] Wheels are built with uv #ci (since v2)     observation: category, text, tags, context
    - prefers tabs #style                                    observation without a category, by its #tag
    - depends_on [[Release process]] (blocking)              relation: type, target
    - "depends on" [[Release process]]                       the same, the type in quotes
    Text that mentions [[Docker image]].                     relation of type links_to

No observations are checkboxes (`[ ]`, `[x]`, `[-]` and other marks of one character), clock values (`[00:01:02]`), bare
links, and anything in a block quote or a fenced block of code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_ITEM: Final = re.compile(r"\s*[-*+]\s+(\S.*)$")
_CATEGORY: Final = re.compile(r"\[([^\[\]()]{1,100})\]\s+(\S.*)$")
_CLOCK: Final = re.compile(r"[\d:.,\s]+")
_TAG: Final = re.compile(r"(?:(?<=\s)|^)#([^\s#]+(?:#[^\s#]+)*)")
_CONTEXT: Final = re.compile(r"\(([^()]*)\)$")
_TYPED: Final = re.compile(r'(?:"([^"]{1,100})"|([^\s"\[\]]{1,100}))\s+\[\[([^\[\]]{1,500})\]\]\s*(?:\([^()]*\))?$')
_LINK: Final = re.compile(r"\[\[([^\[\]]{1,500})\]\]")
_BARE_LINK: Final = re.compile(r"\[[^\]]*\]\([^)]*\)|\[\[")
_FORCED: Final = re.compile(r"\s#bm:links_to$")
_HEADING: Final = re.compile(r"(#{1,6})\s+(\S.*)$")
_FENCE: Final = ("```", "~~~")
LINKS_TO: Final = "links_to"


class Observation(NamedTuple):
    """`category` "" if there is none; tags stay in the text, the context does not."""

    category: str
    text: str
    tags: tuple[str, ...]
    context: str


class Relation(NamedTuple):
    type: str
    target: str


class Page(NamedTuple):
    """`rest` are the lines that are no observations; what it links to stands in `relations` too."""

    observations: tuple[Observation, ...]
    relations: tuple[Relation, ...]
    rest: str


def outline(body: str) -> Page:
    """Take the observations and relations out of a text."""
    observations: list[Observation] = []
    relations: list[Relation] = []
    rest: list[str] = []
    for line, quoted in _lines(body):
        item = None if quoted else _ITEM.match(line)
        typed = _typed(item[1]) if item else None
        if typed:
            relations.append(typed)
        elif not quoted:
            relations += [Relation(LINKS_TO, _target(found)) for found in _LINK.findall(line)]
        if item and not typed and (seen := _observation(item[1])):
            observations.append(seen)
        else:
            rest.append(line)
    return Page(tuple(observations), tuple(relations), "\n".join(rest))


def sections(body: str) -> Iterator[tuple[str, str]]:
    """Headings, from the outermost on, and the texts below them; sections without a text are left out."""
    path: list[tuple[int, str]] = []
    said: list[str] = []
    for line, quoted in _lines(body):
        heading = None if quoted else _HEADING.match(line)
        if not heading:
            said.append(line)
            continue
        if found := "\n".join(said).strip():
            yield " / ".join(called for _, called in path), found
        said = []
        level = len(heading[1])
        path = [(above, called) for above, called in path if above < level]
        path.append((level, heading[2].rstrip("# ").strip()))
    if found := "\n".join(said).strip():
        yield " / ".join(called for _, called in path), found


def items_of(text: str) -> list[str]:
    """The items of a text that is nothing but a list, each with the lines indented below it; [] for any other."""
    items: list[list[str]] = []
    for line in text.splitlines():
        item = _ITEM.match(line)
        if item and not line[:1].isspace():
            items.append([item[1]])
        elif not line.strip():
            continue
        elif items and line[:1].isspace():
            items[-1].append(line.rstrip())
        else:
            return []
    return ["\n".join(lines) for lines in items]


def _lines(body: str) -> Iterator[tuple[str, bool]]:
    """Lines, and whether they stand in a block quote or a block of code."""
    fence = ""
    for line in body.split("\n"):
        start = line.lstrip()
        if fence:
            if start.startswith(fence):
                fence = ""
            yield line, True
        elif start.startswith(_FENCE):
            fence = start[:3]
            yield line, True
        else:
            yield line, start.startswith(">")


def _typed(item: str) -> Relation | None:
    found = _TYPED.match(item)
    return Relation(found[1] or found[2], _target(found[3])) if found else None


def _target(link: str) -> str:
    """What a link names, without its alias or section."""
    return link.partition("|")[0].partition("#")[0].strip()


def _observation(item: str) -> Observation | None:
    item = _FORCED.sub("", item)
    category, said = "", item
    if found := _CATEGORY.match(item):
        category, said = found[1].strip(), found[2]
        if _CLOCK.fullmatch(category) or (len(category) <= 1 and not category.isalnum()) or category in ("x", "X"):
            return None
    elif item.startswith("[") and (_BARE_LINK.match(item) or item[2:3] == "]"):
        return None
    tags = tuple(dict.fromkeys(tag for found in _TAG.findall(said) for tag in found.split("#")))
    if not category and not tags:
        return None
    said = said.rstrip()
    context = _CONTEXT.search(said)
    if context and (before := said[: context.start()].rstrip()):
        return Observation(category, before, tags, context[1].strip())
    return Observation(category, said, tags, "")
