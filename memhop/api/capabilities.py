"""`db.capabilities`: L5."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from memhop.api import convert, results
from memhop.api.namespace import Namespace, cursor_of, guarded, place_of
from memhop.common.config import LIMITS, check_choice, check_int, check_name, check_text
from memhop.common.errors import InvalidRequest, NotFound, StorageError
from memhop.common.ids import from_hex
from memhop.repo import card as cards
from memhop.repo.builtin import builtin_cards
from memhop.repo.l4_note import Note
from memhop.repo.l5_capability import BECOMES, ORIGINS, STATUSES, TYPES, Capability, capability_id, redefined
from memhop.repo.l6_usage import usage_id
from memhop.repo.record import Kind, all_of, linked_to
from memhop.repo.references import without

if TYPE_CHECKING:
    from memhop.api.card_source import Source
    from memhop.api.redaction import Guard
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store

_PAGE = 1_000


class Capabilities(Namespace):
    """L5: what the agent knows how to do. Cards that come with MemHop are read-only and in no file.

    A card is named by its name, case ignored, or by its id. A card of the file hides the one of the same name that
    comes with MemHop.
    """

    def import_(self, source: str | os.PathLike[str] | Mapping[str, Any]) -> results.ImportedCards:
        """Take cards over, in one commit. They are active at once, for the host has chosen them.

        Args:
            source: The path of a card, at most 256 KiB; of a folder with `capability.json`, or else all its `*.json`;
                JSON text, which begins with "{"; or a dict. The format is in `memhop/repo/card.py`.

        Returns:
            Each card with what became of it. The same bytes once more change nothing. Others replace what the card of
            that name says; its statistics stay, and a deprecated one stays deprecated. Of a folder with several
            files, those that are no card are listed in `errors`, and the others are taken over.

        Raises:
            InvalidRequest: what was to be a single card is none, or a link, a pipe, a device, too large; `field` is the
                path in the card. Nothing is written then. StorageError: the file is missing or cannot be read.
        """
        from memhop.api.card_source import sources

        guard = self._db._guard
        several, found = sources(source)
        fit: dict[int, tuple[Source, cards.Checked]] = {}
        refused: list[results.RefusedCard] = []
        for item in found:
            try:
                fits = _card_of(item, guard)
                first = fit.setdefault(capability_id(fits.card.name), (item, fits))[0]
                if first is not item:
                    raise InvalidRequest(f"{first.name} has a card of this name", field="name", allowed="one each")
            except InvalidRequest as error:
                if not several:
                    raise
                refused.append(results.RefusedCard(item.name, error.field, str(error)))
        store = self._store
        done = []
        with store.writing() as batch:
            for item, (card, remarks) in fit.values():
                action, record = _taken_over(store, batch, card, item.digest)
                done.append(results.ImportedCard(item.name, action, convert.capability(record), remarks))
        return results.ImportedCards(tuple(done), tuple(refused))

    def get(self, name: str, *, language: str | None = None) -> results.Capability:
        """The card of this name or id.

        Args:
            language: Of its texts, such as "zh"; what is not translated is as it was written. None: all of it.

        Raises:
            NotFound: there is none. InvalidRequest: no name.
        """
        return convert.capability(_found(self._store, name), _language(language))

    def list(
        self,
        *,
        status: str | None = None,
        type: str | None = None,
        origin: str | None = None,
        keyword: str | None = None,
        language: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> results.Page:
        """Cards of the file, the last changed first, then those that come with MemHop, by name.

        Args:
            status: draft, active or deprecated. type: mcp, skill or composite. None: all.
            origin: imported, crystallized or builtin. None: all.
            keyword: Only cards whose name, summary or trigger has it, in any language, case ignored.
            language: Of the texts; see `get`.
            limit: Most cards of the page, 1..1000. cursor: `next` of the page before.

        Raises:
            InvalidRequest: an argument does not do.

        Cost: a page without filters reads its cards; with filters, all cards up to the last one on it.
        """
        most = check_int(limit, field="limit", low=1, high=LIMITS.results)
        passes = _filter(status, type, origin, keyword)
        shown_in = _language(language)
        page: list[Capability] = []
        places: list[tuple[int, int]] = []
        damaged = 0
        for place, card in _from(self._store, place_of(cursor)):
            if card is None:
                damaged += 1
            elif passes(card):
                page.append(card)
                places.append(place)
                if len(page) > most:
                    break
        more = len(page) > most
        return results.Page(
            items=tuple(convert.capability(card, shown_in) for card in page[:most]),
            next=cursor_of(places[most - 1]) if more else None,
            damaged=damaged,
        )

    def match(self, text: str, *, limit: int = 3, language: str | None = None) -> tuple[results.CardMatch, ...]:
        """Active cards that fit a text, best first: what `search` returns as `capabilities`. Counts no use.

        Args:
            text: What the user said or the agent is about to do; any language.
            limit: Most cards, 1..100.
            language: Of the cards' texts. None: Chinese for a text with Han characters where a card has it, else as
                they were written.

        Raises:
            InvalidRequest: an argument does not do.

        Cost: under a millisecond, and as a recall of the text among cards alone.
        """
        from memhop.search.cards import language_of, matching

        words = check_text(text, field="text")
        found = matching(self._store, words, limit=check_int(limit, field="limit", low=1, high=100))
        shown_in = _language(language) or language_of(words)
        return tuple(
            results.CardMatch(
                card=convert.capability(match.card, shown_in), score=match.score, parts=match.parts, terms=match.terms
            )
            for match in found
        )

    @guarded
    def update(
        self,
        name: str,
        *,
        version: str | None = None,
        type: str | None = None,
        summary: str | None = None,
        trigger: str | None = None,
        resources: Sequence[Mapping[str, Any]] | None = None,
        workflow: Mapping[str, Any] | None = None,
        translations: Mapping[str, Any] | None = None,
        status: str | None = None,
    ) -> results.Capability:
        """Change a card. The whole must be a card afterwards.

        Args:
            name: Its name or id; a card cannot be renamed.
            version, type, summary, trigger, resources, workflow, translations: As in a card's JSON. None: keep; "",
                an empty list or dict: clear, where a card may be without it.
            status: "active" for a draft, "deprecated" for an active card; only `activate` brings one back. None: keep.

        Raises:
            InvalidRequest: a value does not do, or the card comes with MemHop. NotFound. Nothing is written then.
        """
        given = {
            "version": version,
            "type": type,
            "summary": summary,
            "trigger": trigger,
            "resources": resources,
            "workflow": workflow,
            "translations": translations,
        }
        patch = {field: value for field, value in given.items() if value is not None}
        if status is not None:
            check_choice(status, field="status", choices=STATUSES)

        def change(card: Capability) -> Capability:
            changed = card
            if patch:
                fits = cards.checked(cards.definition(card) | patch)
                if fits.remarks:
                    raise InvalidRequest("it is not known", field=fits.remarks[0].split()[0], allowed="what a card has")
                changed = redefined(card, fits.card)
            return changed if status is None else _with_status(changed, status)

        return self._changed(name, change)

    def activate(self, name: str) -> results.Capability:
        """Offer a draft, or again a deprecated card. Raises NotFound; InvalidRequest for a card of MemHop."""
        return self._changed(name, lambda card: msgspec.structs.replace(card, status="active"))

    def deprecate(self, name: str) -> results.Capability:
        """Offer an active card no more. It stays, with its statistics.

        Raises:
            InvalidRequest: it is a draft, which can be deleted; or it comes with MemHop. NotFound.
        """
        return self.update(name, status="deprecated")

    def record_usage(self, name: str, success: bool) -> results.Capability:
        """Count that a card was used, and whether that went well: what ranks it among cards that fit equally.

        Raises:
            InvalidRequest: `success` is no bool, or the card comes with MemHop, which keeps no statistics. NotFound.
        """
        if not isinstance(success, bool):
            raise InvalidRequest(f"{success!r:.40} is not allowed", field="success", allowed="True or False")
        now = self._store.clock.now_ms()
        return self._changed(name, lambda card: card.used(success=success, at=now), definition=False)

    def delete(self, name: str) -> bool:
        """Delete a card with its usage counter, and the links of notes to it. False: there is none of this name.

        Raises:
            InvalidRequest: it comes with MemHop. NotFound: an id that names something else.
        """
        store = self._store
        with store.writing() as batch:
            try:
                card = _stored(store, name)
            except NotFound:
                if _as_id(name) and store.file.locate(_as_id(name)) is not None:
                    raise
                return False
            batch.delete(Kind.CAPABILITY, card.id)
            if store.file.locate(usage_id(card.id)) is not None:
                batch.delete(Kind.USAGE, usage_id(card.id))
            for note in store.walk(Note, linked_to(card.id)):
                rest = without(note, {card.id})
                assert rest is not None
                batch.put(rest)
        return True

    def _changed(
        self, name: str, change: Callable[[Capability], Capability], *, definition: bool = True
    ) -> results.Capability:
        """Write what `change` makes of a card, if it is another. `definition`: it then counts as updated now."""
        store = self._store
        with store.writing() as batch:
            before = _stored(store, name)
            after = change(before)
            if after != before:
                if definition:
                    after = msgspec.structs.replace(after, updated_at=store.clock.now_ms())
                batch.put(after)
        return convert.capability(after)


def _found(store: Store, name: str) -> Capability:
    """The card of the file, else the one that comes with MemHop. Raises NotFound."""
    wanted = check_name(name, field="name")
    ids = [id_ for id_ in (_as_id(wanted), capability_id(wanted)) if id_]
    for id_ in ids:
        card = store.find(Capability, id_)
        if card is not None:
            return card
    for card in builtin_cards():
        if capability_id(card.name) in ids:
            return card
    raise NotFound(f"no capability is called {name!r:.60}", field="name")


def _stored(store: Store, name: str) -> Capability:
    """Like `_found`, of the file alone."""
    card = _found(store, name)
    if not card.id:
        raise InvalidRequest(
            f"{card.name!r} comes with MemHop and is read-only", field="name", allowed="a card of this memory"
        )
    return card


def _with_status(card: Capability, status: str) -> Capability:
    allowed = (card.status, *BECOMES.get(card.status, ()))
    if status not in allowed:
        raise InvalidRequest(
            f"{card.name!r:.60} is {card.status} and does not become {status} so",
            field="status",
            allowed=" or ".join(allowed),
            hint="`activate` brings a deprecated card back" if card.status == "deprecated" else None,
        )
    return msgspec.structs.replace(card, status=status)


def _card_of(source: Source, guard: Guard) -> cards.Checked:
    if source.error is not None:
        raise source.error
    return cards.checked(guard.given(source.data, field="card"))


def _taken_over(store: Store, batch: Batch, card: Capability, digest: str) -> tuple[str, Capability]:
    """What becomes of an imported card, and the card as it is then."""
    id_ = capability_id(card.name)
    located = store.file.locate(id_)
    if located is not None and located[0] != Kind.CAPABILITY:
        raise StorageError(f"the id of {card.name!r:.60} is that of another record")
    known = store.readable(Capability, id_)
    now = store.clock.now_ms()
    if known is None:
        return "created", batch.put(
            msgspec.structs.replace(card, file_hash=digest, created_at=now, updated_at=now), id_
        )
    if known.file_hash == digest:
        return "unchanged", known
    status = "deprecated" if known.status == "deprecated" else "active"
    changed = msgspec.structs.replace(
        redefined(known, card),
        status=status,
        origin="imported",
        file_hash=digest,
        session="",
        sources=(),
        updated_at=now,
    )
    if known.sources:  # history would keep words of messages which nobody could find through the card any more
        return "updated", batch.strike(changed)
    return "updated", batch.put(changed)


def _from(store: Store, after: tuple[int, int] | None) -> Iterator[tuple[tuple[int, int], Capability | None]]:
    """All cards behind a place, with theirs; None: it is damaged. Cards without an id stand at (0, 1), (0, 2), …"""
    group = all_of(Kind.CAPABILITY)
    while after is None or after[0]:
        places = store.places(group, after=after, limit=_PAGE, descending=True)
        for place in places:
            yield place, store.readable(Capability, place[1])
        if len(places) < _PAGE:
            break
        after = places[-1]
    seen = after[1] if after is not None and not after[0] else 0
    for number, card in enumerate(builtin_cards()[seen:], seen + 1):
        if store.file.locate(capability_id(card.name)) is None:
            yield (0, number), card


def _filter(
    status: str | None, type_: str | None, origin: str | None, keyword: str | None
) -> Callable[[Capability], bool]:
    wanted = {
        field: check_choice(value, field=field, choices=choices)
        for field, value, choices in (
            ("status", status, STATUSES),
            ("type", type_, TYPES),
            ("origin", origin, ORIGINS),
        )
        if value is not None
    }
    word = None if keyword is None else check_name(keyword, field="keyword").casefold()

    def passes(card: Capability) -> bool:
        if any(getattr(card, field) != value for field, value in wanted.items()):
            return False
        return word is None or any(word in text.casefold() for text in _headings(card))

    return passes


def _headings(card: Capability) -> Iterator[str]:
    yield from (card.name, card.summary, card.trigger)
    for words in card.translations.values():
        yield from (words.summary, words.trigger)


def _as_id(name: object) -> int:
    """The id that a text is, 0 if it is none."""
    try:
        return from_hex(name)
    except InvalidRequest:
        return 0


def _language(value: object) -> str | None:
    return None if value is None else check_name(value, field="language")
