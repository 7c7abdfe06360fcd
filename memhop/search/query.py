"""A question made ready: its terms, the time it is asked, and its filters as a mask over units.

Filters are applied before anything is ranked, so that no project or speaker can crowd out another. Where a project is
asked for, what everybody should know, the universal project, is searched along: as a mask of its own, so that neither
can crowd out the other one; see `Recaller.recall` for how the two come together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from memhop.common.clock import time_or_now, to_ms, zone_of
from memhop.common.config import (
    LIMITS,
    check_choice,
    check_int,
    check_name,
    check_names,
    check_project,
    check_share,
    has_substance,
)
from memhop.common.errors import InvalidRequest
from memhop.common.ids import from_hex
from memhop.index.tokenizer import query_terms
from memhop.repo.l4_archive import session_group
from memhop.repo.l4_note import tagged
from memhop.repo.projects import states
from memhop.repo.record import REPEATS, Layer, Role, Span, Tier, label, project_label
from memhop.search.diversity import asks_for_several
from memhop.search.relations import Related, related
from memhop.search.time_window import When, asks_present, state_asked, windows, without_relative

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.repo.store import Store
    from memhop.repo.views import Views

LAYERS = tuple(layer.label for layer in Layer)
TIERS = tuple(tier.label for tier in Tier)
ALL_TIERS = "all"
ROLES = tuple(role.name.lower() for role in Role if role is not Role.NONE)
FUSIONS = ("zscore", "rrf")
MAX_TERMS = 256  # distinct terms of one question; the first ones count
_MAX_NAMES = 100  # values of one filter
_FEW = 16  # values


class Request(NamedTuple):
    """The arguments of `DB.recall`, unchecked. `universal`: the project that is searched along; "": none."""

    text: str
    limit: int = 10
    token_budget: int = 2000
    layers: Iterable[str] | None = None
    project: str | Iterable[str] | None = None
    kinds: Iterable[str] | None = None
    statuses: Iterable[str] | None = None
    tags: Iterable[str] | None = None
    roles: Iterable[str] | None = None
    speakers: Iterable[str] | None = None
    session: str | None = None
    scene: str | None = None
    graph: str | None = None
    since: object = None
    until: object = None
    tier: str | Iterable[str] = "active"
    universal: str = ""
    at: object = None
    fusion: str = "zscore"
    alpha: float | None = None
    explain: bool = False


class Filters(NamedTuple):
    """Checked filters; None or () means that the filter is not set. `along`: a project that passes with `projects`."""

    layers: tuple[str, ...]
    projects: tuple[str, ...]
    along: str
    kinds: tuple[str, ...]
    statuses: tuple[str, ...]
    tags: tuple[str, ...]
    roles: tuple[str, ...]
    speakers: tuple[str, ...]
    session: str | None
    scene: int | None
    graph: int | None
    since: int | None
    until: int | None
    tiers: tuple[Tier, ...]


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
    alpha: float | None
    explain: bool
    notices: tuple[str, ...]

    @property
    def about_the_past(self) -> bool:
        """Whether it asks for a time past, or for how things began."""
        if self.when is not None and (self.when.first or self.when.until is not None):
            return True
        return bool(self.windows) and all(until <= self.asked_at for _, until in self.windows)


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
        alpha=None if request.alpha is None else check_share(request.alpha, field="alpha"),
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
    projects = tuple(map(check_project, names("project", [project] if isinstance(project, str) else project)))
    tiers = names("tier", [request.tier] if isinstance(request.tier, str | None) else request.tier, (*TIERS, ALL_TIERS))
    placed = (request.session, request.scene, request.graph)  # what lies in one place lies in no other
    along = request.universal if projects and placed == (None, None, None) else ""
    since = None if request.since is None else to_ms(request.since, field="since")
    until = None if request.until is None else to_ms(request.until, field="until")
    if since is not None and until is not None and since >= until:
        raise InvalidRequest("the span is empty", field="until", allowed="a time after `since`")
    return Filters(
        layers=names("layers", request.layers, LAYERS),
        projects=projects,
        along=along,
        kinds=names("kinds", request.kinds),
        statuses=names("statuses", request.statuses),
        tags=names("tags", request.tags),
        roles=names("roles", request.roles, ROLES),
        speakers=names("speakers", request.speakers),
        session=None if request.session is None else check_name(request.session, field="session"),
        scene=None if request.scene is None else from_hex(request.scene, field="scene"),
        graph=None if request.graph is None else from_hex(request.graph, field="graph"),
        since=since,
        until=until,
        tiers=tuple(Tier) if ALL_TIERS in tiers else tuple(Tier[name.upper()] for name in tiers),
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
    """Which units may be returned, by what units words are judged, and how many live ones each filter leaves out.

    `along`: those of the universal project, which are looked through apart; None: there are none. They are not in
    `mask`.
    """

    mask: NDArray[np.bool_]
    judged: Judged
    removed: dict[str, int]
    along: NDArray[np.bool_] | None = None


def eligible(filters: Filters, store: Store) -> Eligible:
    """The units that pass all filters. Hold the store's lock. Cost: a few ns per unit and filter."""
    views = store.views
    live = views.units.live
    mask = live.copy()
    removed: dict[str, int] = {}
    for name, passing in checks(filters, store):
        left_out = int(np.count_nonzero(live & ~passing))
        if left_out:
            removed[name] = removed.get(name, 0) + left_out
        np.logical_and(mask, passing, out=mask)
    judged = judged_by(views, topics=Layer.TOPICS.label in filters.layers)
    if not filters.along:
        return Eligible(mask, judged, removed)
    asked = _among(views, "project", _labels(filters.projects))
    along = mask & ~asked
    return Eligible(mask & asked, judged, removed, along if along.any() else None)


