"""`remember`, `forget`, `purge`: notes in and out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from memhop.api.calls.handle import Handle
from memhop.common.errors import InvalidRequest

if TYPE_CHECKING:
    from memhop.api import results


class Noting(Handle):
    """Calls that write and remove notes."""

    def remember(
        self,
        text: str,
        *,
        project: str = "default",
        kind: str = "note",
        status: str | None = None,
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        links: Iterable[str | Mapping[str, str] | tuple[str, str]] = (),
        source: str | None = None,
        at: object = None,
        external_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> results.Note:
        """Store a note. When this returns it is durable and can be recalled.

        Args:
            text: The note, any language, not blank, at most 4 MiB.
            project: A name; recall can be limited to projects. White space around it is taken off, and a project that
                is there is spelled as it is there: names of projects compare without case.
            kind: A name such as note, fact, decision, bug, plan, preference. Described kinds fill in a status and
                metadata, and check them, see `repo/schema.py`; any other name is a kind, too, without rules.
            status: A name such as open or done. None and "": the default of the kind; none if it has no default.
            tags: Up to 64 names.
            metadata: A JSON object of at most 64 KiB. No NaN, bytes or sets.
            links: Ids of records this note refers to; they must exist. With a type: {"id": ID, "type": TYPE} or
                (TYPE, ID), the type one of related, supersedes, fixes, causes, part_of, depends_on; see `notes.link`.
            source: Where it comes from.
            at: When it was so; int ms or aware datetime, at most a day ahead of now. None: now.
            external_id: The host's own name for the note in its project. A second call with it updates the note.
            idempotency_key: A second call with the same key and words returns the first note and writes nothing.

        Returns:
            The note. `created` is False when it was there already: same words (a line end or spaces around them are no
            difference), project and kind, and nothing new said. `[notes] dedupe = "off"` makes it a note of its own.
            Nor is it where the text only repeats what was recalled, such as a `context` (`memhop/api/quotes.py`): then
            it is the first record repeated, perhaps a message (`kind` "message"). What is new beside quotes is stored
            without them; `quoted` counts the lines left out. Secrets are masked and private spans left out before all
            that, see `Config.secrets`; `redacted` counts them.

        Raises:
            InvalidRequest: an argument does not do. NotFound: a link names nothing. Nothing is written then.
        """
        from memhop.api.note_draft import draft
        from memhop.api.note_writing import remember

        values = {
            "text": text,
            "project": project,
            "kind": kind,
            "status": status,
            "tags": _listed(tags, "tags"),
            "metadata": metadata,
            "links": _listed(links, "links"),
            "source": source,
            "at": at,
            "external_id": external_id,
            "idempotency_key": idempotency_key,
        }
        kept, redacted = self._guard.metadata(values, field="")
        store = self._store
        now = self._clock.now_ms()
        wanted = draft(kept, now_ms=now, redacted=redacted)
        return remember(store, [wanted], now, schemas=self._schemas, settings=self._config.notes)[0]

    def remember_many(self, items: Iterable[str | Mapping[str, Any]]) -> tuple[results.Note, ...]:
        """Store many notes in one commit: all of them or, on any error, none.

        Args:
            items: Texts, or mappings with the arguments of `remember`.

        Raises:
            InvalidRequest: as `remember`; `field` says which item, such as "items[3].text".
        """
        from memhop.api.namespace import bounded, check_total
        from memhop.api.note_draft import draft
        from memhop.api.note_writing import remember

        store, guard = self._store, self._guard
        now = self._clock.now_ms()
        drafts = []
        for index, item in enumerate(bounded(items)):
            where = f"items[{index}]"
            if isinstance(item, str):
                item = {"text": item}
            elif not isinstance(item, Mapping):
                raise InvalidRequest(f"a {type(item).__name__} is not a note", field=where, allowed="a str or a dict")
            kept, redacted = guard.metadata(item, field=where)
            drafts.append(draft(kept, now_ms=now, where=where + ".", redacted=redacted))
        check_total(wanted.text for wanted in drafts)
        return remember(store, drafts, now, schemas=self._schemas, settings=self._config.notes)

    def forget(
        self, id: str, *, hard: bool = False, prove: bool = False, also: Iterable[str | os.PathLike[str]] = ()
    ) -> results.Forgotten:
        """Move a note to the trash, or erase a note or message for good.

        Args:
            id: A note's id; with `hard=True` also a message's.
            hard: Erase it and everything derived from it: see `memhop/api/erasure.py`. A damaged one can be erased too.
                The bytes leave the file at the next `compact()`.
            prove: With `hard=True`: also compact the file, without history, and look for what was erased in its raw
                bytes and in files beside it. `receipt` of the result says what was found and what was not reached.
            also: With `prove=True`: further files and folders to look into, such as places where backups are kept.

        Raises:
            NotFound: no note or message has this id.
            InvalidRequest: a message without `hard=True`: what was said is not edited, only erased; `prove` without
                `hard`; a path of `also` does not exist. Nothing is erased then.

        Cost: proving reads the whole file twice and writes it once; searching takes about 0.1 s per MB.
        """
        from memhop.api.forgetting import forget

        return forget(self._store, self._schemas, id, hard=hard, prove=prove, also=also)

    def purge(self, *, trashed_before: object = None, project: str | None = None) -> results.Purged:
        """Erase for good all notes in the trash, in one commit. Their bytes leave the file at the next `compact()`.

        Args:
            trashed_before: Only those that were trashed before this time; int ms or aware datetime. None: all.
            project: Only those of this project. None: all.

        Raises:
            InvalidRequest: an argument does not do.

        Cost: about 0.15 ms per note.
        """
        from memhop.api.forgetting import purge

        return purge(self._store, trashed_before=trashed_before, project=project)


def _listed(value: Any, field: str) -> Any:
    """An iterable of names as a list; what is no such iterable is left for the check to refuse."""
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, str | bytes | Mapping):
        raise InvalidRequest(f"a {type(value).__name__} is not a list of str", field=field, allowed="a list of str")
    return list(value) if isinstance(value, Iterable) and not isinstance(value, set) else value
