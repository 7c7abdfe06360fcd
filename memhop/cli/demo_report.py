"""How the demo is told: `Report` for people, the `…_dict` functions and `summary` for `--json`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memhop.cli.demo_data import Turn
from memhop.cli.demo_run import DEPTHS, HITS, Asked, Killed, Spread, Survivors, evidence_found, scene_sizes
from memhop.cli.output import Output, when
from memhop.cli.recall_view import parts_text
from memhop.common.config import LOW_CONFIDENCE
from memhop.common.sizes import file_size

if TYPE_CHECKING:
    from memhop import DB

_SHOWN = 3  # hits of each question
_TEXT_COLUMNS = 88
_SHOWN_PARTS = 3


class Report:
    """Tells the demo step by step; silent with `--json`."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._quiet = out.as_json

    def _say(self, *pieces: str | tuple[str, str]) -> None:
        if not self._quiet:
            self._out.say(*pieces)

    def _head(self, title: str) -> None:
        self._say()
        self._say((title, "bold"))

    def begin(self, path: Path, turns: Sequence[Turn], kill_after: int) -> None:
        """What is going to happen."""
        sessions = len({turn.session for turn in turns})
        self._say(
            ("MemHop demo", "bold"), f": {len(turns)} turns of Mara and her agent in {sessions} sessions, in {path}"
        )
        self._say(f"A process of its own stores them turn by turn; after {kill_after} it is killed without warning.")

    def crash(self, killed: Killed, found: Survivors) -> None:
        """What the crash left."""
        self._head("1. The crash")
        self._say(f"process {killed.process} was killed (exit {killed.exit_code}) while it was storing turns")
        recovery = found.recovery
        torn = f", saved as {Path(recovery['torn_file']).name}" if recovery["torn_file"] else ""
        self._say(
            f"reopened in {found.open_ms:.0f} ms, imports included: {recovery['replayed_commits']} commits replayed, "
            f"{recovery['cut_bytes']:,} bytes of a torn write cut{torn}, {recovery['damaged']} damaged places"
        )
        verdict = ("nothing lost", "bold green") if not found.lost else (f"{len(found.lost)} LOST", "bold red")
        self._say(
            f"acknowledged {found.acknowledged} turns, found {found.found} of them word for word: ",
            verdict,
            f" (and {found.unacknowledged} that was stored but not yet acknowledged)" if found.unacknowledged else "",
        )
        if not found.whole:
            self._say(("what is stored is not the beginning of the conversation", "bold red"))

    def rest(self, count: int, stored: Spread) -> None:
        """How the conversation went on."""
        self._say(f"the other {count} turns were stored after the last one found: {_spread_text(stored)} each, durable")

    def answers(self, asked: Sequence[Asked], turns: Sequence[Turn]) -> None:
        """Each question with its best hits."""
        if self._quiet:
            return
        self._head("2. Questions, by words alone")
        for number, one in enumerate(asked, 1):
            self._say()
            self._say((f"{number:>2}. {one.question.text}", "bold cyan"))
            self._say(f"    tests {one.question.shows}")
            self._say(f"    right answer: {one.question.answer}")
            self._verdict(one)
            for rank, hit in enumerate(one.recall.hits[:_SHOWN], 1):
                sign = self._sign(True) if hit.id in one.evidence_ids else " "
                who = hit.speaker or hit.kind
                self._say(
                    f"  {rank:>2} ",
                    (sign, "green"),
                    f" {when(hit.at)[:10]} {who}: {self._out.shorten(hit.text, _TEXT_COLUMNS)}",
                )
                self._say((f"       {hit.layer} {hit.score:.2f} = {parts_text(hit, _SHOWN_PARTS)}", "dim"))
            for line, place in one.ranks.items():
                if place is None or place > _SHOWN:
                    where = f"at place {place}" if place else f"not among the first {HITS}"
                    self._say(
                        ("     ! ", "yellow"),
                        f"{where}: {when(turns[line].at)[:10]} {self._out.shorten(turns[line].text, _TEXT_COLUMNS)}",
                    )
            if not one.recall.hits:
                self._say(f"     nothing found: {one.recall.reason}")

    def _verdict(self, one: Asked) -> None:
        confidence = one.recall.confidence
        figures = f"confidence {confidence:.2f}, {one.ms:.1f} ms"
        if one.ranks:
            marks = "  ".join(f"top {depth} {self._share(one, depth)}" for depth in DEPTHS)
            self._say(f"    {marks}   {figures}")
        elif confidence < LOW_CONFIDENCE:
            self._say(f"    {figures}: ", ("low, so the answer is probably not in memory (it is not)", "green"))
        else:
            self._say(f"    {figures}: ", ("not low, though the answer is not in memory", "yellow"))

    def _share(self, one: Asked, depth: int) -> str:
        found = one.found_within(depth)
        if len(one.ranks) > 1:
            return f"{found}/{len(one.ranks)}"
        return self._sign(bool(found))

    def _sign(self, good: bool) -> str:
        return self._out.glyph("✓", "+") if good else self._out.glyph("✗", "-")

    def summary(self, values: dict[str, Any]) -> None:
        """The figures of the run."""
        if self._quiet:
            return
        self._head("3. Figures of this run")
        recall_ms, store_ms, scenes = values["recall_ms"], values["stored_turn_ms"], values["scenes"]
        rows = [
            ("turns", f"{values['turns']}"),
            ("scenes", f"{scenes['count']}, the largest holds {scenes['largest_share']:.0%} of the topics"),
            ("file", file_size(values["file_bytes"])),
            ("recall", _spread_text(Spread(**recall_ms))),
            ("storing a turn", f"{_spread_text(Spread(**store_ms))}, recall and fsync included"),
        ]
        rows += [
            (f"evidence in top {depth}", f"{values['evidence'][f'at_{depth}']} of {values['evidence']['lines']} lines")
            for depth in DEPTHS
        ]
        self._out.table(("what", "value"), rows)

    def model(self, local: dict[str, Any]) -> None:
        """What the local embedder changes, or how to get it."""
        if self._quiet:
            return
        self._head("4. The same questions with a local embedder")
        if not local["available"]:
            self._say(f"not installed ({local['reason']}); to try it: {local['install']}")
            return
        self._say(
            f"{local['model']}: {local['embedded']} texts embedded in {local['seconds']:.2f} s, no network; recall "
            f"p50 {local['recall_ms']['before']['p50']:.1f} -> {local['recall_ms']['after']['p50']:.1f} ms"
        )
        if local["reason"]:
            self._say(f"embedding stopped early: {local['reason']}")
        rows = []
        for number, one in enumerate(local["questions"], 1):
            before, after = _ranks_text(one["ranks_before"]), _ranks_text(one["ranks_after"])
            rows.append((f"{number}", before, after, self._change(one), self._out.shorten(one["question"], 60)))
        self._out.table(("no", "words alone", "with model", "change", "question"), rows, right=(0,))
        totals = [
            f"top {d} {local['found'][f'at_{d}']['before']} -> {local['found'][f'at_{d}']['after']}" for d in DEPTHS
        ]
        self._say(f"evidence lines: {', '.join(totals)}")

    def _change(self, one: dict[str, Any]) -> str:
        def cost(ranks: dict[str, int | None]) -> int:
            return sum(HITS + 1 if rank is None else rank for rank in ranks.values())

        before, after = cost(one["ranks_before"]), cost(one["ranks_after"])
        return "" if before == after else "better" if after < before else "worse"

    def end(self, problems: int, commit: int, head_digest: str, seconds: float) -> None:
        """The last check."""
        self._head("5. The file")
        verdict = ("every byte checks out", "bold green") if not problems else (f"{problems} PROBLEMS", "bold red")
        self._say("verify: ", verdict)
        self._say(f"commit {commit}, head digest {head_digest}")
        self._say(f"the demo took {seconds:.1f} s")


