"""`db.profile`: L0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from memhop.api import convert, results
from memhop.api.namespace import Namespace
from memhop.common.config import check_name, check_names, check_text
from memhop.common.errors import InvalidRequest
from memhop.repo.l0_profile import PROFILE_ID, Profile

if TYPE_CHECKING:
    from memhop.repo.batch import Batch


class Profiles(Namespace):
    """L0: who the agent is."""

    def get(self) -> results.Profile:
        """The profile; empty when nothing was set."""
        return convert.profile(self._store.find(Profile, PROFILE_ID) or Profile())

    def update(self, **fields: Any) -> results.Profile:
        """Set some fields and keep the others: name, role, personality (str), preferences, lexicon (dict of str),
        style_traits (list of str).

        Raises:
            InvalidRequest: an unknown field or a value of another type.
        """
        checked = {field: _profile_field(field, value) for field, value in fields.items()}
        if not checked:
            return self.get()
        store = self._store
        now = store.clock.now_ms()

        def fill(batch: Batch) -> Profile:
            current = store.find(Profile, PROFILE_ID) or Profile()
            changed = msgspec.structs.replace(current, **checked)
            return batch.put(msgspec.structs.replace(changed, updated_at=now), PROFILE_ID)

        return convert.profile(store.write(fill))


def _profile_field(field: str, value: object) -> Any:
    if field in ("name", "role"):
        return check_name(value, field=field, blank=True)
    if field == "personality":
        return "" if value == "" else check_text(value, field=field, max_bytes=10_000)
    if field == "style_traits":
        return check_names(value, field=field, most=64)
    if field in ("preferences", "lexicon"):
        allowed = "a dict of at most 1000 str to str"
        if not isinstance(value, dict) or len(value) > 1000:
            raise InvalidRequest("not a dict of str to str", field=field, allowed=allowed)
        return {
            check_name(key, field=field): check_text(item, field=f"{field}.{key}", max_bytes=10_000)
            for key, item in value.items()
        }
    raise InvalidRequest(
        "no such field", field=field, allowed="name, role, personality, preferences, lexicon, style_traits"
    )
