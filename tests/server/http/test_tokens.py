"""Tokens: what they allow, and that a file that cannot be believed lets nobody in."""

from __future__ import annotations

import hmac
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from memhop.common import errors
from memhop.common.clock import ManualClock
from memhop.server.http.tokens import NAME, PREFIX, Tokens, id_of
from tests.support.processes import Starter

NOW = 1_770_000_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "root" / NAME


def test_a_token_allows_what_it_was_made_for(path: Path) -> None:
    tokens = Tokens(path)
    info, secret = tokens.add("Alice", ["write", "read"], name="laptop")
    access = tokens.check(secret)
    assert access is not None
    assert (access.tenant, access.token) == ("alice", info.id)
    asked = {(tenant, scope): access.allows(tenant, scope) for tenant in ("alice", "bob", "*") for scope in _SCOPES}
    assert {pair for pair, allowed in asked.items() if allowed} == {("alice", "read"), ("alice", "write")}
    operator = tokens.check(tokens.add("*", ["admin"])[1])
    assert operator is not None
    assert operator.allows("bob", "admin")
    assert not operator.allows("bob", "read")


_SCOPES = ("read", "write", "admin", "")


def test_tokens_are_long_random_and_not_in_the_file(path: Path) -> None:
    tokens = Tokens(path)
    made = [tokens.add("alice", ["read"])[1] for _ in range(5)]
    kept = path.read_text("utf-8")
    assert len(set(made)) == 5
    for secret in made:
        random = secret.removeprefix(PREFIX).partition("_")[2]
        assert len(random) >= 43  # 256 bits, six to a character
        assert random not in kept
        assert str(id_of(secret)) in kept
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_wrong_ones_are_refused(path: Path) -> None:
    tokens = Tokens(path)
    info, secret = tokens.add("alice", ["read"])
    other = tokens.add("bob", ["read"])[1]
    swapped = f"{PREFIX}{info.id}_{other.removeprefix(PREFIX).partition('_')[2]}"
    wrong = [
        "", "mh_", secret[:-1], secret + "A", secret.upper(), secret[3:], f" {secret}", swapped, f"{PREFIX}{info.id}_",
        "x" * 100_000, f"{secret}{'A' * 5000}", "\ud800", "mh_\0",
    ]  # fmt: skip
    assert [one for one in wrong if tokens.check(one) is not None] == []
    assert tokens.check(secret) is not None


def test_hashes_are_compared_in_the_same_time_whether_or_not_the_id_is_known(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[str, str]] = []
    real = hmac.compare_digest

    def noted(one: str, other: str) -> bool:
        compared.append((one, other))
        return real(one, other)

    monkeypatch.setattr(hmac, "compare_digest", noted)
    tokens = Tokens(path)
    _, secret = tokens.add("alice", ["read"])
    tokens.check(secret[:-2] + "AA")
    tokens.check(f"{PREFIX}{'0' * 12}_abc")
    tokens.check("nonsense")
    assert len(compared) == 3
    assert all(len(one) == len(other) == 64 for one, other in compared)


def test_what_is_revoked_is_refused_at_once_also_by_a_server_that_runs(path: Path) -> None:
    running, command = Tokens(path), Tokens(path)
    info, secret = command.add("alice", ["read"])
    assert running.check(secret)
    assert command.revoke(info.id)
    assert running.check(secret) is None
    assert not command.revoke(info.id)
    path.unlink()
    assert running.list() == []


def test_tokens_expire(path: Path) -> None:
    clock = ManualClock(NOW)
    tokens = Tokens(path, clock=clock)
    _, secret = tokens.add("alice", ["read"], expires_at=NOW + 1000)
    clock.advance(999)
    assert tokens.check(secret)
    clock.advance(1)
    assert tokens.check(secret) is None
    assert [info.expires_at for info in tokens.list()] == [NOW + 1000]


@pytest.mark.parametrize(
    ("tenant", "scopes", "more", "field"),
    [
        ("../x", ["read"], {}, "tenant"),
        ("**", ["read"], {}, "tenant"),
        ("a", [], {}, "scopes"),
        ("a", ["read", "root"], {}, "scopes"),
        ("a", "read", {}, "scopes"),
        ("a", ["read"], {"expires_at": NOW}, "expires_at"),
        ("a", ["read"], {"expires_at": "soon"}, "expires_at"),
        ("a", ["read"], {"name": "x" * 1000}, "name"),
    ],
)
def test_what_no_token_is_made_of(path: Path, tenant: str, scopes: Any, more: dict[str, Any], field: str) -> None:
    with pytest.raises(errors.InvalidRequest) as refused:
        Tokens(path, clock=ManualClock(NOW)).add(tenant, scopes, **more)
    assert refused.value.field == field
    assert not path.exists()


def _good() -> dict[str, Any]:
    return {
        "id": "0" * 12, "hash": "a" * 64, "tenant": "alice", "scopes": ["read"], "name": "", "created_at": NOW,
        "expires_at": None,
    }  # fmt: skip


