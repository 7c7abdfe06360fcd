"""`db.notes`: the life of notes. `db.remember` writes them, `db.recall` finds them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memhop.api import convert, note_listing, results
from memhop.api.erasure import Erasure, check_erasable
from memhop.api.namespace import Namespace, cursor_of, place_of
from memhop.api.note_changes import PURGED, Changes, wanted_fields
from memhop.api.note_draft import link_type, links_of, tags_of
from memhop.api.note_history import versions
from memhop.common.clock import to_ms
from memhop.common.config import LIMITS, check_choice, check_flag, check_int, check_name, check_names, check_project
from memhop.common.errors import InvalidRequest, NotFound
from memhop.common.ids import from_hex, to_hex
from memhop.repo.l4_note import RELATED, Note, external_note
from memhop.repo.record import Kind, Tier, linked_to, project_key

_TIERS = {**{tier.label: tier for tier in Tier}, "all": None}
_LINK_CHARS = 120  # shown of the other end of a link


class Notes(Namespace):
    """L4 notes. Every change returns `results.Changed`: whether it changed anything, and if not, why.

    Where a call takes `expected_rev`, it raises Conflict, and writes nothing, if the note has another revision.
    """

    # -- reading ---------------------------------------------------------------------------------------------

    def get(self, id: str, *, project: str | None = None) -> results.Note:
        """The note, whatever its tier.

        Args:
            project: It must be in this one. None: no matter.

        Raises:
            NotFound: no note has this id, or it is in another project. InvalidRequest: an argument does not do.
        """
        note = self._store.get(Note, from_hex(id))
        if project is not None and project_key(note.project) != project_key(check_project(project)):
            raise NotFound(f"note {to_hex(note.id)} is in the project {note.project!r}", field="project")
        return self._convert(note)

    def find(self, external_id: str, *, project: str = "default") -> results.Note | None:
        """The note that the host, or what it was imported from, calls so in a project, whatever its tier.

        Returns:
            None: there is none.

        Raises:
            InvalidRequest: an argument does not do.
        """
        group = external_note(check_project(project), check_name(external_id, field="external_id"))
        found = self._store.listed(Note, group, limit=1)
        return self._convert(found[0][1]) if found else None

    def list(
        self,
        *,
        project: str | None = None,
        kinds: Iterable[str] | None = None,
        statuses: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        tier: str = "active",
        pinned: bool | None = None,
        sort: str = "updated",
        newest_first: bool = True,
        limit: int | None = None,
        cursor: str | None = None,
        since: object = None,
        until: object = None,
    ) -> results.Page:
        """Notes by time, page by page.

        Args:
            project: Only of this one. None: of all.
            kinds, statuses: Only of these; the status "" means none. None: of all.
            tags: Only notes that have all of these.
            tier: "active", "archived", "trashed" or "all".
            pinned: Only pinned ones, or only others.
            sort: "updated": by last change; "at": by when it was so; "created": by when it was written down.
            limit: Most notes of a page, 1..1000. None: `[recall] page` of the configuration.
            cursor: `next` of the page before, for the same arguments.
            since, until: Bounds of the time that is sorted by, `until` exclusive; int ms or aware datetime.

        Returns:
            A page. `total` is exact, and None where tags, `pinned`, `since` or `until` are given. A page may be shorter
            than `limit`, though `next` leads on, where 10,000 notes were looked at for it.

        Cost: by last change, 1 to 3 ms whatever the number of notes; else the same where the filters leave most.
        """
        wanted = note_listing.Wanted(
            project=None if project is None else check_project(project),
            kinds=frozenset(_names(kinds, "kinds")),
            statuses=frozenset(_names(statuses, "statuses", blank=True)),
            tags=() if tags is None else tags_of(_listed(tags, "tags"), field="tags"),
            tier=_TIERS[check_choice(tier, field="tier", choices=tuple(_TIERS))],
            pinned=None if pinned is None else check_flag(pinned, field="pinned"),
            sort=check_choice(sort, field="sort", choices=note_listing.SORTS),
            newest_first=check_flag(newest_first, field="newest_first"),
            since=None if since is None else to_ms(since, field="since"),
            until=None if until is None else to_ms(until, field="until"),
        )
        most = self._page_size(limit)
        after = place_of(cursor)
        store = self._store
        found = note_listing.page(store, wanted, after=after, limit=most)
        return results.Page(
            items=tuple(map(self._convert, found.notes)),
            next=None if found.after is None else cursor_of(found.after),
            damaged=found.damaged,
            total=found.total,
        )

    def duplicates(
        self, *, project: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> results.Page:
        """Pairs of notes in force that say nearly the same, by their newer one, the newest first. Changes nothing.

        Link the two, and they are no longer proposed: with "supersedes" the newer takes the older one's place, with
        "related" both stay. Only notes of one project and kind are compared.

        Args:
            project: Only of this one. None: of all.
            limit: Most pairs of a page, 1..1000, and those of its last note. None: `[recall] page` of the config.

        Returns:
            A page of `results.Duplicate`; it may be short or empty, though `next` leads on: 500 notes are looked at,
            fewer where they are long.

        Cost: for each note as for a question in its words, about 0.3 ms in a memory of thousands.
        """
        from memhop.api.note_duplicates import page

        wanted = None if project is None else check_project(project)
        most, after = self._page_size(limit), place_of(cursor)
        found, place = page(self._store, wanted, after, most)
        return results.Page(tuple(found), None if place is None else cursor_of(place))

    def links(self, id: str, *, limit: int | None = None, cursor: str | None = None) -> results.Page:
        """The links of a note: its own on the first page, then those of other notes to it, by their time.

        Returns:
            A page of `results.NoteLink`.

        Raises:
            NotFound: no note has this id.
        """
        most = self._page_size(limit)
        after = place_of(cursor)
        store = self._store
        note = store.get(Note, from_hex(id))
        found = [] if after else [self._link(type_, other, outgoing=True) for type_, other in note.typed_links()]
        with store.lock:
            places = store.places(linked_to(note.id), after=after, limit=most + 1)
            naming = store.at_places(Note, places[:most])
        for _, other in naming:
            found += [
                self._link(type_, other.id, outgoing=False)
                for type_, target in other.typed_links()
                if target == note.id
            ]
        return results.Page(tuple(found), cursor_of(places[most - 1]) if len(places) > most else None)

    def history(self, id: str, *, limit: int | None = None, cursor: str | None = None) -> results.Page:
        """The revisions of a note, newest first: who made them, when, by what act, and what they changed.

        Kept are the last 200, and of large notes those that fit 32 KiB, the last one in any case; also through
        compaction. Erasing the note erases them.

        Returns:
            A page of `results.NoteRevision`; `total` is None.

        Raises:
            NotFound: no note has this id.

        Cost: reads all revisions that are newer than the last one of the page.
        """
        most = self._page_size(limit)
        place = place_of(cursor)
        store = self._store
        found = []
        with store.lock:
            note = store.get(Note, from_hex(id))
            for version in versions(store, note, below=None if place is None else place[0]):
                found.append(version)
                if len(found) > most:
                    break
        more = len(found) > most
        return results.Page(tuple(found[:most]), cursor_of((found[most - 1].rev, note.id)) if more else None)

    # -- changing --------------------------------------------------------------------------------------------

    def update(
        self,
        id: str,
        *,
        text: str | None = None,
        kind: str | None = None,
        status: str | None = None,
        tags: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        links: Iterable[Any] | None = None,
        source: str | None = None,
        at: object = None,
        expected_rev: int | None = None,
        replace_metadata: bool = False,
    ) -> results.Changed:
        """Edit a note that is active or archived. None: the field stays as it is.

        Args:
            text, kind, tags, links, at: As for `remember`; `tags` and `links` take the place of those there are.
            status: "": the default one of the kind. With another kind and no status, a status that the new kind does
                not know becomes its default, and the reason says so.
            metadata: Merged into what is there, key by key; null takes a key away, or sets it to the kind's default.
            source: "": none.
            expected_rev: The revision the caller has seen.
            replace_metadata: `metadata` takes the place of what is there.

        Raises:
            NotFound: no note has this id, or a link names nothing. Conflict: see above. InvalidRequest: an argument
            does not do, a status is not of the kind, a required key would be missing. Nothing is written then.
        """
        id_ = from_hex(id)
        store = self._store
        project = store.get(Note, id_).project
        given = {
            "text": text,
            "kind": kind,
            "status": status,
            "tags": None if tags is None else _listed(tags, "tags"),
            "metadata": metadata,
            "links": None if links is None else links_of(_listed(links, "links"), field="links"),
            "source": source,
            "at": at,
        }
        replaces = check_flag(replace_metadata, field="replace_metadata")
        kept, redacted = self._db._guard.metadata(given, field="", project=project)
        wanted = wanted_fields(kept, now_ms=store.clock.now_ms())
        with store.writing() as batch:
            changes = Changes(store, batch, self._db._schemas)
            note = changes.note(id_, expected_rev)
            return changes.edit(note, wanted, replace_metadata=replaces, redacted=redacted)

    def revert(self, id: str, rev: int, *, expected_rev: int | None = None) -> results.Changed:
        """Give a note the text, kind, status, tags, metadata, links, source and time of one of its revisions.

        Its tier, pin and project stay. Links to what is gone since, and a status its kind no longer knows, are left
        out; the reason says so.

        Raises:
            NotFound: no note has this id, or the revision is not kept. Conflict: see above.
        """
        id_, rev = from_hex(id), check_int(rev, field="rev", low=1, high=2**62)
        store = self._store
        with store.writing() as batch:
            changes = Changes(store, batch, self._db._schemas)
            return changes.revert(changes.note(id_, expected_rev), rev)

    def archive(self, id: str) -> results.Changed:
        """Put a note aside: kept, and found only where archived ones are asked for. Out of the trash, too."""
        return self._move(id, Changes.archive)

    def unarchive(self, id: str) -> results.Changed:
        """Make an archived note active. One in the trash stays there, and would come back active."""
        return self._move(id, Changes.unarchive)

    def trash(self, id: str) -> results.Changed:
        """Move a note to the trash, as `db.forget` does."""
        return self._move(id, Changes.trash)

    def restore(self, id: str) -> results.Changed:
        """Take a note out of the trash, active or archived as it was."""
        return self._move(id, Changes.restore)

    def pin(self, id: str) -> results.Changed:
        """Keep a note from everything that happens by itself: retention leaves it alone."""
        return self._move(id, lambda changes, note: changes.pin(note, True))

    def unpin(self, id: str) -> results.Changed:
        """Take the pin away."""
        return self._move(id, lambda changes, note: changes.pin(note, False))

    def link(self, id: str, target: str, type: str = RELATED) -> results.Changed:
        """Link a note to another record.

        Args:
            target: Any record's id; with "supersedes" a note's.
            type: related, supersedes, fixes, causes, part_of or depends_on. "supersedes" marks the target as
                superseded in the same commit: `superseded_by`, and its status where its kind knows "superseded" and
                it has not come to an end another way. It is in force again when the link or this note goes.

        Raises:
            NotFound: one of them is not there. InvalidRequest: a link to itself, or a circle of notes that supersede
            each other.
        """
        link = link_type(type, field="type"), from_hex(target, field="target")
        return self._move(id, lambda changes, note: changes.link(note, link))

    def unlink(self, id: str, target: str, type: str | None = None) -> results.Changed:
        """Take a link away; with `type` None all links to `target`."""
        chosen = None if type is None else link_type(type, field="type")
        gone = from_hex(target, field="target")
        return self._move(id, lambda changes, note: changes.unlink(note, gone, chosen))

    def purge(self, id: str, *, force: bool = False) -> results.Changed:
        """Erase a note in the trash for good, with its revisions and what was made of it; see `db.forget`.

        Args:
            force: Wherever it is.

        Raises:
            NotFound: no note has this id. InvalidRequest: it is not in the trash, and `force` is not given.
        """
        id_, forced = from_hex(id), check_flag(force, field="force")
        store = self._store
        with store.writing() as batch:
            if check_erasable(store, id_) is not Kind.NOTE:
                raise NotFound(f"no note has the id {to_hex(id_)}", field="id")
            note = batch.find(Note, id_)
            if not forced and (note is None or note.tier != Tier.TRASHED):
                where = "damaged" if note is None else Tier(note.tier).label
                raise InvalidRequest(f"the note is {where}, not in the trash", field="force", allowed="force=True")
            erasure = Erasure(store, batch)
            erasure.erase([id_])
            reason = "; ".join(("erased; compact() removes the bytes", *erasure.remarks()))
            return results.Changed(to_hex(id_), True, PURGED, note.rev if note else 0, reason)

    # -- shared ----------------------------------------------------------------------------------------------

    def _move(self, id: str, act: Any) -> results.Changed:
        id_ = from_hex(id)
        store = self._store
        with store.writing() as batch:
            changes = Changes(store, batch, self._db._schemas)
            done: results.Changed = act(changes, changes.note(id_))
            return done

    def _page_size(self, limit: int | None) -> int:
        if limit is None:
            return self._db._config.recall.page
        return check_int(limit, field="limit", low=1, high=LIMITS.results)

    def _link(self, type_: str, other: int, *, outgoing: bool) -> results.NoteLink:
        record = self._store.record(other)
        located = self._store.file.locate(other)
        kind = Kind(located[0]).name.lower() if located is not None else "unknown"
        tier = None
        if isinstance(record, Note):
            kind, tier = record.kind, Tier(record.tier).label
        text = next(
            (str(value) for name in ("text", "title", "name", "summary") if (value := getattr(record, name, ""))), ""
        )
        return results.NoteLink(to_hex(other), type_, outgoing, kind, text[:_LINK_CHARS], tier)

    def _convert(self, note: Note) -> results.Note:
        usage = self._store.usage(note.id)
        return convert.note(note, copies=usage.copies if usage else 0)


def _listed(value: Any, field: str) -> Any:
    """An iterable as a list; what would be taken apart is left for the check to refuse."""
    if isinstance(value, list | tuple | str | bytes | Mapping) or not isinstance(value, Iterable):
        return value
    return list(value)


def _names(value: Any, field: str, *, blank: bool = False) -> tuple[str, ...]:
    if value is None:
        return ()
    listed = _listed(value, field)
    if blank and isinstance(listed, list | tuple):
        named = [item for item in listed if item != ""]
        return (*check_names(named, field=field, most=LIMITS.results), *("" for item in listed if item == ""))
    return check_names(listed, field=field, most=LIMITS.results)
