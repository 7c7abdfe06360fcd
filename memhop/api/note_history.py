"""How a note became what it is: its revisions, newest first, and the way back to one of them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from memhop.api import results
from memhop.common.errors import NotFound
from memhop.common.ids import to_hex
from memhop.repo.l4_note import Note
from memhop.repo.l4_revision import NoteRevision, revision_id, revisions_of

if TYPE_CHECKING:
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store

CREATED = "create"  # the act that made revision 1
REVERTED = ("text", "kind", "status", "tags", "metadata", "source", "at")
_DIFF_LINES = 200  # of one revision
_DIFF_BYTES = 256 * 1024  # texts that are larger together are not compared line by line
_BLOCK = 20_000  # lines of both texts together, likewise
_IDS = frozenset({"links", "superseded_by"})


def versions(store: Store, note: Note, *, below: int | None) -> Iterator[results.NoteRevision]:
    """The revisions with a number less than `below`, newest first, as far as they are kept.

    The walk goes back from the note as it is, for a revision says only what the next one changed.
    """
    state = _state(note)
    rev = note.rev
    for record in store.walk(NoteRevision, revisions_of(note.id), descending=True):
        if record.rev != rev - 1:
            break  # one is missing: what was before cannot be told
        if below is None or rev < below:
            yield results.NoteRevision(
                rev, record.at, record.act, record.actor or None, _changes(record, state), _text_change(record, state)
            )
        state |= record.before
        rev = record.rev
    if below is not None and rev >= below:
        return
    if rev == note.rev:
        yield results.NoteRevision(rev, note.updated_at, note.act or CREATED, note.actor or None)
    elif rev == 1:
        yield results.NoteRevision(rev, note.created_at, state["act"] or CREATED, state["actor"] or None)
    else:
        yield results.NoteRevision(rev, None, None, None)


def _changes(record: NoteRevision, after: Mapping[str, Any]) -> tuple[results.FieldChange, ...]:
    return tuple(
        results.FieldChange(name, _shown(name, was), _shown(name, after.get(name)))
        for name, was in sorted(record.before.items())
        if name not in ("text", "actor", "act")
    )


def _text_change(record: NoteRevision, after: Mapping[str, Any]) -> str | None:
    before = record.before.get("text")
    return text_diff(before, after["text"]) if isinstance(before, str) else None


def state_at(batch: Batch, note: Note, rev: int) -> dict[str, Any]:
    """What `revert` brings back of a revision, by name of field; "links" are (type, id) pairs.

    Raises:
        NotFound: it is not kept.
    """
    fields: dict[str, Any] = {name: getattr(note, name) for name in (*REVERTED, "links", "link_types")}
    for number in range(note.rev - 1, rev - 1, -1):
        record = batch.find(NoteRevision, revision_id(note.id, number))
        if record is None:
            raise NotFound(f"revision {rev} of note {to_hex(note.id)} is not kept", field="rev")
        fields |= {name: value for name, value in record.before.items() if name in fields}
    if rev < 1 or rev > note.rev:
        raise NotFound(f"note {to_hex(note.id)} has no revision {rev}", field="rev")
    try:
        restored = msgspec.convert(fields, Note)  # what was JSON has its types again
    except msgspec.ValidationError:
        raise NotFound(f"revision {rev} of note {to_hex(note.id)} cannot be read", field="rev") from None
    return {name: getattr(restored, name) for name in REVERTED} | {"links": restored.typed_links()}


def text_diff(before: str, after: str) -> str:
    """A unified diff, at most so many lines; how many more there are is said, as is where it was not made."""
    old, new = before.splitlines(), after.splitlines()
    if len(before) + len(after) > _DIFF_BYTES or len(old) + len(new) > _BLOCK:
        return f"not compared line by line: {len(before):,} characters before, {len(after):,} after"
    lines = list(difflib.unified_diff(old, new, "before", "after", lineterm="", n=2))
    if len(lines) > _DIFF_LINES:
        lines = [*lines[:_DIFF_LINES], f"… {len(lines) - _DIFF_LINES:,} more lines"]
    return "\n".join(lines) or "white space at line ends differs"


def _state(note: Note) -> dict[str, Any]:
    """All fields as JSON has them. Who made it is left out: a revision tells that only of the first one."""
    state: dict[str, Any] = {name: msgspec.to_builtins(getattr(note, name)) for name in note.__struct_fields__}
    return state | {"act": "", "actor": ""}


def _shown(name: str, value: Any) -> Any:
    """As results have it: ids are hex, none is None."""
    if name in _IDS:
        if isinstance(value, list | tuple):
            return tuple(to_hex(id_) for id_ in value if isinstance(id_, int))
        return to_hex(value) if isinstance(value, int) and value else None
    if isinstance(value, list):
        return tuple(value)
    return None if value == "" else value
