"""`memhop demo`: a long conversation, a real crash in the middle of it, and questions about it afterwards.

All figures are measured while it runs; what is not found is shown as not found.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memhop.cli.exit_codes import FAILED, reporting
from memhop.cli.output import Output
from memhop.common.errors import ConfigError, InvalidRequest

if TYPE_CHECKING:
    import memhop
    from memhop.cli.demo_run import Asked, Spread

KILL_AT = 0.6  # of the conversation
INSTALL_LOCAL = "pip install 'memhop[local]'"


def demo(
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="PATH", help="Work in this new file and keep it.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the temporary folder, and say where it is.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Store a conversation, kill the process in the middle, recover, and ask questions about it."""
    with reporting(as_json=as_json) as out:
        if file is not None and file.exists():
            raise InvalidRequest(f"{file} is there already", field="--file", allowed="a file that does not exist yet")
        if file is not None and not file.parent.is_dir():
            raise InvalidRequest(f"there is no folder {file.parent}", field="--file", allowed="a file in a folder")
        folder = Path(tempfile.mkdtemp(prefix="memhop-demo-")) if file is None else None
        try:
            document = _run(out, file or Path(str(folder)) / "mara.meh")
            document["kept"] = folder is None or keep
            if as_json:
                out.json(document)
            elif document["kept"]:
                out.say(f"kept: {document['file']}")
        finally:
            if folder is not None and not keep:
                shutil.rmtree(folder, ignore_errors=True)
        if not document["ok"]:
            raise typer.Exit(FAILED)


def _run(out: Output, path: Path) -> dict[str, Any]:
    from memhop.cli import demo_report, demo_run
    from memhop.cli.demo_data import load_questions, load_turns

    began = time.perf_counter()
    turns, questions = load_turns(), load_questions()
    kill_after = int(len(turns) * KILL_AT)
    tell = demo_report.Report(out)

    tell.begin(path, turns, kill_after)
    with out.progress("a process stores turns", total=kill_after) as step:
        killed = demo_run.kill_writer(path, kill_after, step)
    start = time.perf_counter()
    with demo_run.open_demo(path) as db:
        opened_ms = (time.perf_counter() - start) * 1000
        survivors = demo_run.check_survivors(db, opened_ms, turns, killed)
        tell.crash(killed, survivors)
        document: dict[str, Any] = {"file": str(path), "crash": demo_report.crash_dict(killed, survivors)}
        if survivors.lost or not survivors.whole:
            return document | {"ok": False}
        with out.progress("storing the rest", total=len(turns) - len(survivors.message_ids)) as step:
            message_ids, stored = demo_run.store_rest(db, turns, survivors, step)
        tell.rest(len(turns) - len(survivors.message_ids), stored)
        with out.progress("asking", total=len(questions)) as step:
            asked, recalled = demo_run.ask_all(db, questions, message_ids, step)
        tell.answers(asked, turns)
        db.checkpoint()
        summary = demo_report.summary(db, turns, asked, stored, recalled)
        tell.summary(summary)
    local = _with_model(out, path, message_ids, asked, recalled)
    tell.model(local)
    with demo_run.open_demo(path) as db:
        with out.progress("checking every byte"):
            checked = db.verify(deep=True)
        commit = db.stats().commit
    took = time.perf_counter() - began
    tell.end(checked.problem_count, commit, checked.head_digest, took)
    return document | {
        "storing": stored._asdict(),
        "questions": [demo_report.asked_dict(one, message_ids) for one in asked],
        "summary": summary,
        "local": local,
        "verify": {
            "ok": checked.ok,
            "problems": checked.problem_count,
            "commit": commit,
            "head_digest": checked.head_digest,
        },
        "seconds": round(took, 2),
        "ok": checked.ok,
    }


def _with_model(
    out: Output, path: Path, message_ids: tuple[str, ...], before: tuple[Asked, ...], before_ms: Spread
) -> dict[str, Any]:
    """The same questions with the local embedder, if the extra is installed."""
    import memhop
    from memhop.cli import demo_report, demo_run

    try:
        embedder: memhop.LocalEmbedder = memhop.LocalEmbedder()
    except ConfigError as error:
        return {"available": False, "reason": error.message, "install": INSTALL_LOCAL}
    with demo_run.open_demo(path, embedder) as db:
        with out.progress("embedding"):
            report = db.backfill()
        questions = [one.question for one in before]
        with out.progress("asking again", total=len(questions)) as step:
            after, after_ms = demo_run.ask_all(db, questions, message_ids, step)
    return {
        "available": True,
        "model": embedder.name,
        "embedded": report.embedded,
        "failed": report.failed,
        "seconds": round(report.seconds, 3),
        "reason": report.reason,
        "recall_ms": {"before": before_ms._asdict(), "after": after_ms._asdict()},
        "found": {
            f"at_{depth}": {
                "before": demo_run.evidence_found(before, depth)[0],
                "after": demo_run.evidence_found(after, depth)[0],
            }
            for depth in demo_run.DEPTHS
        },
        "questions": [
            {
                "question": one.question.text,
                "ranks_before": demo_report.ranks_dict(one),
                "ranks_after": demo_report.ranks_dict(two),
                "confidence_after": two.recall.confidence,
            }
            for one, two in zip(before, after, strict=True)
        ],
    }
