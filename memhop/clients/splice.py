"""Changing one thing in a JSON text, and proving that nothing else was changed.

What is new is laid out as its neighbours are: on lines of its own with their indentation, or on theirs; with the line
ends of the text; behind the comments that stand at the end of the container; with a trailing comma where there was one.
What is taken out leaves the text as it was before it was put in, but for containers that were empty then or absent:
those go, too, if nothing at all is in them.

After every change the new text is parsed again, and refused if any other value, their order, or any comment outside of
what was changed is not as before.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from memhop.clients.jsonc import Document, Node, Part, member, parse
from memhop.common.errors import InvalidRequest

Path = Sequence[str | int]  # keys, and places in arrays on the way
_INDENT: Final = "  "


def put(text: str, path: Path, value: Any) -> str:
    """The text with this value at a path of keys, which is made as far as it is missing. The same text if it is there.

    Raises:
        InvalidRequest: the text is no JSON, or something on the path is no object.
    """
    document = parse(text)
    node = document.root
    for depth, key in enumerate(path):
        if node.kind != "object":
            raise _not("object", path[:depth])
        part = member(node, key)
        if part is None:
            rest = value
            for name in reversed(path[depth + 1 :]):
                rest = {name: rest}
            return _proven(document, _added(document, node, str(key), rest), path, value)
        node = part.node
    if same(document.value(node), value):
        return text
    tall = "\n" in document.raw(node) or _is_tall(document)
    new = _rendered(document, value, _indent_at(document, node.start), tall)
    return _proven(document, text[: node.start] + new + text[node.end :], path, value, (node.start, node.end))


def take(text: str, path: Path) -> str:
    """The text without what is at a path of keys; the same text if nothing is. Raises as `put`."""
    document = parse(text)
    if document.find(path) is None:
        return text
    depth = len(path) - 1
    while True:
        holder = document.find(path[:depth])
        part = member(holder, path[depth]) if holder else None
        assert holder is not None
        assert part is not None
        if not depth or len(holder.parts) > 1 or _comments_in(document, holder, part):
            break
        depth -= 1
    return _proven(document, _removed(document, holder, part), path, None, (part.start, part.end))


def append(text: str, path: Path, value: Any) -> str:
    """The text with one more item in the array at a path, which is made if it is missing. Raises as `put`."""
    document = parse(text)
    node = document.find(path)
    if node is None:
        return put(text, path, [value])
    if node.kind != "array":
        raise _not("array", path)
    return _proven(document, _added(document, node, None, value), (*path, len(node.parts)), value)


def drop(text: str, path: Path, index: int) -> str:
    """The text without one item of the array at a path; without the array, if it was the only one. Raises as `put`."""
    document = parse(text)
    node = document.find(path)
    if node is None or node.kind != "array" or not 0 <= index < len(node.parts):
        raise _not("array", path)
    part = node.parts[index]
    if len(node.parts) == 1 and not _comments_in(document, node, part):
        return take(text, path)
    gone, beyond = (part.start, part.end), (*path, len(node.parts))
    return _proven(document, _removed(document, node, part), (*path, index), None, gone, now=beyond)


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON, whatever the order of members. To Python 1 and true are, too."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


# -- where things go -----------------------------------------------------------------------------------------


def _added(document: Document, holder: Node, key: str | None, value: Any) -> str:
    text = document.text
    if holder.start == holder.end:  # blanks and comments only: there is no object yet
        newline = _newline(document)
        body = _rendered(document, value if key is None else {key: value}, "", tall=True)
        apart = newline if text and not text.endswith(("\n", "\ufeff")) else ""
        return f"{text}{apart}{body}{newline}"
    tail = _tail(document, holder)
    if not holder.parts:
        outer = _indent_at(document, holder.start)
        inner = outer + _unit(document)
        body = _newline(document) + inner + _member(document, key, value, inner, tall=True)
        rest = text[tail : holder.end - 1]
        if "\n" not in rest:
            rest = _newline(document) + outer
        return text[:tail] + body + rest + text[holder.end - 1 :]
    last = holder.parts[-1]
    own_line = _starts_line(document, last.start)
    if own_line or text[tail - 1] in "\r\n" or _ends_with_line_comment(document, tail):
        indent = _indent_at(document, last.start)
        body = _newline(document) + indent + _member(document, key, value, indent, tall=True)
    else:
        body = " " + _member(document, key, value, "", tall=False)
    if last.comma >= 0:
        return text[:tail] + body + "," + text[tail:]
    return text[: last.end] + "," + text[last.end : tail] + body + text[tail:]


def _removed(document: Document, holder: Node, part: Part) -> str:
    text = document.text
    index = holder.parts.index(part)
    rest = text[part.end :]
    if part.comma >= 0:
        between = text[part.end : part.comma]
        rest = (between if between.strip() else "") + text[part.comma + 1 :]
    before = _end_before(document, holder, part)
    if _ends_with_line_comment(document, before) and rest.split("\n", 1)[0].strip():
        before = part.start  # or what follows would become a part of that comment
    head = text[:before]
    if len(holder.parts) == 1:
        inside = text[holder.start + 1 : before] + rest[: len(rest) - (len(text) - holder.end + 1)]
        if not inside.strip():
            return text[: holder.start + 1] + text[holder.end - 1 :]
    elif part.comma < 0:
        comma = holder.parts[index - 1].comma
        head = head[:comma] + head[comma + 1 :]
    return head + rest


def _tail(document: Document, holder: Node) -> int:
    """Behind the last thing in a container that is no blank."""
    ends = [holder.start + 1]
    if holder.parts:
        last = holder.parts[-1]
        ends.append(max(last.end, last.comma + 1))
    ends += [end for start, end in document.comments if holder.start < start < holder.end]
    return max(ends)


def _end_before(document: Document, holder: Node, part: Part) -> int:
    """Where what stands before a part ends: a comma, a comment, or the beginning of the container."""
    ends = [holder.start + 1, *(other.comma + 1 for other in holder.parts if other.start < part.start)]
    ends += [end for start, end in document.comments if holder.start < start and end <= part.start]
    return max(ends)


def _comments_in(document: Document, holder: Node, part: Part) -> bool:
    """Whether a container holds a comment outside of one part."""
    return any(
        holder.start < start < holder.end and not part.start <= start < part.end for start, _ in document.comments
    )


def _ends_with_line_comment(document: Document, at: int) -> bool:
    return any(end == at and document.text.startswith("//", start) for start, end in document.comments)


# -- layout --------------------------------------------------------------------------------------------------


def _newline(document: Document) -> str:
    return "\r\n" if "\r\n" in document.text else "\n"


def _line_start(document: Document, at: int) -> int:
    return document.text.rfind("\n", 0, at) + 1


def _starts_line(document: Document, at: int) -> bool:
    """Whether only blanks stand before a place in its line, which is not the first one."""
    start = _line_start(document, at)
    return start > 0 and not document.text[start:at].strip()


def _indent_at(document: Document, at: int) -> str:
    """The blanks at the beginning of a line."""
    line = document.text[_line_start(document, at) : at].removeprefix("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(document: Document) -> str:
    """What one more level is indented by."""
    root = document.root
    for part in root.parts:
        if _starts_line(document, part.start):
            indent = _indent_at(document, part.start).removeprefix(_indent_at(document, root.start))
            return indent or _INDENT
    return _INDENT


def _is_tall(document: Document) -> bool:
    """Whether the document goes over several lines."""
    return "\n" in document.raw(document.root)


def _member(document: Document, key: str | None, value: Any, indent: str, *, tall: bool) -> str:
    body = _rendered(document, value, indent, tall)
    return body if key is None else f"{json.dumps(key, ensure_ascii=False)}: {body}"


def _rendered(document: Document, value: Any, indent: str, tall: bool) -> str:
    if not tall:
        return json.dumps(value, ensure_ascii=False)
    body = json.dumps(value, ensure_ascii=False, indent=_unit(document))
    return body.replace("\n", _newline(document) + indent)


# -- proof ---------------------------------------------------------------------------------------------------


def _proven(
    document: Document,
    text: str,
    path: Path,
    value: Any,
    gone: tuple[int, int] = (0, 0),
    *,
    now: Path | None = None,
) -> str:
    """The new text, if it says the same but for what is at the path. Raises InvalidRequest.

    Args:
        value: What is there now; None: nothing.
        gone: The span of the old text that went, with its comments.
        now: The path in the new text, if it is another one.
    """
    new = parse(text)
    now = path if now is None else now
    node = new.find(now)
    proven = (
        same(None if node is None else new.value(node), value)
        and _without(document, document.root, path) == _without(new, new.root, now)
        and _comments(document, gone) == _comments(new, (0, 0))
    )
    if not proven:
        raise InvalidRequest(
            "it cannot be changed without touching something else", allowed="a change by hand: see --print"
        )
    return text


def _without(document: Document, node: Node, path: Path) -> Any:
    """What a value says, with the order of its members: without what is at the path, and without what is on the path
    and empty."""
    if node.kind == "scalar":
        return document.raw(node)
    found: list[Any] = []
    for index, part in enumerate(node.parts):
        on_path = bool(path) and (index if part.key is None else part.key) == path[0]
        if on_path and len(path) == 1:
            continue
        inner = _without(document, part.node, path[1:] if on_path else ())
        if not (on_path and inner in (("object",), ("array",))):
            found.append((part.key, inner))
    return (node.kind, *found)


def _comments(document: Document, apart: tuple[int, int]) -> list[str]:
    return [document.text[start:end] for start, end in document.comments if not apart[0] <= start < apart[1]]


def _not(kind: str, path: Path) -> InvalidRequest:
    return InvalidRequest(f"{'.'.join(map(str, path)) or 'the document'} is no {kind}", allowed=f"an {kind} there")
