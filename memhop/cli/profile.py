"""`memhop profile show | set | brief | history | erase`: who the agent is and whom it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memhop.cli.arguments import (
    DEFAULT_FILE,
    DEFAULT_PAGE,
    DEFAULT_WAIT_S,
    CursorOption,
    FileOption,
    JsonOption,
    LimitOption,
    WaitOption,
    YesOption,
    typed,
)
from memhop.cli.call import Call, confirmed, run, show_page
from memhop.cli.groups import group_of
from memhop.cli.output import Output, when
from memhop.common.errors import InvalidRequest

if TYPE_CHECKING:
    from memhop.api import results

_MAPS = ("preferences", "lexicon")


def build_group() -> typer.Typer:
    """The group of commands."""
    return group_of(
        "Who the agent is, and whom it serves.",
        {"show": show, "set": set_, "brief": brief, "history": history, "erase": erase},
    )


def show(file: FileOption = DEFAULT_FILE, as_json: JsonOption = False) -> None:
    """What was set, and what dreams derived, with how sure they are."""
    run(Call("profile show", file, as_json), lambda db: db.profile.get(), _show)


def set_(
    fields: Annotated[
        list[str],
        typer.Argument(
            metavar="FIELD=VALUE...",
            help="name, role, personality; preferences.KEY, lexicon.KEY (no value: removed); style_traits=A,B.",
        ),
    ],
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Set some fields and keep the others; the file is created if there is none."""
    run(
        Call("profile set", file, as_json, wait, create=True),
        lambda db: db.profile.update(**_fields(fields)),
        _show,
        before=lambda: _fields(fields),
        doing="storing",
    )


def brief(
    chars: Annotated[int, typer.Option(metavar="N", help="Most characters, 50..20000.")] = 1000,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """The profile in a few lines, for a prompt. Exit code 1: it is empty."""
    run(
        Call("profile brief", file, as_json),
        lambda db: {"brief": db.profile.brief(max_chars=chars)},
        lambda out, found: out.raw(found["brief"]),
        found=lambda found: found["brief"],
        nothing="the profile is empty",
    )


def history(
    limit: LimitOption = DEFAULT_PAGE,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """What changed, newest first. Exit code 1: nothing did."""
    run(
        Call("profile history", file, as_json),
        lambda db: db.profile.history(limit=limit, cursor=cursor),
        show_page(("when", "by", "field", "before", "after"), _change),
        found=lambda page: page.items,
        nothing="nothing was changed",
    )


def erase(
    yes: YesOption = False,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Erase the profile for good, with its history."""
    run(
        Call("profile erase", file, as_json, wait),
        lambda db: db.profile.erase(),
        lambda out, done: out.say(("erased", "green"), f": {done.reason}"),
        before=lambda: confirmed("Erase the profile for good?", yes),
        doing="erasing",
    )


def _fields(words: list[str]) -> dict[str, Any]:
    """FIELD=VALUE as arguments of `profile.update`. Raises InvalidRequest."""
    found: dict[str, Any] = {}
    for word in words:
        name, sign, value = typed(word).partition("=")
        owner, dot, key = name.partition(".")
        if not sign:
            raise InvalidRequest(f"{word[:40]!r} has no =", field="FIELD=VALUE", allowed="such as name=Ada")
        if dot and owner in _MAPS and key:
            found.setdefault(owner, {})[key] = value or None
        elif name == "style_traits":
            found[name] = [part.strip() for part in value.split(",") if part.strip()]
        elif dot or name in _MAPS:
            raise InvalidRequest(
                f"{name[:40]!r} is no field", field="FIELD=VALUE", allowed="preferences.KEY, lexicon.KEY"
            )
        else:
            found[name] = value
    return found


def _show(out: Output, profile: results.Profile) -> None:
    rows = [("name", profile.name), ("role", profile.role), ("personality", profile.personality)]
    rows += [(f"preferences.{key}", value) for key, value in profile.preferences.items()]
    rows += [(f"lexicon.{key}", value) for key, value in profile.lexicon.items()]
    rows.append(("style_traits", ", ".join(profile.style_traits)))
    rows.append(("last set", when(profile.updated_at) if profile.updated_at else "never"))
    out.table(("field", "value"), [(name, value or "-") for name, value in rows])
    if profile.derived:
        lines = [(one.name, one.value, f"{one.confidence:.2f}", f"{len(one.evidence):,}") for one in profile.derived]
        out.table(("derived", "value", "sure", "evidence"), lines, right=(2, 3))


def _change(out: Output, change: results.ProfileChange) -> tuple[str, ...]:
    before, after = out.shorten(change.before, 30), out.shorten(change.after, 30)
    return (when(change.at), change.by, change.field, before or "-", after or "-")
