"""`db.profile`: L0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from memhop.api import convert, results
from memhop.api.namespace import Namespace
from memhop.common.config import check_int, check_name, check_names, check_text
from memhop.common.errors import InvalidRequest
from memhop.common.ids import to_hex
from memhop.repo.l0_profile import (
    BRIEF_CHARS,
    PROFILE_ID,
    Profile,
    ProfileChange,
    brief,
    derived,
    numbered,
    shown,
)
from memhop.repo.record import Kind, all_of

MOST_ENTRIES = 1_000  # of preferences, and of the lexicon
_FIELDS = ("name", "role", "personality", "preferences", "lexicon", "style_traits")


class Profiles(Namespace):
    """L0: who the agent is, as the host set it, and whom it serves, as dreams derived it. The two are kept apart."""

    def get(self) -> results.Profile:
        """The profile; empty when nothing was set."""
        store = self._store
        with store.lock:
            return convert.profile(store.find(Profile, PROFILE_ID) or Profile(), derived(store))

    def update(self, **fields: Any) -> results.Profile:
        """Set some fields and keep the others: name, role, personality (str), preferences, lexicon (dict of str),
        style_traits (list of str).

        Of preferences and lexicon the keys given are set and the others kept; a key with the value None is removed.
        What changes is noted in the `history`.

        Raises:
            InvalidRequest: an unknown field, a value of another type, or more than 1,000 entries in one field.
        """
        fields = self._db._guard.metadata(fields, field="")[0]
        checked = {field: _profile_field(field, value) for field, value in fields.items()}
        if not checked:
            return self.get()
        store = self._store
        now = store.clock.now_ms()
        with store.writing() as batch:
            before = store.find(Profile, PROFILE_ID) or Profile()
            after = _patched(before, checked)
            if after != before:
                after = batch.put(msgspec.structs.replace(after, updated_at=now), PROFILE_ID)
                noted = (
                    ProfileChange(field=field, before=shown(old), after=shown(new), at=now)
                    for field, old, new in _differences(before, after)
                )
                for change in numbered(store, noted):
                    batch.put(change)
            lines = derived(store)
        return convert.profile(after, lines)

    def brief(self, *, max_chars: int = BRIEF_CHARS) -> str:
        """The profile for a prompt: what the host set, then what dreams derived, with how sure they are; no ids.

        Args:
            max_chars: Most characters, 50..20,000. Of each kind the first few entries are shown, long values cut; what
                the host set takes the room first.
        """
        check_int(max_chars, field="max_chars", low=50, high=20_000)
        store = self._store
        with store.lock:
            return brief(store.find(Profile, PROFILE_ID) or Profile(), derived(store), max_chars)

    def history(self, *, limit: int = 50, cursor: str | None = None) -> results.Page:
        """What changed, newest first: fields that the host set, and moods and traits that dreams derived.

        The newest 1,000 changes are kept. Of terms, preferences and facts that dreams derived none is kept, since they
        are words of messages, which can be erased.
        """
        return self._page(ProfileChange, all_of(Kind.PROFILE_CHANGE), convert.profile_change, limit, cursor, True)

    def erase(self) -> results.Deleted:
        """Erase the profile for good: what the host set, what dreams derived, and the history.

        The next dream that finds something new derives lines anew from the messages that are there.
        """
        store = self._store
        erased: dict[str, int] = {}
        with store.writing() as batch:
            found = [PROFILE_ID] if store.file.locate(PROFILE_ID) is not None else []
            for kind in (Kind.PROFILE_LINE, Kind.PROFILE_CHANGE):
                found += list(store.file.ids(kind))
            for id_ in found:
                located = store.file.locate(id_)
                if located is not None:
                    kind = Kind(located[0])
                    batch.delete(kind, id_, purge=True)
                    erased[kind.name.lower()] = erased.get(kind.name.lower(), 0) + 1
        done = "erased for good; compact() removes the bytes" if erased else "there was nothing"
        return results.Deleted(
            id=to_hex(PROFILE_ID), dry_run=False, erased=erased, changed={}, message_ids=(), reason=done
        )


def _patched(profile: Profile, values: Mapping[str, Any]) -> Profile:
    changed: dict[str, Any] = {}
    for field, value in values.items():
        if isinstance(value, dict):
            merged = {**getattr(profile, field), **value}
            value = {key: item for key, item in merged.items() if item is not None}
            if len(value) > MOST_ENTRIES:
                raise InvalidRequest(f"{len(value):,} entries", field=field, allowed=f"at most {MOST_ENTRIES:,}")
        changed[field] = value
    return msgspec.structs.replace(profile, **changed)


def _differences(before: Profile, after: Profile) -> Iterator[tuple[str, str, str]]:
    """(field, before, after) of what differs; of dicts by key."""
    for field in _FIELDS:
        old, new = getattr(before, field), getattr(after, field)
        if isinstance(old, dict):
            for key in sorted(old.keys() | new.keys()):
                if old.get(key) != new.get(key):
                    yield f"{field}.{key}", old.get(key, ""), new.get(key, "")
        elif isinstance(old, tuple):
            if old != new:
                yield field, ", ".join(old), ", ".join(new)
        elif old != new:
            yield field, old, new


def _profile_field(field: str, value: object) -> Any:
    if field not in _FIELDS:
        raise InvalidRequest("no such field", field=field, allowed=", ".join(_FIELDS))
    if field in ("name", "role"):
        return check_name(value, field=field, blank=True)
    if field == "personality":
        return "" if value == "" else check_text(value, field=field, max_bytes=10_000)
    if field == "style_traits":
        return check_names(value, field=field, most=64)
    if not isinstance(value, dict) or len(value) > MOST_ENTRIES:
        allowed = f"a dict of at most {MOST_ENTRIES:,} str to str, or to None"
        raise InvalidRequest("not a dict of str to str", field=field, allowed=allowed)
    return {
        check_name(key, field=field): None
        if item is None
        else check_text(item, field=f"{field}.{key}", max_bytes=10_000)
        for key, item in value.items()
    }
