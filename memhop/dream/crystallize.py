"""Crystallize: draft capability cards from what the agent did in one session.

    steps of the session, known cards -> (model, or the offline form) -> proposals -> checks -> one commit

A model is asked without any lock held. What it proposes is a stranger's word, steered perhaps by a text that some tool
returned; so the rules below are kept here, by code, and nothing in a proposal can lift them:

    create   a card that `repo/card.py` takes becomes a draft, which is offered to nobody before the host activates it;
             if there is a card of that name already, that one is reused, and nothing is written
    reuse    nothing is written
    merge    a draft says what the proposal says; an active card only if the *caller* approves of it; one that is
             deprecated, or comes with MemHop, never does. What it said before is in the log, at the commit before
    skip     nothing is written

A card that another call changed while the model was thinking is left alone, and if steps were deleted meanwhile, all
proposals are dropped: they may hold words that were just erased. For the same reason a card names the messages that its
steps name: it goes when one of them is erased.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from memhop.common.errors import InvalidRequest, NotFound
from memhop.common.ids import from_hex, to_hex
from memhop.repo.builtin import builtin_cards
from memhop.repo.card import checked, definition
from memhop.repo.l5_capability import CARD_FORMAT, Capability, capability_id, redefined
from memhop.repo.l7_trajectory import Event, events_of
from memhop.repo.record import Kind, all_of

if TYPE_CHECKING:
    from memhop.dream.pipeline import Ledger
    from memhop.models.chat import ChatModel
    from memhop.models.material import CardProposal
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store

MOST_STEPS = 2_000  # the newest of a session are read
MOST_CARDS = 200  # known cards that are shown, the last changed
MOST_PROPOSALS = 20  # of one reply
REASON_CHARS = 300
_KNOWN = ("active", "draft")


class Outcome(NamedTuple):
    """What became of one proposal; `id` is 0 if there is no card."""

    name: str
    action: str
    id: int
    reason: str


class Crystals(NamedTuple):
    """What came of a session. `commit` is the newest one before this."""

    steps: int
    left_out: int
    outcomes: tuple[Outcome, ...]
    errors: tuple[str, ...]
    model_calls: int
    commit: int


def crystallize(store: Store, ledger: Ledger, session: str, *, approve: bool, dry_run: bool) -> Crystals:
    """See `DB.crystallize`. What it costs is written down along with the cards.

    Raises:
        NotFound: the session has no steps. ChatError: the model cannot be used; nothing is written then.
    """
    group = events_of(session)
    with store.lock:
        total = store.views.groups.count(group)
        found = store.listed(Event, group, limit=MOST_STEPS, descending=True)
    events = [event for _, event in reversed(found)]
    if not events:
        raise NotFound(f"no steps of a session {session!r:.60}", field="session")
    known = [card for card in _cards(store) if card.status in _KNOWN][:MOST_CARDS]
    proposals, errors = _proposals(ledger.chat, events, known)
    judge = Judge(store, session, events, {card.id: card for card in known}, approve)
    if dry_run:
        outcomes, commit = [judge.verdict(proposal, None) for proposal in proposals], store.file.commit_number
    else:
        with store.writing() as batch:
            commit = store.file.commit_number
            outcomes = [judge.verdict(proposal, batch) for proposal in proposals]
            ledger.settle(batch)
    return Crystals(
        steps=len(events),
        left_out=total - len(events),
        outcomes=tuple(outcomes),
        errors=(*errors, *judge.errors),
        model_calls=ledger.spent().calls,
        commit=commit,
    )


def _cards(store: Store) -> Iterator[Capability]:
    """Cards of the file, the last changed first."""
    return store.walk(Capability, all_of(Kind.CAPABILITY), descending=True)


def _proposals(
    chat: ChatModel | None, events: list[Event], known: list[Capability]
) -> tuple[list[CardProposal], list[str]]:
    """What is proposed, and what of the reply did not do."""
    from memhop.models import offline, tasks

    steps = [tasks.Step(seq=event.seq, type=event.type, payload=event.payload) for event in events]
    cards = [definition(card) | {"id": to_hex(card.id), "status": card.status} for card in known]
    if chat is None:
        return list(offline.crystallize(steps, cards))[:MOST_PROPOSALS], []
    answer = tasks.crystallize(chat, steps, cards)
    errors = [f"{count} left out: {reason}" for reason, count in sorted(answer.refused.items())]
    if len(answer.value) > MOST_PROPOSALS:
        errors.append(f"{len(answer.value) - MOST_PROPOSALS} left out: more than {MOST_PROPOSALS} proposals")
    return list(answer.value)[:MOST_PROPOSALS], errors


class Judge:
    """Judges proposals one after another. `known`: the cards the proposals were made on, by id."""

    def __init__(
        self, store: Store, session: str, events: list[Event], known: dict[int, Capability], approve: bool
    ) -> None:
        self.errors: list[str] = []
        self._store = store
        self._session = session
        self._known = known
        self._approve = approve
        self._sources = tuple(dict.fromkeys(event.message for event in events if event.message))
        self._events = events
        self._done: set[int] = set()
        self._whole: bool | None = None

    def verdict(self, proposal: CardProposal, batch: Batch | None) -> Outcome:
        """What becomes of a proposal; with a batch, it is written there."""
        name = _line(proposal.card.get("name") or proposal.target or "")
        action, why = proposal.action, _line(proposal.reason)
        if action not in ("create", "reuse", "merge"):
            return Outcome(name, "skip", 0, why or "nothing to do")
        if not self._still_there():
            return Outcome(name, "skip", 0, "steps of the session were deleted meanwhile")
        target = self._target(proposal)
        if target is not None:
            name = target.name
        id_ = (target.id or capability_id(target.name)) if target is not None else 0
        if id_ and id_ in self._done:
            return Outcome(name, "skip", id_, "proposed twice")
        if target is None and not proposal.card:
            return Outcome(name, "skip", 0, "there is no such card")
        if target is not None and action != "merge":
            self._done.add(id_)
            return Outcome(name, "reuse", id_, why or "there is such a card")
        if target is not None and (refusal := self._refusal(target)):
            return Outcome(name, "skip", id_, refusal)
        try:
            card = self._card(proposal, target)
        except InvalidRequest as error:
            self.errors.append(_line(f"{name}: {error}"))
            return Outcome(name, "skip", id_, _line(f"no card: {error}"))
        if target is not None and card == target:
            return Outcome(name, "reuse", id_, why or "it says the same already")
        id_ = id_ or capability_id(card.name)
        if id_ in self._done:
            return Outcome(card.name, "skip", id_, "proposed twice")
        located = self._store.file.locate(id_)
        if target is None and located is not None:
            return Outcome(name, "skip", 0, "its id is that of another record")
        self._done.add(id_)
        if batch is not None:
            batch.put(card, id_)
        return Outcome(card.name, "create" if target is None else "merge", id_, why)

    def _still_there(self) -> bool:
        if self._whole is None:
            self._whole = all(self._store.readable(Event, event.id) == event for event in self._events)
        return self._whole

    def _target(self, proposal: CardProposal) -> Capability | None:
        """The card that is meant: of the proposal's own name, else the one it names by name or id."""
        for named in (proposal.card.get("name"), proposal.target if proposal.action != "create" else None):
            if not isinstance(named, str) or not named.strip():
                continue
            ids = [capability_id(named)]
            with suppress(InvalidRequest):
                ids.append(from_hex(named))
            for id_ in ids:
                card = self._store.readable(Capability, id_)
                if card is not None:
                    return card
            for card in builtin_cards():
                if capability_id(card.name) in ids:
                    return card
        return None

    def _refusal(self, target: Capability) -> str:
        """Why a card is not merged into; "" if it may be."""
        if not target.id:
            return "it comes with MemHop and is read-only"
        if target.status not in _KNOWN:
            return f"it is {target.status}"
        if target.status == "active" and not self._approve:
            return "it is active: needs approve"
        if self._known.get(target.id) != target:
            return "it was changed meanwhile"
        return ""

    def _card(self, proposal: CardProposal, target: Capability | None) -> Capability:
        """The card as it would be written, checked whole. Raises InvalidRequest."""
        before = {} if target is None else definition(target)
        before.pop("translations", None)  # of words that are no longer there
        named = {} if target is None else {"name": target.name}
        card = checked({**before, **proposal.card, **named, "format": CARD_FORMAT}).card
        if target is not None:
            changed = redefined(target, card)
            if changed is target:
                return target
            sources = tuple(dict.fromkeys((*target.sources, *self._sources)))
            now = self._store.clock.now_ms()
            return msgspec.structs.replace(changed, session=self._session, sources=sources, updated_at=now)
        now = self._store.clock.now_ms()
        return msgspec.structs.replace(
            card,
            status="draft",
            origin="crystallized",
            session=self._session,
            sources=self._sources,
            created_at=now,
            updated_at=now,
        )


def _line(text: object) -> str:
    """One line for people."""
    return " ".join(str(text).encode("utf-8", "replace").decode("utf-8").split())[:REASON_CHARS]
