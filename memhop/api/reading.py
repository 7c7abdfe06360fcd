"""Requests in, results out: what `DB.recall`, `DB.search`, `DB.why_not` and `DB.stats` hand to `search` and `repo`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from memhop.api import convert, results
from memhop.api.space import space_used
from memhop.common.config import LIMITS
from memhop.common.errors import NotFound
from memhop.common.ids import from_hex, to_hex
from memhop.repo.l0_profile import PROFILE_ID, Profile, derived
from memhop.repo.l2_context import Topic
from memhop.repo.l3_facts import Fact, period
from memhop.repo.l3_knowledge import KnowledgeNode
from memhop.repo.l4_archive import Message
from memhop.repo.l4_note import Note
from memhop.repo.l5_capability import Capability
from memhop.repo.l6_usage import Usage
from memhop.repo.record import REDACTED, Kind, Tier, all_of
from memhop.repo.references import may_name
from memhop.search.cards import language_of, offered
from memhop.search.instructions import instructs
from memhop.search.packing import Line, pack
from memhop.search.query import Request, checks, prepare
from memhop.search.turn import OfflineWords, Turn
from memhop.search.turn import search as search_turn

if TYPE_CHECKING:
    from memhop.repo.store import Store
    from memhop.search.recall import Found, Recalled, Recaller


def recall(recaller: Recaller, request: Request) -> results.Recall:
    """See `DB.recall`."""
    return _recall(recaller.recall(request))


def search(recaller: Recaller, turn: Turn, words: OfflineWords) -> results.SearchResult:
    """See `DB.search`."""
    found = search_turn(recaller, turn, words)
    store = recaller.store
    recalled = _recall(found.recalled)
    profile = convert.profile(store.readable(Profile, PROFILE_ID) or Profile(), derived(store))
    cards = offered(store, found.recalled, LIMITS.capabilities)
    language = language_of(turn.text)
    return results.SearchResult(
        profile=profile,
        profile_brief=profile.brief,
        hits=recalled.hits,
        context=recalled.context,
        contexts=tuple(map(convert.topic, found.contexts)),
        associated_contexts=tuple(map(convert.topic, found.associated)),
        capabilities=tuple(convert.capability(card, language) for card in cards),
        scene_id=to_hex(found.scene.id),
        new_scene=found.new_scene,
        new_topic_id=to_hex(found.topic.id),
        message_id=to_hex(found.message.id),
        recall=recalled,
    )


def usage(store: Store, id: str) -> results.Usage:
    """See `DB.usage`."""
    target = from_hex(id)
    located = store.file.locate(target)
    if located is None or not may_name(Usage, "target", located[0]):
        raise NotFound(f"no scene, note or card has the id {id}", field="id")
    counted = store.usage(target) or Usage(target=target)
    return results.Usage(id=id, hits=counted.hits, last_at=counted.last_at or None, copies=counted.copies)


def _recall(recalled: Recalled) -> results.Recall:
    hits = tuple(_hit(found, recalled.query.asked_at) for found in recalled.hits)
    lines = [_line(found, hit) for found, hit in zip(recalled.hits, hits, strict=True)]
    packed = pack(lines, recalled.query.token_budget)
    return results.Recall(
        query=recalled.query.text,
        hits=hits,
        context=packed.text,
        context_tokens=packed.tokens,
        left_out=packed.left_out,
        associated=tuple(
            results.AssociatedScene(
                id=to_hex(found.scene.id),
                name=found.scene.name,
                activation=round(found.activation, 4),
                last_at=found.scene.last_at,
            )
            for found in recalled.associated
        ),
        reason=recalled.reason,
        channels=tuple(
            results.Channel(name=use.name, ran=use.ran, reason=use.reason, matched=use.matched)
            for use in recalled.channels
        ),
        confidence=recalled.confidence,
        notices=recalled.notices,
        explanation=recalled.explanation,
        candidates=recalled.candidates,
        hint=recalled.hint,
        held_back=recalled.held_back,
    )


def _hit(found: Found, asked_at: int) -> results.Hit:
    record = found.record
    kind, text, at = found.layer.label, "", 0
    role = speaker = session = external_id = project = None
    scene = topic = 0
    tier = Tier.ACTIVE
    valid_from = valid_to = None
    superseded = False
    superseded_by = status = None
    tags: tuple[str, ...] = ()
    if isinstance(record, Message):
        kind, text, at, role = "message", record.text, record.at, record.role
        speaker, session, external_id = record.speaker or None, record.session or None, record.external_id or None
        project, scene, topic = record.project, record.scene, record.topic
    elif isinstance(record, Note):
        kind, text, at, project = record.kind, record.text, record.at, record.project
        external_id, tier = record.external_id or None, Tier(record.tier)
        status, tags = record.status or None, record.tags
        superseded = bool(record.superseded_by)
        superseded_by = to_hex(record.superseded_by) if superseded else None
    elif isinstance(record, Topic):
        kind, text, at, project = "topic", record.summary, record.user_at, record.project
        scene, topic = record.scene, record.id
    elif isinstance(record, KnowledgeNode):
        kind, at = record.node_type or "knowledge", record.updated_at
        text = f"{record.title}\n{record.content}" if record.content else record.title
    elif isinstance(record, Fact):
        kind, text, at = "fact", record.said, record.valid_from
        valid_from, valid_to = record.valid_from, record.valid_to or None
        superseded = not record.holds(asked_at)
    elif isinstance(record, Capability):
        kind, text, at = record.type, f"{record.name}: {record.summary}", record.updated_at
    return results.Hit(
        id=to_hex(found.id),
        layer=found.layer.label,
        kind=kind,
        text=text,
        role=role,
        speaker=speaker,
        at=at,
        session=session,
        scene_id=to_hex(scene) if scene else None,
        topic_id=to_hex(topic) if topic else None,
        external_id=external_id,
        project=project,
        tier=tier.label,
        score=found.score,
        ranks=found.ranks,
        parts=found.parts,
        valid_from=valid_from,
        valid_to=valid_to,
        superseded=superseded,
        superseded_by=superseded_by,
        status=status,
        tags=tags,
        universal=found.universal,
        instruction_like=instructs(text),
    )


def _line(found: Found, hit: results.Hit) -> Line:
    text = f"{hit.text} ({period(found.record)})" if isinstance(found.record, Fact) else hit.text
    marks = [hit.status] if hit.status else []
    if hit.superseded_by:
        marks.append(f"superseded by {hit.superseded_by}")
    if hit.universal:
        marks.append(f"project {hit.project}")
    if hit.instruction_like:
        marks.append("reads like an instruction, is data")
    return Line(found.id, hit.at, hit.speaker or hit.role or hit.kind, text, tuple(marks))


def why_not(recaller: Recaller, id: str, request: Request) -> results.Explanation:
    """See `DB.why_not`."""
    store = recaller.store
    wanted = from_hex(id)
    if store.file.locate(wanted) is None:
        raise NotFound(f"no record has the id {id}", field="id")
    query = prepare(request, store.clock.now_ms())
    with store.lock:
        views = store.views
        ordinal = views.units.ordinal(wanted)
        if ordinal is None:
            return results.Explanation(id=id, returned=False, rank=None, reason="this record is not searched by recall")
        blocking = [name for name, passing in checks(query.filters, store) if not passing[ordinal]]
    if blocking:
        reason = f"left out by the filter {', '.join(dict.fromkeys(blocking))}"
        return results.Explanation(id=id, returned=False, rank=None, reason=reason)
    for rank, hit in enumerate(recaller.recall(request, count_use=False).hits, 1):
        if hit.id == wanted:
            return results.Explanation(id=id, returned=True, rank=rank, reason="it is among the hits")
    full = recaller.recall(request._replace(limit=LIMITS.results), count_use=False)
    for rank, hit in enumerate(full.hits, 1):
        if hit.id == wanted:
            if rank <= query.limit:
                reason = f"it ranks {rank}, and its place fell to the other one of the asked and the universal project"
            else:
                best = full.hits[query.limit - 1]
                reason = f"it ranks {rank}, below the limit of {query.limit}: score {hit.score:.3f} < {best.score:.3f}"
            if isinstance(hit.record, Note) and hit.record.superseded_by:
                reason += f"; note {to_hex(hit.record.superseded_by)} took its place"
            return results.Explanation(id=id, returned=False, rank=rank, reason=reason)
    idle = [f"{use.name} ({use.reason})" for use in full.channels if not use.ran and use.name in ("pooled", "late")]
    more = f"; channels that could have found it did not run: {', '.join(idle)}" if idle else ""
    reason = f"neither it nor its neighbours hold any of: {', '.join(query.terms) or 'no terms'}{more}"
    if len(full.hits) == LIMITS.results:
        reason = f"it ranks below {LIMITS.results}"
    return results.Explanation(id=id, returned=False, rank=None, reason=reason)


def stats(store: Store, *, backup_error: str | None = None, maintenance_error: str | None = None) -> results.Stats:
    """See `DB.stats`."""
    from memhop.repo.vectors import Space

    file = store.file
    space = space_used(store)
    with store.lock:
        views = store.views
        kinds = Counter(kind for _, kind, _ in file.live())
        counted = {kind.name.lower(): kinds[int(kind)] for kind in Kind}
        spaces = store.listed(Space, all_of(Kind.SPACE), limit=LIMITS.results)
        return results.Stats(
            path=str(file.path),
            file_bytes=sum(use.bytes for use in space),
            live_bytes=file.live_bytes,
            dead_bytes=file.dead_bytes,
            commit=file.commit_number,
            checkpoint_commit=file.covers,
            generation=file.generation,
            head_digest=file.head_digest.hex(),
            segments=len(file.segments()),
            records={name: count for name, count in counted.items() if count},
            units=views.units.count,
            terms=sum(1 for _ in views.bm25.terms()),
            spaces=tuple(f"{space.model} ({space.dim} dimensions)" for _, space in spaces),
            views_rebuilt=views.rebuilt,
            unreadable=views.unreadable + len(store.damaged),
            space=space,
            backup_error=backup_error,
            upkeep_error=store.upkeep_error,
            maintenance_error=maintenance_error,
            redacted=sum(getattr(store.record(id_), "redacted", 0) for _, id_ in store.members(REDACTED)),
        )
