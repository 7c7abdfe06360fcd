"""What an operation takes: the JSON Schema that clients are shown, and the check of what they send.

An operation is a function; a parameter is a keyword of it, annotated with a kind of this module:

    limit: Annotated[int, Whole("Most notes.", 1, 100)] = 20

Models send almost the right thing, and REST sends text, so a value that can mean one thing only is taken: "5" and 5.0
for 5, "true" for true, a single value or a JSON text for a list, a JSON text for an object, null for "not given". A
number above its maximum is lowered to it, and the reply says so. Everything else that does not fit is refused with the
field and what is allowed, before anything is done; so is a parameter nobody knows, since a misspelt filter that is
ignored shows what was meant to be hidden.

Schemas are plain objects without $ref, anyOf or lists of types: strict clients refuse a whole server for one of these.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, get_args, get_origin

from memhop.common.errors import InvalidRequest

_ID_DIGITS = 16
_MOST_SHOWN = 12
_TRUE, _FALSE = frozenset(("true", "1", "yes", "on")), frozenset(("false", "0", "no", "off"))
_MOST_JSON = 1_000_000  # characters of a list or an object that came as text


class Bound(NamedTuple):
    """Arguments that passed.

    Attributes:
        values: Keyword -> value, of all that were given or have a default of the session.
        remarks: What was changed, in words, such as a limit that was lowered.
    """

    values: dict[str, Any]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Kind:
    """A kind of value.

    Args:
        about: What it is for, written for a model: one or two sentences.
    """

    about: str

    def schema(self) -> dict[str, Any]:
        """Its JSON Schema, without the description."""
        raise NotImplementedError

    def check(self, value: Any, name: str, remarks: list[str]) -> Any:
        """The value as the operation takes it. Raises InvalidRequest."""
        raise NotImplementedError

    def described(self) -> dict[str, Any]:
        """Its JSON Schema."""
        return self.schema() | {"description": self.about}


@dataclass(frozen=True)
class Text(Kind):
    """Words. How long they may be, and that they are not blank, is checked by the call that takes them."""

    low: int = 1

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "minLength": self.low} if self.low else {"type": "string"}

    def check(self, value: Any, name: str, remarks: list[str]) -> str:
        if not isinstance(value, str):
            raise _refused(value, name, "text")
        if len(value) < self.low:
            raise InvalidRequest("it is empty", field=name, allowed="text that is not empty")
        return value


@dataclass(frozen=True)
class Id(Kind):
    """An id: 16 hex digits, always text, since a JSON number would lose its last digits.

    Args:
        blank: Whether "" stands for none.
    """

    blank: bool = False

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": "^([0-9a-f]{16})?$" if self.blank else "^[0-9a-f]{16}$"}

    def check(self, value: Any, name: str, remarks: list[str]) -> str:
        allowed = "16 hex digits as text, as other replies show them"
        if self.blank and value == "":
            return ""
        if not isinstance(value, str):
            raise _refused(value, name, allowed)
        digits = value.strip().removeprefix("#").lower()
        if len(digits) != _ID_DIGITS or set(digits) - set("0123456789abcdef"):
            raise InvalidRequest(f"{_shown(value)} is no id", field=name, allowed=allowed)
        return digits


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number. Above `high` it is lowered, and said so; below `low` it is refused."""

    low: int = 0
    high: int = 1_000_000

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}

    def check(self, value: Any, name: str, remarks: list[str]) -> int:
        number = _number(value, name, f"a whole number, {self.low}..{self.high}")
        if number != int(number) or number < self.low:
            raise InvalidRequest(
                f"{_shown(value)} does not do", field=name, allowed=f"a whole number, {self.low}..{self.high}"
            )
        if number > self.high:
            remarks.append(f"{name} {_shown(value)} was lowered to {self.high}")
        return min(int(number), self.high)


@dataclass(frozen=True)
class Number(Kind):
    """A number between two others, which are allowed, too."""

    low: float = 0.0
    high: float = 1.0

    def schema(self) -> dict[str, Any]:
        return {"type": "number", "minimum": self.low, "maximum": self.high}

    def check(self, value: Any, name: str, remarks: list[str]) -> float:
        allowed = f"a number, {self.low:g}..{self.high:g}"
        number = _number(value, name, allowed)
        if not self.low <= number <= self.high:
            raise InvalidRequest(f"{_shown(value)} does not do", field=name, allowed=allowed)
        return float(number)


