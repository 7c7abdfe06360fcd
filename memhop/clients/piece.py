"""One thing of ours in a text: what is there of it, put it in, take it out again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from memhop.clients import splice
from memhop.clients.jsonc import parse
from memhop.common.errors import InvalidRequest


class Piece(Protocol):
    """Something that `put` brings into a text and `take` takes out; all else stays as it is.

    `held` is what is there now, None if nothing is. Putting what is held, and taking what is not there, give back the
    same text. All raise InvalidRequest for a text that is not what it should be.
    """

    def held(self, text: str) -> Any: ...

    def put(self, text: str, value: Any) -> str: ...

    def take(self, text: str) -> str: ...


class Member(NamedTuple):
    """A member of an object in JSON, by its path of keys."""

    path: tuple[str, ...]

    def held(self, text: str) -> Any:
        document = parse(text)
        node = document.find(self.path)
        return None if node is None else document.value(node)

    def put(self, text: str, value: Any) -> str:
        return splice.put(text, self.path, value)

    def take(self, text: str) -> str:
        return splice.take(text, self.path)


class Element(NamedTuple):
    """An object in an array of JSON, known by one member of it."""

    path: tuple[str, ...]
    key: str
    name: str

    def _found(self, text: str) -> tuple[int, Any]:
        document = parse(text)
        node = document.find(self.path)
        items = document.value(node) if node is not None and node.kind == "array" else []
        for index, item in enumerate(items):
            if isinstance(item, dict) and item.get(self.key) == self.name:
                return index, item
        return -1, None

    def held(self, text: str) -> Any:
        return self._found(text)[1]

    def put(self, text: str, value: Any) -> str:
        there = self.held(text)
        if there is not None and splice.same(there, value):
            return text
        return splice.append(self.take(text), self.path, value)

    def take(self, text: str) -> str:
        index, _ = self._found(text)
        return text if index < 0 else splice.drop(text, self.path, index)


class Block(NamedTuple):
    """Lines of a text between two marks, which are lines themselves and part of it."""

    begin: str
    end: str

    def held(self, text: str) -> Any:
        span = self._span(text)
        return text[span[0] : span[1]].replace("\r\n", "\n") if span else None

    def put(self, text: str, value: Any) -> str:
        newline = "\r\n" if "\r\n" in text else "\n"
        block = str(value).replace("\n", newline)
        if span := self._span(text):
            return text[: span[0]] + block + text[span[1] :]
        if not text:
            return block + newline
        if text.endswith("\n"):
            return text + newline + block + newline
        return text + newline + newline + block

    def take(self, text: str) -> str:
        """Without it, and without the blank line that `put` left before it and the line end behind it."""
        span = self._span(text)
        if not span:
            return text
        before, after = text[: span[0]], text[span[1] :]
        newline = "\r\n" if before.endswith("\r\n") or after.startswith("\r\n") else "\n"
        if after:
            return before.removesuffix(newline) + after.removeprefix(newline)
        return before.removesuffix(newline).removesuffix(newline)

    def _span(self, text: str) -> tuple[int, int] | None:
        """Where it stands. Raises InvalidRequest where one mark has no other, or there are several."""
        begins, ends = text.count(self.begin), text.count(self.end)
        if not begins and not ends:
            return None
        start, end = text.find(self.begin), text.find(self.end)
        if begins != 1 or ends != 1 or end < start:
            raise InvalidRequest(
                f"{begins} lines {self.begin} and {ends} lines {self.end}", allowed="one of each, in this order"
            )
        return start, end + len(self.end)


def brought(text: str | None, pieces: Iterable[tuple[Piece, Any]]) -> str:
    """The text with each piece in it."""
    new = text or ""
    for piece, value in pieces:
        new = piece.put(new, value)
    return new


def removed(text: str | None, before: str | None, pieces: Sequence[Piece]) -> str | None:
    """The text without the pieces; None: without them there is no file.

    Args:
        before: What the file held before any of them came into it, None if there was none. It is given back, byte for
            byte, if putting what is held now into it makes the text, so that nothing else was changed since.
    """
    if text is None:
        return None
    held = [(piece, value) for piece in pieces if (value := piece.held(text)) is not None]
    if not held:
        return text
    if all(piece.held(before or "") is None for piece, _ in held) and brought(before, held) == text:
        return before
    for piece, _ in held:
        text = piece.take(text)
    return text
