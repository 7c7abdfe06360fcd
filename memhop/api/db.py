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
import threading
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from memhop.common.clock import Clock, SystemClock
from memhop.common.config import check_choice, check_file_path, check_int, check_name, check_seconds
from memhop.common.errors import Closed, InvalidRequest

if TYPE_CHECKING:
    from types import TracebackType

    from memhop.api import results
    from memhop.api.archive import Archive
    from memhop.api.backups import Backups
    from memhop.api.capabilities import Capabilities
    from memhop.api.dreaming import Dreamer, Dreaming
    from memhop.api.dreams import Dreams
    from memhop.api.facts import Facts
    from memhop.api.knowledge import Knowledge
    from memhop.api.notes import Notes
    from memhop.api.profile import Profiles
    from memhop.api.rotation import Rotation
    from memhop.api.scenes import Scenes
    from memhop.api.topics import Topics
    from memhop.api.trajectory import Trajectory
    from memhop.core.meh_file import MehFile
    from memhop.models.chat import ChatModel
    from memhop.models.embed import Embedder
    from memhop.models.metered import Budget
    from memhop.repo.store import Store
    from memhop.search.recall import Recaller
    from memhop.search.turn import OfflineWords


class DB:
    """One agent's memory. Use `DB.open`, not the constructor."""

    def __init__(
        self,
        file: MehFile,
        *,
        embedder: Embedder | None,
        clock: Clock,
        backups: Backups | None = None,
        llm: ChatModel | None = None,
        llm_on_write: bool = False,
        budget: Budget | None = None,
        dreaming: Dreaming | None = None,
    ) -> None:
        self._file = file
        self._embedder = embedder
        self._clock = clock
        self._lock = threading.RLock()
        self._store_or_none: Store | None = None
        self._recaller_or_none: Recaller | None = None
        self._rotation: Rotation | None = None
        self._llm, self._llm_on_write, self._budget, self._dreaming = llm, llm_on_write, budget, dreaming
        self._dreamer_or_none: Dreamer | None = None
        if backups is not None:
            from memhop.api.rotation import Rotation

            self._rotation = Rotation(file, clock, backups)
        self._closed = False

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

        Raises:
            Locked: another process, or another handle of this one, has the file; names it.
            BadFormat: not a .meh file, or one written by a newer version.
            Corrupt, StorageError: the file or disk is damaged beyond reading, or the folder is missing.
            InvalidRequest: an argument does not do.

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
        _check_has("embedder", embedder, ("name", "digest", "max_batch", "embed"))
        _check_has("llm", llm, ("name", "complete"))
        _check_has("budget", budget, ("calls_per_day", "tokens_per_day", "tokens_per_call"))
        _check_has("dreaming", dreaming, ("topics", "capacity", "idle_seconds", "max_share", "min_topics"))
        if llm_on_write and llm is None:
            raise InvalidRequest("there is no model to ask", field="llm_on_write", allowed="with an llm")
        _check_has("clock", clock, ("now_ms",))
        _check_has("backups", backups, ("folder", "every_commits", "every_hours", "keep", "daily", "weekly"))
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
        )

    # -- writing ---------------------------------------------------------------------------------------------

    def remember(
        self,
        text: str,
        *,
        project: str = "default",
        kind: str = "note",
        status: str | None = None,
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        links: Iterable[str] = (),
        source: str | None = None,
        at: object = None,
        external_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> results.Note:
        """Store a note. When this returns it is durable and can be recalled.

        Args:
            text: The note, any language, not blank, at most 4 MiB.
            project: A name; recall can be limited to projects.
            kind: A name such as note, fact, decision, bug, plan, preference.
            status: A name such as open or done. None: none.
            tags: Up to 64 names.
            metadata: A JSON object of at most 64 KiB. No NaN, bytes or sets.
            links: Ids of records this note refers to; they must exist.
            source: Where it comes from.
            at: When it was so; int ms or aware datetime, at most a day ahead of now. None: now.
            external_id: The host's own name for the note in its project. A second call with it updates the note.
            idempotency_key: A second call with the same key and words returns the first note and writes nothing.

        Returns:
            The note. `created` is False when it was there already: same words, project and kind, and nothing new said.

        Raises:
            InvalidRequest: an argument does not do. NotFound: a link names nothing. Nothing is written then.
        """
        from memhop.api.notes import draft, remember

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
        store = self._store
        now = self._clock.now_ms()
        return remember(store, [draft(values, now_ms=now)], now)[0]

    def remember_many(self, items: Iterable[str | Mapping[str, Any]]) -> tuple[results.Note, ...]:
        """Store many notes in one commit: all of them or, on any error, none.

        Args:
            items: Texts, or mappings with the arguments of `remember`.

        Raises:
            InvalidRequest: as `remember`; `field` says which item, such as "items[3].text".
        """
        from memhop.api.namespace import bounded, check_total
        from memhop.api.notes import draft, remember

        store = self._store
        now = self._clock.now_ms()
        drafts = []
        for index, item in enumerate(bounded(items)):
            where = f"items[{index}]"
            if isinstance(item, str):
                item = {"text": item}
            elif not isinstance(item, Mapping):
                raise InvalidRequest(f"a {type(item).__name__} is not a note", field=where, allowed="a str or a dict")
            drafts.append(draft(item, now_ms=now, where=where + "."))
        check_total(wanted.text for wanted in drafts)
        return remember(store, drafts, now)

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

        return forget(self._store, id, hard=hard, prove=prove, also=also)

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

    # -- reading ---------------------------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        token_budget: int = 2000,
        layers: Iterable[str] | None = None,
        project: str | Iterable[str] | None = None,
        kinds: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        roles: Iterable[str] | None = None,
        speakers: Iterable[str] | None = None,
        session: str | None = None,
        scene: str | None = None,
        since: object = None,
        until: object = None,
        tier: str = "active",
        at: object = None,
        fusion: str = "zscore",
        explain: bool = False,
    ) -> results.Recall:
        """What bears on a question. Writes nothing.

        Args:
            query: Any string, any language. A blank one finds nothing and says so.
            limit: Most hits to return, 1..1000.
            token_budget: Room for `context`, in tokens (4 Latin letters or 1 Han character count as one), 0..100,000.
            layers: Any of messages, notes, topics, knowledge, capabilities. None: all.
            project: A project or several. None: all.
            kinds: Kinds of notes, types of knowledge nodes, "fact". None: all.
            tags: Notes that have all of these tags. None: no matter.
            roles: Of messages: user, agent, system, tool. None: all.
            speakers: Of messages, by name, case ignored. None: all.
            session: One session's messages.
            scene: One scene's messages and topics, by id.
            since, until: Half-open span [since, until) of a unit's time; int ms or aware datetime.
            tier: active, archived or trashed.
            at: When the question is asked, for words such as "last week". None: now.
            fusion: How channels are combined inside a layer: "zscore" or "rrf".
            explain: Also fill `explanation`: terms with their weights, expansions, time windows, settings.

        Raises:
            InvalidRequest: an argument does not do; `field` and `allowed` say which and why.

        Cost: grows with the number of units that hold the query's words; 1 ms at 1,000 units without a model.
        """
        from memhop.api.reading import recall
        from memhop.search.query import Request

        return recall(
            self._recaller,
            Request(
                text=query,
                limit=limit,
                token_budget=token_budget,
                layers=layers,
                project=project,
                kinds=kinds,
                tags=tags,
                roles=roles,
                speakers=speakers,
                session=session,
                scene=scene,
                since=since,
                until=until,
                tier=tier,
                at=at,
                fusion=fusion,
                explain=explain,
            ),
        )

    def why_not(self, id: str, query: str, **filters: Any) -> results.Explanation:
        """Why a unit was not among the hits of `recall(query, **filters)`, or at which place it was.

        Args:
            id: Of a message, note, topic, knowledge node, fact or card.
            query, filters: As for `recall`.

        Raises:
            NotFound: no record has this id.
        """
        from memhop.api.reading import why_not
        from memhop.search.query import Request

        return why_not(self._recaller, id, Request(text=query, **filters))

    # -- the agent loop --------------------------------------------------------------------------------------

    def search(
        self,
        text: str,
        timestamp: object = None,
        *,
        session: str | None = None,
        speaker: str | None = None,
        project: str = "default",
        external_id: str | None = None,
        directed_l2_id: str | None = None,
        directed_l3_id: str | None = None,
        auto_create: bool = False,
        limit: int = 10,
        token_budget: int = 2000,
    ) -> results.SearchResult:
        """One turn of the agent loop: recall what bears on the user's message, and store the message.

        Args:
            text: What the user said.
            timestamp: When; int ms or aware datetime. None: now.
            session: The host's name for the conversation. Turns of other sessions need clear evidence to join a scene.
            speaker: Who said it. project: Where it belongs.
            external_id: The host's own name for the message in its session. A turn that is known by it is not stored
                again, so that a host may repeat a call whose answer it did not get.
            directed_l2_id: Put the turn into this scene. directed_l3_id: Look in this knowledge graph only, and link
                the topic to it. auto_create: Start a new scene without looking for one.
            limit, token_budget: As for `recall`.

        Returns:
            What was recalled, the scene with its topics, associated scenes, matching cards, and `new_topic_id`, to
            which `update` appends the reply. The turn is stored whether or not anything was found.

        Raises:
            InvalidRequest, NotFound: an argument does not do, or names nothing; nothing is written then.
        """
        from memhop.api.reading import search
        from memhop.search.turn import Turn

        found = search(
            self._recaller,
            Turn(
                text=text,
                timestamp=timestamp,
                session=session,
                speaker=speaker,
                project=project,
                external_id=external_id,
                directed_l2_id=directed_l2_id,
                directed_l3_id=directed_l3_id,
                auto_create=auto_create,
                limit=limit,
                token_budget=token_budget,
            ),
            self._words,
        )
        self._said(found.scene_id)
        return found

    def update(
        self,
        topic_id: str,
        text: str,
        timestamp: object = None,
        *,
        role: str = "agent",
        speaker: str | None = None,
        external_id: str | None = None,
    ) -> results.Message:
        """Append a reply to a topic. Several replies are all kept, and each can be recalled.

        Args:
            topic_id: `new_topic_id` of the `search` that stored the user's message.
            text: What was said. timestamp: When; None: now.
            role: agent, user, system or tool. speaker: Who.
            external_id: The host's own name for the reply; one that is known by it is not stored again.

        Raises:
            NotFound: no topic has this id. InvalidRequest: an argument does not do.
        """
        from memhop.api import convert
        from memhop.search.turn import update

        message = convert.message(
            update(
                self._store,
                topic_id=topic_id,
                text=text,
                timestamp=timestamp,
                role=role,
                speaker=speaker,
                external_id=external_id,
                words=self._words,
            )
        )
        self._said(message.scene_id)
        return message

    @property
    def _words(self) -> OfflineWords:
        """How the keywords of a turn are chosen."""
        if self._llm_on_write:
            return self._dreamer.words(self._open_store())
        from memhop.search.turn import OfflineWords

        return OfflineWords()

    def _said(self, scene_id: str | None) -> None:
        """A turn was stored: that may make a dream due."""
        if self._dreaming is not None and scene_id is not None:
            self._dreamer.said(self._open_store(), scene_id)

    # -- dreams ----------------------------------------------------------------------------------------------

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

    @property
    def _dreamer(self) -> Dreamer:
        with self._lock:
            if self._dreamer_or_none is None:
                from memhop.api.dreaming import Dreamer

                self._dreamer_or_none = Dreamer(self._llm, self._budget, self._dreaming)
            return self._dreamer_or_none

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

    def usage(self, id: str) -> results.Usage:
        """How often a scene, a note or a card was recalled: what feeds the decay of associations and a small prior.

        A recall counts once for each of its first three hits: of a message or topic, for its scene. Counting is
        buffered, recall itself writes nothing; counters are written with the next commit and at close.

        Raises:
            NotFound: no scene, note or card has this id.
        """
        from memhop.api.reading import usage

        return usage(self._store, id)

    # -- enrichment ------------------------------------------------------------------------------------------

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

    # -- layers ----------------------------------------------------------------------------------------------

    @property
    def archive(self) -> Archive:
        """L4 messages."""
        from memhop.api.archive import Archive

        return Archive(self._usable())

    @property
    def notes(self) -> Notes:
        """L4 notes."""
        from memhop.api.notes import Notes

        return Notes(self._usable())

    @property
    def scenes(self) -> Scenes:
        """L2 scenes."""
        from memhop.api.scenes import Scenes

        return Scenes(self._usable())

    @property
    def topics(self) -> Topics:
        """L2 topics."""
        from memhop.api.topics import Topics

        return Topics(self._usable())

    @property
    def profile(self) -> Profiles:
        """L0 profile."""
        from memhop.api.profile import Profiles

        return Profiles(self._usable())

    @property
    def knowledge(self) -> Knowledge:
        """L3 knowledge: graphs, nodes, edges."""
        from memhop.api.knowledge import Knowledge

        return Knowledge(self._usable())

    @property
    def facts(self) -> Facts:
        """L3 dated facts."""
        from memhop.api.facts import Facts

        return Facts(self._usable())

    @property
    def capabilities(self) -> Capabilities:
        """L5 capability cards."""
        from memhop.api.capabilities import Capabilities

        return Capabilities(self._usable())

    @property
    def trajectory(self) -> Trajectory:
        """L7 trajectory."""
        from memhop.api.trajectory import Trajectory

        return Trajectory(self._usable())

    def _usable(self) -> DB:
        if self._closed:
            raise Closed("the memory was closed")
        return self

    # -- upkeep ----------------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """Where the file is."""
        return str(self._file.path)

    @property
    def recovery(self) -> results.Recovered:
        """What opening found: whether a torn tail was cut or damage was stepped over."""
        from memhop.api.reports import recovered

        return recovered(self._file.recovery)

    def stats(self) -> results.Stats:
        """Counts and sizes, and what uses the space. Loads the indexes. Cost: about 5 us per frame of the file."""
        from memhop.api.reading import stats

        return stats(self._store, backup_error=self._rotation.last_error if self._rotation else None)

    def checkpoint(self) -> bool:
        """Seal the indexes of what is new into the file, so that the next opening need not replay it.

        Happens by itself every 20,000 records or 32 MiB. False: there was nothing new.
        """
        return self._store.checkpoint()

    def compact(self, *, keep_history: bool = False) -> results.Compacted:
        """Rewrite the file without what is dead: old versions, erased records, old indexes.

        Without history, neither `at` nor `dreams.diff` and `dreams.undo` reach back beyond it.

        Args:
            keep_history: Keep superseded versions, but never those of erased records.

        Raises:
            StorageError: the disk is full, …; the old file is as it was.
        """
        from memhop.api.reports import compacted

        return compacted(self._store.compact(keep_history=keep_history))

    def backup(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> results.Backup:
        """Copy the newest commit into a whole `.meh` file of its own, while others read and write.

        A handle from `at` copies the memory as it was; one that reads only, what it sees.

        Args:
            path: Of the copy, `~` allowed; mode 0600. A folder that exists: a name is made in it, such as
                `agent-20260510T083000123Z-c42.meh`.
            overwrite: Replace an earlier copy of this memory; nothing else is ever replaced.

        Returns:
            What was copied. It holds all that was acknowledged before the call, and verifies.

        Raises:
            InvalidRequest: the path is the memory itself, or taken. Corrupt: the memory is damaged.
            StorageError: the folder is missing, the disk is full, … Nothing is left behind then.

        Cost: reads the file once and the copy twice; writers wait only for the fsync in front. About 1 s per 100,000
            notes or 100 MB.
        """
        from memhop.api.backups import backup

        return backup(self._file, path, now_ms=self._clock.now_ms(), overwrite=overwrite)

    def export(self, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False) -> results.Exported:
        """Write all layers as JSON lines, in an order that depends on nothing but what is in them.

        Args:
            path: Of the file, `~` allowed; mode 0600. None: nothing is written, and only the digest is of use.
            overwrite: Replace an earlier export; nothing else is ever replaced.

        Returns:
            How much it was, and the SHA-256 of it: equal digest, equal memories. `memhop/api/export.py` says what the
            lines are.

        Raises:
            InvalidRequest: the path is the memory itself, or taken.
            StorageError: the folder is missing, the disk is full, … Nothing is left behind then.

        Cost: reads every live record, about 10 us each; writers wait for no part of it.
        """
        from memhop.api.export import export

        return export(self._store, path, overwrite=overwrite)

    @property
    def backups(self) -> Rotation | None:
        """The automatic copies of this handle and how they fare. None: opened without `backups`."""
        return self._rotation

    def verify(self, *, deep: bool = False) -> results.Verified:
        """Check the file while others go on using it.

        Args:
            deep: Also check that every record can be read, that every reference names a live record of the right
                kind, that all indexes equal those built anew from the records, and what older checkpoints left.

        Raises:
            StorageError: the disk failed. What is wrong in the file is no error; see `Verified.problems`.

        Cost: reads the file once, and with `deep` builds all indexes anew, in memory of about twice their size.
            Writers wait for no part of it, but for the moment in which `deep` copies what the indexes hold: about a
            second per million units.
        """
        from memhop.api.reports import verified

        report = self._file.verify(deep=deep)
        if not deep:
            return verified(report, None)
        from memhop.repo.checking import check

        return verified(report, check(self._store))

    def refresh(self) -> bool:
        """Take in what other processes have written since. True if there was anything.

        Every call of a shared or reading handle does this by itself first; use it to learn whether there is news. An
        exclusive handle has none.

        Raises:
            StorageError: another memory stands at the path now.

        Cost: some microseconds when there is nothing new, else 2 us per new record.
        """
        return self._open_store().refresh()

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
        return DB(file, embedder=self._embedder, clock=clock)

    def close(self) -> None:
        """Write what is buffered and release the file. Further calls raise Closed; closing twice is fine.

        Waits for an automatic copy that is being made; see `backup` for what one costs. A dream ends at the next
        opportunity, which is waited for up to 5 s. In a forked child it does nothing: the memory is still the parent's.
        """
        if self._file.inherited:
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
        store, self._store_or_none, self._recaller_or_none = self._store_or_none, None, None
        try:
            if self._dreamer_or_none is not None:
                self._dreamer_or_none.close()
            if self._rotation is not None:
                self._rotation.close()
        finally:
            if store is not None:
                store.close()
            else:
                self._file.close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def __enter__(self) -> DB:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<memhop.DB {self._file.path}{' (closed)' if self._closed else ''}>"

    @property
    def _store(self) -> Store:
        """The store, up to date with what other processes wrote."""
        store = self._open_store()
        store.refresh()
        return store

    def _open_store(self) -> Store:
        store = self._store_or_none
        if store is not None and not self._closed:
            return store
        if not self._closed:
            self._file.check()
        with self._lock:
            if self._closed:
                raise Closed("the memory was closed")
            if self._store_or_none is None:
                from memhop.repo.store import Store

                self._store_or_none = Store(self._file, self._clock)
                if self._rotation is not None:
                    self._store_or_none.after_commit = self._rotation.committed
            return self._store_or_none

    @property
    def _recaller(self) -> Recaller:
        store = self._store
        with self._lock:
            if self._recaller_or_none is None:
                from memhop.search.recall import Recaller

                self._recaller_or_none = Recaller(store, self._embedder)
            return self._recaller_or_none


def _check_has(field: str, value: object, needed: tuple[str, ...]) -> None:
    """A collaborator has what its protocol names, so that a mistake shows at open and not in the middle of a call."""
    missing = [] if value is None else [name for name in needed if not hasattr(value, name)]
    if missing:
        raise InvalidRequest(
            f"a {type(value).__name__} has no {missing[0]}", field=field, allowed=f"what has {', '.join(needed)}"
        )


def _listed(value: Any, field: str) -> Any:
    """An iterable of names as a list; what is no such iterable is left for the check to refuse."""
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, str | bytes | Mapping):
        raise InvalidRequest(f"a {type(value).__name__} is not a list of str", field=field, allowed="a list of str")
    return list(value) if isinstance(value, Iterable) and not isinstance(value, set) else value
