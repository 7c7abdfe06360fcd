"""The commands that work on a memory of your own; `demo` has a module of its own.

Each opens the file, asks the API one thing, prints it and closes. What is slow to import is imported inside.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memhop.cli.exit_codes import FAILED, reporting
from memhop.cli.output import Output, file_size, when
from memhop.common.config import LIMITS, check_text
from memhop.common.errors import InvalidRequest, StorageError

if TYPE_CHECKING:
    import memhop

DEFAULT_FILE = Path("memory.meh")
EMBEDDERS = ("none", "hash", "local")

FileOption = Annotated[
    Path, typer.Option("--file", "-f", envvar="MEMHOP_FILE", metavar="PATH", help="The memory, a .meh file.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def remember(
    text: Annotated[str, typer.Argument(help="What to remember; - reads it from standard input.")],
    project: Annotated[str, typer.Option(metavar="NAME", help="Where it belongs.")] = "default",
    kind: Annotated[str, typer.Option(metavar="NAME", help="note, fact, decision, preference, ...")] = "note",
    tag: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A tag; may be given often.")] = None,
    at: Annotated[str | None, typer.Option(metavar="ISO", help="When it was so; default: now.")] = None,
    external_id: Annotated[
        str | None, typer.Option(metavar="NAME", help="Your own name for it; a second call updates the note.")
    ] = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Store a note; the file is created if there is none."""
    with reporting(as_json=as_json) as out:
        words = check_text(
            read_stdin() if text == "-" else typed(text), field="text"
        )  # before a file is created for it
        moment = parse_time(at, field="--at")
        with out.progress("storing"), open_memory(out, file, purpose="memhop remember", create=True) as db:
            note = db.remember(words, project=project, kind=kind, tags=tag or (), at=moment, external_id=external_id)
        if as_json:
            out.json(note.to_dict())
        else:
            done = "remembered" if note.created else "known already, brought up to date"
            out.say((done, "green"), f" {note.id}  ({note.kind}, project {note.project}, {when(note.at)})")


def recall(
    query: Annotated[str, typer.Argument(help="A question in any language; - reads it from standard input.")],
    limit: Annotated[int, typer.Option(metavar="N", help="Most hits to show, 1..1000.")] = 10,
    project: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this project; may be given often.")
    ] = None,
    layer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Only messages, notes, topics, knowledge or capabilities; may be given often."
        ),
    ] = None,
    kind: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this kind; may be given often.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only notes with this tag; if given often, with all.")
    ] = None,
    speaker: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only what this one said; may be given often.")
    ] = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Only this session.")] = None,
    since: Annotated[str | None, typer.Option(metavar="ISO", help="Only from this time on.")] = None,
    until: Annotated[str | None, typer.Option(metavar="ISO", help="Only before this time.")] = None,
    budget: Annotated[int, typer.Option(metavar="TOKENS", help="Room for the packed context, 0..100000.")] = 2000,
    context: Annotated[bool, typer.Option("--context", help="Print only the context, ready for a prompt.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each hit earned its place.")] = False,
    embedder: Annotated[str, typer.Option(metavar="NAME", help="none, hash or local: also look by meaning.")] = "none",
    backfill: Annotated[
        bool, typer.Option("--backfill", help="First embed what has no vector of this embedder yet; this writes.")
    ] = False,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Find what bears on a question. Exit code 1: nothing does."""
    from memhop.cli.recall_view import show_recall

    with reporting(as_json=as_json) as out:
        words = read_stdin() if query == "-" else typed(query)
        begin, end = parse_time(since, field="--since"), parse_time(until, field="--until")
        chosen = embedder_called(embedder)
        if backfill and chosen is None:
            raise InvalidRequest("there is nothing to embed with", field="--backfill", allowed="with --embedder")
        report = None
        with out.progress("looking"), open_memory(out, file, purpose="memhop recall", embedder=chosen) as db:
            if backfill:
                report = db.backfill()
            found = db.recall(
                words,
                limit=limit,
                token_budget=budget,
                layers=layer,
                project=project,
                kinds=kind,
                tags=tag,
                speakers=speaker,
                session=session,
                since=begin,
                until=end,
                explain=explain,
            )
        if as_json:
            out.json(found.to_dict() | ({"backfill": report.to_dict()} if report else {}))
        else:
            if report:
                stopped = f", stopped early: {report.reason}" if report.reason else ""
                out.notice(f"embedded {report.embedded:,} texts in {report.seconds:.1f} s{stopped}")
            show_recall(out, found, context_only=context, explain=explain)
        if not found.hits:
            raise typer.Exit(FAILED)


def stats(file: FileOption = DEFAULT_FILE, as_json: JsonOption = False) -> None:
    """Counts and sizes."""
    with reporting(as_json=as_json) as out:
        with out.progress("counting"), open_memory(out, file, purpose="memhop stats") as db:
            found = db.stats()
        if as_json:
            out.json(found.to_dict())
            return
        records = ", ".join(f"{count:,} {name}" for name, count in found.records.items()) or "none"
        sizes = (
            f"{file_size(found.file_bytes)} ({file_size(found.live_bytes)} live, {file_size(found.dead_bytes)} dead)"
        )
        rows = [
            ("file", found.path),
            ("size", sizes),
            ("records", records),
            ("searchable", f"{found.units:,} units, {found.terms:,} terms"),
            ("vectors", ", ".join(found.spaces) or "none"),
            (
                "commit",
                f"{found.commit:,} (indexes sealed up to {found.checkpoint_commit:,}, {found.segments} segments)",
            ),
            ("generation", f"{found.generation}"),
            ("head digest", found.head_digest),
            ("unreadable", f"{found.unreadable:,} records"),
        ]
        out.table(("what", "value"), rows)


def verify(
    deep: Annotated[
        bool, typer.Option("--deep", help="Also every reference, and every index against one built anew.")
    ] = False,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Check every byte of the file. Exit code 1: something is wrong; see `memhop repair`."""
    with reporting(as_json=as_json) as out:
        with out.progress("checking"), open_memory(out, file, purpose="memhop verify") as db:
            report = db.verify(deep=deep)
        if as_json:
            out.json(report.to_dict())
        else:
            verdict = ("in order", "green") if report.ok else (f"{report.problem_count:,} problems", "bold red")
            out.say(verdict, f": {report.commits:,} commits, {report.records:,} live records")
            out.say(f"live {file_size(report.live_bytes)}, dead {file_size(report.dead_bytes)}")
            if report.references is not None and report.views is not None:
                views = ", ".join(f"{count:,} {name}" for name, count in report.views.items() if count) or "nothing"
                out.say(f"references {report.references:,} followed; indexes built anew and compared: {views}")
            out.say(f"head digest {report.head_digest}")
            if report.problems:
                rows = [(f"{p.offset:,}", p.what, p.kind or "?", p.id or "?") for p in report.problems]
                out.table(("byte", "what", "kind", "record"), rows, right=(0,))
        if not report.ok:
            raise typer.Exit(FAILED)


