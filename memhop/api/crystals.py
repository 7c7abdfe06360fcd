"""What `DB.crystallize` hands to `dream` and gives back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memhop.api import results
from memhop.common.config import check_name
from memhop.common.ids import to_hex
from memhop.dream import crystallize as dreaming

if TYPE_CHECKING:
    from memhop.dream.pipeline import Ledger
    from memhop.repo.store import Store


def crystallize(store: Store, ledger: Ledger, session: str, *, approve: bool, dry_run: bool) -> results.Crystallized:
    """See `DB.crystallize`."""
    name = check_name(session, field="session")
    found = dreaming.crystallize(store, ledger, name, approve=approve is True, dry_run=bool(dry_run))

    def ids(action: str) -> tuple[str, ...]:
        return tuple(to_hex(outcome.id) for outcome in found.outcomes if outcome.action == action)

    return results.Crystallized(
        session=name,
        steps=found.steps,
        left_out=found.left_out,
        created=ids("create"),
        reused=ids("reuse"),
        merged=ids("merge"),
        skipped=tuple(outcome.name for outcome in found.outcomes if outcome.action == "skip"),
        details=tuple(
            results.CrystallizedCard(
                name=outcome.name,
                action=outcome.action,
                capability_id=to_hex(outcome.id) if outcome.id else None,
                reason=outcome.reason,
            )
            for outcome in found.outcomes
        ),
        errors=found.errors,
        model_calls=found.model_calls,
        commit=found.commit,
        dry_run=bool(dry_run),
    )
