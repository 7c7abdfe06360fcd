"""Record ids: 64 bits, derived from what the record is, written as 16 hex digits at every border.

An id is xxh3_64 over a kind name and the record's natural key. Ids share one space, so a collision (two keys,
one hash) is resolved by hashing again with a counter until the id is free; 0 is never an id, it means "none".
Ids are never written as JSON numbers: they do not fit in a JavaScript double.
"""

from __future__ import annotations

from collections.abc import Callable

from memhop.common.errors import InvalidRequest

_DIGITS = frozenset("0123456789abcdef")
_digest: Callable[[bytes], int] | None = None  # loaded at the first hash
_SEPARATOR = "\x1f"  # cannot be confused with a digit of a time or id inside a key


def key_hash(*parts: object) -> int:
    """xxh3_64 of the parts, for natural keys and group keys. Cost: about 0.3 us for short parts."""
    digest = _digest or _load()
    return digest(_SEPARATOR.join(map(str, parts)).encode("utf-8", "surrogatepass")) or 1


def _load() -> Callable[[bytes], int]:
    global _digest
    import xxhash

    _digest = xxhash.xxh3_64_intdigest
    return _digest


def make_id(kind: str, *key: object, taken: Callable[[int], bool]) -> int:
    """A free id for the record of `kind` with natural key `key`.

    Args:
        kind: Name of the record kind, such as "message".
        key: What makes the record itself; equal keys give equal ids while `taken` says False.
        taken: Says whether another record already has this id.
    """
    candidate = key_hash(kind, *key)
    counter = 0
    while taken(candidate):
        counter += 1
        candidate = key_hash(kind, *key, counter)
    return candidate


def to_hex(id_: int) -> str:
    """The text form: 16 lower-case hex digits."""
    return f"{id_:016x}"


def from_hex(text: object, *, field: str = "id") -> int:
    """Parse the text form.

    Raises:
        InvalidRequest: not a string of exactly 16 hex digits, or all zeros.
    """
    if isinstance(text, str) and len(text) == 16:
        lowered = text.lower()
        if _DIGITS.issuperset(lowered) and (value := int(lowered, 16)):
            return value
    raise InvalidRequest(f"{_short(text)} is not an id", field=field, allowed="16 hex digits, as returned by MemHop")


def _short(value: object) -> str:
    text = ascii(value) if isinstance(value, str | int | float) else type(value).__name__
    return text if len(text) <= 40 else text[:37] + "..."
