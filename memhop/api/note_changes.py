"""What becomes of notes: edits, moves between tiers, pins, links. Each is one commit and one revision.

    from \\ to    trash       restore        archive     unarchive       edit, pin, link   purge     purge, force
    active       trashed     -              archived    -               done              refused   gone
    archived     trashed     -              -           active          done              refused   gone
    trashed      -           where it was   archived    stays trashed   -                 gone      gone

"-": nothing changes, and the reason says why. A trashed note that was archived comes back archived, unless `unarchive`
has taken that mark away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memhop.api import results
from memhop.api.note_draft import Links, tags_of
from memhop.api.note_history import state_at
from memhop.api.note_writing import check_links, check_own_links
from memhop.common.clock import time_or_now
from memhop.common.config import LIMITS, check_int, check_metadata, check_name, check_text
from memhop.common.errors import Conflict, InvalidRequest, NotFound
from memhop.common.ids import to_hex
from memhop.repo.l4_note import Note, link_fields
from memhop.repo.l4_revision import revise
from memhop.repo.l4_supersession import settle
from memhop.repo.record import Tier

if TYPE_CHECKING:
    from memhop.repo.batch import Batch
    from memhop.repo.schema import Schemas
    from memhop.repo.store import Store

IN_TRASH = "it is in the trash; restore it first"
PURGED = "purged"


def changed(note: Note, did: bool, reason: str) -> results.Changed:
    return results.Changed(to_hex(note.id), did, Tier(note.tier).label, note.rev, reason)


class Changes:
    """The changes of one commit.

    Attributes:
        batch: Where they go.
    """

    def __init__(self, store: Store, batch: Batch, schemas: Schemas) -> None:
        self.batch = batch
        self._schemas = schemas
        self._actor = store.actor
        self._now = store.clock.now_ms()

    def note(self, id_: int, expected_rev: int | None = None) -> Note:
        """The note as the batch leaves it.

        Raises:
            NotFound: there is none. Conflict: it has another revision than the caller expects.
        """
        note = self.batch.find(Note, id_)
        if note is None:
            raise NotFound(f"no note has the id {to_hex(id_)}", field="id")
        if expected_rev is not None and check_int(expected_rev, field="expected_rev", low=1, high=2**62) != note.rev:
            raise Conflict(f"note {to_hex(id_)} was changed since revision {expected_rev}", rev=note.rev)
        return note

    def to(self, note: Note, act: str, **fields: Any) -> Note:
        """The note with other fields, and what it supersedes brought up to date."""
        revised = revise(self.batch, note, act=act, actor=self._actor, now_ms=self._now, **fields)
        if revised is not note:
            settle(self.batch, note, revised, schemas=self._schemas, actor=self._actor, now_ms=self._now)
            revised = self.batch.find(Note, note.id) or revised
        return revised

    # -- tiers -----------------------------------------------------------------------------------------------

    def trash(self, note: Note) -> results.Changed:
        if note.tier == Tier.TRASHED:
            return changed(note, False, "it was in the trash already")
        trashed = self.to(note, "trash", tier=int(Tier.TRASHED))
        return changed(trashed, True, "moved to the trash; recall finds it with tier='trashed' only")

    def restore(self, note: Note) -> results.Changed:
        if note.tier != Tier.TRASHED:
            return changed(note, False, "it is not in the trash")
        tier = Tier.ARCHIVED if note.archived_at else Tier.ACTIVE
        return changed(self.to(note, "restore", tier=int(tier)), True, f"out of the trash, {tier.label} again")

    def archive(self, note: Note) -> results.Changed:
        if note.tier == Tier.ARCHIVED:
            return changed(note, False, "it was archived already")
        done = (
            "out of the trash and archived"
            if note.tier == Tier.TRASHED
            else "archived; recall finds it with tier='archived' only"
        )
        return changed(self.to(note, "archive", tier=int(Tier.ARCHIVED)), True, done)

    def unarchive(self, note: Note) -> results.Changed:
        if not note.archived_at and note.tier != Tier.ARCHIVED:
            return changed(note, False, IN_TRASH if note.tier == Tier.TRASHED else "it is not archived")
        if note.tier == Tier.TRASHED:
            left = self.to(note, "unarchive", archived_at=0)
            return changed(left, True, "it stays in the trash, and would come back active")
        return changed(self.to(note, "unarchive", tier=int(Tier.ACTIVE)), True, "active again")

    def pin(self, note: Note, pinned: bool) -> results.Changed:
        if note.tier == Tier.TRASHED:
            return changed(note, False, IN_TRASH)
        if note.pinned == pinned:
            return changed(note, False, "it was pinned already" if pinned else "it is not pinned")
        return changed(
            self.to(note, "pin" if pinned else "unpin", pinned=pinned), True, "pinned" if pinned else "no longer pinned"
        )

    # -- links -----------------------------------------------------------------------------------------------

    def link(self, note: Note, link: tuple[str, int]) -> results.Changed:
        check_links(self.batch, (link,), field="target")
        check_own_links(self.batch, note.id, (link,), field="target")
        if note.tier == Tier.TRASHED:
            return changed(note, False, IN_TRASH)
        links = note.typed_links()
        if link in links:
            return changed(note, False, f"it is linked so already ({link[0]})")
        if len(links) >= LIMITS.links:
            raise InvalidRequest("it has too many links", field="target", allowed=f"at most {LIMITS.links} of one note")
        return changed(self.to(note, "link", **link_fields((*links, link))), True, f"linked ({link[0]})")

    def unlink(self, note: Note, target: int, type_: str | None) -> results.Changed:
        if note.tier == Tier.TRASHED:
            return changed(note, False, IN_TRASH)
        links = note.typed_links()
        left = tuple(link for link in links if link[1] != target or type_ not in (None, link[0]))
        if len(left) == len(links):
            return changed(note, False, "it is not linked so")
        return changed(self.to(note, "unlink", **link_fields(left)), True, f"{len(links) - len(left)} links taken away")

    # -- edits -----------------------------------------------------------------------------------------------

    def edit(
        self, note: Note, wanted: Mapping[str, Any], *, replace_metadata: bool = False, redacted: int = 0
    ) -> results.Changed:
        """Set fields to checked values.

        Args:
            wanted: Fields of the note; "links" are (type, id) pairs.
            redacted: How much was taken out of them.
        """
        if note.tier == Tier.TRASHED:
            return changed(note, False, IN_TRASH)
        if not wanted:
            return changed(note, False, "nothing was to be changed")
        fields, remarks = self.fields(note, wanted, replace_metadata=replace_metadata)
        act = _act_of(note, fields)
        if redacted and any(getattr(note, name) != value for name, value in fields.items()):
            fields["redacted"] = note.redacted + redacted
        revised = self.to(note, act, **fields)
        if revised is note:
            return changed(note, False, "it says that already")
        fields.pop("redacted", None)
        names = [name for name in fields if name != "link_types" and getattr(note, name) != getattr(revised, name)]
        if "links" not in names and note.link_types != revised.link_types:
            names.append("links")
        return changed(revised, True, "; ".join((f"{', '.join(names)} changed", *remarks)))

    def revert(self, note: Note, rev: int) -> results.Changed:
        """Back to what a revision said."""
        if note.tier == Tier.TRASHED:
            return changed(note, False, IN_TRASH)
        if rev == note.rev:
            return changed(note, False, f"revision {rev} is what it is")
        fields, remarks = state_at(self.batch, note, rev), [f"as revision {rev} was"]
        schema = self._schemas.of(note.project, fields["kind"])
        if schema.statuses and fields["status"] not in schema.statuses:
            remarks.append(f"its status {fields['status']!r} is not known any more")
            fields["status"] = schema.status
        links: Links = fields.pop("links")
        kept = tuple(link for link in links if self.batch.kind_of(link[1]) is not None)
        if len(kept) < len(links):
            remarks.append(f"{len(links) - len(kept)} links to what is gone are left out")
        check_own_links(self.batch, note.id, kept, field="rev")
        fields |= link_fields(kept)
        revised = self.to(note, "revert", **fields)
        if revised is note:
            return changed(note, False, "; ".join((f"nothing differs from revision {rev}", *remarks[1:])))
        return changed(revised, True, "; ".join(remarks))

    def fields(
        self, note: Note, wanted: Mapping[str, Any], *, replace_metadata: bool
    ) -> tuple[dict[str, Any], list[str]]:
        """What an edit comes to under the rules of the kind, and what is to be said of it."""
        fields, remarks = dict(wanted), []
        kind = fields.get("kind", note.kind)
        schema = self._schemas.of(note.project, kind)
        if kind != note.kind:
            schema = self._schemas.check_kind(note.project, kind)
        if "status" in fields:
            fields["status"] = schema.check_status(fields["status"], kind=kind)
        elif schema.statuses and note.status not in schema.statuses and kind != note.kind:
            fields["status"] = schema.status
            remarks.append(f"{note.status or 'no status'!r} is no status of a {kind}, which now is {schema.status!r}")
        if "metadata" in fields or kind != note.kind:
            given = fields.get("metadata", {})
            merged = given if replace_metadata else {**note.metadata, **given}
            dropped = {key for key, value in given.items() if value is None}
            kept = {key: value for key, value in merged.items() if key not in dropped}
            fields["metadata"] = check_metadata(schema.fill(kept, kind=kind))
        if "links" in fields:
            linked: Links = fields.pop("links")
            check_links(self.batch, linked, field="links")
            check_own_links(self.batch, note.id, linked, field="links")
            fields |= link_fields(linked)
        return fields, remarks


def wanted_fields(given: Mapping[str, Any], *, now_ms: int) -> dict[str, Any]:
    """Arguments of an edit, checked; None: it stays as it is."""
    checks: dict[str, Any] = {
        "text": check_text,
        "kind": check_name,
        "status": _check_blank,
        "tags": tags_of,
        "metadata": check_metadata,
        "source": _check_blank,
    }
    wanted = {
        name: checks[name](value, field=name) for name, value in given.items() if name in checks and value is not None
    }
    if given.get("at") is not None:
        wanted["at"] = time_or_now(given["at"], field="at", now_ms=now_ms)
    if given.get("links") is not None:
        wanted["links"] = given["links"]
    return wanted


def _check_blank(value: object, *, field: str) -> str:
    return "" if value == "" else check_name(value, field=field)


def _act_of(note: Note, fields: Mapping[str, Any]) -> str:
    names = {name for name, value in fields.items() if getattr(note, name) != value}
    if names == {"status"}:
        return "status"
    if names == {"tags"}:
        return "tags"
    if names and names <= {"links", "link_types"}:
        return "link"
    return "edit"
