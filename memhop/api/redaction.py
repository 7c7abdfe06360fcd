"""What becomes of secrets and private spans in what a caller gives, before anything else sees it.

Every public call that writes hands all its texts to the `Guard` of the handle: text, names, tags, metadata. So what is
compared, listed, indexed and derived is what is stored. `<private>…</private>` is left out under every policy; secrets
(`common/secrets.py`) are masked, refused or left alone as `config.secrets` says for the project.

Methods of namespaces are decorated with `namespace.guarded` where they keep no count of what was taken out.
tests/api/test_redaction.py finds a writer that does neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from memhop.common import secrets
from memhop.common.config import check_choice
from memhop.common.errors import InvalidRequest
from memhop.common.settings import SecretsSection
from memhop.repo.record import project_key

POLICIES: Final = ("mask", "refuse", "allow")
_DEEPEST: Final = 64  # levels of nested values; what is deeper is refused by the checks that follow
_SHORTEST: Final = 9  # characters: less is neither a secret by its form nor a private span
_LONG: Final = 10**13  # numbers from here on may be those of cards
# Names of arguments and fields that hold ids of records: sixteen digits in a row may look like a card.
_IDS: Final = frozenset(
    (
        "id",
        "ids",
        "graph_id",
        "node_ids",
        "topic_id",
        "topic_ids",
        "message_id",
        "links",
        "sources",
        "primary",
        "secondaries",
    )
)


class Guard:
    """Takes secrets out of values as the settings say. Safe to use from several threads.

    Raises:
        InvalidRequest: a policy is unknown.
    """

    def __init__(self, settings: SecretsSection) -> None:
        self._policy = check_choice(settings.policy, field="secrets.policy", choices=POLICIES)
        self._policies = {
            project_key(name): check_choice(policy, field=f"secrets.projects.{name}", choices=POLICIES)
            for name, policy in settings.projects.items()
        }

    def policy(self, project: object) -> str:
        """What is done in a project; names compare without case."""
        return self._policies.get(project_key(project), self._policy) if isinstance(project, str) else self._policy

    def text(self, value: str, *, field: str, project: object = "default") -> tuple[str, int]:
        """The text to be stored, and how many secrets were masked and private spans left out.

        Raises:
            InvalidRequest: there is a secret and the policy is "refuse", or nothing but private spans is left.

        Cost: about 2 us for a short text that has neither.
        """
        if len(value) < _SHORTEST:
            return value, 0
        kept, spans = secrets.without_private(value)
        if spans and not kept.strip():
            raise InvalidRequest("there is nothing but private spans", field=field, allowed="something to be kept")
        policy = self.policy(project) if self._policies else self._policy
        if policy == "allow":
            return kept, spans
        if policy == "refuse":
            if found := secrets.find(kept):
                raise _refusal(field, found[0].name)
            return kept, spans
        masked, count = secrets.mask(kept)
        return masked, spans + count

    def metadata(self, value: Any, *, field: str = "metadata", project: object = "default") -> tuple[Any, int]:
        """Like `text` for all texts in a value, keys too, and for long numbers in metadata; the rest is left as it is.

        A value under a key such as "password" is a secret if it looks like one, though nothing in it says so. What is
        under a key for ids is not looked at, one level deep. A mapping with a `project` is judged by that one's policy.
        """
        return self._within(value, field, project, numbers=field == "metadata")

    def given(self, value: Any, *, field: str, project: object = "default") -> Any:
        """Like `metadata`, for an argument: of an iterator each item when its turn comes."""
        if isinstance(value, str):
            return value if field in _IDS else self.text(value, field=field, project=project)[0]
        if isinstance(value, Iterable) and not isinstance(value, bytes | Mapping | list | tuple | set | frozenset):
            return self._each(value, field, project)
        return value if field in _IDS else self.metadata(value, field=field, project=project)[0]

    def _each(self, values: Iterable[Any], field: str, project: object) -> Iterator[Any]:
        for index, value in enumerate(values):
            yield value if field in _IDS else self._within(value, f"{field}[{index}]", project)[0]

    def _within(
        self, value: Any, field: str, project: object, *, numbers: bool = False, depth: int = 0
    ) -> tuple[Any, int]:
        if isinstance(value, str):
            return self.text(value, field=field, project=project)
        if isinstance(value, Mapping) and depth < _DEEPEST:
            return self._in_mapping(value, field, value.get("project", project), numbers=numbers, depth=depth + 1)
        if isinstance(value, list | tuple | set | frozenset) and depth < _DEEPEST:
            items, total = [], 0
            for index, item in enumerate(value):
                cleaned, count = self._within(item, f"{field}[{index}]", project, numbers=numbers, depth=depth + 1)
                items.append(cleaned)
                total += count
            return (items if isinstance(value, list | tuple) else set(items), total) if total else (value, 0)
        if numbers and isinstance(value, int) and value >= _LONG:
            masked, count = self.text(str(value), field=field, project=project)
            return (masked, count) if count else (value, 0)
        return value, 0

    def _in_mapping(
        self, value: Mapping[Any, Any], field: str, project: object, *, numbers: bool, depth: int
    ) -> tuple[Any, int]:
        pairs: dict[Any, Any] = {}
        total = 0
        for key, item in value.items():
            if depth == 1 and key in _IDS and not numbers:
                pairs[key] = item
                continue
            kept, name = key, ""
            if isinstance(key, str):
                name = key
                if len(key) >= _SHORTEST and not _is_plain(key):
                    kept, count = self.text(key, field=field, project=project)
                    total += count
            if not item or (isinstance(item, str) and len(item) < _SHORTEST - 1):
                pairs[kept] = item
                continue
            where = f"{field}.{name}" if field else name
            cleaned, count = self._within(item, where, project, numbers=numbers or name == "metadata", depth=depth)
            if not count and isinstance(item, str) and secrets.is_password(name, item):
                policy = self.policy(project)
                if policy == "refuse":
                    raise _refusal(where, "password")
                if policy == "mask":
                    cleaned, count = "[secret:password]", 1
            pairs[kept] = cleaned
            total += count
        return (pairs, total) if total else (value, 0)


@lru_cache(maxsize=1 << 10)
def _is_plain(key: str) -> bool:
    """Whether a key has neither secrets nor private spans; keys come again and again."""
    return secrets.mask(secrets.without_private(key)[0]) == (key, 0)


def _refusal(field: str, name: str) -> InvalidRequest:
    return InvalidRequest(f"it holds a secret ({name})", field=field, allowed="what has none, see `Config.secrets`")
