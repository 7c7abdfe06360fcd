"""What becomes of secrets and private spans in what a caller gives, before anything else sees it.

Every public call that writes hands all its texts to the `Guard` of the handle: text, names, tags, metadata. So what is
compared, listed, indexed and derived is what is stored. `<private>…</private>` is left out under every policy; secrets
(`common/secrets.py`) are masked, refused or left alone as `config.secrets` says for the project.

Calls without a count to keep are decorated with `guarded`; tests/api/test_redaction.py finds a writer that is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

from memhop.common import secrets
from memhop.common.config import check_choice
from memhop.common.errors import InvalidRequest
from memhop.common.settings import SecretsSection
from memhop.repo.record import project_key

if TYPE_CHECKING:
    from memhop.api.calls.handle import Handle

POLICIES: Final = ("mask", "refuse", "allow")
_DEEPEST: Final = 64  # levels of nested values; what is deeper is refused by the checks that follow


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
        """Like `text` for everything in a value, keys and long numbers too; what is no text is left as it is.

        A value under a key such as "password" is a secret if it looks like one, though nothing in it says so.
        """
        return self._within(value, field, project, 0)

    def given(self, value: Any, *, field: str, project: object = "default") -> Any:
        """Like `metadata`, for an argument: of an iterator each item when its turn comes."""
        if isinstance(value, str):
            return self.text(value, field=field, project=project)[0]
        if isinstance(value, Iterable) and not isinstance(value, bytes | Mapping | list | tuple | set | frozenset):
            return self._each(value, field, project)
        return self._within(value, field, project, 0)[0]

    def _each(self, values: Iterable[Any], field: str, project: object) -> Iterator[Any]:
        for index, value in enumerate(values):
            yield self._within(value, f"{field}[{index}]", project, 0)[0]

    def _within(self, value: Any, field: str, project: object, depth: int) -> tuple[Any, int]:
        if isinstance(value, str):
            return self.text(value, field=field, project=project)
        if isinstance(value, bool | float | bytes) or value is None or depth > _DEEPEST:
            return value, 0
        if isinstance(value, int):
            masked, count = self.text(str(value), field=field, project=project) if value >= 10**13 else ("", 0)
            return (masked, count) if count else (value, 0)
        total = 0
        if isinstance(value, Mapping):
            project = value.get("project", project)
            pairs: dict[Any, Any] = {}
            for key, item in value.items():
                name = key if isinstance(key, str) else ""
                kept, in_key = self._within(key, field, project, depth + 1)
                cleaned, count = self._named(name, item, f"{field}.{name}", project, depth + 1)
                pairs[kept] = cleaned
                total += in_key + count
            return (pairs, total) if total else (value, 0)
        if isinstance(value, list | tuple | set | frozenset):
            items = []
            for index, item in enumerate(value):
                cleaned, count = self._within(item, f"{field}[{index}]", project, depth + 1)
                items.append(cleaned)
                total += count
            return (items if isinstance(value, list | tuple) else set(items), total) if total else (value, 0)
        return value, 0

    def _named(self, name: str, value: Any, field: str, project: object, depth: int) -> tuple[Any, int]:
        cleaned, count = self._within(value, field, project, depth)
        if count or not isinstance(cleaned, str) or not secrets.is_password(name, cleaned):
            return cleaned, count
        policy = self.policy(project)
        if policy == "refuse":
            raise _refusal(field, "password")
        return (cleaned, 0) if policy == "allow" else ("[secret:password]", 1)


def _refusal(field: str, name: str) -> InvalidRequest:
    return InvalidRequest(f"it holds a secret ({name})", field=field, allowed="what has none, see `Config.secrets`")


P = ParamSpec("P")
R = TypeVar("R")


class _Guarded(Protocol):
    @property
    def _db(self) -> Handle: ...


N = TypeVar("N", bound=_Guarded)


def guarded(call: Callable[Concatenate[N, P], R]) -> Callable[Concatenate[N, P], R]:
    """A method of a namespace whose arguments go through the guard of its handle first."""
    code = call.__code__
    names = code.co_varnames[1 : code.co_argcount]

    @wraps(call)
    def through(self: N, /, *args: P.args, **kwargs: P.kwargs) -> R:
        guard = self._db._guard
        project = kwargs.get("project", "default")
        given: Any = [guard.given(value, field=name, project=project) for name, value in zip(names, args, strict=False)]
        named: Any = {name: guard.given(value, field=name, project=project) for name, value in kwargs.items()}
        return call(self, *given, **named)

    return through