HOSTILE: list[tuple[str, object]] = [
    ("id", "x"), ("id", None), ("id", "0" * 5000), ("hash", ""), ("hash", "0" * 64), ("hash", 5), ("tenant", "../x"),
    ("tenant", "Alice"), ("tenant", None), ("tenant", ["*"]), ("scopes", []), ("scopes", "read"), ("scopes", ["root"]),
    ("scopes", [["read"]]), ("scopes", {"read": 1}), ("name", None), ("created_at", True), ("created_at", 1e300),
    ("expires_at", "never"), ("expires_at", -1), ("expires_at", 10**40),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), HOSTILE)
def test_a_file_with_one_bad_token_lets_nobody_in_and_says_which(path: Path, field: str, value: object) -> None:
    tokens = Tokens(path)
    _, secret = tokens.add("bob", ["read"])
    document = json.loads(path.read_text("utf-8"))
    document["tokens"].append(_good() | {field: value})
    path.write_text(json.dumps(document), "utf-8")
    for call in (
        lambda: tokens.check(secret),
        tokens.list,
        lambda: tokens.add("eve", ["read"]),
        lambda: tokens.check(""),
    ):
        with pytest.raises(errors.ConfigError) as refused:
            call()
        assert f"token 2: its {field}" in str(refused.value)
    document["tokens"].pop()
    path.write_text(json.dumps(document), "utf-8")
    assert tokens.check(secret)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 100, b"[]", b"{}", b'{"version": 1}', b'{"version": 2, "tokens": []}', b'{"version": 1, "tokens": {}}',
        b'{"version": 1, "tokens": [7]}', b"[" * 100_000, b"\xff\xfe", b'{"version": 1, "tokens": [' + b" " * 9_000_000,
    ],
    ids=range(11),
)  # fmt: skip
def test_a_file_that_is_no_list_of_tokens_lets_nobody_in(path: Path, data: bytes) -> None:
    tokens = Tokens(path)
    _, secret = tokens.add("bob", ["read"])
    path.write_bytes(data)
    for call in (lambda: tokens.check(secret), lambda: tokens.add("eve", ["read"])):
        with pytest.raises(errors.ConfigError, match=NAME):
            call()
    assert path.read_bytes() == data, "what somebody may want to mend is left as it is"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666, 0o777])
def test_a_file_that_others_can_read_is_refused(path: Path, mode: int) -> None:
    tokens = Tokens(path)
    _, secret = tokens.add("bob", ["read"])
    assert tokens.check(secret)
    path.chmod(mode)
    with pytest.raises(errors.ConfigError) as refused:
        tokens.check(secret)
    assert refused.value.hint
    assert "chmod 600" in refused.value.hint
    path.chmod(0o600)
    assert tokens.check(secret)


def test_links_pipes_and_folders_are_refused(path: Path, tmp_path: Path) -> None:
    _, secret = Tokens(tmp_path / "other.json").add("bob", ["read"])
    path.parent.mkdir(mode=0o700)
    path.symlink_to(tmp_path / "other.json")
    with pytest.raises(errors.ConfigError, match="symbolic link"):
        Tokens(path).check(secret)
    path.unlink()
    os.mkfifo(path, 0o600)
    with pytest.raises(errors.ConfigError, match="no file"):
        Tokens(path).check(secret)
    path.unlink()
    path.mkdir(mode=0o700)
    with pytest.raises(errors.ConfigError, match="no file"):
        Tokens(path).check(secret)


def test_a_folder_everybody_may_write_to_is_refused(path: Path) -> None:
    path.parent.mkdir()
    path.parent.chmod(0o777)
    with pytest.raises(errors.ConfigError, match="everybody"):
        Tokens(path).add("bob", ["read"])


def _adding(link: Any, path: Path, many: int) -> None:
    link.send("ready")
    link.recv()
    for number in range(many):
        Tokens(path).add(f"t{number}", ["read"])


def test_two_that_add_at_once_both_get_theirs(path: Path, start: Starter) -> None:
    """The second replaced the file with what it had read before the first had written."""
    workers = [start(_adding, path, 10) for _ in range(3)]
    for worker in workers:
        worker.hear()
    for worker in workers:
        worker.tell("go")
    for worker in workers:
        worker.finish()
    assert len(Tokens(path).list()) == 30
    assert sorted(entry.name for entry in path.parent.iterdir()) == [NAME, f"{NAME}.lock"]


def test_a_full_disk_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = Tokens(path)
    _, secret = tokens.add("bob", ["read"])

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(errors.StorageError, match="No space"):
        tokens.add("eve", ["read"])
    assert tokens.check(secret)
    assert sorted(entry.name for entry in path.parent.iterdir()) == [NAME, f"{NAME}.lock"]


def test_tokens_are_never_shown(path: Path) -> None:
    tokens = Tokens(path)
    info, secret = tokens.add("bob", ["read"])
    random = secret.removeprefix(PREFIX).partition("_")[2]
    assert random not in repr(info) + repr(tokens.check(secret)) + json.dumps(info.to_dict())
    assert "hash" not in info.to_dict()
