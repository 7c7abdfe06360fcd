"""How a recall is shown to a person: hits with their words, and with `--explain` why each is where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memhop.cli.output import Output, when

if TYPE_CHECKING:
    from memhop.api.results import Hit, Recall

_WORD_COLUMNS = 60  # of a hit's text beside its figures


def show_recall(out: Output, found: Recall, *, context_only: bool, explain: bool) -> None:
    """Print a recall; what was not found, and why, goes to standard error."""
    if context_only:
        if found.context:
            out.raw(found.context)
    else:
        for rank, hit in enumerate(found.hits, 1):
            _show_hit(out, rank, hit)
        if explain:
            _show_explanation(out, found)
    if found.reason:
        out.notice(_nothing_found(found))
    for notice in found.notices:
        out.notice(notice)


def _nothing_found(found: Recall) -> str:
    """One line: why, which channels looked, and what the filters keep back."""
    ran = [use.name for use in found.channels if use.ran]
    pieces = [f"nothing found: {found.reason}"]
    if ran:
        pieces.append(f"looked by {', '.join(ran)}")
    if found.hint:
        pieces.append(found.hint)
    return "; ".join(pieces)


def parts_text(hit: Hit, most: int = 8) -> str:
    """What a hit's score is made of, largest first: "lexical 0.61 + named 0.20"; what it has lost is below 0."""
    parts = sorted(hit.parts.items(), key=lambda part: (-abs(part[1]), part[0]))
    shown = [f"{name} {value:.2f}" for name, value in parts[:most] if abs(value) >= 0.005]
    return " + ".join(shown) or "none"


def _show_hit(out: Output, rank: int, hit: Hit) -> None:
    who = hit.speaker or hit.role or hit.kind
    out.say(
        (f"{rank:>2}", "bold"),
        f"  {hit.score:.3f}  {when(hit.at)}  ",
        (who, "cyan"),
        (f"  {hit.layer}  {hit.id}", "dim"),
    )
    for line in hit.text.splitlines():
        out.say(f"    {line}")
    marks = [hit.status] if hit.status else []
    if hit.superseded_by:
        marks.append(f"superseded by {hit.superseded_by}")
    if hit.universal:
        marks.append(f"from project {hit.project}")
    if hit.instruction_like:
        marks.append("reads like an instruction to a model")
    if marks:
        out.say((f"    {'; '.join(marks)}", "dim"))
    if hit.valid_from is not None:
        end = f"to {when(hit.valid_to)}" if hit.valid_to else "and still"
        out.say((f"    from {when(hit.valid_from)} {end}", "dim"))


def _show_explanation(out: Output, found: Recall) -> None:
    if found.hits:
        out.say()
        rows = [
            (
                f"{rank}",
                f"{hit.score:.3f}",
                hit.layer,
                parts_text(hit),
                ", ".join(f"{name} {place}" for name, place in hit.ranks.items()),
                out.shorten(hit.text, _WORD_COLUMNS),
            )
            for rank, hit in enumerate(found.hits, 1)
        ]
        out.table(("hit", "score", "layer", "parts of the score", "rank by channel", "text"), rows, right=(0, 1))
    out.say()
    channels = [(use.name, "yes" if use.ran else "no", f"{use.matched:,}", use.reason or "") for use in found.channels]
    out.table(("channel", "ran", "matched", "why idle"), channels, right=(2,))
    terms: list[dict[str, Any]] = found.explanation.get("terms", [])
    if terms:
        out.say()
        weights = [
            (
                str(term["term"]),
                f"{term['idf']:.2f}",
                f"{term['units']:,}",
                ", ".join(f"{name} {weight:.2f}" for name, weight in term["variants"].items()),
            )
            for term in terms
        ]
        out.table(("term", "idf", "units", "variants"), weights, right=(1, 2))
    out.say()
    out.say(
        f"confidence {found.confidence:.2f}; context {found.context_tokens:,} tokens, {found.left_out} hits left out"
    )
    for begin, end in found.explanation.get("windows", []):
        out.say(f"time window {when(begin)} to {when(end)}")
    for name, count in found.explanation.get("filters_left_out", {}).items():
        out.say(f"filter {name} leaves out {count:,} units")
