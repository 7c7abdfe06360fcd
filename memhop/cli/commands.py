"""The everyday commands: `remember`, `recall`, `explain`, `stats`.

Each opens the file, asks the API one thing, prints it and closes. What is slow to import is imported inside.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from memhop.cli.arguments import (
    DEFAULT_FILE,
    DEFAULT_WAIT_S,
    EmbedderOption,
    FileOption,
    JsonOption,
    WaitOption,
    embedder_called,
    parse_time,
    words_of,
)
from memhop.cli.configuration import settings
from memhop.cli.exit_codes import FAILED, reporting
from memhop.cli.memory import moment_of, open_memory
from memhop.cli.notes import LinkOption, MetaOption, links_of, metadata_of
from memhop.cli.output import when
from memhop.common.config import check_text
from memhop.common.errors import InvalidRequest
from memhop.common.sizes import file_size


def remember(
    text: Annotated[str, typer.Argument(help="What to remember; - reads it from standard input.")],
    project: Annotated[str, typer.Option(metavar="NAME", help="Where it belongs.")] = "default",
    kind: Annotated[str, typer.Option(metavar="NAME", help="note, fact, decision, preference, ...")] = "note",
    status: Annotated[
        str | None, typer.Option(metavar="NAME", help="open, done, ...; default: that of the kind.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A tag; may be given often.")] = None,
    meta: MetaOption = None,
    link: LinkOption = None,
    source: Annotated[str | None, typer.Option(metavar="NAME", help="Where it comes from.")] = None,
    at: Annotated[str | None, typer.Option(metavar="ISO", help="When it was so; default: now.")] = None,
    external_id: Annotated[
        str | None, typer.Option(metavar="NAME", help="Your own name for it; a second call updates the note.")
    ] = None,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Store a note; the file is created if there is none."""
    with reporting(as_json=as_json) as out:
        words = check_text(words_of(text), field="text")  # before a file is created for it
        moment, metadata = parse_time(at, field="--at"), metadata_of(meta)
        with out.progress("storing"), open_memory(out, file, wait=wait, purpose="memhop remember", create=True) as db:
            note = db.remember(
                words,
                project=project,
                kind=kind,
                status=status,
                tags=tag or (),
                metadata=metadata,
                links=links_of(db, link),
                source=source,
                at=moment,
                external_id=external_id,
            )
        if as_json:
            out.json(note.to_dict())
        else:
            done = "remembered" if note.created else "known already, brought up to date"
            out.say((done, "green"), f" {note.id}  ({note.kind}, project {note.project}, {when(note.at)})")
            if note.created and settings().memory.embedder != "none":
                out.notice("it has no vector yet: memhop backfill")


def recall(
    ctx: typer.Context,
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
    status: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only notes with this status; may be given often.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only notes with this tag; if given often, with all.")
    ] = None,
    tier: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="active (default), archived, trashed or all.")
    ] = None,
    universal: Annotated[
        bool, typer.Option(help="With --project, also look in the project that everybody should know.")
    ] = True,
    alpha: Annotated[
        float | None,
        typer.Option(metavar="0..1", help="How much vectors count, and words the rest; 0 or 1: one alone."),
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
    embedder: EmbedderOption = "none",
    backfill: Annotated[
        bool, typer.Option("--backfill", help="First embed what has no vector of this embedder yet; this writes.")
    ] = False,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Find what bears on a question. Exit code 1: nothing does."""
    from memhop.cli.recall_view import show_recall

    with reporting(as_json=as_json) as out:
        words = words_of(query)
        begin, end = parse_time(since, field="--since"), parse_time(until, field="--until")
        chosen = embedder_called(embedder)
        if backfill and chosen is None:
            raise InvalidRequest("there is nothing to embed with", field="--backfill", allowed="with --embedder")
        report = None
        moment = moment_of(ctx)
        if backfill and moment is not None:
            raise InvalidRequest("the past cannot be written to", field="--backfill", allowed="without `memhop at`")
        opened = open_memory(
            out, file, wait=wait, purpose="memhop recall", embedder=chosen, moment=moment, retains=False
        )
        with out.progress("looking"), opened as db:
            if backfill:
                report = db.backfill()
            found = db.recall(
                words,
                limit=limit,
                token_budget=budget,
                layers=layer,
                project=project,
                kinds=kind,
                statuses=status,
                tags=tag,
                tier=tier or "active",
                universal=universal,
                alpha=alpha,
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


@wraps(recall)  # with its options
def explain(**given: Any) -> None:
    recall(**given, context=False, explain=True)


def _without(command: Callable[..., None], *names: str) -> inspect.Signature:
    signature = inspect.signature(command, eval_str=True)
    return signature.replace(parameters=[one for name, one in signature.parameters.items() if name not in names])


explain.__signature__ = _without(recall, "context", "explain")  # type: ignore[attr-defined]
explain.__doc__ = "Find what bears on a question, and show how each hit earned its place. Exit code 1: nothing does."


def stats(
    ctx: typer.Context,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Counts and sizes, and what uses the space."""
    with reporting(as_json=as_json) as out:
        opened = open_memory(out, file, wait=wait, purpose="memhop stats", moment=moment_of(ctx), retains=False)
        with out.progress("counting"), opened as db:
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
        used = [
            (
                use.part,
                f"{use.name} ({use.layer})" if use.layer else use.name,
                "" if use.count is None else f"{use.count:,}",
                file_size(use.bytes),
                f"{100 * use.bytes / found.file_bytes:.1f} %",
            )
            for use in found.space
        ]
        out.table(("space", "used by", "count", "size", "share"), used, right=(2, 3, 4))
