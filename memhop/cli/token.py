"""`memhop token add | list | revoke`: who may ask the server of a folder."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memhop.cli.arguments import DEFAULT_ROOT, JsonOption, RootOption, parse_time, typed
from memhop.cli.exit_codes import FAILED, reporting
from memhop.cli.groups import group_of
from memhop.cli.output import when
from memhop.common.errors import InvalidRequest

if TYPE_CHECKING:
    from memhop.server.http.audit import Audit
    from memhop.server.http.tokens import Tokens

_MOST_DAYS = 36_500


def build_group() -> typer.Typer:
    """The group of commands."""
    return group_of(
        "Tokens of `memhop serve`: who may ask it, of which memory, and what.",
        {"add": add, "list": list_tokens, "revoke": revoke},
    )


def add(
    tenant: Annotated[
        str, typer.Argument(metavar="TENANT", help="Whose memory, such as alice; '*': that of everybody.")
    ],
    scopes: Annotated[
        str, typer.Option(metavar="LIST", help="Of read, write and admin, with commas between.")
    ] = "read,write",
    name: Annotated[str, typer.Option(metavar="TEXT", help="What it is for.")] = "",
    expires: Annotated[
        str | None, typer.Option(metavar="WHEN", help="Days, such as 90d, or ISO-8601; default: never.")
    ] = None,
    root: RootOption = DEFAULT_ROOT,
    as_json: JsonOption = False,
) -> None:
    """Make a token and print it, this once: only its hash is kept."""
    with reporting(as_json=as_json) as out:
        until = _moment(expires)
        wanted = [scope.strip() for scope in scopes.split(",") if scope.strip()]
        tokens, audit = _files(root)
        info, secret = tokens.add(typed(tenant), wanted, name=typed(name), expires_at=until)
        audit.write(
            "token.add", access=None, tenant=info.tenant, detail={"id": info.id, "scopes": " ".join(info.scopes)}
        )
        if as_json:
            out.json(info.to_dict() | {"token": secret})
        else:
            out.notice(f"token {info.id} for {info.tenant} ({', '.join(info.scopes)}); it is not shown again:")
            out.raw(secret)


def list_tokens(root: RootOption = DEFAULT_ROOT, as_json: JsonOption = False) -> None:
    """List the tokens, without what is secret of them. Exit code 1: there are none."""
    with reporting(as_json=as_json) as out:
        found = _files(root)[0].list()
        if as_json:
            out.json({"tokens": [info.to_dict() for info in found]})
        elif found:
            rows = [
                (
                    info.id,
                    info.tenant,
                    ",".join(info.scopes),
                    when(info.created_at),
                    "never" if info.expires_at is None else when(info.expires_at),
                    out.shorten(info.name, 40),
                )
                for info in found
            ]
            out.table(("id", "tenant", "scopes", "made", "expires", "name"), rows)
        else:
            out.notice("there are none: memhop token add TENANT")
        if not found:
            raise typer.Exit(FAILED)


def revoke(
    id_: Annotated[str, typer.Argument(metavar="ID", help="Its id from `memhop token list`, or the token itself.")],
    root: RootOption = DEFAULT_ROOT,
    as_json: JsonOption = False,
) -> None:
    """Take a token away; a server that runs refuses it from the next request on. Exit code 1: there is none."""
    from memhop.server.http.tokens import id_of

    with reporting(as_json=as_json) as out:
        tokens, audit = _files(root)
        whole = id_of(id_) or id_.strip().lower()
        done = tokens.revoke(whole)
        if done:
            audit.write("token.revoke", access=None, tenant="", detail={"id": whole})
        if as_json:
            out.json({"id": whole, "revoked": done})
        elif done:
            out.say(("revoked", "green"), f" {whole}")
        else:
            out.notice("there is no token with that id: memhop token list")
        if not done:
            raise typer.Exit(FAILED)


def _files(root: Path) -> tuple[Tokens, Audit]:
    from memhop.server.http import audit, tokens

    folder = root.expanduser()
    return tokens.Tokens(folder / tokens.NAME), audit.Audit(folder / audit.NAME)


def _moment(expires: str | None) -> datetime | None:
    """The time that was typed: in so many days, or ISO-8601."""
    days = (expires or "").strip().lower().removesuffix("d")
    if expires is None or days == expires.strip().lower():
        return parse_time(expires, field="--expires")
    if not (days.isascii() and days.isdigit() and 0 < int(days) <= _MOST_DAYS):
        raise InvalidRequest("that is no number of days", field="--expires", allowed=f"1d..{_MOST_DAYS}d, or ISO-8601")
    return datetime.now(UTC) + timedelta(days=int(days))
