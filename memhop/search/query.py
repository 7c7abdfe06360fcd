"""A question made ready: its terms, the time it is asked, and its filters as a mask over units.

Filters are applied before anything is ranked, so that no project or speaker can crowd out another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from memhop.common.clock import time_or_now, to_ms, zone_of
from memhop.common.config import LIMITS, check_choice, check_int, check_name, check_names, has_substance
from memhop.common.errors import InvalidRequest
from memhop.common.ids import from_hex
from memhop.index.tokenizer import query_terms
from memhop.repo.l4_archive import session_group
from memhop.repo.l4_note import tagged
from memhop.repo.record import REPEATS, Layer, Role, Span, Tier, label, project_label
from memhop.search.diversity import asks_for_several
from memhop.search.relations import Related, related
from memhop.search.time_window import When, asks_present, state_asked, windows, without_relative

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.repo.views import Views

LAYERS = tuple(layer.label for layer in Layer)
TIERS = tuple(tier.label for tier in Tier)
ROLES = tuple(role.name.lower() for role in Role if role is not Role.NONE)
FUSIONS = ("zscore", "rrf")
MAX_TERMS = 256  # distinct terms of one question; the first ones count
_MAX_NAMES = 100  # values of one filter
_FEW = 16  # values


class Request(NamedTuple):
    """The arguments of `DB.recall`, unchecked."""

    text: str
    limit: int = 10
    token_budget: int = 2000
    layers: Iterable[str] | None = None
    project: str | Iterable[str] | None = None
    kinds: Iterable[str] | None = None
    tags: Iterable[str] | None = None
    roles: Iterable[str] | None = None
    speakers: Iterable[str] | None = None
    session: str | None = None
    scene: str | None = None
    graph: str | None = None
    since: object = None
    until: object = None
    tier: str = "active"
    at: object = None
    fusion: str = "zscore"
    explain: bool = False


class Filters(NamedTuple):
    """Checked filters; None or () means that the filter is not set."""

    layers: tuple[str, ...]
    projects: tuple[str, ...]
    kinds: tuple[str, ...]
    tags: tuple[str, ...]
    roles: tuple[str, ...]
    speakers: tuple[str, ...]
    session: str | None
    scene: int | None
    graph: int | None
    since: int | None
    until: int | None
    tier: Tier


class Query(NamedTuple):
    """A checked question. `terms` are distinct index terms in order; `windows` are the times it speaks of.

    `told`: for some of the terms others in which the answer may be told, see `relations`.
    `relative_time`: it speaks of one relative to now ("last week"), which no text can be expected to repeat.
    `present`: it asks how things are now, so that of several answers the newest is meant.
    `several`: it asks for more than one thing, by its grammar.
    """

    text: str
    terms: tuple[str, ...]
    told: Mapping[str, tuple[str, ...]]
    asked_at: int
    windows: tuple[Span, ...]
    relative_time: bool
    present: bool
    several: bool
    when: When | None
    filters: Filters
    limit: int
    token_budget: int
    fusion: str
    explain: bool
    notices: tuple[str, ...]


def prepare(request: Request, now_ms: int) -> Query:
    """Check a request.

    Raises:
        InvalidRequest: naming the field and what is allowed. Any str is a valid question.
    """
    if not isinstance(request.text, str):
        raise InvalidRequest(f"a {type(request.text).__name__} is not a question", field="query", allowed="a str")
    notices: list[str] = []
    text = request.text.encode("utf-8", "replace").decode("utf-8")
    if len(text) > LIMITS.query_chars:
        notices.append(f"the question was cut to its first {LIMITS.query_chars:,} characters")
        text = text[: LIMITS.query_chars]
    bare = without_relative(text)
    chosen = bare if any(map(str.isalnum, bare)) else text  # "yesterday" alone is all there is to look for
    terms = tuple(dict.fromkeys(query_terms(chosen))) if has_substance(chosen) else ()
    if len(terms) > MAX_TERMS:
        notices.append(f"only the first {MAX_TERMS} of {len(terms)} terms were used")
        terms = terms[:MAX_TERMS]
    asked_at = time_or_now(request.at, field="at", now_ms=now_ms)
    named = windows(text, asked_at, zone_of(request.at))
    when = state_asked(text, named, asked_at)
    asked = related(text, terms) if terms and when is not None else Related(terms, {})
    return Query(
        text=text,
        terms=asked.terms,
        told=asked.told,
        asked_at=asked_at,
        windows=tuple(named),
        relative_time=bare != text,
        present=asks_present(text),
        several=asks_for_several(text),
        when=when,
        filters=_filters(request),
        limit=check_int(request.limit, field="limit", low=1, high=LIMITS.results),
        token_budget=check_int(request.token_budget, field="token_budget", low=0, high=LIMITS.token_budget),
        fusion=check_choice(request.fusion, field="fusion", choices=FUSIONS),
        explain=bool(request.explain),
        notices=tuple(notices),
    )


def _filters(request: Request) -> Filters:
    def names(field: str, value: Any, choices: tuple[str, ...] | None = None) -> tuple[str, ...]:
        if value is None:
            return ()
        listed = value if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
        checked = check_names(listed, field=field, most=_MAX_NAMES)
        if not checked:
            raise InvalidRequest("an empty list would find nothing", field=field, allowed="None, or at least one name")
        if choices:
            for item in checked:
                check_choice(item, field=field, choices=choices)
        return checked

    project = request.project
    since = None if request.since is None else to_ms(request.since, field="since")
    until = None if request.until is None else to_ms(request.until, field="until")
    if since is not None and until is not None and since >= until:
        raise InvalidRequest("the span is empty", field="until", allowed="a time after `since`")
    return Filters(
        layers=names("layers", request.layers, LAYERS),
        projects=names("project", [project] if isinstance(project, str) else project),
        kinds=names("kinds", request.kinds),
        tags=names("tags", request.tags),
        roles=names("roles", request.roles, ROLES),
        speakers=names("speakers", request.speakers),
        session=None if request.session is None else check_name(request.session, field="session"),
        scene=None if request.scene is None else from_hex(request.scene, field="scene"),
        graph=None if request.graph is None else from_hex(request.graph, field="graph"),
        since=since,
        until=until,
        tier=Tier[check_choice(request.tier, field="tier", choices=TIERS).upper()],
    )


class Judged(NamedTuple):
    """The units by which it is judged how rare a word is, bool over all ordinals, and what they are called."""

    units: NDArray[np.bool_]
    name: str


def judged_by(views: Views, *, topics: bool = False) -> Judged:
    """All live units; without those that repeat others, unless topics are asked for.

    A fused topic says once more what messages say. If it counted, consolidation would change how rare words are, and
    so how everything else is ranked: measured, half a point of recall@10.
    """
    first = said_first(views)
    if topics or bool(first.all()):
        return Judged(views.units.live, "")
    return Judged(views.units.live & first, "said first")


def said_first(views: Views) -> NDArray[np.bool_]:
    """Units that do not repeat others, over all ordinals."""
    first: NDArray[np.bool_] = (views.units.column("flags") & REPEATS) == 0
    return first


class Eligible(NamedTuple):
    """Which units may be returned, by what units words are judged, and how many live ones each filter leaves out."""

    mask: NDArray[np.bool_]
    judged: Judged
    removed: dict[str, int]


def eligible(filters: Filters, views: Views) -> Eligible:
    """The units that pass all filters. Cost: a few ns per unit and filter."""
    live = views.units.live
    mask = live.copy()
    removed: dict[str, int] = {}
    for name, passing in checks(filters, views):
        left_out = int(np.count_nonzero(live & ~passing))
        if left_out:
            removed[name] = removed.get(name, 0) + left_out
        np.logical_and(mask, passing, out=mask)
    return Eligible(mask, judged_by(views, topics=Layer.TOPICS.label in filters.layers), removed)


def checks(filters: Filters, views: Views) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Each filter that is set, with the units that pass it, dead ones included."""
    units = views.units

    def among(column: str, values: Iterable[int]) -> NDArray[np.bool_]:
        column_values = units.column(column)
        wanted = np.array(sorted(set(values)), dtype=column_values.dtype)
        if len(wanted) > _FEW:  # sorting the column once costs as much as comparing it with so many
            return np.isin(column_values, wanted)
        passing: NDArray[np.bool_] = column_values == wanted[0]
        for value in wanted[1:]:
            passing |= column_values == value
        return passing

    yield "tier", units.column("tier") == filters.tier
    if filters.layers:
        yield "layers", among("layer", [Layer[name.upper()] for name in filters.layers])
    else:  # what a fused topic says is found where it was said
        yield "layers", said_first(views)
    if filters.projects:
        yield "project", among("project", [project_label(name) for name in filters.projects])
    if filters.kinds:
        yield "kinds", among("kind", [label("kind", name) for name in filters.kinds])
    if filters.roles:
        yield "roles", among("role", [Role[name.upper()] for name in filters.roles])
    if filters.speakers:
        yield "speakers", among("speaker", [label("speaker", name.casefold()) for name in filters.speakers])
    if filters.session is not None:
        yield "session", among("session", [session_group(filters.session)])
    if filters.scene is not None:
        yield "scene", among("scene", [label("scene", filters.scene)])
    if filters.graph is not None:
        yield "graph", among("scene", [label("graph", filters.graph)])
    if filters.since is not None:
        yield "since", units.column("at") >= filters.since
    if filters.until is not None:
        yield "until", units.column("at") < filters.until
    for tag in filters.tags:
        yield "tags", _tagged(tag, views)


def _tagged(tag: str, views: Views) -> NDArray[np.bool_]:
    passing = np.zeros(len(views.units.live), dtype=bool)
    after = None
    while page := views.groups.page(tagged(tag), after=after, limit=1000):
        for _, id_ in page:
            ordinal = views.units.ordinal(id_)
            if ordinal is not None:
                passing[ordinal] = True
        after = page[-1]
    return passing
