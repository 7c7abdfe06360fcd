"""How the command speaks: rich on a terminal, plain text in a pipe or with NO_COLOR, JSON with `--json`.

Answers go to standard output, everything else (progress, notices, errors) to standard error, so that a pipe carries
the answer alone. Whatever a stream's encoding cannot show becomes "?", and control characters of stored texts never
reach a terminal.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from memhop.common.clock import to_iso
from memhop.common.errors import Locked, MemhopError, WriteRefused

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

_GAP = "  "
_SERVER_STATE = "server.json"  # of a folder that is served
_HINTS: dict[type[MemhopError], Callable[[Any], str]] = {  # what the library says in terms of its own calls
    Locked: lambda error: (
        f"let it go on with `kill -CONT {error.pid}`, or end it"
        if error.stopped
        else "`memhop stop` ends it"
        if error.path.endswith(_SERVER_STATE)
        else "wait for it longer (--wait SECONDS), or end that process"
    ),
    WriteRefused: lambda error: "`memhop doctor` says what is wrong",
}
_PATIENCE_S = 0.3  # before a spinner is shown


def prepare_streams() -> None:
    """Let both streams replace what their encoding cannot show instead of raising. One that is closed goes nowhere."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  (for the life of the process)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def is_closed(stream: TextIO) -> bool:
    """Whether a standard stream was closed when the process began."""
    return stream.name == os.devnull


def is_fancy(stream: TextIO) -> bool:
    """Whether colours and moving bars are wanted on a stream."""
    dumb = os.environ.get("TERM") == "dumb"
    return stream.isatty() and not os.environ.get("NO_COLOR") and not dumb


def clean(text: str) -> str:
    """The text without what could steer a terminal: control and direction characters become U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char == "\n" or not _steers(char) else " " if char == "\t" else "\ufffd" for char in text)


def _steers(char: str) -> bool:
    return (
        unicodedata.category(char) == "Cc"
        or char in "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    )


def cells(text: str) -> int:
    """How many terminal columns a text takes: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def when(at_ms: int) -> str:
    """A time to the minute, UTC."""
    return to_iso(at_ms)[:16].replace("T", " ")


class Output:
    """Where one command writes."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._fancy = not as_json and is_fancy(sys.stdout)
        self._console: Console | None = None

    # -- answers ---------------------------------------------------------------------------------------------

    def say(self, *pieces: str | tuple[str, str]) -> None:
        """One line of pieces, each a text or (text, rich style)."""
        if not self._fancy:
            print("".join(clean(piece if isinstance(piece, str) else piece[0]) for piece in pieces), flush=True)
            return
        from rich.text import Text

        line = Text()
        for piece in pieces:
            text, style = (piece, "") if isinstance(piece, str) else piece
            line.append(clean(text), style=style)
        self._stdout().print(line, soft_wrap=True, highlight=False)

    def table(self, headers: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> None:
        """A table. The last column takes what room is left.

        Args:
            right: Columns whose values end flush right.
        """
        lines = [[clean(" ".join(cell.split())) for cell in row] for row in rows]
        if not self._fancy:
            self._plain_table(headers, lines, right)
            return
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for index, header in enumerate(headers):
            table.add_column(header, justify="right" if index in right else "left", overflow="fold")
        for line in lines:
            table.add_row(*map(Text, line))
        self._stdout().print(table)

    def json(self, value: Any) -> None:
        """One JSON document: on one line in a pipe, indented on a terminal."""
        utf8 = "utf" in (sys.stdout.encoding or "").lower()
        print(json.dumps(value, ensure_ascii=not utf8, indent=2 if sys.stdout.isatty() else None))

    def raw(self, text: str) -> None:
        """A text as it is in a pipe, made harmless on a terminal."""
        print(clean(text) if sys.stdout.isatty() else text)

    def glyph(self, wanted: str, instead: str) -> str:
        """A sign, or its stand-in where the encoding of standard output has none."""
        try:
            wanted.encode(sys.stdout.encoding or "ascii")
        except UnicodeEncodeError:
            return instead
        return wanted

    def shorten(self, text: str, columns: int) -> str:
        """The text on one line, in at most so many terminal columns."""
        line = clean(" ".join(text.split()))
        if cells(line) <= columns:
            return line
        dots = self.glyph("…", "...")
        room = columns - len(dots)
        kept: list[str] = []
        for char in line:
            room -= cells(char)
            if room < 0:
                break
            kept.append(char)
        return "".join(kept).rstrip() + dots

    # -- everything else -------------------------------------------------------------------------------------

    def notice(self, text: str) -> None:
        """A remark beside the answer, on standard error. Said in JSON by the answer itself."""
        if not self.as_json:
            self.warn(text)

    def warn(self, text: str) -> None:
        """A remark that no answer carries, on standard error also with `--json`."""
        print(clean(text), file=sys.stderr)

    def error(self, error: MemhopError) -> None:
        """An error: one line on standard error, or its `to_dict()` on standard output with `--json`."""
        if worded := _HINTS.get(type(error)):
            error.hint = worded(error)
        if self.as_json:
            self.json(error.to_dict())
        else:
            print(f"memhop: {' '.join(clean(str(error)).split())}", file=sys.stderr)

    @contextmanager
    def progress(self, what: str, total: int | None = None) -> Iterator[Callable[[], None]]:
        """A bar, or a spinner when `total` is None, for work that may take over a second; only if standard error is a
        terminal.

        Yields:
            A function to call after each step.
        """
        if not is_fancy(sys.stderr):
            yield lambda: None
        elif total is None:
            with _spinner(what):
                yield lambda: None
        else:
            with _bar(what, total) as bar:
                yield lambda: bar.advance(bar.task_ids[0])

    @contextmanager
    def measured(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """A bar for work that tells how far it is.

        Yields:
            A function of how much is done and how much there is; 0 of the latter: nobody knows.
        """
        if not is_fancy(sys.stderr):
            yield lambda done, total: None
            return
        with _bar(what, 100) as bar:
            task = bar.task_ids[0]
            yield lambda done, total: bar.update(
                task, completed=100 * done // total if total else done, total=100 if total else None
            )

    def _stdout(self) -> Console:
        if self._console is None:
            from rich.console import Console

            self._console = Console(markup=False, emoji=False, highlight=False)
        return self._console

    def _plain_table(self, headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> None:
        widths = [max(map(cells, column)) for column in zip(headers, *rows, strict=True)]
        for row in (headers, *rows):
            padded = []
            for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
                space = " " * (width - cells(cell))
                padded.append(space + cell if index in right else cell + space)
            print(_GAP.join(padded).rstrip())


def _bar(what: str, total: int | None) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    counted = () if total is None else (BarColumn(), MofNCompleteColumn())
    columns = (SpinnerColumn("line"), TextColumn("{task.description}"), *counted, TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(what, total=total)
    return bar


@contextmanager
def _spinner(what: str) -> Iterator[None]:
    """A spinner that shows up only when the work takes long, so that quick commands neither flicker nor load rich."""
    shown: list[Progress] = []

    def show() -> None:
        bar = _bar(what, None)
        bar.start()
        shown.append(bar)

    timer = threading.Timer(_PATIENCE_S, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        for bar in shown:
            bar.stop()
