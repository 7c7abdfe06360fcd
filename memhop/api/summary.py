"""Progressive summaries: when one is due, what it is made of, and saving it.

The library writes none. It says what has changed since the last one, and gives a frame to write the next one in;
whoever talks with the user writes it, and saves it as a note of kind progressive_summary, superseding the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from memhop.api import convert, results
from memhop.api.namespace import Namespace
from memhop.api.note_draft import draft
from memhop.api.note_writing import remember
from memhop.api.summary_material import Material, gathered
from memhop.api.titles import title
from memhop.common.clock import to_iso
from memhop.common.config import check_flag, check_int, check_project
from memhop.common.errors import InvalidRequest
from memhop.common.ids import to_hex
from memhop.common.settings import NotesSection
from memhop.repo.l4_note import SUPERSEDES, Note
from memhop.repo.l4_summary import latest, newest
from memhop.repo.projects import State, said, spelled, states
from memhop.repo.record import Tier, project_key
from memhop.repo.schema import SUMMARY_KIND

if TYPE_CHECKING:
    from memhop.repo.schema import Schemas
    from memhop.repo.store import Store

NOTHING: Final = Material([], [], 0, True)
_OPEN: Final = 20  # open items a template lists
_AS_GIVEN: Final = NotesSection(dedupe="off", quotes="off")


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
        material, template = NOTHING, None
        if trigger is not None:
            material = gathered(store, name, found, summary, self._db._config.summary.items)
            template = _Template(store, self._db._schemas, name, found, summary).text(material)
        return results.SummaryCheck(
            project=name,
            needed=trigger is not None,
            trigger=trigger,
            reason=_reason(trigger, summary),
            summary_id=to_hex(summary.id) if summary else None,
            text=summary.text if summary else None,
            created_at=summary.created_at if summary else None,
            changes=tuple(material.changes),
            total=material.total,
            truncated=material.total > len(material.changes),
            whole=material.whole,
            template=template,
        )

    def save(
        self,
        project: str,
        text: str,
        *,
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        links: Iterable[str | Mapping[str, str] | tuple[str, str]] = (),
    ) -> results.Note:
        """Store a summary: a note of kind progressive_summary, which supersedes the newest one before it.

        Args:
            project: Whose summary.
            text: Any length a note may have; 200 to 500 words are of use.
            tags, metadata, links: As for `remember`.

        Raises:
            InvalidRequest: an argument does not do. NotFound: a link names nothing.
        """
        labels = list(tags) if isinstance(tags, Iterable) and not isinstance(tags, str) else tags
        linked = list(links) if isinstance(links, Iterable) and not isinstance(links, str | Mapping) else links
        given = {"project": project, "text": text, "tags": labels, "metadata": metadata, "links": linked}
        values, redacted = self._db._guard.metadata(given, field="")
        name = check_project(values["project"])
        values |= {"kind": SUMMARY_KIND, "project": name}
        store = self._store
        with store.lock:
            before = latest(store, states(store, name))
        if before is not None and isinstance(linked, list):
            values["links"] = [*values["links"], (SUPERSEDES, to_hex(before.id))]
        now = store.clock.now_ms()
        # The same words once more are a summary of their own: what was changed in between is known to be in it.
        drafts = [draft(values, now_ms=now, redacted=redacted)]
        return remember(store, drafts, now, schemas=self._db._schemas, settings=_AS_GIVEN)[0]

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

    def text(self, material: Material) -> str:
        """Markdown."""
        settled = [note for note in material.notes if note.kind == "decision" or self._is(note, "terminal")]
        sections = {
            "State": self._state(material.total),
            "Decisions": [_line(note) for note in settled],
            "Open": self._open(),
            "Next": ["- (what comes next, in order)"],
        }
        lines = [f"# {self._project}"]
        for heading, content in sections.items():
            lines += ["", f"## {heading}", *(content or ["(nothing)"])]
        return "\n".join(lines)

    def _state(self, total: int) -> list[str]:
        kinds: dict[str, int] = {}
        for state in self._active:
            kinds[state.kind] = kinds.get(state.kind, 0) + state.size
        counted = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items())) or "no notes"
        lines = [f"- active: {counted}"]
        if self._summary is not None:
            since = to_iso(self._summary.created_at)
            lines.append(f"- changes since the summary of {since} ({to_hex(self._summary.id)}): {total:,}")
        return lines

    def _open(self) -> list[str]:
        waiting = [s for s in self._active if s.status in self._schemas.of(self._project, s.kind).open]
        size = sum(state.size for state in waiting)
        lines = [_line(note) for note in newest(self._store, waiting, _OPEN)]
        return lines + ([f"- and {size - len(lines):,} more"] if size > len(lines) else [])

    def _is(self, note: Note, flag: str) -> bool:
        return note.status in getattr(self._schemas.of(note.project, note.kind), flag)


def _line(note: Note) -> str:
    status = f" [{note.status}]" if note.status else ""
    return f"- {note.kind}{status} {title(note)} ({to_hex(note.id)})"


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
