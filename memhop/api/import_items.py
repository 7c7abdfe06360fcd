"""Taking in what a reader of a foreign format yields.

    a note       `external_id` "<format>:<id in the source>" in its project, `source` the format; times, tier, pin and
                 counters of recalls are those of the source        (api/import_notes.py)
    a message    `external_id` "<format>:<id in the source>" in its session, where it is
                 word for word                                      (api/import_messages.py)
    a node       of a knowledge graph, known by its name in it      (api/import_graphs.py)
    an edge      between such nodes

Links and edges name things by their ids in the source, in any order: the source is read a second time for them, if
there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from memhop.api.import_context import BadItem, Context
from memhop.api.import_graphs import GraphKeeper
from memhop.api.import_journal import Journal, Step, in_commits
from memhop.api.import_messages import MessageKeeper
from memhop.api.import_notes import NoteKeeper
from memhop.common.errors import InvalidRequest
from memhop.readers import Reader
from memhop.readers.item import EdgeItem, Item, MessageItem, NodeItem, NoteItem, Rejected, Skipped

if TYPE_CHECKING:
    from memhop.api.redaction import Guard
    from memhop.common.settings import Config


_IDS = frozenset({"source_id", "session", "links", "from_", "to"})


class _Placed(NamedTuple):
    place: str
    item: Item


class ItemImport:
    """One import of a foreign format."""

    def __init__(
        self,
        journal: Journal,
        config: Config,
        guard: Guard,
        reader: Reader,
        path: Path,
        *,
        project: str | None,
        on_conflict: str,
    ) -> None:
        context = Context(journal, config, guard, reader.NAME, path, project=project, on_conflict=on_conflict)
        self._context = context
        self._journal = journal
        self._tally = journal.tally
        self._reader = reader
        self._path = path
        self._notes = NoteKeeper(context)
        self._messages = MessageKeeper(context)
        self._graphs = GraphKeeper(context)
        self._edged = False

    def run(self, progress: Callable[[int, int], None]) -> None:
        """See the module."""
        done = self._pass(lambda item: not isinstance(item, EdgeItem), self._take, 0, progress)
        if self._notes.links or self._edged:
            self._pass(_names_others, self._join, done, progress)

    def _pass(
        self,
        wanted: Callable[[Item], bool],
        take: Callable[[Step, str, Item], None],
        done: int,
        progress: Callable[[int, int], None],
    ) -> int:
        """Go through the source once."""
        for chunk in in_commits(self._items(wanted)):
            with self._journal.writing() as step:
                for place, item in chunk:
                    take(step, place, item)
            done += len(chunk)
            progress(done, 0)
        return done

    def _items(self, wanted: Callable[[Item], bool]) -> Iterator[tuple[_Placed, int]]:
        """What is wanted of the source, with its place and the length of its text."""
        for number, item in enumerate(self._reader.read(self._path), 1):
            self._edged |= isinstance(item, EdgeItem)
            if wanted(item):
                yield _Placed(f"item {number}", item), len(getattr(item, "text", ""))

    def _take(self, step: Step, place: str, item: Item) -> None:
        match item:
            case Rejected():
                self._tally.reject(item.place, item.reason, item.raw)
            case Skipped():
                self._tally.skip(item.reason)
            case NoteItem():
                self._checked(self._notes.keep, step, place, item)
            case MessageItem():
                self._checked(self._messages.keep, step, place, item)
            case NodeItem():
                self._checked(self._graphs.node, step, place, item)

    def _join(self, step: Step, place: str, item: Item) -> None:
        if isinstance(item, EdgeItem):
            self._checked(self._graphs.edge, step, place, item)
        elif isinstance(item, NoteItem):
            self._notes.link(step, item)

    def _checked(self, keep: Callable[[Step, Any], None], step: Step, place: str, item: Any) -> None:
        try:
            keep(step, self._without_secrets(item))
        except (BadItem, InvalidRequest) as error:
            source_id = getattr(item, "source_id", "")
            named = f"{place} ({source_id[:40]})" if source_id else place
            raw = msgspec.json.encode(item._asdict(), enc_hook=str)
            self._tally.reject(named, str(error), raw)

    def _without_secrets(self, item: Any) -> Any:
        """The item as it may be stored. Ids of the source stay as they are here, for others name it by them; see
        `Context.name_of`. Raises InvalidRequest where the policy refuses it."""
        values = {name: value for name, value in item._asdict().items() if name not in _IDS}
        if self._context.project is not None and "project" in values:
            values["project"] = self._context.project
        kept, self._context.redacted = self._context.guard.metadata(values, field="")
        return item._replace(**kept) if self._context.redacted else item


def _names_others(item: Item) -> bool:
    return isinstance(item, EdgeItem) or (isinstance(item, NoteItem) and bool(item.links))
