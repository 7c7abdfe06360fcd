"""`Tokens`: who may ask, in `<root>/tokens.json`.

A token is `mh_`, its public id, `_`, and 256 random bits. The file keeps the id and the SHA-256 of the whole token. A
slow hash would protect a password that can be guessed; 256 random bits cannot, and a slow one would let a stranger
make the server work by sending wrong tokens.

    {"version": 1, "tokens": [{"id": "…", "hash": "…", "tenant": "alice", "scopes": ["read"], "name": "laptop",
                               "created_at": 1770000000000, "expires_at": null}]}

The file is replaced as a whole, under a lock, and read again by a running server whenever it has changed: what is
revoked is refused from the next request on. A file that cannot be believed lets nobody in.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from memhop.common.clock import LAST_MS, Clock, SystemClock, to_iso, to_ms
from memhop.common.config import check_name
from memhop.common.errors import ConfigError, InvalidRequest
from memhop.core.lock import SideLock
from memhop.server.http import privatefile
from memhop.server.http.access import EVERY, Access
from memhop.server.http.names import check_tenant
from memhop.server.operation import SCOPES

NAME = "tokens.json"
PREFIX = "mh_"
MOST = 10_000  # tokens
_VERSION = 1
_ID_BYTES, _SECRET_BYTES = 6, 32
_MOST_BYTES = 8 * 1024 * 1024  # of the file
_LONGEST = 200  # characters of a token; ours have 59
_WAIT_S = 10.0  # for another `memhop token` to finish
_NOBODY = "0" * 64  # a hash that no token has


class TokenInfo(NamedTuple):
    """What is known of a token. Its secret is not.

    Attributes:
        id: 12 hex digits, for revoking it and for logs.
        tenant: Whose memory; "*": every one.
        scopes: Of "read", "write" and "admin", in this order.
        name: What for; may be "".
        created_at: Unix milliseconds.
        expires_at: Unix milliseconds; None: never.
    """

    id: str
    tenant: str
    scopes: tuple[str, ...]
    name: str
    created_at: int
    expires_at: int | None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, with times as ISO-8601."""
        return self._asdict() | {
            "scopes": list(self.scopes),
            "created_at": to_iso(self.created_at),
            "expires_at": None if self.expires_at is None else to_iso(self.expires_at),
        }


class _Entry(NamedTuple):
    info: TokenInfo
    hash: str


class Tokens:
    """The tokens of one folder of memories.

    Args:
        path: The file; it need not be there.
        clock: For expiry.
    """

    def __init__(self, path: Path, *, clock: Clock | None = None) -> None:
        self._path = path
        self._clock = clock or SystemClock()
        self._loading = threading.Lock()
        self._seen: tuple[int, ...] | str | None = "never"
        self._entries: dict[str, _Entry] = {}
        self._error: ConfigError | None = None

    def add(
        self, tenant: str, scopes: Iterable[str], *, name: str = "", expires_at: object = None
    ) -> tuple[TokenInfo, str]:
        """Make a token.

        Args:
            tenant: Whose memory; "*": every one.
            scopes: Of "read", "write" and "admin".
            expires_at: Unix milliseconds or an aware datetime, later than now; None: never.

        Returns:
            What is kept of it, and the token itself, which is shown this once.

        Raises:
            InvalidRequest: a tenant, scope, name or time that does not do, or too many tokens. ConfigError: the file
            cannot be believed. Locked: others write it for too long. StorageError: the disk failed; nothing changed.
        """
        whose = tenant if tenant == EVERY else check_tenant(tenant)
        wanted = set(scopes)
        if not wanted or not wanted <= set(SCOPES):
            raise InvalidRequest("no such scopes", field="scopes", allowed="one or more of " + ", ".join(SCOPES))
        label = check_name(name, field="name", blank=True)
        now = self._clock.now_ms()
        until = None if expires_at is None else to_ms(expires_at, field="expires_at")
        if until is not None and until <= now:
            raise InvalidRequest("it would have expired already", field="expires_at", allowed="a time to come")
        with self._changing() as (entries, save):
            if len(entries) >= MOST:
                raise InvalidRequest("there are too many", field="tokens", allowed=f"at most {MOST:,}; revoke some")
            id_ = next(made for made in iter(lambda: secrets.token_hex(_ID_BYTES), "") if made not in entries)
            secret = f"{PREFIX}{id_}_{secrets.token_urlsafe(_SECRET_BYTES)}"
            info = TokenInfo(id_, whose, tuple(one for one in SCOPES if one in wanted), label, now, until)
            save({**entries, id_: _Entry(info, _hash(secret))})
        return info, secret

    def list(self) -> list[TokenInfo]:
        """All tokens, also expired ones, the oldest first. Raises ConfigError, StorageError."""
        return sorted((entry.info for entry in self._current().values()), key=lambda info: (info.created_at, info.id))

    def revoke(self, id_: str) -> bool:
        """Take a token away. False: there is none with this id. Raises as `add` does."""
        with self._changing() as (entries, save):
            if id_ not in entries:
                return False
            save({key: entry for key, entry in entries.items() if key != id_})
        return True

    def check(self, secret: str) -> Access | None:
        """What a token allows. None: it is none of ours, was revoked, or has expired.

        Raises:
            ConfigError: the file cannot be believed: nobody is let in until it can. StorageError: the disk failed.

        Cost: some 10 us, a look at whether the file has changed among them.
        """
        entries = self._current()
        known = entries.get(id_of(secret) or "")
        # The same work whether or not there is such an id, and no early end at the first digit that differs.
        same = hmac.compare_digest(_hash(secret), known.hash if known else _NOBODY)
        if known is None or not same:
            return None
        until = known.info.expires_at
        if until is not None and until <= self._clock.now_ms():
            return None
        return Access(known.info.tenant, frozenset(known.info.scopes), known.info.id)

    def _current(self) -> dict[str, _Entry]:
        now = privatefile.signature(self._path)
        if now != self._seen:
            with self._loading:
                self._load()
        if self._error is not None:
            raise self._error
        return self._entries

    def _load(self) -> None:
        """Read the file. What is kept of it is replaced at once, so that no thread sees half of it."""
        try:
            found = privatefile.read(self._path, most=_MOST_BYTES)
            entries = _parsed(found[0], self._path) if found else {}
            self._entries, self._error = entries, None
            self._seen = found[1] if found else None
        except ConfigError as error:
            self._entries, self._error = {}, error
            self._seen = privatefile.signature(self._path)

    @contextmanager
    def _changing(self) -> Iterator[tuple[Mapping[str, _Entry], Callable[[Mapping[str, _Entry]], None]]]:
        """The tokens as they are while nobody else changes them, and what puts others in their place."""
        privatefile.check_folder(self._path.parent)
        lock = SideLock(self._path.with_name(f"{self._path.name}.lock"), purpose="memhop token")
        lock.acquire(_WAIT_S)
        try:
            found = privatefile.read(self._path, most=_MOST_BYTES)
            entries = _parsed(found[0], self._path) if found else {}
            yield entries, lambda fresh: privatefile.replace(self._path, _written(fresh))
        finally:
            lock.release()


