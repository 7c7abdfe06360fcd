"""Projects: the names that notes, messages, scenes and topics are kept apart by.

A project is there as long as something is in it; none is ever created. Names are trimmed, in Unicode form NFC, and
compare without case; a project is spelled as its first members spell it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from memhop.api import results
from memhop.api.namespace import Namespace, guarded, ids_of
from memhop.api.note_changes import Changes
from memhop.api.project_moving import LISTED, Move, belongings, check_size
from memhop.common.config import LIMITS, check_flag, check_int, check_project
from memhop.common.errors import InvalidRequest, NotFound
from memhop.common.ids import to_hex
from memhop.repo.l4_note import Note
from memhop.repo.projects import said, spelled, states
from memhop.repo.record import Kind, Tier, project_key

if TYPE_CHECKING:
    from memhop.repo.schema import KindSchema
    from memhop.repo.store import Store

_CLOSE = 70.0  # of 100, how alike a name must be to be offered in place of an unknown one
_ERASED_AT_ONCE = 500


class Projects(Namespace):
    """Projects as a whole. What is in one is read through the layers, with `project=`."""

    def list(self, *, limit: int = 50, cursor: str | None = None) -> results.Page:
        """Projects (`results.Project`) by name, those with nothing but trash or messages included.

        Cost: reads one note for each kind, status and tier in use, whatever the number of notes.
        """
        limit = check_int(limit, field="limit", low=1, high=LIMITS.results)
        found = summed(self._store)
        if cursor is not None:
            after = project_key(check_project(cursor, field="cursor"))
            found = [project for project in found if project_key(project.name) > after]
        more = len(found) > limit
        return results.Page(items=tuple(found[:limit]), next=found[limit - 1].name if more else None)

    def count(self, name: str) -> results.ProjectCount:
        """What is in a project; zeros where nothing is. Cost: as `list`."""
        name, store = check_project(name, field="name"), self._store
        kinds: dict[str, int] = {}
        tiers = {tier.label: 0 for tier in Tier}
        for state in states(store, name):
            tiers[state.tier.label] += state.size
            if state.tier != Tier.TRASHED:
                kinds[state.kind] = kinds.get(state.kind, 0) + state.size
        messages = sum(entry.size for entry in said(store) if project_key(entry.project) == project_key(name))
        return results.ProjectCount(spelled(store, name), kinds, tiers, sum(kinds.values()), messages)

    def schema(self, name: str) -> dict[str, KindSchema]:
        """The kinds of notes a project knows, by name: the built-in ones and those of the config."""
        return dict(sorted(self._db._schemas.kinds(check_project(name, field="name")).items()))

    @guarded
    def rename(self, old: str, new: str) -> results.Moved:
        """Give a project another name, or spell its name another way. All that is in it goes along, in one commit.

        Args:
            new: No other project's name: two become one with `merge`.

        Raises:
            NotFound: nothing is in `old`; the error names the closest projects.
            InvalidRequest: `new` is another project, or there are more than 100,000 records in it.

        Cost: reads and writes every record of the project, about 30 us each; others wait meanwhile.
        """
        new = self._named(new, field="new")
        old = check_project(old, field="old")
        if project_key(old) != project_key(new) and project_key(new) in known(self._store):
            raise InvalidRequest(f"{new!r} is there already", field="new", allowed="a new name; or use `merge`")
        return self._move_all(old, new, field="old", respelled=True)

    @guarded
    def merge(self, source: str, into: str) -> results.Moved:
        """Move all that is in one project to another, in one commit. The first one is gone then.

        Notes fall to the default status of their kind where the other project does not know theirs.

        Raises:
            NotFound: nothing is in one of them. InvalidRequest: they are one and the same, or there are more than
                100,000 records to move.

        Cost: as `rename`.
        """
        source, into = check_project(source, field="source"), check_project(into, field="into")
        if project_key(source) == project_key(into):
            raise InvalidRequest("a project cannot be merged into itself", field="into", allowed="another project")
        return self._move_all(source, self._existing(into, field="into"), field="source", respelled=False)

    def _move_all(self, source: str, into: str, *, field: str, respelled: bool) -> results.Moved:
        store = self._store
        with store.writing() as batch:
            self._existing(source, field=field)
            found = belongings(store, source)
            check_size(found.size, field=field)
            move = Move(store, batch, self._db._schemas, into)
            move.notes(found.notes)
            move.others(found.messages)
            move.others(found.scenes)
            move.others(found.topics)
            if respelled:
                move.stayed.clear()  # what was spelled like this already is no note that could not be moved
            remarks = [*self._own_schema(source), *lookalikes(store, into, besides=source)]
            return move.result(damaged=found.damaged, remarks=remarks)

    def trash(self, name: str) -> results.ProjectTrashed:
        """Move all notes of a project to the trash, archived and pinned ones too, in one commit. Messages stay.

        Raises:
            NotFound: nothing is in it. InvalidRequest: there are more than 100,000 notes.
        """
        name, store = check_project(name, field="name"), self._store
        with store.writing() as batch:
            name = self._existing(name, field="name")
            notes, damaged = _notes(store, name, Tier.ACTIVE, Tier.ARCHIVED)
            check_size(len(notes), field="name")
            changes = Changes(store, batch, self._db._schemas)
            for note in notes:
                changes.trash(changes.note(note.id))  # trashing another one may have changed it
        reason = "moved to the trash" if notes else "nothing in it is outside the trash"
        return results.ProjectTrashed(
            name, len(notes), tuple(to_hex(note.id) for note in notes[:LISTED]), damaged, reason
        )

    def purge(self, name: str, *, force: bool = False) -> results.ProjectPurged:
        """Erase all that is in a project for good: notes, messages, and what was made of them.

        It takes a commit for each 500 records, so that others can write meanwhile; what a crash leaves is erased by
        calling it again.

        Args:
            force: Erase notes outside the trash too, and messages. Without it a project that has any is refused.

        Raises:
            NotFound: nothing is in it. InvalidRequest: without `force`, something is not in the trash.

        Cost: about 0.2 ms per record. The bytes leave the file at the next `compact()`.
        """
        check_flag(force, field="force")
        name = self._existing(check_project(name, field="name"), field="name")
        if not force:
            count = self.count(name)
            kept = [f"{count.total:,} notes"] * (count.total > 0) + [f"{count.messages:,} messages"] * (
                count.messages > 0
            )
            if kept:
                raise InvalidRequest(
                    f"{' and '.join(kept)} of {name!r} are not in the trash",
                    field="force",
                    allowed="True, to erase them too",
                )
        return purged(self._store, name)

    @guarded
    def reassign(
        self,
        ids: Iterable[str] | None = None,
        *,
        to: str,
        all: bool = False,
        from_: str | None = None,
        dry_run: bool = False,
        strict: bool = False,
    ) -> results.Moved:
        """Move notes to another project, which need not be there yet. All tiers; messages stay where they are.

        Args:
            ids: Of notes, at least one, at most 100,000. None: with `all`.
            to: The project they go to.
            all: All notes of the project `from_`.
            from_: Only notes of this project: those of `ids` that are in another one stay, and `stayed` names them.
            dry_run: Only tell what would be done.
            strict: Refuse a note whose status the new project does not know, that lacks what its kind requires there,
                or whose external id a note there has. False: the status falls to the default of the kind, and it is
                said how many lack or share what.

        Raises:
            NotFound: an id is no note, or nothing is in `from_`. Nothing is moved then.
            InvalidRequest: an argument does not do, such as an empty list of ids; or `strict` is not met.
        """
        check_flag(dry_run, field="dry_run")
        check_flag(strict, field="strict")
        if check_flag(all, field="all") and ids is not None:
            raise InvalidRequest("give ids or all, not both", field="all", allowed="one of the two")
        if all and from_ is None:
            raise InvalidRequest("all of which project?", field="from_", allowed="the name of a project")
        chosen = None if all else ids_of(ids if ids is not None else (), field="ids", most=LIMITS.batch_items)
        store, into = self._store, self._named(to, field="to")
        if not dry_run:
            with store.writing() as batch:
                move = Move(store, batch, self._db._schemas, spelled(store, into), strict=strict)
                return self._reassign(move, chosen, from_)
        from memhop.repo.batch import Batch

        with store.lock:  # a batch that is never written
            move = Move(store, Batch(store), self._db._schemas, spelled(store, into), strict=strict)
            return self._reassign(move, chosen, from_, dry_run=True)

    def _reassign(
        self, move: Move, ids: tuple[int, ...] | None, from_: str | None, *, dry_run: bool = False
    ) -> results.Moved:
        store, damaged = self._db._open_store(), 0
        source = None if from_ is None else self._existing(check_project(from_, field="from_"), field="from_")
        if ids is None:
            assert source is not None
            notes, damaged = _notes(store, source, *Tier)
            check_size(len(notes), field="all")
        else:
            notes = [store.get(Note, id_, field="ids") for id_ in ids]
        if source is not None:
            for note in notes:
                if project_key(note.project) != project_key(source):
                    move.stayed.append((to_hex(note.id), f"it is in {note.project!r}"))
            notes = [note for note in notes if project_key(note.project) == project_key(source)]
        move.notes(notes)
        return move.result(damaged=damaged, remarks=lookalikes(store, move.into), dry_run=dry_run)

    def _named(self, name: str, *, field: str) -> str:
        """The name of a project that need not be there yet."""
        return check_project(self._db._guard.given(name, field=field), field=field)

    def _own_schema(self, name: str) -> Iterator[str]:
        if any(project_key(described) == project_key(name) for described in self._db._config.schemas):
            yield f"the config describes kinds of {name!r}; they do not go along"

    def _existing(self, name: str, *, field: str) -> str:
        """A project as it is spelled. Raises NotFound, naming those that are called alike."""
        store = self._db._open_store()
        names = known(store)
        if project_key(name) in names:
            return names[project_key(name)]
        raise NotFound(f"nothing is in the project {name!r}{_alike(name, names.values())}", field=field)


def summed(store: Store) -> list[results.Project]:
    """All projects with their counts, by name."""
    names: dict[str, str] = {}
    counts: dict[str, list[int]] = {}
    changed: dict[str, int] = {}
    with store.lock:
        noted, spoken = states(store), said(store)
    for state in noted:
        key = project_key(state.project)
        names.setdefault(key, state.project)
        counts.setdefault(key, [0, 0, 0, 0])[state.tier] += state.size
        changed[key] = max(changed.get(key, 0), state.changed_at)
    for entry in spoken:
        key = project_key(entry.project)
        names.setdefault(key, entry.project)
        counts.setdefault(key, [0, 0, 0, 0])[3] += entry.size
    return [
        results.Project(
            name=names[key],
            active=active,
            archived=archived,
            trashed=trashed,
            messages=messages,
            changed_at=changed.get(key),
        )
        for key, (active, archived, trashed, messages) in sorted(counts.items())
    ]


def known(store: Store) -> dict[str, str]:
    """The projects something is in, as they are spelled, by what they are compared by."""
    return {project_key(project.name): project.name for project in summed(store)}


def lookalikes(store: Store, name: str, *, besides: str = "") -> Iterator[str]:
    """A remark for each project whose name is another one only by its signs, such as "web-app" and "webapp"."""
    for key, other in known(store).items():
        if key not in (project_key(name), project_key(besides)) and _bare(key) == _bare(project_key(name)):
            yield f"there also is a project {other!r}"


def purged(store: Store, name: str) -> results.ProjectPurged:
    """Erase all of a project, 500 records to a commit; what is written to it meanwhile too."""
    from memhop.api.erasure import Erasure

    notes: dict[int, None] = {}
    messages, remarks = 0, dict[str, None]()
    while any(found := belongings(store, name)[:4]):  # topics and scenes go with their messages, if they have any
        for records in found:
            for begin in range(0, len(records), _ERASED_AT_ONCE):
                ids = [record.id for record in records[begin : begin + _ERASED_AT_ONCE]]
                with store.writing() as batch:
                    left = [id_ for id_ in ids if _is_in(store, id_, name)]
                    erasure = Erasure(store, batch)
                    erasure.erase(left)
                gone = [(id_, erasure.gone[id_]) for id_ in left]
                notes |= {id_: None for id_, kind in gone if kind == Kind.NOTE}
                messages += sum(kind == Kind.MESSAGE for _, kind in gone)
                remarks |= dict.fromkeys(erasure.remarks())
    reason = "; ".join(("erased; compact() removes the bytes", *remarks))
    return results.ProjectPurged(name, len(notes), tuple(map(to_hex, [*notes][:LISTED])), messages, reason)


def _is_in(store: Store, id_: int, name: str) -> bool:
    project = getattr(store.record(id_), "project", None)
    return project is not None and project_key(project) == project_key(name)


def _notes(store: Store, project: str, *tiers: Tier) -> tuple[list[Note], int]:
    """The notes of a project in these tiers, by id, and how many of them cannot be read."""
    found, damaged = [], 0
    for state in states(store, project):
        if state.tier in tiers:
            for _, id_ in store.members(state.group):
                note = store.readable(Note, id_)
                if note is None:
                    damaged += 1
                elif project_key(note.project) == project_key(project):
                    found.append(note)
    return sorted(found, key=lambda note: note.id), damaged


def _alike(name: str, names: Iterable[str]) -> str:
    from rapidfuzz import fuzz, process, utils

    found = process.extract(
        name, list(names), scorer=fuzz.WRatio, processor=utils.default_process, limit=3, score_cutoff=_CLOSE
    )
    return "; there is " + ", ".join(repr(other) for other, _, _ in found) if found else ""


def _bare(key: str) -> str:
    return "".join(char for char in key if char.isalnum()) or key
