"""What waits for a model: `pending`, and `backfill`, which lets it work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memhop.cli.arguments import (
    DEFAULT_FILE,
    DEFAULT_WAIT_S,
    EmbedderOption,
    FileOption,
    JsonOption,
    WaitOption,
    embedder_called,
)
from memhop.cli.call import Call, run
from memhop.cli.configuration import chat_model
from memhop.cli.output import Output, when
from memhop.common.errors import InvalidRequest

if TYPE_CHECKING:
    from memhop.api import results

ModelOption = Annotated[
    str | None, typer.Option("--model", metavar="NAME", help="Chat model for keywords; default: that of the settings.")
]


def pending(
    embedder: EmbedderOption = "none",
    model: ModelOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """What has no vector of an embedder yet, and what waits for the chat model."""
    run(
        Call("pending", file, as_json),
        lambda db: db.pending(),
        _show_pending,
        embedder=lambda: embedder_called(embedder),
        llm=lambda: chat_model(model),
    )


def backfill(
    embedder: EmbedderOption = "none",
    model: ModelOption = None,
    max_seconds: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop after about so long; the next one goes on.")
    ] = None,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Embed what has no vector yet, and let the chat model refine keywords. Exit code 1: something is left to do."""

    def check() -> None:
        if embedder == "none" and chat_model(model) is None:
            raise InvalidRequest(
                "there is nothing to fill with", field="--embedder", allowed="an embedder, such as local, or a --model"
            )

    run(
        Call("backfill", file, as_json, wait),
        lambda db: db.backfill(max_seconds),
        _show_done,
        well=lambda done: not done.remaining,
        before=check,
        doing="filling",
        embedder=lambda: embedder_called(embedder),
        llm=lambda: chat_model(model),
    )


def _show_pending(out: Output, found: results.Pending) -> None:
    if found.space is None:
        out.say("no embedder was named: see --embedder")
    else:
        out.say(f"{found.without_vector:,} texts have no vector of {found.space}")
    if found.failed:
        retried = f", tried again from {when(found.next_retry_at)}" if found.next_retry_at else ""
        out.say(f"{found.failed:,} of them were refused{retried}: {found.last_reason}")
    if found.keywords:
        out.say(f"{found.keywords:,} turns wait for the chat model")


def _show_done(out: Output, done: results.BackfillReport) -> None:
    if done.space or done.embedded or done.remaining:
        out.say(
            ("embedded", "green"),
            f" {done.embedded:,} texts in {done.seconds:.1f} s; {done.failed:,} refused, {done.remaining:,} left",
        )
    else:
        out.say(("nothing was to be embedded", "green"))
    if done.keywords:
        out.say(f"the chat model refined {done.keywords:,} turns")
    if done.reason:
        out.notice(f"stopped early: {done.reason}")
