"""Limits of calls and the checks that hold them: one place, each with its unit, value and reason.

What ranks a recall is in `search/tuning.py`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from memhop.common.errors import InvalidRequest


class Limits(NamedTuple):
    """Bounds of one call. Beyond them the call is refused, or the reply says what was left out."""

    text_bytes: int = 4 * 1024 * 1024  # one text, UTF-8: all of it is indexed, about 0.8 s per MiB of prose
    query_chars: int = 20_000  # a longer question is cut to its first part and says so
    results: int = 1_000  # hits of one recall, items of one page
    batch_items: int = 100_000  # one remember_many or append_many call, one commit
    batch_bytes: int = 256 * 1024 * 1024  # all texts of such a call
    token_budget: int = 100_000  # of a packed context
    tags: int = 64  # on one note
    tag_chars: int = 100
    name_chars: int = 200  # project, kind, status, session, speaker, external id
    metadata_bytes: int = 64 * 1024  # of one note, as JSON
    links: int = 256  # of one note; nodes of an edge, sources of a fact
    fact_bytes: int = 64 * 1024  # the value of a fact, UTF-8
    contexts: int = 20  # topics of the chosen scene in a search reply
    associated: int = 3  # scenes brought up by association
    capabilities: int = 3  # cards in a search reply
    card_files: int = 1_000  # of one imported folder
    payload_bytes: int = 4 * 1024  # kept of a step's payload, UTF-8; how much was cut is said
    replies: int = 256  # messages of one topic
    line_bytes: int = 64 * 1024 * 1024  # of an imported file; no record is larger
    import_problems: int = 100  # named in the report of an import; the file of rejects has all


LIMITS = Limits()
LOW_CONFIDENCE = 0.3  # of a recall, 0..1: below, the answer is probably not in this memory


def check_text(value: object, *, field: str, max_bytes: int = LIMITS.text_bytes) -> str:
    """A text a caller gave: a str that is not blank, encodes as UTF-8 and fits.

    Raises:
        InvalidRequest: naming the field and what is allowed. NUL and other control characters are allowed.
    """
    if isinstance(value, str) and len(value) <= max_bytes and value.isascii() and value[:1].isalnum():
        return value  # as nearly all are
    allowed = f"a str that is not blank, valid Unicode, at most {max_bytes:,} bytes of UTF-8"
    if not isinstance(value, str):
        raise InvalidRequest(f"a {type(value).__name__} is not a text", field=field, allowed=allowed)
    if len(value) > max_bytes:
        raise InvalidRequest(f"{len(value):,} characters are too many", field=field, allowed=allowed)
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"character {error.start} is a lone surrogate", field=field, allowed=allowed) from None
    if size > max_bytes:
        raise InvalidRequest(f"{size:,} bytes are too many", field=field, allowed=allowed)
    if not has_substance(value):
        raise InvalidRequest("the text is blank", field=field, allowed=allowed)
    return value


def has_substance(text: str) -> bool:
    """Whether anything but white space and invisible characters is there."""
    import unicodedata

    return any(not char.isspace() and unicodedata.category(char) not in ("Cc", "Cf") for char in text)


def check_name(value: object, *, field: str, blank: bool = False, max_chars: int = LIMITS.name_chars) -> str:
    """A short name a caller gave: project, kind, tag, session, speaker.

    Args:
        blank: Whether "" is allowed (it means "none").
    """
    if isinstance(value, str) and len(value) <= max_chars and value.isprintable() and (blank or value.strip()):
        return value
    allowed = f"a str of {0 if blank else 1} to {max_chars} characters without control characters"
    shown = ascii(value) if isinstance(value, str) and len(value) <= 40 else type(value).__name__
    raise InvalidRequest(f"{shown} does not do", field=field, allowed=allowed)


def check_project(value: object, *, field: str = "project") -> str:
    """The name of a project: as `check_name`, white space around it taken off, in Unicode form NFC."""
    name = check_name(value, field=field)
    if name.isascii():
        return name.strip()
    from unicodedata import normalize

    return check_name(normalize("NFC", name.strip()), field=field)


def name_or(default: str, value: object, *, field: str, blank: bool = False) -> str:
    """`default` for None, else as `check_name`."""
    return default if value is None else check_name(value, field=field, blank=blank)


def check_int(value: object, *, field: str, low: int, high: int) -> int:
    """A whole number in [low, high]; bool and float are refused."""
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return value
    raise InvalidRequest(f"{value!r:.40} is not allowed", field=field, allowed=f"a whole number from {low} to {high}")


def check_share(value: object, *, field: str) -> float:
    """A number in [0, 1]; bool and NaN are refused."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= 1.0:
        return float(value)
    raise InvalidRequest(f"{value!r:.40} is not allowed", field=field, allowed="a number from 0 to 1")


