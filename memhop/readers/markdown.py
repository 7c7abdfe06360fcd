"""Markdown: a folder of notes (of basic-memory, or any other), or one `.md` or `.txt` file.

A file with frontmatter is a note of its title and its text; the type is its kind, the tags its tags, every other key
goes to the metadata. Each observation in it (`- [category] text #tag (context)`) becomes a note of its own, of the
category as kind and part of the file's note, where its line is left out; relations (`- type [[Target]]`, `[[Target]]`)
stay in the text, and become links if the target is a file of the same folder, by its title, permalink or name.

A file without frontmatter becomes a note for each of its sections; a section that is nothing but a list, as in pasted
"what do you know of me" answers, a note for each item.

    path in the folder  -> source id of a file      path#n of what stands in it, by content -> source id of the rest
    frontmatter dates (created, modified) -> times, else none: the time of a file says when it was copied

Files over `MOST_BYTES` and those that are no UTF-8 are rejected.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, Final

from memhop.common.errors import InvalidRequest, StorageError
from memhop.readers.frontmatter import split
from memhop.readers.item import MAX_RAW_BYTES, Item, NoteItem, Rejected, Skipped
from memhop.readers.looks import require
from memhop.readers.outline import Observation, Page, Relation, items_of, outline, sections
from memhop.readers.source import PACKED_FAULTS, Member, head_of, is_packed, members
from memhop.readers.values import Bad, hashed, name, names, short, text, when

NAME: Final = "markdown"
EXPECTED: Final = "a folder with .md files, or one .md or .txt file"
MOST_BYTES: Final = 4 * 1024 * 1024  # of a file
_ENDS: Final = (".md", ".markdown")
_HEAD: Final = 16 * 1024  # of each file is read ahead for its title
_TAKEN: Final = ("title", "type", "tags", "permalink")


def matches(path: Path, head: bytes) -> bool:
    """Whether a folder or zip holds Markdown files; whether a file is text with a heading, a list or frontmatter.

    The loosest of all formats: to be asked last.
    """
    try:
        if path.is_dir() or is_packed(head):
            return any(member.base.endswith(_ENDS) for member in members(path))
    except (StorageError, InvalidRequest):
        return False
    try:
        found = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:  # the head may cut the last character
            return False
        found = head[: error.start].decode("utf-8")
    first = found.removeprefix("\ufeff").lstrip()
    if not first or "\0" in found or first[0] in "{<":
        return False
    if first[0] == "[" and path.suffix.lower() not in _ENDS:
        return False
    return path.suffix.lower() in (*_ENDS, ".txt") or first.startswith(("---\n", "# ", "## ", "- ", "* "))


def read(path: Path) -> Iterator[Item]:
    """Notes, file by file in order of their names. Errors: as `Reader.read`."""
    require(path, matches, EXPECTED)
    single = not path.is_dir() and not is_packed(head_of(path))
    return _items([member for member in members(path) if single or member.base.endswith(_ENDS)])


def _items(found: list[Member]) -> Iterator[Item]:
    known = _targets(found)
    for member in found:
        try:
            with member.open() as stream:
                raw = stream.read(MOST_BYTES + 1)
        except PACKED_FAULTS as error:
            yield Rejected(member.name, f"the stream is broken: {error}", b"")
            continue
        except StorageError as error:
            yield Rejected(member.name, error.message, b"")
            continue
        if len(raw) > MOST_BYTES:
            yield Rejected(member.name, f"longer than {MOST_BYTES:,} bytes", raw[:MAX_RAW_BYTES])
            continue
        try:
            body = raw.decode("utf-8-sig").replace("\r\n", "\n")
            front, rest = split(body)
            yield from _page(member.name, front, rest, known) if front is not None else _plain(member.name, rest)
        except UnicodeDecodeError:
            yield Rejected(member.name, "not UTF-8", raw[:MAX_RAW_BYTES])
        except Bad as error:
            yield Rejected(member.name, str(error), raw[:MAX_RAW_BYTES])


def _targets(found: list[Member]) -> dict[str, str]:
    """Source ids of files by what links may call them, without case: name, path, title, permalink. The first wins."""
    known: dict[str, str] = {}
    for member in found:
        pure = PurePosixPath(member.name)
        called = [pure.stem, member.name.removesuffix(pure.suffix)]
        try:
            with member.open() as stream:
                front, _ = split(stream.read(_HEAD).decode("utf-8-sig", "replace").replace("\r\n", "\n"))
        except (StorageError, Bad, *PACKED_FAULTS):
            front = None
        called += [value for key in ("title", "permalink") if isinstance(value := (front or {}).get(key), str)]
        for one in called:
            known.setdefault(one.strip().casefold(), member.name)
    return known


def _links(relations: tuple[Relation, ...], here: str, known: dict[str, str]) -> tuple[tuple[str, str], ...]:
    found = ((relation.type, known.get(relation.target.casefold(), here)) for relation in relations)
    return tuple(dict.fromkeys((type_, target) for type_, target in found if target != here))


def _page(path: str, front: dict[str, Any], body: str, known: dict[str, str]) -> Iterator[Item]:
    title = name(_said(front.get("title")), "title") or PurePosixPath(path).stem
    kind = name(_said(front.get("type")), "type", "note")
    tags = tuple(tag.lstrip("#") for tag in names(front.get("tags"), "tags"))
    at = _time(front, "created", "created_at", "date")
    updated = _time(front, "modified", "updated", "updated_at")
    page: Page = outline(body)
    metadata = {key: value for key, value in front.items() if key not in _TAKEN} | {"title": title}
    if permalink := name(_said(front.get("permalink")), "permalink"):
        metadata["permalink"] = permalink
    links = _links(page.relations, path, known)
    rest = page.rest.strip()
    said = rest if rest.startswith((f"# {title}", title)) else f"{title}\n\n{rest}".strip()
    yield NoteItem(path, said, kind=kind, tags=tags, metadata=metadata, at=at, updated_at=updated, links=links)
    ids = _Ids(path)
    for observation in page.observations:
        yield _observation(ids, path, observation, at, updated)


def _observation(ids: _Ids, path: str, seen: Observation, at: int, updated: int) -> NoteItem:
    metadata = {"context": seen.context} if seen.context else {}
    return NoteItem(
        ids.of(seen.text),
        seen.text,
        kind=short(seen.category) or "note",
        tags=names(list(seen.tags), "tags"),
        metadata=metadata,
        at=at,
        updated_at=updated,
        links=(("part_of", path),),
    )


def _plain(path: str, body: str) -> Iterator[Item]:
    """Sections, or the items of those that are lists."""
    ids = _Ids(path)
    empty = True
    for heading, said in sections(body):
        metadata = {"section": short(heading)} if heading else {}
        listed = items_of(said)
        texts = listed or [f"{heading}\n\n{said}" if heading else said]
        for one in texts:
            empty = False
            yield NoteItem(ids.of(one if listed else heading), one, metadata=metadata)
    if empty:
        yield Skipped(path, "no text")


class _Ids:
    """Ids of what stands in a file: by content, equal content numbered."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: dict[str, int] = {}

    def of(self, content: str) -> str:
        key = hashed(content)
        self._seen[key] = number = self._seen.get(key, 0) + 1
        return f"{self._path}#{key}" + (f".{number}" if number > 1 else "")


def _time(front: dict[str, Any], *keys: str) -> int:
    """The first of the keys that holds a time; 0 if none does: people write dates as they like. The metadata has it."""
    for key in keys:
        with suppress(Bad):
            if found := when(str(front.get(key) or ""), key):
                return found
    return 0


def _said(value: object) -> str | None:
    """A value of frontmatter as text: a title may look like a number."""
    return None if value is None else text(value if isinstance(value, str) else str(value), "a value")
