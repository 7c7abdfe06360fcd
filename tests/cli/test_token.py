"""`memhop token`: made once, shown once, taken away at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memhop.server.http.tokens import NAME, Tokens
from tests.cli.running import here, memhop


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "memories"


def test_the_token_alone_goes_to_standard_output(root: Path) -> None:
    """So that `TOKEN=$(memhop token add alice)` has it, and a log of what was said does not."""
    ran = memhop("token", "add", "Alice", "--root", root, "--name", "laptop")
    assert ran.code == 0
    secret = ran.out.strip()
    assert secret not in ran.err
    access = Tokens(root / NAME).check(secret)
    assert access is not None
    assert (access.tenant, sorted(access.scopes)) == ("alice", ["read", "write"])
    listed = here("token", "list", "--root", root)
    assert access.token in listed.out
    assert "laptop" in listed.out
    random = secret.rpartition(f"{access.token}_")[2]
    for path in root.iterdir():
        assert random not in path.read_text("utf-8"), path
    assert random not in listed.out + here("token", "list", "--root", root, "--json").out


def test_scopes_expiry_and_everybody(root: Path) -> None:
    made = here("token", "add", "*", "--scopes", "admin, read", "--expires", "90d", "--root", root, "--json").json()
    assert made["tenant"] == "*"
    assert made["scopes"] == ["read", "admin"]
    assert made["expires_at"] > made["created_at"]
    assert here("token", "list", "--root", root, "--json").json()["tokens"] == [
        {key: value for key, value in made.items() if key != "token"}
    ]
    later = here("token", "add", "bob", "--expires", "2099-01-01T00:00:00Z", "--root", root, "--json").json()
    assert later["expires_at"] == "2099-01-01T00:00:00Z"


def test_a_token_is_revoked_by_its_id_or_by_itself(root: Path) -> None:
    made = [here("token", "add", "bob", "--root", root, "--json").json() for _ in range(2)]
    assert here("token", "revoke", made[0]["id"], "--root", root).code == 0
    assert here("token", "revoke", made[1]["token"], "--root", root, "--json").json() == {
        "id": made[1]["id"],
        "revoked": True,
    }
    again = here("token", "revoke", made[0]["id"], "--root", root)
    assert again.code == 1
    assert "no token" in again.err
    assert here("token", "list", "--root", root).code == 1


def test_each_act_is_in_the_audit_file(root: Path) -> None:
    made = here("token", "add", "bob", "--root", root, "--json").json()
    here("token", "revoke", made["id"], "--root", root)
    lines = [json.loads(line) for line in (root / "audit.jsonl").read_text("utf-8").splitlines()]
    assert [(line["act"], line["detail"]["id"]) for line in lines] == [
        ("token.add", made["id"]),
        ("token.revoke", made["id"]),
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("../x",),
        ("nul",),
        ("bob", "--scopes", "root"),
        ("bob", "--scopes", ""),
        ("bob", "--expires", "0d"),
        ("bob", "--expires", "99999999d"),
        ("bob", "--expires", "soon"),
        ("bob", "--expires", "1999-01-01"),
        ("bob", "--name", "x" * 1000),
    ],
)
def test_what_does_not_do_is_usage_and_makes_nothing(root: Path, words: tuple[str, ...]) -> None:
    ran = here("token", "add", *words, "--root", root)
    assert ran.code == 2, ran
    assert len(ran.err.splitlines()) == 1
    assert not (root / NAME).exists()


def test_a_file_that_others_can_read_is_said_and_left_alone(root: Path) -> None:
    here("token", "add", "bob", "--root", root)
    (root / NAME).chmod(0o644)
    for words in (("add", "eve"), ("list",), ("revoke", "0" * 12)):
        ran = here("token", *words, "--root", root)
        assert ran.code == 2
        assert "chmod 600" in ran.err


def test_the_settings_name_the_folder(root: Path, tmp_path: Path) -> None:
    config = tmp_path / "memhop.toml"
    config.write_text(f'[server]\nroot = "{root}"\n', "utf-8")
    assert here("--config", config, "token", "add", "bob").code == 0
    assert (root / NAME).exists()
