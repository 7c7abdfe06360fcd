"""What a capability card must look like: format `memhop-capability/v2`, a JSON object.

    format        "memhop-capability/v2"
    name          1 to 200 characters; what the card is known by, case ignored
    version       optional, "1"
    type          mcp, skill: exactly one resource, of the same type
                  composite: at least one resource
    summary       what it does
    trigger       when to use it; summary or trigger must be there
    resources     [{type: mcp or skill, name, ref, description, config}], names distinct; name and ref must be there
    workflow      {steps: [{ref, action}]}, each ref the name of a resource or a call of the memory (`VERBS`)
    translations  {language: {summary, trigger, resources: {name: description}, actions: [text of each step]}}

All texts are bounded and free of control characters other than line breaks and tabs; blanks around them are dropped.
Keys that are not named here are left out, and said so: a card may carry what another program wants to know.
Cards come from files, strangers and models; nothing of one is believed before `checked` has looked at it. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from memhop.common.errors import InvalidRequest
from memhop.repo.l5_capability import (
    CARD_FORMAT,
    TYPES,
    Capability,
    Resource,
    Translation,
    Workflow,
    WorkflowStep,
)

CARD_BYTES = 256 * 1024  # of one card as JSON
NAME_CHARS = 200  # also of a resource
TEXT_CHARS = 4_000  # summary, trigger, description, action, config
REF_CHARS = 1_000
RESOURCES = 32
STEPS = 64
LANGUAGES = 8
VERBS = frozenset(
    """
    search update dream crystallize recall remember forget backfill why_not profile scenes topics knowledge facts
    archive notes capabilities trajectory dreams backup export verify
    """.split()
)

_CARD = ("format", "name", "version", "type", "summary", "trigger", "resources", "workflow", "translations")
_RESOURCE = ("type", "name", "ref", "description", "config")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Checked(NamedTuple):
    """A card that does, without id, times and statistics. `remarks`: what was left out, one line each."""

    card: Capability
    remarks: tuple[str, ...]


def parsed(text: str | bytes, *, field: str = "source") -> Any:
    """JSON text as data, not checked any further. UTF-8, with or without a byte order mark.

    Raises:
        InvalidRequest: too long, not UTF-8, not JSON, a key that is there twice, a number that is none.
    """
    allowed = f"one JSON object of at most {CARD_BYTES:,} bytes, UTF-8"
    try:
        data = text.encode("utf-8") if isinstance(text, str) else text
        if len(data) > CARD_BYTES:
            raise InvalidRequest(f"{len(data):,} bytes are too many", field=field, allowed=allowed)
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_pairs, parse_constant=_no_number)
    except (UnicodeEncodeError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"not UTF-8 at {error.start}", field=field, allowed=allowed) from None
    except RecursionError:
        raise InvalidRequest("nested too deep", field=field, allowed=allowed) from None
    except InvalidRequest:
        raise
    except ValueError as error:
        raise InvalidRequest(f"not JSON: {error!s:.100}", field=field, allowed=allowed) from None


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!a:.60} is there twice")
        found[key] = value
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def checked(data: object) -> Checked:
    """The card that some data is.

    Raises:
        InvalidRequest: a rule is broken; `field` is the path, such as "resources[0].ref".
    """
    reader = _Reader()
    return Checked(reader.card(data), tuple(reader.remarks))


def definition(card: Capability) -> dict[str, Any]:
    """The card as data that `checked` takes; what is empty is left out."""
    data: dict[str, Any] = {
        "format": CARD_FORMAT,
        "name": card.name,
        "version": card.version,
        "type": card.type,
        "summary": card.summary,
        "trigger": card.trigger,
        "resources": [resource_data(resource) for resource in card.resources],
        "workflow": workflow_data(card.workflow),
        "translations": {language: _translation_data(words) for language, words in card.translations.items()},
    }
    return {key: value for key, value in data.items() if value}


def resource_data(resource: Resource) -> dict[str, str]:
    """As in a card's JSON."""
    return {name: value for name in _RESOURCE if (value := getattr(resource, name))}


