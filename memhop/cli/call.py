"""One call of the API as a command: open, ask, close, then print what came of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import typer

from memhop.cli.exit_codes import FAILED, reporting
from memhop.cli.memory import open_memory
from memhop.cli.output import Output
from memhop.common.errors import InvalidRequest, NotFound

if TYPE_CHECKING:
    import memhop
    from memhop.api import results
    from memhop.cli.arguments import Embedder

R = TypeVar("R")
_ID_DIGITS, _LEAST_DIGITS, _CANDIDATES = 16, 6, 10


class Call(NamedTuple):
    """Which command it is, and what it works on.

    Attributes:
        name: As typed, such as "scenes list".
        wait: Seconds a write waits for its turn; None: it does not write.
    """

    name: str
    file: Path
    as_json: bool
    wait: float | None = None
    create: bool = False
    moment: str | None = None


def run(
    call: Call,
    ask: Callable[[memhop.DB], R],
    show: Callable[[Output, R], None],
    *,
    doing: str = "looking",
    found: Callable[[R], object] | None = None,
    well: Callable[[R], object] | None = None,
    nothing: str = "nothing found",
    before: Callable[[], object] | None = None,
    embedder: Callable[[], Embedder | None] | None = None,
    llm: Callable[[], memhop.OpenAIChat | None] | None = None,
) -> None:
    """Do it.

    Args:
        ask: The call; its answer is printed as JSON, or by `show`, when the file is closed again.
        found: Whether there is an answer; without one `nothing` is said and the exit code is 1. None: always.
        well: Whether what is shown went well; else the exit code is 1, too. None: always.
        before: What is checked before the file is opened, or created.
        embedder, llm: Made before the file is opened.
    """
    with reporting(as_json=call.as_json) as out:
        if before is not None:
            before()
        opened = open_memory(
            out,
            call.file,
            wait=call.wait,
            purpose=f"memhop {call.name}",
            create=call.create,
            moment=call.moment,
            embedder=embedder() if embedder else None,
            llm=llm() if llm else None,
        )
        with out.progress(doing), opened as db:
            answer = ask(db)
        there = found is None or bool(found(answer))
        if call.as_json:
            out.json(plain(answer))
        elif there:
            show(out, answer)
        else:
            out.notice(nothing)
        if not there or not (well is None or well(answer)):
            raise typer.Exit(FAILED)


def plain(answer: Any) -> Any:
    """An answer as JSON-ready values."""
    if hasattr(answer, "to_dict"):
        return answer.to_dict()
    return [plain(item) for item in answer] if isinstance(answer, list | tuple) else answer


def show_page(
    headers: Sequence[str], row: Callable[[Output, Any], Sequence[str]], *, right: Sequence[int] = ()
) -> Callable[[Output, results.Page], None]:
    """How a page is shown: a line per item, and beside it how to get the next page."""

    def show(out: Output, page: results.Page) -> None:
        out.table(headers, [row(out, item) for item in page.items], right=right)
        if page.damaged:
            out.notice(f"{page.damaged:,} damaged records are left out; run: memhop verify")
        if page.next:
            out.notice(f"there is more: --cursor {page.next}")

    return show


def whole_id(db: memhop.DB, typed: str, *kinds: str) -> str:
    """The id that was meant: typed in full, or its first digits.

    Raises:
        InvalidRequest: no digits of an id, or several ids begin with them; names these. NotFound: none does.
    """
    digits = typed.strip().lower()
    if len(digits) == _ID_DIGITS:
        return digits
    what = " or ".join(kinds) or "thing"
    try:
        candidates = db.lookup(digits, kinds=kinds or None, limit=_CANDIDATES + 1)
    except InvalidRequest as error:
        raise InvalidRequest(
            error.message, field="id", allowed=f"16 hex digits, or at least the first {_LEAST_DIGITS}"
        ) from None
    if not candidates:
        raise NotFound(f"no {what} has an id that begins with {digits}", field="id")
    if len(candidates) > 1:
        listed = "; ".join(f"{one.id} ({one.kind}: {one.text[:40]})" for one in candidates[:_CANDIDATES])
        more = ", and more" if len(candidates) > _CANDIDATES else ""
        raise InvalidRequest(f"several ids begin with {digits}", field="id", allowed=f"one of {listed}{more}")
    return candidates[0].id


def confirmed(question: str, yes: bool) -> None:
    """Ask before something goes for good; "no" ends the command. Raises InvalidRequest where nobody can be asked."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidRequest("nobody can be asked", field="--yes", allowed="--yes where input is no terminal")
    typer.confirm(question, abort=True, err=True)