def repair(
    to: Annotated[Path, typer.Option("--to", metavar="NEW", help="The new file, which must not exist yet.")],
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Save what is readable of a damaged file into a new one. Exit code 1: something was lost."""
    from memhop import repair as save
    from memhop.cli.repair_view import show_repaired

    with reporting(as_json=as_json) as out:
        with out.progress("repairing"):
            report = save(file, to)
        if as_json:
            out.json(report.to_dict())
        else:
            show_repaired(out, report)
        if report.lost:
            raise typer.Exit(FAILED)


def compact(
    keep_history: Annotated[bool, typer.Option("--keep-history", help="Keep older versions of records.")] = False,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Rewrite the file without what is dead: old versions, erased records, old indexes."""
    with reporting(as_json=as_json) as out:
        with out.progress("compacting"), open_memory(out, file, purpose="memhop compact") as db:
            report = db.compact(keep_history=keep_history)
        if as_json:
            out.json(report.to_dict())
        else:
            before, after = file_size(report.bytes_before), file_size(report.bytes_after)
            out.say(("compacted", "green"), f": {before} -> {after}, {report.records:,} live records")


@contextmanager
def open_memory(
    out: Output,
    path: Path,
    *,
    purpose: str,
    create: bool = False,
    embedder: memhop.HashEmbedder | memhop.LocalEmbedder | None = None,
) -> Iterator[memhop.DB]:
    """A memory for one command; a missing one is created only if so wanted. What opening had to mend is told.

    Raises:
        StorageError: there is none, or it is a folder; and all that `DB.open` raises.
    """
    from memhop import DB

    if not create and not path.exists():
        raise StorageError(
            f"there is no memory {path}", field="file", hint="see --file, or begin one with: memhop remember TEXT"
        )
    with DB.open(path, purpose=purpose, create=create, embedder=embedder) as db:
        report = db.recovery
        if report.cut_bytes:
            saved = f"; saved as {report.torn_file}" if report.torn_file else ""
            out.warn(f"{report.cut_bytes:,} bytes of an unfinished write were cut off{saved}")
        if report.damaged or report.shortened or report.checkpoint_lost:
            out.warn("the file is damaged; run: memhop verify")
        if report.refused:
            out.warn(f"the file cannot be written: {report.refused}")
        yield db


def embedder_called(name: str) -> memhop.HashEmbedder | memhop.LocalEmbedder | None:
    """The embedder of this name, None for "none".

    Raises:
        InvalidRequest: no such name. ConfigError: "local" without the extra `local`.
    """
    import memhop

    if name == "none":
        return None
    if name == "hash":
        return memhop.HashEmbedder()
    if name == "local":
        return memhop.LocalEmbedder()
    raise InvalidRequest(f"{name!r:.40} is not known", field="--embedder", allowed=", ".join(EMBEDDERS))


def parse_time(value: str | None, *, field: str) -> datetime | None:
    """ISO-8601 to an aware time. A time without a zone is this machine's local time; a date is its midnight."""
    if value is None:
        return None
    try:
        return datetime.fromisoformat(value.strip()).astimezone()
    except (ValueError, OverflowError, OSError):
        raise InvalidRequest(
            f"{value!r:.40} is not a time", field=field, allowed="ISO-8601, such as 2026-05-10 or 2026-05-10T08:30:00Z"
        ) from None


def typed(text: str) -> str:
    """Words from the command line. Where the locale is not UTF-8, Python leaves their bytes as surrogates."""
    try:
        return text if not any("\udc80" <= char <= "\udcff" for char in text) else os.fsencode(text).decode("utf-8")
    except UnicodeError:
        return text


def read_stdin() -> str:
    """All of standard input, as UTF-8, without the last line end.

    Raises:
        InvalidRequest: not UTF-8, or longer than a text may be.
    """
    data = sys.stdin.buffer.read(LIMITS.text_bytes + 3)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if len(data) <= LIMITS.text_bytes:
            raise InvalidRequest(f"byte {error.start} is not UTF-8", field="standard input", allowed="UTF-8") from None
        text = data.decode("utf-8", "ignore")
    return text.removesuffix("\n").removesuffix("\r")
