"""Progressive summaries: when one is due, what it is made of, and saving it.

The library writes none. It says what has changed since the last one, and gives a frame to write the next one in;
whoever talks with the user writes it, and saves it as a note of kind progressive_summary, superseding the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from memhop.api import convert, results
from memhop.api.namespace import Namespace
from memhop.api.titles import title
from memhop.common.clock import to_iso
from memhop.common.config import LIMITS, check_flag, check_int, check_metadata, check_names, check_project, check_text
from memhop.common.errors import InvalidRequest
from memhop.common.ids import to_hex
from memhop.repo.l4_note import Note
from memhop.repo.l4_revision import NoteRevision, revise, revision_id
from memhop.repo.l4_summary import changed_since, count_changed, latest, newest_first
from memhop.repo.projects import State, said, spelled, states
from memhop.repo.record import Tier, project_key
from memhop.repo.schema import SUMMARY_KIND, Schemas

if TYPE_CHECKING:
    from memhop.repo.store import Store

_REVISIONS: Final = 50  # of one note, looked through for what its status was
_ACTS: Final = {
    "": "created", "edit": "edited", "trash": "trashed", "restore": "restored", "archive": "archived",
    "unarchive": "unarchived",
}  # fmt: skip
NOTHING: Final = "(nothing)"


class Summaries(Namespace):
    """Progressive summaries of projects."""

    def check(
        self, project: str = "default", *, turns: int = 0, context_pct: float = 100, force: bool = False
    ) -> results.SummaryCheck:
        """Whether a new summary is due, and what it would be made of. Writes nothing.

        Args:
            project: Whose summary.
            turns: Turns since the last one, as the caller counts them.
            context_pct: Percent of the context window that is left, 0..100; 0 is the most urgent of all.
            force: It is due whatever the numbers say.

        Returns:
            `needed` False: the newest summary is recent enough; its text is there. True: what has changed since, and
            a `template` whose sections are filled as far as statuses tell. Which numbers are due is in the config,
            `summary.turns` and `summary.context_pct`.

        Raises:
            InvalidRequest: an argument does not do.

        Cost: reads the notes it lists.
        """
        name = check_project(project)
        turns = check_int(turns, field="turns", low=0, high=10**9)
        left = _percent(context_pct)
        check_flag(force, field="force")
        store, config = self._store, self._db._config.summary
        with store.lock:
            found = states(store, name)
            name = spelled(store, name)
            summary = latest(store, found)
            trigger = None
            if force:
                trigger = "forced"
            elif left <= config.context_pct:
                trigger = "context_pressure"
            elif summary is None and (found or _spoken(store, name)):
                trigger = "first_summary"
            elif turns >= config.turns:
                trigger = "turn_interval"
            return self._checked(store, name, found, summary, trigger)

    def _checked(
        self, store: Store, name: str, found: Sequence[State], summary: Note | None, trigger: str | None
    ) -> results.SummaryCheck:
        changes: list[results.SummaryChange] = []
        template, total = None, 0
        ids: Iterable[int]
        if trigger is not None:
            most = self._db._config.summary.items
            if summary is None:
                active = [state for state in found if state.tier == Tier.ACTIVE and state.kind != SUMMARY_KIND]
                total = sum(state.size for state in active)
                ids = (id_ for _, id_ in newest_first(store, active))
            else:
                total = count_changed(store, found, summary)
                ids = changed_since(store, found, summary)
            notes = [note for id_ in islice(ids, most) if (note := store.readable(Note, id_)) is not None]
            changes = [_change(store, note, summary) for note in notes]
            template = _Template(store, Schemas(self._db._config.schemas), name, found, summary).text(notes, total)
        return results.SummaryCheck(
            project=name,
            needed=trigger is not None,
            trigger=trigger,
            reason=_reason(trigger, summary),
            summary_id=to_hex(summary.id) if summary else None,
            text=summary.text if summary else None,
            created_at=summary.created_at if summary else None,
            changes=tuple(changes),
            total=total,
            truncated=total > len(changes),
            removed=(),
            template=template,
        )

    def save(
        self, project: str, text: str, *, tags: Iterable[str] = (), metadata: Mapping[str, Any] | None = None
    ) -> results.Note:
        """Store a summary: a note of kind progressive_summary, which supersedes the newest one before it.

        Args:
            project: Whose summary.
            text: Any length a note may have; 200 to 500 words are of use.
            tags, metadata: As for `remember`.

        Raises:
            InvalidRequest: an argument does not do.
        """
        given = {"project": project, "text": text, "tags": list(tags), "metadata": metadata}
        kept, redacted = self._db._guard.metadata(given, field="")
        name, words = check_project(kept["project"]), check_text(kept["text"], field="text")
        labels = check_names(kept["tags"], field="tags", most=LIMITS.tags, max_chars=LIMITS.tag_chars)
        extra = {} if kept["metadata"] is None else check_metadata(kept["metadata"])
        store = self._store
        with store.writing() as batch:
            now = store.clock.now_ms()
            name = spelled(store, name)
            before = latest(store, states(store, name))
            note = batch.new(
                Note(
                    text=words,
                    kind=SUMMARY_KIND,
                    project=name,
                    tags=labels,
                    metadata=extra,
                    links=(before.id,) if before else (),
                    link_types=("supersedes",) if before else (),
                    at=now,
                    created_at=now,
                    updated_at=now,
                    actor=store.actor,
                    redacted=redacted,
                ),
                name,
                SUMMARY_KIND,
                words,
                now,
            )
            if before is not None:
                revise(batch, before, act="supersede", actor=store.actor, now_ms=now, superseded_by=note.id)
        return convert.note(note, created=True)

    def latest(self, project: str = "default") -> results.Note | None:
        """The newest summary in force. None: there is none. Raises InvalidRequest."""
        store = self._store
        with store.lock:
            note = latest(store, states(store, check_project(project)))
        return None if note is None else convert.note(note)


class _Template:
    """A frame for the next summary, filled by what the statuses of notes say."""

    def __init__(
        self, store: Store, schemas: Schemas, project: str, found: Sequence[State], summary: Note | None
    ) -> None:
        self._store, self._schemas, self._project, self._found, self._summary = store, schemas, project, found, summary
        self._active = [state for state in found if state.tier == Tier.ACTIVE and state.kind != SUMMARY_KIND]

    def text(self, changed: Sequence[Note], total: int) -> str:
        """Markdown. `changed` are the changes that are listed, of `total`."""
        settled = [note for note in changed if note.kind == "decision" or self._is(note, "terminal")]
        sections = {
            "State": self._state(total),
            "Decisions": [_line(note) for note in settled],
            "Open": self._open(),
            "Next": ["- (what comes next, in order)"],
        }
        lines = [f"# {self._project}"]
        for heading, content in sections.items():
            lines += ["", f"## {heading}", *(content or [NOTHING])]
        return "\n".join(lines)

    def _state(self, total: int) -> list[str]:
        kinds: dict[str, int] = {}
        for state in self._active:
            kinds[state.kind] = kinds.get(state.kind, 0) + state.size
        counted = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items())) or "no notes"
        lines = [f"- active: {counted}"]
        if self._summary is not None:
            since = to_iso(self._summary.created_at)
            lines.append(f"- {total:,} changes since the summary of {since} ({to_hex(self._summary.id)})")
        return lines

    def _open(self) -> list[str]:
        waiting = [s for s in self._active if s.status in self._schemas.of(self._project, s.kind).open]
        size = sum(state.size for state in waiting)
        ids = (id_ for _, id_ in newest_first(self._store, waiting))
        notes = (self._store.readable(Note, id_) for id_ in islice(ids, _OPEN))
        lines = [_line(note) for note in notes if note is not None]
        return lines + ([f"- and {size - len(lines):,} more"] if size > len(lines) else [])

    def _is(self, note: Note, flag: str) -> bool:
        return note.status in getattr(self._schemas.of(note.project, note.kind), flag)


_OPEN: Final = 20  # open items a template lists


def _line(note: Note) -> str:
    status = f" [{note.status}]" if note.status else ""
    return f"- {note.kind}{status} {title(note)} ({to_hex(note.id)})"


def _change(store: Store, note: Note, summary: Note | None) -> results.SummaryChange:
    since = summary.created_at if summary else 0
    before = _status_at(store, note, since) if summary else note.status
    if note.tier == Tier.TRASHED:
        change = "trashed"
    elif summary is None or (note.created_at >= since and note.rev == 1) or note.created_at > since:
        change = "created"
    elif before != note.status:
        change = "status"
    else:
        change = _ACTS.get(note.act, note.act)
    return results.SummaryChange(
        id=to_hex(note.id),
        kind=note.kind,
        status=note.status or None,
        title=title(note),
        change=change,
        changed_at=note.updated_at,
        status_before=(before or None) if change != "created" and before != note.status else None,
    )


def _status_at(store: Store, note: Note, since: int) -> str:
    """What the status of a note was at a time, as far as its newest revisions tell."""
    status = note.status
    for rev in range(note.rev - 1, max(0, note.rev - 1 - _REVISIONS), -1):
        revision = store.readable(NoteRevision, revision_id(note.id, rev))
        if revision is None or revision.at < since:
            break
        status = revision.before.get("status", status)
    return status if isinstance(status, str) else note.status


def _reason(trigger: str | None, summary: Note | None) -> str:
    return {
        None: "the newest summary is recent enough" if summary else "there is nothing in the project",
        "forced": "it was asked for",
        "context_pressure": "the context window is nearly full",
        "first_summary": "there is none yet",
        "turn_interval": "it was long ago",
    }[trigger]


def _spoken(store: Store, name: str) -> bool:
    return any(project_key(entry.project) == project_key(name) for entry in said(store))


def _percent(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100:
        return float(value)
    raise InvalidRequest(f"{value!r:.40} is not allowed", field="context_pct", allowed="a number from 0 to 100")
