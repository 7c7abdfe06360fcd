"""`memhop.doctor`: what is wrong with a memory and with where it lies, and what to do about it.

Each check is a function of a `Case` that returns one `Finding`; a check that fails says so in its finding, and the
others go on. What surrounds the file is looked at in api/surroundings.py.
"""

from __future__ import annotations

import re
import shlex
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from memhop.api import backups, surroundings
from memhop.api.case import ERROR, NOTE, OK, STATES, WARNING, Case, bytes_text
from memhop.api.results import Diagnosis, Finding
from memhop.common.clock import SystemClock, to_iso
from memhop.common.config import check_path
from memhop.common.errors import Locked, MemhopError, StorageError
from memhop.core import lock
from memhop.core.meh_file import MehFile
from memhop.core.side_files import beside

if TYPE_CHECKING:
    import os

    from memhop.common.clock import Clock
    from memhop.models.embed import Embedder

_WORD = "memory"  # what a named embedder is tried with
_MANY_REPLAYED = 20_000  # entries; more than a checkpoint leaves behind
_LOOKS = 4  # at what may be a commit whose writer is just done
_OLD_COPY_MS = 7 * 24 * 3_600_000
_LEFT = re.compile(r"\.(torn|replaced|new|compact|restore|copying|preview|exporting)(-.*)?", re.DOTALL)
_KEPT = {"torn": "unfinished writes that were cut off", "replaced": "replaced by a restore"}


def doctor(
    path: str | os.PathLike[str],
    *,
    embedder: Embedder | Callable[[], Embedder | None] | None = None,
    clock: Clock | None = None,
) -> Diagnosis:
    """Examine a memory and where it lies, while others use it. Writes nothing.

    The lock is tried for some microseconds, to tell who has it; an opener that does not wait at all may find it taken.

    Args:
        path: The file; it need not exist.
        embedder: Tried with one word. What can be called, such as a class, is called to make one, and what that raises
            is part of the diagnosis. None: none is tried, and no socket is opened.
        clock: Where "now" comes from.

    Returns:
        One finding for each check, in a fixed order.

    Raises:
        InvalidRequest: `path` is no path. Whatever else is wrong is a finding.

    Cost: reads the file once; with an embedder, loads the indexes and embeds one word.
    """
    real = check_path(path, field="path")
    clock = clock or SystemClock()
    with ExitStack() as opened:
        file: MehFile | None = None
        problem: MemhopError | None = None
        try:
            file = opened.enter_context(MehFile.open(real, mode="read", now_ms=clock.now_ms))
        except MemhopError as error:
            problem = error
        except Exception as error:  # of a file that nobody thought of
            problem = StorageError(f"it cannot be opened: {type(error).__name__}: {error}")
        case = Case(path=real, file=file, problem=problem, clock=clock, embedder=embedder)
        findings = tuple(_run(name, check, case) for name, check in CHECKS.items())
    state = max((found.state for found in findings), key=STATES.index)
    return Diagnosis(path=str(real), ok=state != ERROR, state=state, findings=findings)


def _run(name: str, check: Callable[[Case], tuple[str, str, str | None]], case: Case) -> Finding:
    try:
        return Finding(name, *check(case))
    except Exception as error:  # whatever it was: the other checks may tell why
        reason = " ".join(str(error).split()) or "no reason given"
        return Finding(name, WARNING, f"this check failed: {type(error).__name__}: {reason}", None)


def _file(case: Case) -> tuple[str, str, str | None]:
    """Whether it can be read, and the fast verify."""
    if case.file is None:
        assert case.problem is not None
        begin = "check the path, or begin a memory: memhop remember TEXT"
        return ERROR, case.problem.message, case.problem.hint if case.exists else begin
    report = case.file.verify()
    if not report.ok:
        first = report.problems[0]
        return (
            ERROR,
            f"{report.problem_count:,} damaged places, the first at byte {first.offset:,}: {first.what}",
            f"save what is readable: {case.command('repair --to NEW')}, or restore a copy",
        )
    size = bytes_text(case.path.stat().st_size)
    said = f"in order: {report.commits:,} commits, {report.records:,} live records, {size}"
    return OK, f"{said} (`memhop verify --deep` also follows references and compares every index)", None


def _tail(case: Case) -> tuple[str, str, str | None]:
    """Whether a write was cut short."""
    if case.file is None:
        return NOTE, _UNREAD, None
    residue = 0
    case.file.catch_up()
    for _ in range(_LOOKS):
        residue = case.file.tail_residue
        if not residue:
            return OK, "no unfinished write", None
        if _holder(case) is not None:
            return OK, f"{residue:,} bytes of a write that is under way", None
        if not case.file.catch_up():
            break
    said = f"{residue:,} bytes of an unfinished write stand behind the last commit"
    return WARNING, said, "none needed: the next write saves them beside the file and cuts them off"


def _indexes(case: Case) -> tuple[str, str, str | None]:
    """Whether opening can use what is sealed in the file."""
    from memhop.repo.views import Views

    file = case.file
    if file is None:
        return NOTE, _UNREAD, None
    anew = case.command("compact")
    if lost := file.recovery.checkpoint_lost:
        return WARNING, f"the newest checkpoint is lost ({lost}); every opening replays the log", anew
    if file.segments() and dict(file.meta) != Views.meta():
        return NOTE, "they were made by another version, and every opening builds them anew", anew
    behind = f"{file.tail_length:,} records are newer"
    if file.tail_length > _MANY_REPLAYED:
        return NOTE, f"{behind} than the newest checkpoint; every opening replays them", anew
    return OK, f"sealed up to commit {file.covers:,}; {behind}", None


