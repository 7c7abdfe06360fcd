"""How `memhop repair` tells what was saved and what was not."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from memhop.api.reports import layer_named
from memhop.cli.output import Output
from memhop.common.sizes import file_size

if TYPE_CHECKING:
    from memhop.api.results import Repaired

_UNKNOWN = "?"


def show_repaired(out: Output, report: Repaired) -> None:
    """Print a verdict, saved and lost records by layer and kind, then each record that was lost or changed."""
    verdict = (f"{len(report.lost):,} lost", "bold red") if report.lost else ("nothing was lost", "green")
    out.say(verdict, f": {report.records:,} records saved in {report.path} ({report.seconds:.1f} s)")
    out.say(f"head digest {report.head_digest}")
    if report.tail_bytes:
        out.say(f"left out: {file_size(report.tail_bytes)} of an unfinished write")
    saved = Counter({(layer_named(kind) or _UNKNOWN, kind): len(ids) for kind, ids in report.saved.items()})
    lost = Counter((record.layer or _UNKNOWN, record.kind or _UNKNOWN) for record in report.lost)
    rows = [(*key, f"{saved[key]:,}", f"{lost[key]:,}") for key in sorted(saved | lost)]
    out.table(("layer", "kind", "saved", "lost"), rows, right=(2, 3))
    if report.lost:
        out.say("lost:")
        out.table(
            ("layer", "kind", "record", "byte", "size", "older", "what"),
            [
                (
                    record.layer or _UNKNOWN,
                    record.kind or _UNKNOWN,
                    record.id or _UNKNOWN,
                    f"{record.offset:,}",
                    f"{record.bytes:,}",
                    f"{record.older_versions:,}",
                    record.what,
                )
                for record in report.lost
            ],
            right=(3, 4, 5),
        )
    if report.mended:
        out.say("referred to what is not there:")
        out.table(
            ("layer", "kind", "record", "now", "gone"),
            [
                (
                    record.layer,
                    record.kind,
                    record.id,
                    "kept without" if record.kept else "dropped",
                    ", ".join(f"{field} {id_}" for field, id_ in record.gone),
                )
                for record in report.mended
            ],
        )
