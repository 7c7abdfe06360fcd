"""What `brief` tells: groups of notes, which count by themselves, and a few notes of each project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final

from memhop.api import results
from memhop.api.maintenance import DAY_MS, Policy
from memhop.api.titles import item
from memhop.common.config import LIMITS, check_int, check_project
from memhop.common.ids import to_hex
from memhop.repo.dreams import Dream
from memhop.repo.l4_summary import count_changed, latest, newest
from memhop.repo.projects import State, said, states
from memhop.repo.record import Kind, Tier, all_of, project_key
from memhop.repo.upkeep import Maintenance, maintenance_id

if TYPE_CHECKING:
    from pathlib import Path

    from memhop.api.calls.handle import Handle
    from memhop.api.rotation import Rotation
    from memhop.repo.schema import Schemas
    from memhop.repo.store import Store

SUMMARY_CHARS: Final = 500
OPEN_ITEMS: Final = 5  # of one kind
INSIGHTS: Final = 5
SOON_MS: Final = 7 * DAY_MS  # what retention takes within this time is told


def brief(db: Handle, project: str | None, decisions: int | None) -> results.Brief:
    """See `DB.brief`."""
    config = db._config
    most = config.summary.decisions if decisions is None else check_int(decisions, field="decisions", low=0, high=100)
    wanted = None if project is None else check_project(project)
    store = db._store
    teller = _Teller(store, db._schemas, Policy(config.retention), most)
    with store.lock:
        found = states(store)
        projects, left_out = teller.projects(found, wanted)
        universal = project_key(config.recall.universal)
        insights = [state for state in found if state.kind == "insight" and project_key(state.project) == universal]
        dreams = store.listed(Dream, all_of(Kind.DREAM), limit=1, descending=True)
        kept = store.readable(Maintenance, maintenance_id())
        return results.Brief(
            at=store.clock.now_ms(),
            projects=projects,
            insights=teller.newest(insights, INSIGHTS) if universal else (),
            without_vector=_without_vector(db, store),
            dreamt_at=dreams[0][1].started_at if dreams else None,
            backup_at=_backup_at(db._rotation, db._file.path),
            maintained_at=kept.at if kept is not None else None,
            truncated=left_out,
        )


class _Teller:
    """What the parts of one brief share."""

    def __init__(self, store: Store, schemas: Schemas, policy: Policy, decisions: int) -> None:
        self._store, self._schemas, self._policy, self._decisions = store, schemas, policy, decisions
        self._now = store.clock.now_ms()

    def projects(self, found: Sequence[State], wanted: str | None) -> tuple[tuple[results.ProjectBrief, ...], int]:
        """All projects, or the one that is wanted, and how many were left out."""
        by_project: dict[str, list[State]] = {}
        for state in found:
            by_project.setdefault(project_key(state.project), []).append(state)
        names = {key: states[0].project for key, states in reversed(by_project.items())}
        messages = Counter[str]()
        for entry in said(self._store):
            messages[project_key(entry.project)] += entry.size
            names.setdefault(project_key(entry.project), entry.project)
        if wanted is None:
            keys = sorted(names)
        else:
            keys = [project_key(wanted)]
            names.setdefault(keys[0], wanted)
        told = (self._project(names[key], by_project.get(key, ()), messages[key]) for key in keys)
        return tuple(islice(told, LIMITS.results)), max(0, len(keys) - LIMITS.results)

    def _project(self, name: str, found: Sequence[State], messages: int) -> results.ProjectBrief:
        kinds = Counter[str]()
        tiers = {tier.label: 0 for tier in Tier}
        for state in found:
            tiers[state.tier.label] += state.size
            if state.tier == Tier.ACTIVE:
                kinds[state.kind] += state.size
        return results.ProjectBrief(
            project=name,
            summary=self._summary(found),
            open=tuple(self._open(name, found)),
            decisions=self.newest([state for state in found if state.kind == "decision"], self._decisions),
            kinds=dict(sorted(kinds.items())),
            tiers=tiers,
            messages=messages,
            changed_at=max((state.changed_at for state in found), default=None),
            retiring=sum(map(self._retiring, found)),
        )

    def _summary(self, found: Sequence[State]) -> results.SummaryBrief | None:
        note = latest(self._store, found)
        if note is None:
            return None
        changes = count_changed(self._store, found, note)
        cut = len(note.text) > SUMMARY_CHARS
        text = note.text[:SUMMARY_CHARS].rstrip() + "…" if cut else note.text
        return results.SummaryBrief(to_hex(note.id), text, cut, note.created_at, changes > 0, changes)

    def _open(self, name: str, found: Sequence[State]) -> Iterable[results.OpenItems]:
        by_kind: dict[str, list[State]] = {}
        for state in found:
            if state.tier == Tier.ACTIVE and state.status in self._schemas.of(name, state.kind).open:
                by_kind.setdefault(state.kind, []).append(state)
        for kind, of_one in sorted(by_kind.items()):
            yield results.OpenItems(kind, sum(state.size for state in of_one), self.newest(of_one, OPEN_ITEMS))

    def newest(self, found: Iterable[State], most: int) -> tuple[results.BriefItem, ...]:
        """The active notes that were changed last."""
        active = [state for state in found if state.tier == Tier.ACTIVE]
        return tuple(map(item, newest(self._store, active, most))) if most else ()

    def _retiring(self, state: State) -> int:
        before = self._policy.due_before(state, self._now + SOON_MS)
        if not before or state.tier != Tier.ACTIVE:
            return 0
        return state.size - self._store.views.groups.count(state.group, since=before)


def _without_vector(db: Handle, store: Store) -> int | None:
    if db._embedder is None:
        return None
    from memhop.api.backfill import pending

    return pending(store, db._embedder).without_vector


def _backup_at(rotation: Rotation | None, path: Path) -> int | None:
    """When the newest copy in the folder of automatic ones was made, as the names tell."""
    if rotation is None:
        return None
    from memhop.api.backups import copies_in, stem_of

    with suppress(OSError):
        copies = copies_in(rotation.folder, stem=stem_of(path))
        return max((copy.made_at for copy in copies), default=None)
    return None