def workflow_data(workflow: Workflow) -> dict[str, Any]:
    """As in a card's JSON; {} if it has no steps."""
    steps = [{"ref": step.ref, "action": step.action} for step in workflow.steps]
    return {"steps": steps} if steps else {}


def _translation_data(words: Translation) -> dict[str, Any]:
    data = {"summary": words.summary, "trigger": words.trigger}
    return {**data, "resources": dict(words.resources), "actions": list(words.actions)}


class _Reader:
    """One reading of a card: every value with its path, and what was left out."""

    def __init__(self) -> None:
        self.remarks: list[str] = []

    def card(self, data: object) -> Capability:
        found = self.known(data, "", _CARD)
        if found.get("format") != CARD_FORMAT:
            shown = ascii(found.get("format"))[:40]
            raise InvalidRequest(f"{shown} is not a known format", field="format", allowed=CARD_FORMAT)
        name = self.text(found.get("name"), "name", most=NAME_CHARS, line=True, needed=True)
        type_ = self.choice(found.get("type"), "type", TYPES)
        summary = self.text(found.get("summary"), "summary")
        trigger = self.text(found.get("trigger"), "trigger")
        if not (summary or trigger):
            raise InvalidRequest("neither summary nor trigger is there", field="summary", allowed="one of them")
        resources = self.resources(found.get("resources"), type_)
        workflow = self.workflow(found.get("workflow"), {resource.name for resource in resources})
        return Capability(
            name=name,
            type=type_,
            version=self.text(found.get("version"), "version", most=50, line=True) or "1",
            summary=summary,
            trigger=trigger,
            resources=resources,
            workflow=workflow,
            translations=self.translations(found.get("translations"), resources, len(workflow.steps)),
        )

    def resources(self, value: object, type_: str) -> tuple[Resource, ...]:
        found = tuple(
            self.resource(item, f"resources[{index}]")
            for index, item in enumerate(self.items(value, "resources", RESOURCES))
        )
        wanted = "at least one" if type_ == "composite" else f"exactly one of type {type_}"
        if not found or (type_ != "composite" and len(found) > 1):
            raise InvalidRequest(f"{len(found)} resources do not do", field="resources", allowed=wanted)
        if type_ != "composite" and found[0].type != type_:
            raise InvalidRequest(f"{found[0].type} in a card of type {type_}", field="resources[0].type", allowed=type_)
        names = [resource.name for resource in found]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise InvalidRequest(
                    f"{name!a:.60} is there twice", field=f"resources[{index}].name", allowed="distinct names"
                )
        return found

    def resource(self, value: object, path: str) -> Resource:
        found = self.known(value, path, _RESOURCE)
        return Resource(
            type=self.choice(found.get("type"), f"{path}.type", ("mcp", "skill")),
            name=self.text(found.get("name"), f"{path}.name", most=NAME_CHARS, line=True, needed=True),
            ref=self.text(found.get("ref"), f"{path}.ref", most=REF_CHARS, line=True, needed=True),
            description=self.text(found.get("description"), f"{path}.description"),
            config=self.text(found.get("config"), f"{path}.config"),
        )

    def workflow(self, value: object, names: set[str]) -> Workflow:
        if value is None:
            return Workflow()
        steps = []
        listed = self.known(value, "workflow", ("steps",)).get("steps")
        for index, item in enumerate(self.items(listed, "workflow.steps", STEPS)):
            path = f"workflow.steps[{index}]"
            found = self.known(item, path, ("ref", "action"))
            ref = self.text(found.get("ref"), f"{path}.ref", most=REF_CHARS, line=True, needed=True)
            if ref not in names and ref not in VERBS:
                raise InvalidRequest(
                    f"{ref!a:.60} is no resource of the card",
                    field=f"{path}.ref",
                    allowed=f"{', '.join(sorted(names))}, or a call of the memory",
                )
            steps.append(WorkflowStep(ref=ref, action=self.text(found.get("action"), f"{path}.action")))
        return Workflow(tuple(steps))

    def translations(self, value: object, resources: tuple[Resource, ...], steps: int) -> dict[str, Translation]:
        found: dict[str, Translation] = {}
        given = self.mapping(value, "translations") if value is not None else {}
        if len(given) > LANGUAGES:
            raise InvalidRequest(f"{len(given)} are too many", field="translations", allowed=f"at most {LANGUAGES}")
        for language, item in given.items():
            if not _LANGUAGE.fullmatch(language):
                shown = ascii(language)[:40]
                raise InvalidRequest(f"{shown} is no language", field="translations", allowed="a code such as zh")
            path = f"translations.{language}"
            words = self.known(item, path, ("summary", "trigger", "resources", "actions"))
            described = self.known(words.get("resources", {}), f"{path}.resources", tuple(r.name for r in resources))
            actions = self.items(words.get("actions"), f"{path}.actions", STEPS)
            if actions and len(actions) != steps:
                raise InvalidRequest(
                    f"{len(actions)} texts for {steps} steps", field=f"{path}.actions", allowed="one for each step"
                )
            found[language] = Translation(
                summary=self.text(words.get("summary"), f"{path}.summary"),
                trigger=self.text(words.get("trigger"), f"{path}.trigger"),
                resources={
                    name: self.text(text, f"{path}.resources[{name!a:.60}]") for name, text in described.items()
                },
                actions=tuple(self.text(text, f"{path}.actions[{index}]") for index, text in enumerate(actions)),
            )
        return found

    def known(self, value: object, path: str, keys: tuple[str, ...]) -> dict[str, Any]:
        """The known keys of an object; of the others it is remarked that they are left out."""
        given = self.mapping(value, path)
        for key in given:
            if key not in keys and len(self.remarks) < 20:
                self.remarks.append(f"{path}{'.' if path else ''}{ascii(key)[1:-1]:.60} is not known and was left out")
        return {key: item for key, item in given.items() if key in keys}

    def mapping(self, value: object, path: str) -> dict[str, Any]:
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return dict(value)
        raise InvalidRequest(f"a {type(value).__name__} does not do", field=path or "source", allowed="a JSON object")

    def items(self, value: object, path: str, most: int) -> list[Any]:
        """A list; None is an empty one."""
        if value is None:
            return []
        if isinstance(value, list | tuple) and len(value) <= most:
            return list(value)
        shown = f"{len(value)} items" if isinstance(value, list | tuple) else f"a {type(value).__name__}"
        raise InvalidRequest(f"{shown} do not do", field=path, allowed=f"a list of at most {most}")

    def text(
        self, value: object, path: str, *, most: int = TEXT_CHARS, line: bool = False, needed: bool = False
    ) -> str:
        """A text without blanks around it; None is "". `line`: one line of printable characters."""
        allowed = f"a text of {1 if needed else 0} to {most:,} characters, no control characters"
        if value is None and not needed:
            return ""
        if not isinstance(value, str):
            what = "nothing" if value is None else f"a {type(value).__name__}"
            raise InvalidRequest(f"{what} does not do", field=path, allowed=allowed)
        text = value.replace("\r\n", "\n").strip()
        if len(text) > most or (needed and not text):
            raise InvalidRequest(f"{len(text):,} characters do not do", field=path, allowed=allowed)
        if (line and not text.isprintable()) or _CONTROL.search(text):
            raise InvalidRequest("a control character or half a surrogate pair", field=path, allowed=allowed)
        return text

    def choice(self, value: object, path: str, choices: tuple[str, ...]) -> str:
        if isinstance(value, str) and value in choices:
            return value
        shown = ascii(value) if isinstance(value, str) else f"a {type(value).__name__}"
        raise InvalidRequest(f"{shown:.40} is not known", field=path, allowed=", ".join(choices))
