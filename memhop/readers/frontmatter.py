"""The block between `---` lines on top of a Markdown file: the small part of YAML that notes use, read without YAML.

Understood are `key: value` lines with plain, quoted, numeric and boolean values, `[a, b]` lists and lists of `- item`
lines. What is nested deeper is kept as the text it is. No tags, anchors or objects: nothing in it can do anything.
"""

from __future__ import annotations

import re
from typing import Any, Final

from memhop.readers.values import Bad

_KEY: Final = re.compile(r"([A-Za-z_][\w .-]{0,99}?)\s*:(?:\s+(.*)|\s*)$")
_MOST_LINES: Final = 1_000
_NUMBER: Final = re.compile(r"[-+]?\d{1,15}(?:\.\d{1,15})?", re.ASCII)
_WORDS: Final = {"true": True, "false": False, "null": None, "~": None}


def split(text: str) -> tuple[dict[str, Any] | None, str]:
    """The values of the block and the text after it; None for the block of a file that has none.

    Raises:
        Bad: the block has more than 1,000 lines.
    """
    if not text.startswith("---\n"):
        return None, text
    block, end, rest = text[4:].partition("\n---")
    if text.startswith("---\n---"):
        block, end, rest = "", "---", text[7:]
    tail, _, body = rest.partition("\n")
    if not end or tail.strip():
        return None, text
    lines = block.split("\n", _MOST_LINES + 1)
    if len(lines) > _MOST_LINES:
        raise Bad(f"frontmatter of more than {_MOST_LINES:,} lines")
    return _values(lines), body


def _values(lines: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    below: dict[str, list[str]] = {}
    key = ""
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        begun = _KEY.match(line)
        if begun:
            key = begun[1]
            found[key] = _value(begun[2] or "")
        elif key:
            below.setdefault(key, []).append(line)
    for key, under in below.items():
        entries = [line.strip() for line in under]
        if all(entry.startswith("- ") for entry in entries):
            found[key] = [_value(entry[2:]) for entry in entries]
        else:
            block = "\n".join(under)
            found[key] = block if found[key] in ("", None, "|", ">", "|-", ">-") else f"{found[key]}\n{block}"
    return found


def _value(written: str) -> Any:
    plain = written.strip()
    if len(plain) > 1 and plain[0] == plain[-1] and plain[0] in "\"'":
        return plain[1:-1]
    if plain.startswith("[") and plain.endswith("]"):
        return [_value(part) for part in plain[1:-1].split(",") if part.strip()] if "[" not in plain[1:] else plain
    plain = plain.partition(" #")[0].rstrip()
    if plain.lower() in _WORDS:
        return _WORDS[plain.lower()]
    if _NUMBER.fullmatch(plain):
        return float(plain) if "." in plain else int(plain)
    return plain
