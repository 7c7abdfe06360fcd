"""JSON as people write it in configuration files: comments, trailing commas, a byte order mark. Text in, spans out.

    text      {"a": 1, /* one */ "b": [true,],}
    Node      what stands from `start` to `end`: an object, an array or a scalar
    Part      a member or an item: its key, its node, and where the comma behind it stands

Every JSON document is one, too. What this does not take (single quotes, bare keys, numbers such as .5) the clients do
not take either. Cost: linear in the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from memhop.common.errors import InvalidRequest

BOM: Final = "\ufeff"
DEEPEST: Final = 100
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_COMMENT: Final = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_SCALAR: Final = re.compile(
    r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true\b|false\b|null\b'
)


class Part(NamedTuple):
    """A member of an object, or an item of an array, whose key is None. `comma` is -1 where none follows."""

    key: str | None
    start: int
    node: Node
    comma: int

    @property
    def end(self) -> int:
        """Where its value ends."""
        return self.node.end


class Node(NamedTuple):
    """A value in the text. `kind` is "object", "array" or "scalar"."""

    kind: str
    start: int
    end: int
    parts: tuple[Part, ...] = ()


class Document(NamedTuple):
    """A text and what it says. `comments` are (start, end), in order."""

    text: str
    root: Node
    comments: tuple[tuple[int, int], ...]

    def raw(self, node: Node) -> str:
        """The text of a value."""
        return self.text[node.start : node.end]

    def value(self, node: Node) -> Any:
        """A value as Python has it; of two members of one name the last."""
        if node.kind == "object":
            return {part.key: self.value(part.node) for part in node.parts}
        if node.kind == "array":
            return [self.value(part.node) for part in node.parts]
        return json.loads(self.raw(node))

    def find(self, path: Iterable[str | int]) -> Node | None:
        """The value at a path of keys, and places in arrays; None if there is none."""
        node = self.root
        for key in path:
            if isinstance(key, int):
                part = node.parts[key] if node.kind == "array" and key < len(node.parts) else None
            else:
                part = member(node, key) if node.kind == "object" else None
            if part is None:
                return None
            node = part.node
        return node


def member(node: Node, key: object) -> Part | None:
    """The member of an object that has this key; of several the last, which is the one that counts."""
    return next((part for part in reversed(node.parts) if part.key == key), None)


def parse(text: str) -> Document:
    """The document a text is. Only blanks and comments are one, too: an empty object at the end.

    Raises:
        InvalidRequest: it is none; says where, by line and column.
    """
    return _Parser(text).document()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = len(BOM) if text.startswith(BOM) else 0
        self._comments: list[tuple[int, int]] = []

    def document(self) -> Document:
        self._pass_blanks()
        if self._at == len(self._text):
            root = Node("object", self._at, self._at)
        else:
            root = self._value(0)
            self._pass_blanks()
            if self._at < len(self._text):
                raise self._fault("something follows the end of the document")
        return Document(self._text, root, tuple(self._comments))

    def _value(self, depth: int) -> Node:
        start = self._at
        opening = self._text[start : start + 1]
        if opening == "{":
            return self._container("object", "}", depth)
        if opening == "[":
            return self._container("array", "]", depth)
        return self._scalar()

    def _scalar(self) -> Node:
        found = _SCALAR.match(self._text, self._at)
        if not found:
            raise self._fault("a value is expected" if self._at < len(self._text) else "the text ends too early")
        try:
            json.loads(found[0])
        except ValueError:
            raise self._fault("not a string of JSON") from None
        self._at = found.end()
        return Node("scalar", found.start(), found.end())

    def _container(self, kind: str, closing: str, depth: int) -> Node:
        if depth >= DEEPEST:
            raise self._fault("nested too deep")
        start = self._at
        self._at += 1
        parts: list[Part] = []
        while True:
            self._pass_blanks()
            if self._text.startswith(closing, self._at):
                self._at += 1
                return Node(kind, start, self._at, tuple(parts))
            if parts and parts[-1].comma < 0:
                raise self._fault(f"a comma or {closing} is expected")
            parts.append(self._part(kind, depth))

    def _part(self, kind: str, depth: int) -> Part:
        start = self._at
        key = None
        if kind == "object":
            if not self._text.startswith('"', start):
                raise self._fault("a name in double quotes is expected")
            key = json.loads(self._text[start : self._scalar().end])
            self._pass_blanks()
            if not self._text.startswith(":", self._at):
                raise self._fault("a colon is expected")
            self._at += 1
            self._pass_blanks()
        node = self._value(depth + 1)
        self._pass_blanks()
        comma = -1
        if self._text.startswith(",", self._at):
            comma = self._at
            self._at += 1
        return Part(key, start, node, comma)

    def _pass_blanks(self) -> None:
        while True:
            blank = _BLANK.match(self._text, self._at)
            assert blank is not None
            self._at = blank.end()
            if not self._text.startswith("/", self._at):
                return
            comment = _COMMENT.match(self._text, self._at)
            if not comment:
                raise self._fault("a comment that does not end")
            self._comments.append(comment.span())
            self._at = comment.end()

    def _fault(self, what: str) -> InvalidRequest:
        before = self._text[: self._at]
        line = before.count("\n") + 1
        column = len(before) - (before.rfind("\n") + 1) + 1
        return InvalidRequest(f"line {line}, column {column}: {what}", allowed="JSON; comments and trailing commas too")