def checks(filters: Filters, store: Store) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Each filter that is set, with the units that pass it, dead ones included. Hold the store's lock."""
    views = store.views
    units = views.units
    yield "tier", _among(views, "tier", filters.tiers)
    if filters.layers:
        yield "layers", _among(views, "layer", [Layer[name.upper()] for name in filters.layers])
    else:  # what a fused topic says is found where it was said
        yield "layers", said_first(views)
    if filters.projects:
        along = [project_label(filters.along)] if filters.along else []
        yield "project", _among(views, "project", [*_labels(filters.projects), *along])
    if filters.kinds:
        yield "kinds", _among(views, "kind", [label("kind", name) for name in filters.kinds])
    if filters.roles:
        yield "roles", _among(views, "role", [Role[name.upper()] for name in filters.roles])
    if filters.speakers:
        yield "speakers", _among(views, "speaker", [label("speaker", name.casefold()) for name in filters.speakers])
    if filters.session is not None:
        yield "session", _among(views, "session", [session_group(filters.session)])
    if filters.scene is not None:
        yield "scene", _among(views, "scene", [label("scene", filters.scene)])
    if filters.graph is not None:
        yield "graph", _among(views, "scene", [label("graph", filters.graph)])
    if filters.since is not None:
        yield "since", units.column("at") >= filters.since
    if filters.until is not None:
        yield "until", units.column("at") < filters.until
    if filters.statuses:
        groups = [state.group for state in states(store) if state.status in filters.statuses]
        yield "statuses", _listed(groups, store)
    for tag in filters.tags:
        yield "tags", _listed([tagged(tag)], store)


def _labels(projects: Iterable[str]) -> list[int]:
    return [project_label(name) for name in projects]


def _among(views: Views, column: str, values: Iterable[int]) -> NDArray[np.bool_]:
    """The units that have one of these values."""
    column_values = views.units.column(column)
    wanted = np.array(sorted(set(values)), dtype=column_values.dtype)
    if len(wanted) > _FEW:  # sorting the column once costs as much as comparing it with so many
        return np.isin(column_values, wanted)
    passing: NDArray[np.bool_] = column_values == wanted[0]
    for value in wanted[1:]:
        passing |= column_values == value
    return passing


def _listed(groups: Iterable[int], store: Store) -> NDArray[np.bool_]:
    """The units of the members of groups. Cost: about 1.5 us for each."""
    units = store.views.units
    passing = np.zeros(len(units.live), dtype=bool)
    ids = np.fromiter((id_ for group in groups for _, id_ in store.members(group)), np.uint64)
    ordinals = units.ordinals(ids)
    passing[ordinals[ordinals >= 0]] = True
    return passing