def _leftovers(case: Case) -> tuple[str, str, str | None]:
    """Files beside the memory which can be, or wait to be, removed."""
    count: Counter[str] = Counter()
    size: Counter[str] = Counter()
    folder, stem = case.path.parent, beside(case.path, "").name
    for entry in folder.iterdir() if folder.is_dir() else ():
        if entry.name.startswith(stem) and (match := _LEFT.fullmatch(entry.name, len(stem))):
            count[match[1]] += 1
            size[match[1]] += entry.lstat().st_size
    if not count:
        return OK, "none", None
    said = ", ".join(
        f"{count[suffix]} .{suffix} ({bytes_text(size[suffix])}, {_KEPT.get(suffix, 'temporary')})"
        for suffix in sorted(count)
    )
    if any(suffix in _KEPT for suffix in count):
        where = shlex.quote(str(beside(case.path, "")))
        return NOTE, said, f"look at them, then delete them: ls -l {where}.*"
    return NOTE, said, "none needed: a later opening or copy removes them"


def _lock(case: Case) -> tuple[str, str, str | None]:
    """Who keeps others from writing."""
    try:
        held = _holder(case)
    except PermissionError as error:
        return NOTE, f"who holds it cannot be told: {error.strerror}: {error.filename}", None
    if held is None:
        return OK, "nobody holds it", None
    said = held.message.partition(" is held by ")[2]
    if held.stopped:
        return WARNING, f"held by {said}: nobody can write", f"kill -CONT {held.pid}, or end that process"
    return NOTE, f"held by {said}; others read, and wait to write", "none needed while that process is at work"


def _clock(case: Case) -> tuple[str, str, str | None]:
    """Whether times can be believed."""
    return surroundings.clock(case.clock.now_ms(), case.file.commit_time_ms if case.file else 0)


def _embedder(case: Case) -> tuple[str, str, str | None]:
    """Whether the one that was named answers, and what waits for it."""
    from memhop.search.semantics import answer

    try:
        embedder = case.embedder() if callable(case.embedder) else case.embedder
        if embedder is None:
            return NOTE, "none was named, so none was tried", f"{case.command('doctor')} --embedder NAME"
        begun = time.perf_counter()
        vector = answer(embedder, [_WORD], query=True)[0]
        took = (time.perf_counter() - begun) * 1000
    except MemhopError as error:
        return ERROR, f"it does not work: {error.message}", error.hint
    except Exception as error:  # of whoever makes the embedder
        return ERROR, f"it cannot be made: {type(error).__name__}: {error}", None
    if not vector.any():
        return ERROR, f"{embedder.name} has no vector for {_WORD!r}", "choose another model"
    said = f"{embedder.name}: {len(vector)} dimensions, {took:.0f} ms for a word"
    if case.file is None:
        return OK, said, None
    from memhop.api.backfill import pending
    from memhop.repo.store import Store
    from memhop.search.semantics import space_of

    store = Store(case.file, case.clock)
    known = "known in this file" if space_of(store, embedder) else "not used in this file yet"
    waiting = pending(store, embedder)
    said += f"; its vectors are {known}; {waiting.without_vector:,} texts wait for one"
    if waiting.failed:
        return NOTE, f"{said}, {waiting.failed:,} were refused: {waiting.last_reason}", _BACKFILL
    return (NOTE, said, _BACKFILL) if waiting.without_vector else (OK, said, None)


def _language_model(case: Case) -> tuple[str, str, str | None]:
    return OK, "none configured", None


def _backups(case: Case) -> tuple[str, str, str | None]:
    """How old the newest copy in the usual folder is."""
    make = case.command("backup make") if case.exists else None
    folder = backups.folder_of(case.path)
    copies = backups.list(folder) if folder.is_dir() else ()
    if not copies:
        return NOTE, f"no copies in {folder}", make
    newest = copies[0]
    age_ms = case.clock.now_ms() - newest.made_at
    number = f"{len(copies):,} copies" if len(copies) > 1 else "1 copy"
    said = f"{number}; the newest of {to_iso(newest.made_at)}, commit {newest.commit:,}"
    behind = case.file.commit_number - newest.commit if case.file else 0
    if behind > 0:
        said += f", {behind:,} commits behind"
    return (NOTE, said, make) if behind > 0 and age_ms > _OLD_COPY_MS else (OK, said, None)


def _holder(case: Case) -> Locked | None:
    return lock.holder(beside(case.path, ".lock"))


_UNREAD = "not looked at: the file cannot be read"
_BACKFILL = "db.backfill(), or: memhop recall QUESTION --embedder NAME --backfill"

CHECKS: dict[str, Callable[[Case], tuple[str, str, str | None]]] = {
    "file": _file,
    "last write": _tail,
    "indexes": _indexes,
    "files beside it": _leftovers,
    "lock": _lock,
    "disk space": surroundings.disk_space,
    "clock": _clock,
    "permissions": surroundings.permissions,
    "file system": surroundings.file_system,
    "python": surroundings.python,
    "optional parts": surroundings.optional_parts,
    "embedder": _embedder,
    "language model": _language_model,
    "backups": _backups,
}
