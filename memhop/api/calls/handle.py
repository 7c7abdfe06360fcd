"""What all calls of a memory share: the file, the store, and what is made at first use."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from memhop.common.clock import Clock
from memhop.common.errors import Closed, InvalidRequest
from memhop.common.settings import Config

if TYPE_CHECKING:
    from types import TracebackType

    from memhop.api.backups import Backups
    from memhop.api.dreaming import Dreamer, Dreaming
    from memhop.api.events import Events
    from memhop.api.keeper import Keeper
    from memhop.api.notify import Notifier
    from memhop.api.redaction import Guard
    from memhop.api.rotation import Rotation
    from memhop.core.meh_file import MehFile
    from memhop.models.chat import ChatModel
    from memhop.models.embed import Embedder
    from memhop.models.metered import Budget
    from memhop.repo.schema import Schemas
    from memhop.repo.store import Store
    from memhop.search.recall import Recaller


class Handle:
    """An open memory, without its calls."""

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
        config: Config | None = None,
        actor: str = "",
    ) -> None:
        self._file = file
        self._config = config or Config()
        self._actor = actor or self._config.memory.actor
        self._embedder = embedder
        self._clock = clock
        self._lock = threading.RLock()
        self._store_or_none: Store | None = None
        self._recaller_or_none: Recaller | None = None
        self._schemas_or_none: Schemas | None = None
        self._rotation: Rotation | None = None
        self._llm, self._llm_on_write, self._budget, self._dreaming = llm, llm_on_write, budget, dreaming
        self._dreamer_or_none: Dreamer | None = None
        self._guard_or_none: Guard | None = None
        self._events_or_none: Events | None = None
        if backups is not None:
            from memhop.api.rotation import Rotation

            self._rotation = Rotation(file, clock, backups)
        self._notifier: Notifier | None = None
        if self._config.notify.subscribers and not file.refused:
            from memhop.api.notify import Notifier

            self._notifier = Notifier(self._config.notify)
        self._closed = False
        self._keeper: Keeper | None = None
        if self._config.retention.sets_anything:
            from memhop.api.keeper import Keeper

            self._keeper = Keeper(self, file.refused)

    def close(self) -> None:
        """Write what is buffered and release the file. Further calls raise Closed; closing twice is fine.

        Waits for an automatic copy that is being made; see `backup` for what one costs. A dream ends at the next
        opportunity, which is waited for up to 5 s, and subscribers are told what waits for up to a second. In a forked
        child it does nothing: the memory is still the parent's.
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
            if self._keeper is not None:
                self._keeper.close()
            if self._notifier is not None:
                self._notifier.close()
        finally:
            if store is not None:
                store.close()
            else:
                self._file.close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def __enter__(self) -> Self:
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

                self._store_or_none = Store(self._file, self._clock, actor=self._named)
                if self._rotation is not None:
                    self._store_or_none.after_commit.append(self._rotation.committed)
                if self._notifier is not None:
                    self._notifier.attach(self._store_or_none)
            return self._store_or_none

    @property
    def _schemas(self) -> Schemas:
        """The kinds of notes. Raises ConfigError where the configuration describes them wrongly."""
        if self._schemas_or_none is None:
            from memhop.repo.schema import Schemas

            self._schemas_or_none = Schemas(self._config.schemas)
        return self._schemas_or_none

    @property
    def _recaller(self) -> Recaller:
        store = self._store
        with self._lock:
            if self._recaller_or_none is None:
                from memhop.search.recall import Recaller

                self._recaller_or_none = Recaller(store, self._embedder)
            return self._recaller_or_none

    @property
    def _dreamer(self) -> Dreamer:
        with self._lock:
            if self._dreamer_or_none is None:
                from memhop.api.dreaming import Dreamer

                self._dreamer_or_none = Dreamer(self._llm, self._budget, self._dreaming)
            return self._dreamer_or_none

    @property
    def _named(self) -> str:
        """The actor, as it is written down."""
        return self._guard.text(self._actor, field="actor")[0] if self._actor else ""

    @property
    def _guard(self) -> Guard:
        """Takes secrets out of what is to be stored."""
        guard = self._guard_or_none
        if guard is None:
            from memhop.api.redaction import Guard

            guard = self._guard_or_none = Guard(self._config.secrets)
        return guard

    def _usable(self) -> Self:
        if self._closed:
            raise Closed("the memory was closed")
        return self


def check_has(field: str, value: object, needed: tuple[str, ...]) -> None:
    """A collaborator has what its protocol names, so that a mistake shows at open and not in the middle of a call."""
    missing = [] if value is None else [name for name in needed if not hasattr(value, name)]
    if missing:
        raise InvalidRequest(
            f"a {type(value).__name__} has no {missing[0]}", field=field, allowed=f"what has {', '.join(needed)}"
        )