@dataclass(frozen=True)
class Flag(Kind):
    """Yes or no."""

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}

    def check(self, value: Any, name: str, remarks: list[str]) -> bool:
        if isinstance(value, bool):
            return value
        word = str(value).strip().lower() if isinstance(value, str | int) else ""
        if word not in _TRUE | _FALSE:
            raise _refused(value, name, "true or false")
        return word in _TRUE


@dataclass(frozen=True)
class Choice(Kind):
    """One of a few names."""

    choices: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.choices)}

    def check(self, value: Any, name: str, remarks: list[str]) -> str:
        allowed = ", ".join(self.choices)
        if not isinstance(value, str):
            raise _refused(value, name, allowed)
        word = value.strip().lower()
        for choice in self.choices:
            if choice.lower() == word:
                return choice
        raise InvalidRequest(f"{_shown(value)} is not known", field=name, allowed=allowed)


@dataclass(frozen=True)
class Time(Kind):
    """A moment: ISO-8601, or Unix milliseconds. The operation gets what the API takes; without a zone it is UTC.

    Args:
        now: Whether "now" will do, for which the operation gets None.
    """

    now: bool = False

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "minLength": 1}

    def described(self) -> dict[str, Any]:
        or_now = ', or "now"' if self.now else ""
        return self.schema() | {"description": f"{self.about} ISO-8601, or Unix milliseconds{or_now}."}

    def check(self, value: Any, name: str, remarks: list[str]) -> int | datetime | None:
        allowed = "ISO-8601 such as 2026-03-01T09:00:00Z, or Unix milliseconds"
        if self.now:
            allowed += ', or "now"'
            if isinstance(value, str) and value.strip().lower() == "now":
                return None
        if isinstance(value, str) and not (value.strip().isascii() and value.strip().isdigit()):
            try:
                moment = datetime.fromisoformat(value.strip())
            except ValueError:
                raise _refused(value, name, allowed) from None
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        number = _number(value, name, allowed)
        if number != int(number):
            raise _refused(value, name, allowed)
        return int(number)


@dataclass(frozen=True)
class Table(Kind):
    """An object with names of the caller's choice. What it may hold is checked by the call that takes it."""

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": True}

    def check(self, value: Any, name: str, remarks: list[str]) -> dict[str, Any]:
        found = _from_json(value, name, "an object")
        if not isinstance(found, Mapping) or not all(isinstance(key, str) for key in found):
            raise _refused(value, name, "an object")
        return dict(found)


@dataclass(frozen=True)
class Fields(Kind):
    """An object with known fields. `needed` are those that must be there."""

    of: Mapping[str, Kind] = field(default_factory=dict)
    needed: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        return object_schema(self.of, self.needed)

    def check(self, value: Any, name: str, remarks: list[str]) -> dict[str, Any]:
        found = _from_json(value, name, "an object")
        if not isinstance(found, Mapping):
            raise _refused(value, name, f"an object with {', '.join(self.of)}")
        return check_fields(found, self.of, self.needed, f"{name}.", remarks)


@dataclass(frozen=True)
class Listed(Kind):
    """Several values. A single one will do, and so will a JSON text of them."""

    of: Kind = field(default_factory=lambda: Text(""))
    low: int = 0
    high: int = 100

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.of.schema(), "minItems": self.low, "maxItems": self.high}

    def check(self, value: Any, name: str, remarks: list[str]) -> list[Any]:
        found = _from_json(value, name, "a list") if isinstance(value, str) and value.lstrip()[:1] == "[" else value
        values = list(found) if isinstance(found, list | tuple) else [found]
        if not self.low <= len(values) <= self.high:
            raise InvalidRequest(f"{len(values):,} values", field=name, allowed=f"{self.low} to {self.high} values")
        return [self.of.check(one, f"{name}[{at}]", remarks) for at, one in enumerate(values)]


