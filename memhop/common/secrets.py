"""Secrets in texts: keys, tokens, private key blocks, card numbers, passwords. Found by their form, masked by name.

Being right matters more than finding all: a shape that ordinary text also takes counts only beside a word such as
"password", and only where the value looks drawn at random. So `password = sunshine` stays, and so does a key of a form
that `secret_forms` does not list.

One regular expression looks for what all forms have; where it is not, as in nearly every text, nothing else is loaded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from memhop.common.secret_forms import Secret

# What every form has: a digit beside a letter, twelve digits in a row, or one of a few marks. The characters at which
# looking closer begins are rare in prose, which is what makes this fast.
_HINT: Final = re.compile(
    r"[0-9](?:[A-Za-z]|(?<=[A-Za-z_][0-9])|[0-9 -]{11}[0-9])|://|_(?<=hf_)|xox|xapp|A[KS]IA|AIza|-----BEGIN"
)


def find(text: str) -> list[Secret]:
    """The secrets in a text, in order, none within another. Cost: about 1 us for a short text without any, else linear
    in its length."""
    if _HINT.search(text) is None:
        return []
    from memhop.common.secret_forms import LOOKS

    folded = text.casefold()
    looks = (look for marks, look in LOOKS if any(mark in folded for mark in marks))
    found = sorted((secret for look in looks for secret in look(text)), key=lambda secret: (secret.start, -secret.end))
    apart: list[Secret] = []
    for secret in found:
        if not apart or secret.start >= apart[-1].end:
            apart.append(secret)
    return apart


def mask(text: str) -> tuple[str, int]:
    """The text with each secret replaced by its form, such as `[secret:openai-key]`, and how many there were.

    Masking once more changes nothing.
    """
    found = find(text)
    if not found:
        return text, 0
    parts, end = [], 0
    for secret in found:
        parts += [text[end : secret.start], f"[secret:{secret.name}]"]
        end = secret.end
    return "".join((*parts, text[end:])), len(found)


def is_password(name: str, value: str) -> bool:
    """Whether `value` is a secret because a field called `name` holds it."""
    if not 8 <= len(value) <= 256 or _HINT.search(value) is None:
        return False
    from memhop.common.secret_forms import names_password

    return names_password(name, value)


_PRIVATE: Final = re.compile(r"<\s{0,8}(/?)\s{0,8}private\s{0,8}/?\s{0,8}>", re.IGNORECASE)


def without_private(text: str) -> tuple[str, int]:
    """The text without its `<private>…</private>` spans, and how many there were.

    Spans may be nested; one that is not closed reaches to the end. Case does not matter. A closing tag alone stays.
    """
    if "<" not in text:
        return text, 0
    parts, depth, end, spans = [], 0, 0, 0
    for tag in _PRIVATE.finditer(text):
        if not tag[1]:
            if depth == 0:
                parts.append(text[end : tag.start()])
                spans += 1
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                end = tag.end()
    return ("".join((*parts, text[end:] if depth == 0 else "")), spans) if spans else (text, 0)