def id_of(secret: str) -> str | None:
    """The public id in a token. None: it has not the shape of one."""
    if len(secret) > _LONGEST or not secret.startswith(PREFIX):
        return None
    id_, _, random = secret.removeprefix(PREFIX).partition("_")
    return id_ if random and _is_hex(id_, 2 * _ID_BYTES) else None


def _hash(secret: str) -> str:
    return hashlib.sha256(secret[: _LONGEST + 1].encode("utf-8", "surrogatepass")).hexdigest()


def _written(entries: Mapping[str, _Entry]) -> bytes:
    listed = [entry.info._asdict() | {"hash": entry.hash} for entry in entries.values()]
    return json.dumps({"version": _VERSION, "tokens": listed}, ensure_ascii=False, indent=1).encode() + b"\n"


def _parsed(data: bytes, path: Path) -> dict[str, _Entry]:
    """The tokens in a file. Raises ConfigError naming the first thing that is wrong; a hash is never shown."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise ConfigError(f"{path} is not JSON", hint="put back a copy, or move it away and add tokens anew") from None
    listed = document.get("tokens") if isinstance(document, dict) else None
    if not isinstance(listed, list) or document.get("version") != _VERSION:
        raise ConfigError(f"{path} is no list of tokens of version {_VERSION}")
    if len(listed) > MOST:
        raise ConfigError(f"{path} has {len(listed):,} tokens", allowed=f"at most {MOST:,}")
    entries: dict[str, _Entry] = {}
    for number, item in enumerate(listed, 1):
        wrong = _wrong(item) or ("id" if item["id"] in entries else None)
        if wrong:
            raise ConfigError(f"{path}: token {number}: its {wrong} does not do")
        scopes = tuple(one for one in SCOPES if one in item["scopes"])
        info = TokenInfo(item["id"], item["tenant"], scopes, item["name"], item["created_at"], item["expires_at"])
        entries[info.id] = _Entry(info, item["hash"])
    return entries


def _wrong(item: Any) -> str | None:
    """The first field of a token in a file that does not do. None: all do."""
    if not isinstance(item, dict):
        return "shape"
    tenant, scopes, until = item.get("tenant"), item.get("scopes"), item.get("expires_at", "absent")
    checks = {
        "id": _is_hex(item.get("id"), 2 * _ID_BYTES),
        "hash": _is_hex(item.get("hash"), 64) and item.get("hash") != _NOBODY,
        "tenant": tenant == EVERY or _is_tenant(tenant),
        "scopes": isinstance(scopes, list) and bool(scopes) and all(one in SCOPES for one in scopes),
        "name": isinstance(item.get("name"), str) and len(item["name"]) <= 200,
        "created_at": _is_time(item.get("created_at")),
        "expires_at": until is None or _is_time(until),
    }
    return next((field for field, does in checks.items() if not does), None)


def _is_tenant(value: object) -> bool:
    try:
        return check_tenant(value) == value
    except InvalidRequest:
        return False


def _is_time(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LAST_MS


def _is_hex(value: object, digits: int) -> bool:
    return isinstance(value, str) and len(value) == digits and not set(value) - set("0123456789abcdef")
