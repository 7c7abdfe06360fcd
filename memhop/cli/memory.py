"""A memory opened for one command: shared with whoever else has it open, or as it was at an earlier moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memhop.cli.arguments import parse_time
from memhop.cli.configuration import backups, settings
from memhop.cli.output import Output
from memhop.common.errors import InvalidRequest, StorageError

if TYPE_CHECKING:
    import typer

    import memhop
    from memhop.api.results import Recovered
    from memhop.cli.arguments import Embedder

_MOST_DIGITS = 18  # a longer number is no commit


def moment_of(ctx: typer.Context) -> str | None:
    """What was typed after `memhop at`; None for a command that was not called through it."""
    return ctx.obj if isinstance(ctx.obj, str) else None


@contextmanager
def open_memory(
    out: Output,
    path: Path,
    *,
    wait: float | None = None,
    purpose: str,
    create: bool = False,
    mode: str = "shared",
    embedder: Embedder | None = None,
    llm: memhop.OpenAIChat | None = None,
    moment: str | None = None,
    retains: bool = True,
) -> Iterator[memhop.DB]:
    """A memory for one command. What had to be mended is told, at once or, where writing mended it, at the end.

    Args:
        wait: Seconds a write waits for its turn. Reading never waits. None: for commands that do not write.
        create: Whether a missing file is created.
        mode, embedder, llm: As for `DB.open`. The rest of what it takes is in the settings.
        retains: Retention is looked after by itself if it is overdue; not by commands that only look.
        moment: As it was then, for reading alone; see `parse_moment`. None: as it is.

    Raises:
        StorageError: there is none, or it is a folder; and all that `DB.open` and `DB.at` raise.
    """
    from memhop import DB

    then = None if moment is None else parse_moment(moment)
    if not create and not path.exists():
        raise StorageError(
            f"there is no memory {path}", field="file", hint="see --file, or begin one with: memhop remember TEXT"
        )
    config = settings()
    if wait is None or not retains:
        config = replace(config, retention=replace(config.retention, every_hours=0.0))
    if then is not None:
        with DB.open(path, mode="read", embedder=embedder, config=config) as now, now.at(then) as db:
            yield db
        return
    db = DB.open(
        path,
        mode=mode,
        wait=wait,
        purpose=purpose,
        create=create,
        embedder=embedder,
        llm=llm,
        durability=config.memory.durability,
        max_bytes=config.memory.max_bytes or None,
        backups=None if mode == "read" else backups(),
        config=config,
    )
    at_first = db.recovery
    _tell(out, at_first)
    try:
        with db:
            yield db
    finally:
        if db.recovery != at_first:
            _tell(out, db.recovery)


def parse_moment(typed: str) -> int | datetime:
    """A commit number, if it is all digits, or else an ISO-8601 time.

    Raises:
        InvalidRequest: it is neither.
    """
    digits = typed.strip()
    if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS:
        return int(digits)
    try:
        moment = parse_time(typed, field="WHEN")
    except InvalidRequest as error:
        raise InvalidRequest(error.message, field="WHEN", allowed=f"a commit number, or {error.allowed}") from None
    assert moment is not None
    return moment


def _tell(out: Output, report: Recovered) -> None:
    if report.cut_bytes:
        saved = f"; saved as {report.torn_file}" if report.torn_file else ""
        out.warn(f"{report.cut_bytes:,} bytes of an unfinished write were cut off{saved}")
    if report.damaged or report.shortened or report.checkpoint_lost:
        out.warn("the file is damaged; run: memhop verify")
    if report.refused:
        out.warn(f"the file cannot be written: {report.refused}")
