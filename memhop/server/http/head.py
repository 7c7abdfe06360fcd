"""The head of a request, looked at before anything is done: its path, its headers, where it was sent, where it comes
from. Each check returns what is wrong, or None.

A browser sends a page's request wherever the page wants, and a name of a stranger's may lead to this machine. So it
must have been sent to a name that this server goes by, and come from no page but one that was named to it; and what
changes anything must be JSON, which no form can send.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from memhop.server.http.refusal import Refusal, bad_request, forbidden, too_large

LOOPBACK = frozenset(("localhost", "127.0.0.1", "[::1]"))
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_CHANGING = frozenset(("POST", "PUT", "PATCH"))
_MOST_HEADERS = 100
_MOST_PATH = 2048
_MOST_QUERY = 8192
# Two of these are read differently by different programs on the way.
_ONCE = frozenset(
    (b"host", b"authorization", b"origin", b"content-length", b"content-type", b"transfer-encoding", b"memhop-tenant")
)
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]{2,45}\]|[a-z0-9_](?:[a-z0-9._-]{0,252}))(?::(?P<port>[0-9]{1,5}))?")
_ESCAPED = re.compile(rb"%(?![0-9A-Fa-f]{2})|%(?:2[fF]|5[cC]|2[eE]|00)")  # half an escape, / \ . NUL
_DOTS = re.compile(rb"/\.{1,2}(?:/|$)")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\\\\]")
_TOKEN = re.compile(rb"(?:^|[=&])mh_[0-9a-f]{12}(?:_|%5f)", re.IGNORECASE)
_JSON = re.compile(r"application/json(?:\s*;\s*charset\s*=\s*\"?utf-?8\"?)?\s*;?", re.IGNORECASE)

Headers = Mapping[bytes, bytes]


def wrong_path(scope: Mapping[str, Any]) -> Refusal | None:
    """A path that could mean two things: absolute, doubled or escaped slashes, dots, control characters."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode("utf-8", "surrogateescape")
    if scope["method"] not in METHODS:
        return Refusal(405, "MethodNotAllowed", "there is no such method", headers=((b"allow", _listed(METHODS)),))
    if len(raw) > _MOST_PATH or len(scope.get("query_string", b"")) > _MOST_QUERY:
        return Refusal(414, "TooLong", "the address is too long")
    if not raw.startswith(b"/"):
        return bad_request("the path does not begin with a slash")
    if b"//" in raw or _ESCAPED.search(raw) or _DOTS.search(raw):
        return bad_request("the path has empty parts, dots, or escapes of slashes or dots")
    try:
        path = unquote_to_bytes(raw).decode("utf-8")
    except UnicodeDecodeError:
        return bad_request("the path is not UTF-8")
    if _CONTROL.search(path):
        return bad_request("the path has characters that no path has")
    if _TOKEN.search(scope.get("query_string", b"")):
        return bad_request(
            "a token in an address ends up in logs", "revoke it, and send another one as Authorization: Bearer"
        )
    return None


def wrong_headers(scope: Mapping[str, Any], most_bytes: int) -> Refusal | None:
    """Too many or too large ones, and what is there twice."""
    listed: list[tuple[bytes, bytes]] = scope["headers"]
    size = sum(len(name) + len(value) + 4 for name, value in listed)
    if size > most_bytes or len(listed) > _MOST_HEADERS:
        return Refusal(431, "HeadersTooLarge", "the headers are too large, or too many")
    counts = Counter(name for name, _ in listed if name in _ONCE)
    if any(count > 1 for count in counts.values()):
        return bad_request("a header that may be there once is there twice")
    if b"transfer-encoding" in counts and b"content-length" in counts:
        return bad_request("the length of the body is given in two ways")
    return None


def wrong_host(headers: Headers, allowed: frozenset[str]) -> Refusal | None:
    """Sent to a name that is not ours.

    Args:
        allowed: Names, or names with a port, in lower case.
    """
    given = _text(headers, b"host")
    found = _HOST.fullmatch(given.lower()) if given else None
    if given is None or found is None or int(found["port"] or 1) not in range(1, 65536):
        return bad_request("the Host header does not name a host")
    if found["name"] in allowed or given.lower() in allowed:
        return None
    return Refusal(421, "WrongHost", "this server does not go by that name", "whoever runs it: --allow-host NAME")


def wrong_origin(headers: Headers, allowed: frozenset[str]) -> Refusal | None:
    """Sent by a page of somebody else. Programs send no Origin; a page of this very server is none of somebody else.

    Args:
        allowed: Such as "https://example.org", in lower case.
    """
    given = _text(headers, b"origin")
    if b"origin" not in headers:
        return None
    host = (_text(headers, b"host") or "").lower()
    if given and given.lower() in allowed | {f"http://{host}", f"https://{host}"}:
        return None
    return forbidden("pages of that origin may not ask this server", "whoever runs it: --allow-origin ORIGIN")


def wrong_body(scope: Mapping[str, Any], headers: Headers, most_bytes: int) -> Refusal | None:
    """A body that is no JSON, is packed, or says that it is too large. A change must say that it is JSON."""
    length = headers.get(b"content-length")
    if length is not None and not (length.isdigit() and len(length) <= 18):
        return bad_request("Content-Length is no number")
    if length is not None and int(length) > most_bytes:
        return too_large(f"the body is larger than {most_bytes:,} bytes")
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        return Refusal(415, "WrongMediaType", "packed bodies are not taken", "send it as it is")
    if scope["method"] not in _CHANGING and not has_body(headers):
        return None
    if not _JSON.fullmatch(_text(headers, b"content-type") or ""):
        return Refusal(415, "WrongMediaType", "the body must be JSON", "send Content-Type: application/json, in UTF-8")
    return None


def has_body(headers: Headers) -> bool:
    """Whether one follows the head."""
    return b"transfer-encoding" in headers or headers.get(b"content-length", b"0").strip(b"0") != b""


def bearer(headers: Headers) -> str | None:
    """The token of a request. None: there is none in its Authorization header, which is the only place."""
    scheme, _, token = (_text(headers, b"authorization") or "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def _text(headers: Headers, name: bytes) -> str | None:
    value = headers.get(name)
    return value.decode("ascii", "replace").strip() if value is not None else None


def _listed(names: Iterable[str]) -> bytes:
    return ", ".join(names).encode()