def crash_dict(killed: Killed, found: Survivors) -> dict[str, Any]:
    """The crash as JSON."""
    return {
        "exit_code": killed.exit_code,
        "acknowledged": found.acknowledged,
        "found": found.found,
        "lost": len(found.lost),
        "lost_lines": list(found.lost),
        "unacknowledged": found.unacknowledged,
        "stored_is_prefix": found.whole,
        "open_ms": round(found.open_ms, 2),
        "recovery": found.recovery,
    }


def asked_dict(one: Asked, message_ids: Sequence[str]) -> dict[str, Any]:
    """A question as JSON; `line` of a hit is its number in the conversation, None for what is no turn."""
    line_of = {message_id: line for line, message_id in enumerate(message_ids)}
    return {
        "question": one.question.text,
        "shows": one.question.shows,
        "answer": one.question.answer,
        "evidence": list(one.question.evidence),
        "ranks": ranks_dict(one),
        "found": {f"at_{depth}": one.found_within(depth) for depth in DEPTHS},
        "confidence": one.recall.confidence,
        "reason": one.recall.reason,
        "ms": round(one.ms, 2),
        "hits": [hit.to_dict() | {"line": line_of.get(hit.id)} for hit in one.recall.hits[:_SHOWN]],
    }


def ranks_dict(one: Asked) -> dict[str, int | None]:
    """Place of each line of evidence, None when it is not among the hits."""
    return {str(line): rank for line, rank in one.ranks.items()}


def summary(db: DB, turns: Sequence[Turn], asked: Sequence[Asked], stored: Spread, recalled: Spread) -> dict[str, Any]:
    """The figures of the run; the file's size is what it takes on disk after a checkpoint."""
    sizes = scene_sizes(db)
    evidence = {f"at_{depth}": evidence_found(asked, depth)[0] for depth in DEPTHS}
    return {
        "turns": len(turns),
        "scenes": {
            "count": len(sizes),
            "largest": sizes[0] if sizes else 0,
            "largest_share": round(sizes[0] / sum(sizes), 4) if sizes else 0.0,
        },
        "file_bytes": os.path.getsize(db.path),
        "recall_ms": recalled._asdict(),
        "stored_turn_ms": stored._asdict(),
        "evidence": {**evidence, "lines": sum(len(one.ranks) for one in asked)},
    }


def _spread_text(spread: Spread) -> str:
    return f"p50 {spread.p50:.1f} ms, p95 {spread.p95:.1f} ms, longest {spread.most:.0f} ms ({spread.calls} calls)"


def _ranks_text(ranks: dict[str, int | None]) -> str:
    return ", ".join("-" if rank is None else str(rank) for rank in ranks.values()) or "no answer"