def check_flag(value: object, *, field: str) -> bool:
    """True or False, and nothing that only counts as one."""
    if isinstance(value, bool):
        return value
    raise InvalidRequest(f"a {type(value).__name__} is not a bool", field=field, allowed="True or False")


def check_choice(value: object, *, field: str, choices: tuple[str, ...]) -> str:
    """One of a fixed set of words."""
    if isinstance(value, str) and value in choices:
        return value
    raise InvalidRequest(f"{value!r:.40} is not known", field=field, allowed=", ".join(choices))


def check_names(value: object, *, field: str, most: int, max_chars: int = LIMITS.name_chars) -> tuple[str, ...]:
    """A list or tuple of names, order kept, repeats dropped. A single str is refused: it would be split."""
    if not isinstance(value, list | tuple | set | frozenset):
        raise InvalidRequest(f"a {type(value).__name__} is not a list of names", field=field, allowed="a list of str")
    ordered = sorted(value, key=str) if isinstance(value, set | frozenset) else value
    names = tuple(dict.fromkeys(check_name(item, field=field, max_chars=max_chars) for item in ordered))
    if len(names) > most:
        raise InvalidRequest(f"{len(names)} are too many", field=field, allowed=f"at most {most}")
    return names


def check_path(value: object, *, field: str) -> Path:
    """A path a caller gave: a str or Path without NUL. Returned absolute, `~` and symbolic links resolved."""
    return Path(os.path.realpath(os.path.expanduser(_path_text(value, field))))


def check_file_path(value: object, *, field: str) -> str:
    """Like `check_path`, of a file, and as it was given. One that ends in a slash names a folder, and is refused."""
    text = _path_text(value, field)
    if text.endswith(("/", os.sep)):
        raise InvalidRequest(f"{text[-40:]!r} names a folder", field=field, allowed="the path of a file")
    return text


def _path_text(value: object, field: str) -> str:
    if isinstance(value, str | os.PathLike) and isinstance(text := os.fspath(value), str) and text and "\0" not in text:
        with suppress(UnicodeEncodeError):  # half a surrogate pair
            os.fsencode(text)
            return text
    shown = repr(value)[:40] if isinstance(value, str) else f"a {type(value).__name__}"
    raise InvalidRequest(f"{shown} is not a path", field=field, allowed="a str or Path, without NUL")


def check_seconds(value: object, *, field: str, high: float) -> float:
    """A number of seconds in [0, high]."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= high:
        return float(value)
    raise InvalidRequest(f"{value!r:.40} is not allowed", field=field, allowed=f"seconds, 0 to {high:g}")


def check_metadata(value: object, *, field: str = "metadata") -> dict[str, Any]:
    """JSON-ready metadata: a dict with str keys, no NaN or infinity, no bytes or sets, bounded.

    Returns:
        The same data as JSON reads it back (tuples become lists).
    """
    import json

    allowed = (
        "a dict of JSON values (str, int, float, bool, None, list, dict with str keys), no NaN, "
        f"at most {LIMITS.metadata_bytes:,} bytes as JSON"
    )
    if not isinstance(value, dict):
        raise InvalidRequest(f"a {type(value).__name__} is not metadata", field=field, allowed=allowed)
    try:
        check_json(value)
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        size = len(text.encode("utf-8"))
    except (TypeError, ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0][:80]
        raise InvalidRequest(f"not JSON: {reason}", field=field, allowed=allowed) from None
    if size > LIMITS.metadata_bytes:
        raise InvalidRequest(f"{size:,} bytes are too many", field=field, allowed=allowed)
    result: dict[str, Any] = json.loads(text)
    return result


def check_json(value: object, *, depth: int = 0) -> None:
    """What JSON can say and MessagePack can hold, nested at most 32 deep. Raises TypeError, ValueError."""
    if depth > 32:
        raise ValueError("nested deeper than 32")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"key {key!r:.40} is not a str")
            check_json(item, depth=depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            check_json(item, depth=depth + 1)
    elif isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
        raise ValueError("an integer beyond 64 bits")
