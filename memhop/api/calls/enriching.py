"""`dream`, `crystallize`, `backfill`, `pending`: what is made of what was said."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from memhop.api.calls.handle import Handle

if TYPE_CHECKING:
    from memhop.api import results
    from memhop.api.dreams import Dreams


class Enriching(Handle):
    """Calls that consolidate."""

    def dream(
        self, scene: str | None = None, *, dry_run: bool = False, max_seconds: float | None = None
    ) -> results.DreamReport:
        """Consolidate what is fresh: find scenes for loose turns, fuse topics, link scenes, draw the profile.

        It adds and links. What was said or noted is never changed or deleted, and neither is what the host has pinned
        or edited; each change can be looked at (`dreams.diff`) and taken back (`dreams.undo`). It is made in small
        commits, between which others write, and while it waits for a model it holds nothing up. Where nothing is
        fresh, nothing is done.

        Args:
            scene: Only this scene. None: all that are fresh.
            dry_run: Do it to a private copy beside the file, and tell what it did (`changes`). The memory stays as it
                is; what was asked of a model counts to the day all the same.
            max_seconds: Stop after about this long; the next dream goes on. None: when all is done.

        Returns:
            A report. A model that fails ends its stage with a notice, and never raises.

        Raises:
            NotFound: no scene has this id. InvalidRequest: an argument does not do.
            WriteRefused: the handle only reads; with `dry_run` it may dream.
            Closed: the memory was closed meanwhile. StorageError: the disk failed; what was committed stays.

        Cost: linear in what is fresh. Waits for a dream that runs already. `dry_run` also copies the file.
        """
        from memhop.api.dreams import dream

        return dream(self._dreamer, self._store, scene, dry_run=dry_run, max_seconds=max_seconds)

    @property
    def dreams(self) -> Dreams:
        """What dreams did, and undoing them."""
        from memhop.api.dreams import Dreams

        return Dreams(self._usable())

    def crystallize(self, session: str, *, approve: bool = False, dry_run: bool = False) -> results.Crystallized:
        """Draft capability cards from what the agent did in a session of `trajectory`.

        With a model it is asked once, about the newest 2,000 steps; without one, tool sequences that come again and
        again are found. What comes of it are drafts, which are offered to nobody before `capabilities.activate`.

        Args:
            session: As given to `trajectory.append`.
            approve: Cards that are active may be changed too. False: they are left as they are, and it is said so.
            dry_run: Only tell what would become of each proposal.

        Raises:
            NotFound: the session has no steps. ChatError: the model cannot be used, or its budget is spent.
                No card is written then.
        """
        from memhop.api.crystals import crystallize

        store = self._store
        ledger = self._dreamer.ledger(store, writes=not dry_run)
        return crystallize(store, ledger, session, approve=approve, dry_run=dry_run)

    def pending(self) -> results.Pending:
        """What waits for the embedder, and for the model that refines keywords."""
        from memhop.api.backfill import pending

        return pending(self._store, self._embedder, model=self._llm is not None)

    def backfill(self, max_seconds: float | None = None) -> results.BackfillReport:
        """Embed what has no vector yet, then let the model refine keywords. Each batch is committed, so that it can be
        stopped and resumed. What the model changes is a dream, which can be undone.

        Args:
            max_seconds: Stop after about this long. None: when nothing is left that can be tried now.

        Returns:
            A report. A failing embedder or model ends it early with a `reason`, and never raises.

        Raises:
            ConfigError: the memory was opened without either of them.
        """
        from memhop.api.backfill import backfill

        store = self._store
        refine = partial(self._dreamer.refine, store) if self._llm is not None else None
        return backfill(store, self._embedder, max_seconds, refine)
