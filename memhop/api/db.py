"""`DB`: the memory of one agent, in one file.

    import memhop
    with memhop.DB.open("agent.meh") as db:
        db.remember("Mara is allergic to walnuts", kind="fact", tags=["health"])
        print(db.recall("what must Mara not eat?").context)

A handle is safe to use from many threads. Opening imports the standard library and the lock, nothing else; what a
method needs is loaded when it is first called.
"""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING

from memhop.api.calls.conversing import Conversing
from memhop.api.calls.enriching import Enriching
from memhop.api.calls.handle import check_has
from memhop.api.calls.layers import Layers
from memhop.api.calls.noting import Noting
from memhop.api.calls.recalling import Recalling
from memhop.api.calls.upkeep import Upkeep
from memhop.common.clock import Clock, SystemClock
from memhop.common.config import check_choice, check_file_path, check_int, check_name, check_seconds
from memhop.common.errors import InvalidRequest
from memhop.common.settings import Config

if TYPE_CHECKING:
    from memhop.api.backups import Backups
    from memhop.api.dreaming import Dreaming
    from memhop.models.chat import ChatModel
    from memhop.models.embed import Embedder
    from memhop.models.metered import Budget


class DB(Noting, Recalling, Conversing, Enriching, Layers, Upkeep):
    """One agent's memory. Use `DB.open`, not the constructor."""

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        embedder: Embedder | None = None,
        llm: ChatModel | None = None,
        llm_on_write: bool = False,
        budget: Budget | None = None,
        dreaming: Dreaming | None = None,
        mode: str = "exclusive",
        durability: str = "full",
        wait: float | None = None,
        create: bool = True,
        purpose: str = "memhop",
        max_bytes: int | None = None,
        clock: Clock | None = None,
        backups: Backups | None = None,
        config: Config | None = None,
        actor: str = "",
    ) -> DB:
        """Open a memory, creating it if there is none.

        Args:
            path: The file, usually ending in `.meh`. Its folder must exist. Created with permissions 0600.
            embedder: Turns text into vectors for the semantic channels; see `memhop.models`. None: recall works by
                words alone, and not one socket is opened.
            llm: A chat model for text work, such as `memhop.OpenAIChat`: `dream` does better with it, and `backfill`
                more. No other call asks it.
            llm_on_write: `search` and `update` ask it for the keywords of each turn, before they store it, and wait as
                long as its own time limit and retries allow: give it short ones. Without an answer the keywords are
                those of the offline method.
            budget: How much the model may be asked per call and per day, whatever handle of the memory asks; see
                `memhop.Budget`. None: its defaults.
            dreaming: Dream by itself, in the background, and what binds every dream; see `memhop.Dreaming`. None: only
                `dream` does, with the defaults.
            mode: "exclusive": this handle alone writes to the file, until it is closed. "shared": any number of
                processes read and write; each write waits for its turn and sees what the others wrote. "read": never
                waits, never writes, sees what the others write, and needs no permission to write; calls that write
                raise WriteRefused, and recall counts no usage.
            durability: What a returned call means. "full": it is on the disk (fsync; threads share one). "relaxed":
                it will be within 200 ms. "none": the operating system decides. A crash never breaks the file at any
                level, it can only lose the last calls.
            wait: Seconds to wait for others, 0..3600: an exclusive handle for the file, when it is opened; a shared one
                for its turn, at each write. None: 0 and 10.
            create: Whether a missing file is created (else a StorageError names the path). Not in mode "read".
            purpose: What others are told this holder is doing, should they find the file locked.
            max_bytes: Refuse writes that would make the file larger than this, at least 1 MiB. Erasing is always
                possible. None: no limit.
            clock: Where "now" comes from; for tests and replays.
            backups: Copy the file by itself, in the background; see `memhop.Backups`. None: only `backup` does.
            config: Kinds of notes, retention, secrets and the other settings; see `memhop.Config`. None: the defaults.
            actor: Who is said to have made the changes of this handle, in histories and events. "": nobody is named.

        Raises:
            Locked: another process, or another handle of this one, has the file; names it.
            BadFormat: not a .meh file, or one written by a newer version.
            Corrupt, StorageError: the file or disk is damaged beyond reading, or the folder is missing.
            InvalidRequest: an argument does not do.
            ConfigError: `config` describes a kind of notes or retention wrongly; names the key.

        Cost: about a millisecond, whatever the size of the file, plus replaying what came after its last checkpoint
            (2 us per record).
        """
        from memhop.core.meh_file import MehFile

        check_file_path(path, field="path")
        if wait is not None:
            check_seconds(wait, field="wait", high=3600)
        if max_bytes is not None:
            check_int(max_bytes, field="max_bytes", low=1 << 20, high=1 << 62)
        check_name(purpose, field="purpose")
        check_choice(durability, field="durability", choices=("full", "relaxed", "none"))
        check_has("embedder", embedder, ("name", "digest", "max_batch", "embed"))
        check_has("llm", llm, ("name", "complete"))
        check_has("budget", budget, ("calls_per_day", "tokens_per_day", "tokens_per_call"))
        check_has("dreaming", dreaming, ("topics", "capacity", "idle_seconds", "max_share", "min_topics"))
        if llm_on_write and llm is None:
            raise InvalidRequest("there is no model to ask", field="llm_on_write", allowed="with an llm")
        check_has("clock", clock, ("now_ms",))
        check_has("config", config, ("memory", "schemas"))
        check_name(actor, field="actor", blank=True)
        check_has("backups", backups, ("folder", "every_commits", "every_hours", "keep", "daily", "weekly"))
        if config is not None and config.schemas:
            from memhop.repo.schema import Schemas

            Schemas(config.schemas)  # what is wrong in them shows here, and before a file is made
        if config is not None and config.retention.sets_anything:
            from memhop.api.maintenance import Policy

            Policy(config.retention)  # the same
        chosen_clock = clock or SystemClock()
        file = MehFile.open(
            path,
            mode=mode,
            durability=durability,
            wait=wait,
            create=create,
            purpose=purpose,
            max_bytes=max_bytes,
            now_ms=chosen_clock.now_ms,
        )
        return cls(
            file,
            embedder=embedder,
            clock=chosen_clock,
            backups=backups,
            llm=llm,
            llm_on_write=llm_on_write,
            budget=budget,
            dreaming=dreaming,
            config=config,
            actor=actor,
        )

    def at(self, when: int | datetime) -> DB:
        """The memory as it was: a read-only handle that answers every reading call as it would have been answered then.

        Args:
            when: A commit number (see `stats().commit`), or an aware datetime: the newest commit up to then.

        Returns:
            A handle of its own, to be closed. "Now" is `when`, or the time of the commit.

        Raises:
            InvalidRequest: no such commit, or compaction without `keep_history` has dropped that time; the error says
                from when on the past is there.

        Cost: as `open`, plus replaying what came between the last checkpoint before `when` and `when`.
        """
        from memhop.api.past import open_at

        file, clock = open_at(self.path, when)
        return DB(file, embedder=self._embedder, clock=clock, config=self._config, actor=self._actor)
