"""L0: who the agent is, and whom it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from memhop.api import results
from memhop.server.operation import ADMIN, WRITE, Answer, Host, operation
from memhop.server.operations import older_names
from memhop.server.operations.paging import Cursor, Limit
from memhop.server.parameters import Listed, Table, Text
from memhop.server.telling import fenced, one_line, paged

if TYPE_CHECKING:
    from memhop.api.db import DB

_NOT_SET = "emotion_patterns is drawn from what users say and cannot be set; the rest was stored"


@operation("memhop_profile_get", title="Read the profile", result=results.Profile)
def profile_get(host: Host, db: DB) -> Answer:
    """Read who you are to be and whom you serve: name, role, personality, preferences, lexicon and style as the host
    set them, and apart from it what was derived from conversations, with the messages it was drawn from. Use it at the
    beginning of a session; not before each answer, for memhop_search brings it along. Example: {}"""
    profile = db.profile.get()
    return older_names.profile(profile), fenced(profile.brief) if profile.brief else "the profile is empty"


@operation("memhop_profile_update", title="Change the profile", scope=WRITE, idempotent=True, result=results.Profile)
def profile_update(
    host: Host,
    db: DB,
    *,
    name: Annotated[str | None, Text('The agent\'s name; "": none.', 0)] = None,
    role: Annotated[str | None, Text('Its role; "": none.', 0)] = None,
    personality: Annotated[str | None, Text('How it is to be; "": not said.', 0)] = None,
    preferences: Annotated[
        dict[str, Any] | None, Table("Preferences to set, as texts; null removes one, others stay.")
    ] = None,
    lexicon: Annotated[
        dict[str, Any] | None, Table("Words and what they mean here; null removes one, others stay.")
    ] = None,
    style_traits: Annotated[
        list[str] | None, Listed("How it writes; in place of those before.", Text(""), 0, 64)
    ] = None,
    emotion_patterns: Annotated[
        dict[str, Any] | None, Table("Taken and not stored: it is drawn from conversations.")
    ] = None,
) -> Answer:
    """Change the profile when the user or the host says how you are to be, or states a lasting preference about you.
    What is given is set, the rest stays. Not for facts about the world: memhop_remember.
    Example: {"preferences": {"language": "German"}}"""
    given = {
        "name": name,
        "role": role,
        "personality": personality,
        "preferences": preferences,
        "lexicon": lexicon,
        "style_traits": style_traits,
    }
    profile = db.profile.update(**{field: value for field, value in given.items() if value is not None})
    data = {"ok": True} | older_names.profile(profile)
    notice = _NOT_SET if emotion_patterns else ""
    return data | ({"notice": notice} if notice else {}), "; ".join(filter(None, ("the profile is set", notice)))


@operation("memhop_profile_history", title="What changed in the profile", result=results.Page)
def profile_history(host: Host, db: DB, *, limit: Limit = 20, cursor: Cursor = None) -> Answer:
    """List what changed in the profile, the newest first. Use it when somebody asks since when a preference holds, or
    what was set before. Example: {"limit": 5}"""
    return paged(
        db.profile.history(limit=limit, cursor=cursor),
        results.ProfileChange.to_dict,
        lambda one: (
            f"{one.to_dict()['at']} {one.by}: {one.field} {one_line(one.before, 60)!r} -> {one_line(one.after, 60)!r}"
        ),
        nothing="nothing has changed",
    )


@operation(
    "memhop_profile_erase", title="Erase the profile", scope=ADMIN, destructive=True, idempotent=True,
    result=results.Deleted,
)  # fmt: skip
def profile_erase(host: Host, db: DB) -> Answer:
    """Erase the profile for good: what was set, what was derived, and its history. Only when a person asks for it.
    Example: {}"""
    erased = db.profile.erase()
    return {"ok": True} | erased.to_dict(), erased.reason
