"""The head of a request: whatever it is, it is refused or means one thing."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from hypothesis import example, given, settings
from hypothesis import strategies as st

from memhop.server.http import head

ODD = [
    b"/", b"//", b".", b"..", b"%2e", b"%2F", b"%5c", b"\\", b"%00", b"%", b"%zz", b"%25", b"a", b"mcp", b"?", b"#",
    b";", b"@",
    b":", b"%0a", b"%c3%a9", b"\xc3", b"%ff", b"%e2%80%ae",
]  # fmt: skip
paths = st.one_of(
    st.binary(max_size=40), st.lists(st.sampled_from(ODD), max_size=8).map(lambda parts: b"/" + b"".join(parts))
)
NAMES = [
    b"host", b"origin", b"authorization", b"content-length", b"content-type", b"content-encoding", b"transfer-encoding",
    b"x",
]  # fmt: skip
VALUES = [
    b"localhost", b"[::1]:80", b"[", b"http://localhost", b"null", b"Bearer", b"Bearer mh_x", b"5", b"-5", b"0",
    b"\xb2",
    b"application/json", b"application/json; charset=utf-8", b"gzip", b"chunked", b"",
]  # fmt: skip
headers = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES) | st.binary(max_size=20)), max_size=8)


def scope(raw: bytes, listed: list[tuple[bytes, bytes]], method: str = "GET") -> dict[str, Any]:
    path = unquote(raw.decode("latin-1"))
    return {"type": "http", "method": method, "path": path, "raw_path": raw, "query_string": b"", "headers": listed}


@settings(derandomize=True, deadline=None, max_examples=400)
@given(paths)
@example(b"/..")
@example(b"/%2e%2E/x")
@example(b"/a//b")
def test_a_path_that_passes_means_one_thing(raw: bytes) -> None:
    if head.wrong_path(scope(raw, [])) is not None:
        return
    path = unquote(raw.decode("ascii", "strict") if raw.isascii() else raw.decode("utf-8"))
    assert path.startswith("/")
    assert not [part for part in path.split("/")[1:-1] if part in ("", ".", "..")]
    assert path.count("/") == raw.count(b"/"), "no slash came out of an escape"
    assert "\\" not in path
    assert "\0" not in path
    assert path.rpartition("/")[2] not in (".", "..")


@settings(derandomize=True, deadline=None, max_examples=400)
@given(headers, st.sampled_from([*head.METHODS, "", "get", "X" * 99]), paths)
def test_any_head_is_looked_at_without_an_error(listed: list[tuple[bytes, bytes]], method: str, raw: bytes) -> None:
    asked, found = scope(raw, listed, method), dict(listed)
    answers = [
        head.wrong_path(asked),
        head.wrong_headers(asked, 200),
        head.wrong_host(found, head.LOOPBACK),
        head.wrong_origin(found, frozenset()),
        head.wrong_body(asked, found, 1000),
    ]
    head.bearer(found), head.has_body(found)
    assert all(400 <= refusal.status < 500 for refusal in answers if refusal)
    if found.get(b"content-length") == b"\xb2":  # isdigit of text says yes to ², of bytes it does not
        assert answers[4] is not None


def test_a_server_without_raw_paths_is_no_way_around() -> None:
    for path in ("//", "/../x", "/a\\b", "x"):
        assert head.wrong_path(scope(b"", []) | {"path": path, "raw_path": None}) is not None
