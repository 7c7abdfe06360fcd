"""Kinds of notes: which statuses each may have, what is filled in, what must be given.

The built-in kinds come first, what `[schemas.default.kinds.KIND]` says is laid over them, and what
`[schemas.PROJECT.kinds.KIND]` says over that, key by key; a kind that nobody describes takes any status and nothing is
filled in. Names of kinds and statuses are exact, names of projects compare without case.

    [schemas.web.kinds.bug]
    statuses = ["open", "testing", "closed"]
    open     = ["open", "testing"]
    terminal = ["closed"]
    status   = "open"                       # the default
    required = ["severity"]                 # keys that metadata must have
    defaults = { severity = "minor" }       # metadata that is filled in
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from memhop.common.config import check_metadata, check_name
from memhop.common.errors import ConfigError, InvalidRequest
from memhop.repo.record import DEFAULT_PROJECT, project_key

SUMMARY_KIND: Final = "progressive_summary"
_LISTS = ("statuses", "open", "terminal", "required")
_KEYS = (*_LISTS, "status", "defaults")
_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class KindSchema(NamedTuple):
    """One kind. `statuses` (): any. `open` and `terminal` are the statuses of what is to be done, and of what is."""

    statuses: tuple[str, ...] = ()
    status: str = ""  # of a note that is given none; "": none
    open: tuple[str, ...] = ()
    terminal: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = _NONE

    def check_status(self, status: str | None, *, kind: str, field: str = "status") -> str:
        """The status; the default one for "" and None, which is "" where there is none.

        Raises:
            InvalidRequest: naming the statuses of the kind.
        """
        status = status or self.status
        if status and self.statuses and status not in self.statuses:
            raise InvalidRequest(
                f"{status[:40]!r} is no status of a {kind}", field=field, allowed=", ".join(self.statuses)
            )
        return status

    def fill(self, metadata: dict[str, Any], *, kind: str, field: str = "metadata") -> dict[str, Any]:
        """Metadata with the defaults of the kind filled in, also in place of null.

        Raises:
            InvalidRequest: a required key is absent or null, and has no default.
        """
        if not (self.defaults or self.required):
            return metadata
        filled = deepcopy(dict(self.defaults))
        filled |= {key: value for key, value in metadata.items() if value is not None or key not in filled}
        for key in self.required:
            if filled.get(key) is None:
                raise InvalidRequest(f"a {kind} needs {key!r}", field=f"{field}.{key}", allowed="any value")
        return filled


BUILT_IN: Final[Mapping[str, KindSchema]] = MappingProxyType(
    {
        "fact": KindSchema(),
        "decision": KindSchema(
            ("proposed", "approved", "rejected", "implemented", "superseded"),
            "proposed",
            open=("proposed", "approved"),
            terminal=("rejected", "implemented", "superseded"),
            defaults=MappingProxyType({"files": [], "rationale": ""}),
        ),
        "bug": KindSchema(
            ("open", "in_progress", "fixed", "wont_fix", "cant_repro"),
            "open",
            open=("open", "in_progress"),
            terminal=("fixed", "wont_fix", "cant_repro"),
            defaults=MappingProxyType({"severity": "minor", "files": []}),
        ),
        "plan": KindSchema(
            ("pending", "in_progress", "completed", "cancelled"),
            "pending",
            open=("pending", "in_progress"),
            terminal=("completed", "cancelled"),
            defaults=MappingProxyType({"files": [], "steps": []}),
        ),
        "note": KindSchema(),
        "insight": KindSchema(),
        "preference": KindSchema(),
        "identity": KindSchema(),
        SUMMARY_KIND: KindSchema(),
    }
)


class Schemas:
    """The kinds of all projects.

    Args:
        described: `Config.schemas`: project -> {"kinds": {kind: {…}}}; "default" is laid under all others.
        source: The file it comes from, for errors.

    Raises:
        ConfigError: naming file and key.
    """

    def __init__(self, described: Mapping[str, Any], *, source: str = "schemas") -> None:
        self._projects: dict[str, dict[str, KindSchema]] = {}
        if not isinstance(described, Mapping):
            raise _bad(source, "schemas", "a table of projects")
        checked: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {}
        for project, value in described.items():
            where = f"schemas.{project}"
            if project_key(_named(project, where, source)) in checked:
                raise _bad(source, where, "one table for each project; their names compare without case")
            checked[project_key(project)] = _kinds(value, where, source)
        self._default = _laid_over(BUILT_IN, checked.pop(project_key(DEFAULT_PROJECT), {}), source)
        for project, kinds in checked.items():
            self._projects[project] = _laid_over(self._default, kinds, source)
        self._folded = {
            project: {kind.casefold(): kind for kind in kinds}
            for project, kinds in {**self._projects, project_key(DEFAULT_PROJECT): self._default}.items()
        }

    def kinds(self, project: str) -> Mapping[str, KindSchema]:
        """The described kinds of a project, built-in ones included, by name."""
        kinds: Mapping[str, KindSchema] = self._projects.get(project_key(project), self._default)
        return kinds

    def of(self, project: str, kind: str) -> KindSchema:
        """The schema of a kind; an empty one for a kind nobody describes."""
        return self.kinds(project).get(kind) or _ANY

    def check_kind(self, project: str, kind: str, *, field: str = "kind") -> KindSchema:
        """The schema of a kind that is to be written.

        Raises:
            InvalidRequest: its name differs from a described one by case alone, which would escape that one's rules.
        """
        schema = self.kinds(project).get(kind)
        if schema is None:
            known = self._folded.get(project_key(project), self._folded[project_key(DEFAULT_PROJECT)])
            if (meant := known.get(kind.casefold())) is not None:
                raise InvalidRequest(f"{kind[:40]!r} is no kind, names of kinds are exact", field=field, allowed=meant)
        return schema or _ANY


_ANY = KindSchema()


def _named(name: object, key: str, source: str) -> str:
    try:
        return check_name(name, field=key)
    except InvalidRequest as error:
        raise _bad(source, key, f"as its name {error.allowed}") from None


def _kinds(value: Any, key: str, source: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """kind -> (key, its table), all of it checked as far as it can be alone."""
    if not isinstance(value, Mapping) or set(value) - {"kinds"} or not isinstance(value.get("kinds", {}), Mapping):
        raise _bad(source, key, "a table `kinds`")
    found = {}
    for kind, table in value.get("kinds", {}).items():
        where = f"{key}.kinds.{kind}"
        _named(kind, where, source)
        if not isinstance(table, Mapping):
            raise _bad(source, where, f"a table of {', '.join(_KEYS)}")
        for name, entry in table.items():
            if name not in _KEYS:
                raise _bad(source, f"{where}.{name}", ", ".join(_KEYS))
            if name in _LISTS:
                if not isinstance(entry, list | tuple):
                    raise _bad(source, f"{where}.{name}", "a list of names")
                for item in entry:
                    _named(item, f"{where}.{name}", source)
            if name == "status" and entry != "":
                _named(entry, f"{where}.{name}", source)
            if name == "defaults":
                try:
                    check_metadata(dict(entry) if isinstance(entry, Mapping) else entry)
                except InvalidRequest as error:
                    raise _bad(source, f"{where}.{name}", f"{error.allowed}; {error.message}") from None
        found[str(kind)] = (where, dict(table))
    return found


def _laid_over(
    below: Mapping[str, KindSchema], kinds: Mapping[str, tuple[str, dict[str, Any]]], source: str
) -> dict[str, KindSchema]:
    laid = dict(below)
    for kind, (where, table) in kinds.items():
        base = laid.get(kind, _ANY)
        if "statuses" in table:  # flags and default of statuses that are gone go with them
            known = tuple(table["statuses"])
            base = base._replace(
                open=tuple(name for name in base.open if name in known),
                terminal=tuple(name for name in base.terminal if name in known),
                status=base.status if base.status in known else "",
            )
        given: dict[str, Any] = {name: tuple(table[name]) for name in _LISTS if name in table}
        if "status" in table:
            given["status"] = table["status"]
        if "defaults" in table:
            given["defaults"] = MappingProxyType({**base.defaults, **check_metadata(dict(table["defaults"]))})
        schema = base._replace(**given)
        for name in ("open", "terminal"):
            for status in getattr(schema, name):
                if schema.statuses and status not in schema.statuses:
                    raise _bad(source, f"{where}.{name}", ", ".join(schema.statuses))
        if set(schema.open) & set(schema.terminal):
            raise _bad(source, f"{where}.terminal", "statuses that are not open")
        if schema.status and schema.statuses and schema.status not in schema.statuses:
            raise _bad(source, f"{where}.status", ", ".join(schema.statuses))
        laid[kind] = schema
    return laid


def _bad(source: str, key: str, allowed: str) -> ConfigError:
    return ConfigError(f"{source}: {key} does not do", field=key, allowed=allowed)