class Parameters:
    """The parameters of a function, in their order.

    Raises:
        TypeError: a keyword has no kind. This is a fault of ours, found when the table is made.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.kinds: dict[str, Kind] = {}
        self.defaults: dict[str, Any] = {}
        for name, one in inspect.signature(function).parameters.items():
            if one.kind is not inspect.Parameter.KEYWORD_ONLY:
                continue
            hint = one.annotation
            if isinstance(
                hint, str
            ):  # only those of keywords can be looked up: the others are known to the checker alone
                hint = eval(hint, function.__globals__)
            kinds = [kind for kind in _annotations(hint) if isinstance(kind, Kind)]
            if len(kinds) != 1:
                raise TypeError(f"{function.__name__}({name}) needs one kind")
            self.kinds[name] = kinds[0]
            if one.default is not inspect.Parameter.empty:
                self.defaults[name] = one.default
        self.needed = tuple(name for name in self.kinds if name not in self.defaults)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of all of them: an object, with `properties` even where there are none."""
        described = object_schema(self.kinds, self.needed)
        for name, default in self.defaults.items():
            if isinstance(default, str | int | float) and default != "":
                described["properties"][name]["default"] = default
        return described

    def bind(self, arguments: Mapping[str, Any] | None, session: Mapping[str, Any] | None = None) -> Bound:
        """Check what came.

        Args:
            arguments: Anything that JSON can say. None: nothing.
            session: What stands for an argument that was not given, such as the project a server was started for.

        Raises:
            InvalidRequest: naming the field and what is allowed.
        """
        remarks: list[str] = []
        values = check_fields(arguments or {}, self.kinds, self.needed, "", remarks)
        for name, value in (session or {}).items():
            if name in self.defaults and name not in values:
                values[name] = value
        return Bound(values, tuple(remarks))


def object_schema(kinds: Mapping[str, Kind], needed: tuple[str, ...]) -> dict[str, Any]:
    """The JSON Schema of an object with these fields and no others."""
    found: dict[str, Any] = {
        "type": "object",
        "properties": {name: kind.described() for name, kind in kinds.items()},
        "additionalProperties": False,
    }
    return found | ({"required": list(needed)} if needed else {})


def check_fields(
    given: Mapping[Any, Any], kinds: Mapping[str, Kind], needed: tuple[str, ...], before: str, remarks: list[str]
) -> dict[str, Any]:
    """The fields of an object, checked. `before` stands before their names in errors."""
    for name in given:
        if name not in kinds:
            raise InvalidRequest(
                "there is no such parameter", field=f"{before}{_clipped(name)}", allowed=", ".join(kinds) or "none"
            )
    values = {
        name: kind.check(given[name], f"{before}{name}", remarks)
        for name, kind in kinds.items()
        if given.get(name) is not None
    }
    for name in needed:
        if name not in values:
            raise InvalidRequest("it is missing", field=f"{before}{name}", allowed=kinds[name].about.rstrip("."))
    return values


def _annotations(hint: Any) -> list[Any]:
    """What an annotation carries, also below `| None`."""
    found = list(getattr(hint, "__metadata__", ()))
    if get_origin(hint) is not None and not found:
        for part in get_args(hint):
            found += getattr(part, "__metadata__", ())
    return found


def _number(value: Any, name: str, allowed: str) -> int | float:
    if isinstance(value, str):
        text = value.strip()
        try:
            value = int(text) if text.lstrip("+-").isdigit() and len(text) < 20 else float(text)
        except ValueError:
            raise _refused(value, name, allowed) from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _refused(value, name, allowed)
    if isinstance(value, float) and not math.isfinite(value):
        raise _refused(value, name, allowed)
    return value


def _from_json(value: Any, name: str, what: str) -> Any:
    if not isinstance(value, str):
        return value
    if len(value) > _MOST_JSON:
        raise InvalidRequest(f"{len(value):,} characters are too many", field=name, allowed=f"{what}, not as text")
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise _refused(value, name, what) from None


def _refused(value: Any, name: str, allowed: str) -> InvalidRequest:
    return InvalidRequest(f"{_shown(value)} does not do", field=name, allowed=allowed)


def _shown(value: Any) -> str:
    """A value in an error: its beginning where it is plain, else what it is. Never a whole text of a stranger."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value) if value.bit_length() < 64 else "a huge number"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str):
        return json.dumps(_clipped(value), ensure_ascii=True)
    return "a list" if isinstance(value, list | tuple) else "an object" if isinstance(value, Mapping) else "that"


def _clipped(value: Any) -> str:
    text = str(value)
    shown = text if len(text) <= 4 * _MOST_SHOWN else f"{text[: 4 * _MOST_SHOWN]}…"
    return "".join(one if one.isprintable() else "�" for one in shown)
